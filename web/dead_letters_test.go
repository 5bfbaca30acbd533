package web_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/operators"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/api"
	"weir/web/auth"
)

func (m *memory) Requeue(context.Context, weir.ChannelID, []weir.ContactID, string) (operators.Requeued, error) {
	return operators.Requeued{}, nil
}

// undertaker is a broker that stores contacts and requeues dead letters.
type undertaker struct {
	direct
	dead operators.DeadLetterStore
}

func (u undertaker) Requeue(ctx context.Context, channel weir.ChannelID, list []weir.ContactID, token string) (operators.Requeued, error) {
	return u.dead.Requeue(ctx, channel, list, token)
}

// deadRig returns a rig over a store with two channels; one of them has n
// failed contacts, and one failed contact of a respondent.
func deadRig(t *testing.T, n int, change ...func(*web.Options)) (*rig, *persistence.Store, []weir.Contact) {
	t.Helper()
	store := storetest.SQLite(t)
	r := newRig(t, append([]func(*web.Options){func(o *web.Options) {
		o.Store, o.Dead, o.Trail, o.Broker = store, store, auth.NewTrail(store), undertaker{direct{o.Broker.(*memory), store}, store}
	}}, change...)...)
	into[api.ChannelView](t, r.do("PUT", "/v1/channels/a", goodTexts), 201)
	into[api.ChannelView](t, r.do("PUT", "/v1/channels/b", goodTexts), 201)
	ch, err := store.Channel(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var specs []weir.Spec
	for i := range n + 1 {
		specs = append(specs, weir.Spec{Key: fmt.Sprint("k", i), To: phoneCanary, Messages: []string{textCanary}})
	}
	specs[n].Owner = weir.Owner{Group: 1, ID: 2, Serial: 1}
	return r, store, failAll(t, store, ch.ID, specs)
}

// failAll accepts contacts and ends them as failed.
func failAll(t *testing.T, store *persistence.Store, channel weir.ChannelID, specs []weir.Spec) []weir.Contact {
	t.Helper()
	by, err := store.Incarnate(t.Context(), channel)
	if err != nil {
		t.Fatal(err)
	}
	got, err := store.Accept(t.Context(), channel, specs)
	if err != nil {
		t.Fatal(err)
	}
	var list []weir.Contact
	var ts []weir.Transition
	for i := range got {
		c := got[i].Contact
		p, err := c.Finish(time.Now(), weir.Failed, "refused: "+phoneCanary)
		if err != nil {
			t.Fatal(err)
		}
		tr := weir.Transition{From: c.Rev, Was: c.State, Contact: c}
		tr.Contact.Progress = p
		ts, list = append(ts, tr), append(list, tr.Contact)
	}
	done := make(chan weir.CommitResult, 1)
	store.Commit(weir.Change{By: by, Transitions: ts}, func(r weir.CommitResult) { done <- r })
	if r := <-done; r.Err != nil || len(r.Stale) > 0 {
		t.Fatalf("%+v", r)
	}
	return list
}

func TestDeadLetters_AreShown(t *testing.T) {
	t.Parallel()
	r, _, list := deadRig(t, 3)
	page := into[api.DeadList](t, r.do("GET", "/v1/dead-letters?channel=a&outcome=failed&reason=refused:+%E2%80%A6&limit=2", ""), 200)
	if len(page.DeadLetters) != 2 || page.NextCursor == "" || page.DeadLetters[0].Contact.ID != list[2].Ref.String() || page.DeadLetters[0].Reason != "refused: …" {
		t.Errorf("%+v", page)
	}
	rest := into[api.DeadList](t, r.do("GET", "/v1/dead-letters?channel=a&cursor="+page.NextCursor, ""), 200)
	if len(rest.DeadLetters) != 1 || rest.NextCursor != "" || rest.DeadLetters[0].Contact.ID != list[0].Ref.String() {
		t.Errorf("%+v", rest)
	}
	groups := into[api.DeadGroups](t, r.do("GET", "/v1/dead-letters/groups", ""), 200)
	if len(groups.Groups) != 1 || groups.Groups[0].Count != 3 || groups.Groups[0].Channel != "a" || groups.Groups[0].Reason != "refused: …" {
		t.Errorf("%+v", groups)
	}
	if none := into[api.DeadList](t, r.do("GET", "/v1/dead-letters?channel=b", ""), 200); len(none.DeadLetters) != 0 {
		t.Errorf("%+v", none)
	}
	r.refuses(t, "GET", "/v1/dead-letters?outcome=busy", refused{mistakes: []mistake{{"/outcome", "enum"}}})
	r.refuses(t, "GET", "/v1/dead-letters?cursor=x", refused{mistakes: []mistake{{"/cursor", "format"}}})
}

func TestContacts_AreListedBetweenTwoInstants(t *testing.T) {
	t.Parallel()
	r, _, list := deadRig(t, 3)
	from := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	to := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for query, want := range map[string]int{
		"since=" + from + "&until=" + to + "&state=done&channel=a": len(list), "since=" + from + "&outcome=failed": len(list),
		"since=" + to: 0, "until=" + from: 0,
	} {
		if page := into[api.ContactList](t, r.do("GET", "/v1/contacts?"+query, ""), 200); len(page.Contacts) != want {
			t.Errorf("%s: %d contacts, want %d", query, len(page.Contacts), want)
		}
	}
}

func TestDeadLetters_HideNumbers(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return start }
	b := newBearers(t, now)
	r, _, _ := deadRig(t, 1, func(o *web.Options) { o.Now = now })
	open := r.do("GET", "/v1/dead-letters", "")
	if !strings.Contains(open.body, phoneCanary) {
		t.Errorf("%s", open.body)
	}
	store := storetest.SQLite(t)
	masked := newRig(t, func(o *web.Options) { o.Gate, o.Store, o.Dead, o.Now = b.gate, store, store, now })
	ch, _, err := store.PutChannel(t.Context(), weir.Channel{Name: "a", Type: "texts", Capacity: 1})
	if err != nil {
		t.Fatal(err)
	}
	failAll(t, store, ch.ID, []weir.Spec{{To: phoneCanary}})
	for _, path := range []string{"/v1/dead-letters", "/v1/dead-letters/groups"} {
		g := masked.as("GET", path, "", b.text["contacts:read"])
		if g.status != 200 || strings.Contains(g.body, phoneCanary[1:]) {
			t.Errorf("%d %s", g.status, g.body)
		}
	}
}

func TestDeadLetters_AreRequeuedInBulk(t *testing.T) {
	t.Parallel()
	r, store, list := deadRig(t, 450)
	do := func(step, body string) api.DeadDone {
		t.Helper()
		return into[api.DeadDone](t, r.do("POST", "/v1/dead-letters:"+step, body), 200)
	}
	for _, x := range []struct {
		step, body string
		want       api.DeadDone
	}{
		{"requeue", `{"channel":"a","dry_run":true}`, api.DeadDone{DryRun: true, Matching: 450, Remaining: 450}},
		{"requeue", `{"channel":"b"}`, api.DeadDone{}},
		{"requeue", `{"channel":"a","limit":210}`, api.DeadDone{Matching: 450, Done: 210, Remaining: 240}},
		{"requeue", `{"contacts":["` + list[0].Ref.String() + `"]}`, api.DeadDone{Matching: 1, Done: 1}},
		{"requeue", `{"contacts":["` + list[0].Ref.String() + `"]}`, api.DeadDone{}},
		{"discard", `{"all":true,"limit":39}`, api.DeadDone{Matching: 239, Done: 39, Remaining: 200}},
		{"discard", `{"outcome":"lost"}`, api.DeadDone{}},
		{"requeue", `{"reason":"refused: …","since":"2020-01-01T00:00:00Z"}`, api.DeadDone{Matching: 200, Done: 200}},
		{"requeue", `{"all":true}`, api.DeadDone{}},
	} {
		if got := do(x.step, x.body); got != x.want {
			t.Errorf("%s %s: %+v, want %+v", x.step, x.body, got, x.want)
		}
	}
	ch, _ := store.Channel(t.Context(), "a")
	if n, err := store.QueuedCount(t.Context(), ch.ID); n != 411 || err != nil {
		t.Errorf("%d are queued again (%v)", n, err)
	}
	theirs := list[len(list)-1].Ref.String()
	g := r.do("POST", "/v1/dead-letters:requeue", `{"contacts":["`+list[1].Ref.String()+`","`+theirs+`"]}`)
	if p := g.problem(t); g.status != 409 || len(p.Errors) != 1 || p.Errors[0].Pointer != "/contacts/1" {
		t.Errorf("a respondent's: %d %s", g.status, g.body)
	}
	for body, want := range map[string]mistake{
		`{}`:                              {"", "required"},
		`{"dry_run":true}`:                {"", "required"},
		`{"contacts":["x"]}`:              {"/contacts/0", "format"},
		`{"contacts":["1-1"],"all":true}`: {"/contacts", "conflict"},
		`{"all":true,"limit":10001}`:      {"/limit", "range"},
		`{"outcome":"busy"}`:              {"/outcome", "enum"},
	} {
		g := r.do("POST", "/v1/dead-letters:discard", body)
		if p := g.problem(t); g.status != 422 || len(p.Errors) != 1 || p.Errors[0].Pointer != want.Pointer || p.Errors[0].Code != want.Code {
			t.Errorf("%s: %d %s", body, g.status, g.body)
		}
	}
}
