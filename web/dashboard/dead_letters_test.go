package dashboard_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"testing"
	"time"

	"weir"
	"weir/api"
)

// addDeadLetters creates a paused channel with n contacts that the provider rejected, and
// returns their ids.
func (r *rig) addDeadLetters(channel string, n int) []string {
	r.t.Helper()
	return r.addFailed(channel, n, "the <b>provider</b> refused it")
}

// addFailed does the same for a reason.
func (r *rig) addFailed(channel string, n int, reason string) []string {
	r.t.Helper()
	store := r.open()
	if err := store.Join(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = store.Close(r.t.Context()) }()
	ch, _, err := store.PutChannel(r.t.Context(), weir.Channel{Name: channel, Type: "nuntium", Capacity: 7, Paused: true, Settings: weir.Settings{
		"base_url": "http://127.0.0.1:1", "account": "a", "application": "b", "channel": "c", "password": providerCanary,
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	by, err := store.Incarnate(r.t.Context(), ch.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	var specs []weir.Spec
	for i := range n {
		specs = append(specs, weir.Spec{Key: fmt.Sprint(channel, "-", i), To: numberCanary, Messages: []string{"hello"}})
	}
	accepted, err := store.Accept(r.t.Context(), ch.ID, specs)
	if err != nil {
		r.t.Fatal(err)
	}
	var change weir.Change
	var ids []string
	for _, a := range accepted {
		end, err := a.Contact.Finish(time.Now(), weir.Failed, reason)
		if err != nil {
			r.t.Fatal(err)
		}
		was := a.Contact
		a.Contact.Progress = end
		change.Transitions = append(change.Transitions, weir.Transition{From: was.Rev, Was: was.State, Contact: a.Contact})
		ids = append(ids, was.Ref.String())
	}
	change.By = by
	result := make(chan weir.CommitResult, 1)
	store.Commit(change, func(c weir.CommitResult) { result <- c })
	if c := <-result; c.Err != nil || len(c.Stale) > 0 {
		r.t.Fatalf("%+v", c)
	}
	return ids
}

func TestDeadLetters_AreCountedBeforeAnAction(t *testing.T) {
	t.Parallel()
	r := newRigAfter(t, func(r *rig) { r.addDeadLetters("a", 3); r.addDeadLetters("b", 2) }, nil, "contacts:read", "contacts:read contacts:write", "channels:admin")
	b := r.login("contacts:read contacts:write")
	page := b.get("/dead-letters").want(200).has("5 contacts failed", "&lt;b&gt;provider&lt;/b&gt; refused it", "Requeue all").hasNot(numberCanary, "<b>provider")
	link := regexp.MustCompile(`href="(/dead-letters/requeue\?[^"]*channel=a[^"]*)"`).FindStringSubmatch(page.body)
	if link == nil {
		t.Fatalf("no link to queue a group again:\n%s", page.body)
	}
	path := html.UnescapeString(link[1])
	b.get(path).want(200).has("<dt>Count</dt>", "<dd>3</dd>", "3 people are contacted again")
	b.get("/dead-letters").has("5 contacts failed") // the question alone changes nothing
	if to := b.post(path, nil).want(303).header.Get("Location"); to != "/dead-letters" {
		t.Errorf("it leads to %q", to)
	}
	b.get("/dead-letters").want(200).has("3 dead letters are requeued.", "2 contacts failed")
	b.post(path, nil).want(303) // a second time finds nothing
	b.get("/dead-letters").has("0 dead letters are requeued.")
	var waiting api.ContactList
	r.api("GET", "/v1/contacts?channel=a&state=queued", "", &waiting)
	if len(waiting.Contacts) != 3 {
		t.Errorf("%d contacts wait, want 3", len(waiting.Contacts))
	}
	b.get("/dead-letters/discard").want(200).has("<dd>2</dd>", "all dead letters")
	b.post("/dead-letters/discard", nil).want(303)
	b.get("/dead-letters").want(200).has("2 dead letters are discarded.", "No dead letters")

	reader := r.login("contacts:read")
	reader.get("/dead-letters").want(200).hasNot("Requeue all", "Discard")
	reader.get("/dead-letters/requeue").want(403)
	reader.post("/dead-letters/requeue", nil).want(403)
	r.login("channels:admin").get("/dead-letters").want(403)
}

// A dead letter that arrived after the count was shown is not touched: it was not
// confirmed.
func TestDeadLetters_LaterDeadLettersAreExcluded(t *testing.T) {
	t.Parallel()
	r := newRigAfter(t, func(r *rig) { r.addDeadLetters("a", 2) }, nil, "contacts:read contacts:write")
	b := r.login("contacts:read contacts:write")
	for _, step := range []string{"requeue", "discard"} {
		shown := regexp.MustCompile(`<input type="hidden" name="until" value="([^"]+)">`).FindStringSubmatch(b.get("/dead-letters/" + step).want(200).body)
		if shown == nil {
			t.Fatal("the question does not say until when it counted")
		}
		if at, err := time.Parse(time.RFC3339, shown[1]); err != nil || time.Since(at) > time.Minute || time.Since(at) < -time.Second {
			t.Errorf("it counted until %s", shown[1])
		}
		before := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
		b.post("/dead-letters/"+step, url.Values{"until": {before}}).want(303)
		b.get("/dead-letters").want(200).has("0 dead letters are", "2 contacts failed")
		b.post("/dead-letters/"+step+"?until=2099-01-01T00:00", url.Values{"until": {before}}).want(303) // the page had a later end of its interval
		b.get("/dead-letters").want(200).has("0 dead letters are", "2 contacts failed")
		b.get("/dead-letters/" + step + "?channel=a&outcome=failed&reason=").want(200).has("<dd>0</dd>") // only dead letters without a reason
	}
	b.post("/dead-letters/discard", url.Values{"until": {"x"}}).want(422).has("/until")
	b.post("/dead-letters/discard", url.Values{"until": {time.Now().Add(time.Minute).UTC().Format(time.RFC3339)}}).want(303)
	b.get("/dead-letters").want(200).has("2 dead letters are discarded.")
}

func TestDeadLetters_OneDeadLetterIsRequeued(t *testing.T) {
	t.Parallel()
	var ids []string
	r := newRigAfter(t, func(r *rig) { ids = r.addDeadLetters("a", 2) }, nil, "contacts:read contacts:write pii:read")
	b := r.login("contacts:read contacts:write pii:read")
	b.get("/dead-letters/list?channel=a").want(200).has(ids[0], ids[1], numberCanary)
	b.get("/contacts/"+ids[0]).want(200).has("Requeue", "the &lt;b&gt;provider&lt;/b&gt; refused it")
	to := b.post("/dead-letters/requeue?contact="+ids[0], nil).want(303).header.Get("Location")
	if to != "/contacts/"+ids[0] {
		t.Errorf("it leads to %q", to)
	}
	b.get(to).want(200).has("1 dead letter is requeued.").hasNot("dead-letters/requeue")
	b.get("/dead-letters/list?channel=a").want(200).has(ids[1]).hasNot(ids[0])
}

// Scenario 361: dead letters are selected in their list, whose page the action returns to.
func TestDeadLetters_SelectedOnesAreRequeuedOrDiscarded(t *testing.T) {
	t.Parallel()
	var ids []string
	r := newRigAfter(t, func(r *rig) { ids = r.addDeadLetters("a", 5) }, nil, "contacts:read", "contacts:read contacts:write")
	b := r.login("contacts:read contacts:write")
	page := b.get("/dead-letters/list?channel=a").want(200)
	page.has(`name="back" value="/dead-letters/list?channel=a"`, `id="select-`+ids[0]+`"`, "Requeue selected", "Discard selected")
	for step, chosen := range map[string][]string{"requeue": ids[:2], "discard": ids[2:3]} {
		path := "/dead-letters/" + step + "?" + url.Values{"back": {"/dead-letters/list?channel=a"}, "contact": chosen}.Encode()
		b.get(path).want(200).has("<dd>"+fmt.Sprint(len(chosen))+"</dd>", `href="/dead-letters/list?channel=a"`)
		if to := b.post(path, nil).want(303).header.Get("Location"); to != "/dead-letters/list?channel=a" {
			t.Errorf("%s leads to %q", step, to)
		}
		page := b.get("/dead-letters/list?channel=a").want(200)
		for _, id := range chosen {
			page.hasNot(id)
		}
	}
	b.get("/dead-letters/list?channel=a").want(200).has(ids[3], ids[4])
	// An empty selection is not everything, and nothing leads away from here.
	b.get("/dead-letters/discard?back=%2Fdead-letters%2Flist").want(422)
	b.post("/dead-letters/discard?back=%2Fdead-letters%2Flist", nil).want(422)
	if to := b.post("/dead-letters/discard?"+url.Values{"back": {"https://example.org/"}, "contact": ids[3:4]}.Encode(), nil).want(303).header.Get("Location"); to != "/" {
		t.Errorf("it leads to %q", to)
	}
	r.login("contacts:read").get("/dead-letters/list").want(200).has(ids[4]).hasNot("select-", "Requeue selected")
}

func TestDeadLetters_ContactsAreFoundAndCanceled(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read", "contacts:read contacts:write")
	r.channel("a")
	b := r.login("contacts:read contacts:write")
	id := regexp.MustCompile(`/contacts/([0-9a-zA-Z.-]+)"`).FindStringSubmatch(b.get("/contacts?channel=a").want(200).hasNot(numberCanary).body)[1]
	for _, query := range []string{"q=k-1", "q=" + id, "q=+" + id + "+", "state=queued&channel=a", "channel=a&outcome=other"} {
		b.get("/contacts?" + query).want(200).has(id)
	}
	for _, query := range []string{"q=other", "state=active", "outcome=failed", "survey=none"} {
		b.get("/contacts?" + query).want(200).has("No matching contacts").hasNot(id)
	}
	b.get("/contacts?channel=none").want(404)
	p := b.get("/contacts/"+id).want(200).has("k-1", "hello", "Cancel", "<strong>accepted</strong>", "Not recorded").hasNot(numberCanary)
	if p.title() != "Contact "+id+" – Weir" {
		t.Errorf("title %q", p.title())
	}
	reader := r.login("contacts:read")
	reader.get("/contacts/"+id).want(200).hasNot(">Cancel<", "/cancel")
	reader.post("/contacts/"+id+"/cancel", url.Values{}).want(403)
	b.get("/contacts/" + id + "/cancel").want(200).has("ends as canceled at once")
	b.post("/contacts/"+id+"/cancel", url.Values{}).want(303)
	b.get("/contacts/"+id).want(200).has("is canceled.", "state-canceled").hasNot("/cancel\"")
}

func TestDeadLetters_AuditLogNamesTheToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin", "contacts:read")
	r.channel("a")
	r.login("contacts:read").get("/audit").want(403)
	b := r.login("channels:admin")
	b.post("/channels/a/pause", nil).want(303)
	b.get("/audit").want(200).hasNot(providerCanary, numberCanary)
}
