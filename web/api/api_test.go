package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/api"
	"weir/web"
	"weir/web/webtest"
)

func TestAPI_ChannelIsCreatedReplacedAndShown(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	g := r.Do("PUT", "/v1/channels/a.b-c_1", webtest.GoodTexts)
	v := webtest.Into[api.ChannelView](t, g, 201)
	if g.Header.Get("Location") != "/v1/channels/a.b-c_1" {
		t.Errorf("Location %q", g.Header.Get("Location"))
	}
	want := api.ChannelView{
		Channel: "a.b-c_1", Type: "texts", Name: "Our texts", Capacity: 5, State: string(weir.Up),
		Settings: map[string]any{"base_url": "http://p.test", "channel": "one"}, Secrets: []string{"token"}, Breaker: api.BreakerView{State: "closed"}, CreatedAt: v.CreatedAt, UpdatedAt: v.CreatedAt,
	}
	if age := time.Since(v.CreatedAt); age < 0 || age > time.Hour {
		t.Errorf("created %s ago", age)
	}
	if d := cmp.Diff(want, v); d != "" {
		t.Errorf("created (-want +got):\n%s", d)
	}
	want.Name, want.Capacity, want.Paused, want.State = "", 100, true, string(weir.Paused)
	want.Settings = map[string]any{"base_url": "http://q.test"}
	created := v
	v = webtest.Into[api.ChannelView](t, r.Do("PUT", "/v1/channels/a.b-c_1", `{"type":"texts","paused":true,"settings":{"base_url":"http://q.test","token":"CANARY-provider-token"}}`), 200)
	if want.UpdatedAt = v.UpdatedAt; !v.UpdatedAt.After(created.UpdatedAt) {
		t.Errorf("replaced at %s, created at %s", v.UpdatedAt, created.UpdatedAt)
	}
	if d := cmp.Diff(want, v); d != "" {
		t.Errorf("replaced (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, webtest.Into[api.ChannelView](t, r.Do("GET", "/v1/channels/a.b-c_1", ""), 200)); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]weir.ChannelID{1, 1}, r.Changes); d != "" {
		t.Errorf("the broker heard of the changes (-want +got):\n%s", d)
	}
	if c, err := r.Store.Channel(t.Context(), "a.b-c_1"); err != nil || c.Settings["token"] != webtest.ProviderCanary || c.Secret == "" {
		t.Errorf("stored: %v, %v", c, err)
	}
}

func TestAPI_PutThatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Do("PUT", "/v1/channels/a", webtest.GoodTexts)
	writes := r.Writes()
	webtest.Into[api.ChannelView](t, r.Do("PUT", "/v1/channels/a", webtest.GoodTexts), 200)
	if r.Writes() != writes {
		t.Error("written")
	}
}

func TestAPI_PatchMerges(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Do("PUT", "/v1/channels/a", webtest.GoodTexts)
	g := r.Do("PATCH", "/v1/channels/a", `{"capacity":7,"settings":{"channel":null,"reply_reserve":2}}`, "Content-Type", "application/merge-patch+json")
	v := webtest.Into[api.ChannelView](t, g, 200)
	if v.Capacity != 7 || v.Name != "Our texts" {
		t.Errorf("%+v", v)
	}
	if d := cmp.Diff(map[string]any{"base_url": "http://p.test", "reply_reserve": 2.0}, v.Settings); d != "" {
		t.Errorf("settings (-want +got):\n%s", d)
	}
	if c, err := r.Store.Channel(t.Context(), "a"); err != nil || c.Settings["token"] != webtest.ProviderCanary {
		t.Errorf("the secret was lost: %v", err)
	}
	// A removed field takes its default.
	r.Do("PATCH", "/v1/channels/a", `{"paused":true}`)
	v = webtest.Into[api.ChannelView](t, r.Do("PATCH", "/v1/channels/a", `{"name":null,"paused":null}`), 200)
	if v.Name != "" || v.Paused || v.Capacity != 7 {
		t.Errorf("%+v", v)
	}
	// The stored reserve does not allow this capacity.
	r.Refuses(t, "PATCH", "/v1/channels/a", webtest.Refused{Body: `{"capacity":2}`, Mistakes: []webtest.Mistake{{Pointer: "/settings/reply_reserve", Code: "range"}}})
	if g := r.Do("PATCH", "/v1/channels/nobody", `{}`); g.Status != 404 {
		t.Errorf("%d", g.Status)
	}
}

// conflicting is a store in which the channel is changed by others, just before.
type conflicting struct {
	web.Store
	left *int
}

func (s conflicting) UpdateChannel(ctx context.Context, c weir.Channel) (weir.Channel, error) {
	if *s.left > 0 {
		*s.left--
		other, err := s.ChannelByID(ctx, c.ID)
		if err != nil {
			return c, err
		}
		other.Title = fmt.Sprintf("changed concurrently %d", *s.left)
		if _, err := s.Store.UpdateChannel(ctx, other); err != nil {
			return c, err
		}
	}
	return s.Store.UpdateChannel(ctx, c)
}

func TestAPI_ChangesRetryAfterAConflict(t *testing.T) {
	t.Parallel()
	conflicts := 0
	r := webtest.New(t, func(o *web.Options) { o.Store = conflicting{o.Store, &conflicts} })
	r.Do("PUT", "/v1/channels/a", webtest.GoodTexts)
	conflicts = 3
	v := webtest.Into[api.ChannelView](t, r.Do("PATCH", "/v1/channels/a", `{"capacity":7}`), 200)
	if v.Capacity != 7 || !strings.HasPrefix(v.Name, "changed concurrently") {
		t.Errorf("one change undid the other: %+v", v)
	}
	conflicts = 1000
	if g := r.Do("PATCH", "/v1/channels/a", `{"capacity":8}`); g.Status != 409 {
		t.Errorf("%d", g.Status)
	}
}

func TestAPI_ChannelIsDeleted(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	open := r.Contact(ch, weir.Progress{})
	if g := r.Do("DELETE", "/v1/channels/a", ""); g.Status != 409 || g.Problem(t).Code != weir.CodeConflict {
		t.Fatalf("with open contacts: %d", g.Status)
	}
	r.Deleting = true
	if v := webtest.Into[api.DeletingView](t, r.Do("DELETE", "/v1/channels/a?cancel=true", ""), 202); !v.Deleting {
		t.Error("not said to be under way")
	}
	r.Deleting = false
	if g := r.Do("DELETE", "/v1/channels/a?cancel=true", ""); g.Status != 204 || g.Body != "" {
		t.Fatalf("%d %s", g.Status, g.Body)
	}
	for _, method := range []string{"GET", "DELETE"} {
		if g := r.Do(method, "/v1/channels/a", ""); g.Status != 404 {
			t.Errorf("%s of a deleted channel: %d", method, g.Status)
		}
	}
	// Its contacts stay readable under the channel's name.
	v := webtest.Into[api.ContactView](t, r.Do("GET", "/v1/contacts/"+open.Ref.String(), ""), 200)
	if v.Channel != "a" || v.State != "done" {
		t.Errorf("%+v", v)
	}
}

func TestAPI_ChannelThatIsBeingDeletedTakesNothing(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "texts", func(c *weir.Channel) { c.Deleting = true })
	r.Refuses(t, "POST", "/v1/channels/a/contacts", webtest.Refused{Body: webtest.Batch(webtest.Text("")), Status: 409, Code: weir.CodeConflict})
	r.Refuses(t, "PATCH", "/v1/channels/a", webtest.Refused{Body: `{"capacity":5}`, Status: 409, Code: weir.CodeConflict})
	r.Refuses(t, "PUT", "/v1/channels/a", webtest.Refused{Body: webtest.GoodTexts, Status: 409, Code: weir.CodeConflict})
}

func TestAPI_ChannelsAreListedInPages(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	for _, name := range []string{"c", "a", "b"} {
		r.Channel(name, "texts")
	}
	var names []string
	cursor := ""
	for range 3 {
		v := webtest.Into[api.ChannelList](t, r.Do("GET", "/v1/channels?limit=2&cursor="+cursor, ""), 200)
		for _, c := range v.Channels {
			names = append(names, c.Channel)
		}
		if cursor = v.NextCursor; cursor == "" {
			break
		}
	}
	if d := cmp.Diff([]string{"a", "b", "c"}, names); d != "" {
		t.Error(d)
	}
}

func TestAPI_ChannelOfAForgottenTypeShowsNoSettings(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "fax")
	if v := webtest.Into[api.ChannelView](t, r.Do("GET", "/v1/channels/a", ""), 200); len(v.Settings) != 0 {
		t.Errorf("%v", v.Settings)
	}
	r.Refuses(t, "POST", "/v1/channels/a/contacts", webtest.Refused{Body: webtest.Batch(webtest.Text("")), Status: 409, Code: weir.CodeConflict})
}

func TestAPI_ContactsAreAccepted(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "texts")
	full := `{"key":"Schlüssel 1","to":"+15559998877","priority":"high","not_before":"2026-03-01T14:00:00.123456789+01:00","not_after":"2026-03-02T00:00:00Z",
		"survey":"s1","labels":{"lang":"de","empty":""},"messages":["CANARY-text","zwei"]}`
	v := webtest.Into[api.AcceptedList](t, r.Do("POST", "/v1/channels/a/contacts", webtest.Batch(full, webtest.Text(``), webtest.Text(`,"priority":"reply"`)), "Content-Type", "application/json; charset=UTF-8"), 202)
	stored := r.All()
	if len(stored) != 3 {
		t.Fatalf("%+v", stored)
	}
	id := func(i int) string { return stored[i].Ref.String() }
	// The store has the real time, at which the not_before of the first has passed.
	want := []api.AcceptedView{{ID: id(0), Key: "Schlüssel 1", State: "queued"}, {ID: id(1), State: "queued"}, {ID: id(2), State: "queued"}}
	if d := cmp.Diff(want, v.Contacts); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	wantSpec := weir.Spec{
		Key: "Schlüssel 1", To: webtest.PhoneCanary, Priority: weir.High, Survey: "s1", Labels: map[string]string{"lang": "de", "empty": ""},
		Messages: []string{webtest.TextCanary, "zwei"}, NotBefore: webtest.Start().Add(time.Hour + 123456*time.Microsecond), NotAfter: webtest.Start().Add(12 * time.Hour),
	}
	if d := cmp.Diff(wantSpec, stored[0].Spec); d != "" {
		t.Errorf("spec (-want +got):\n%s", d)
	}
	if stored[1].Priority != weir.Normal || stored[2].Priority != weir.Reply {
		t.Error("priorities")
	}
	v = webtest.Into[api.AcceptedList](t, r.Do("POST", "/v1/channels/a/contacts", webtest.Batch(full)), 202)
	if d := cmp.Diff([]api.AcceptedView{{ID: id(0), Key: "Schlüssel 1", State: "queued", Duplicate: true}}, v.Contacts); d != "" {
		t.Errorf("repeated (-want +got):\n%s", d)
	}
}

func TestAPI_CallsAreAccepted(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("v", "voice")
	for body, want := range map[string]weir.Call{
		`{"callback_url":"https://a.test/flow?x=1"}`:                                {CallbackURL: "https://a.test/flow?x=1"},
		`{"call_flow_id":9007199254740991}`:                                         {CallFlowID: 1<<53 - 1},
		`{"twiml":"<?xml version=\"1.0\"?>\n<Response><Say>hi</Say></Response>\n"}`: {TwiML: "<?xml version=\"1.0\"?>\n<Response><Say>hi</Say></Response>\n"},
	} {
		webtest.Into[api.AcceptedList](t, r.Do("POST", "/v1/channels/v/contacts", webtest.Batch(webtest.Call(body))), 202)
		all := r.All()
		if d := cmp.Diff(&want, all[len(all)-1].Call); d != "" {
			t.Errorf("%s (-want +got):\n%s", body, d)
		}
	}
}

func TestAPI_BatchOfAThousandTextsFits(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "texts")
	contacts := make([]string, 1000)
	for i := range contacts {
		contacts[i] = fmt.Sprintf(`{"key":"k%d","to":"+15550001","messages":["%s"]}`, i, strings.Repeat("x", 1600))
	}
	if v := webtest.Into[api.AcceptedList](t, r.Do("POST", "/v1/channels/a/contacts", webtest.Batch(contacts...)), 202); len(v.Contacts) != 1000 {
		t.Error(len(v.Contacts))
	}
}

func TestAPI_ContactIsShownWithItsAttempts(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	at := func(n int) time.Time { return webtest.Start().Add(time.Duration(n) * time.Minute) }
	c := r.Move(r.Contact(ch, weir.Progress{}), weir.Progress{State: weir.Done, Attempt: 2, ClaimedAt: at(3), SentAt: at(4), HeardAt: at(5), FinishedAt: at(6), ProviderRef: "g2", Outcome: weir.Completed}, weir.Attempt{Number: 1, ClaimedAt: at(1), FinishedAt: at(2), Reason: "refused_by_provider"})
	id := c.Ref.String()
	want := api.ContactView{
		ID: id, Channel: "a", To: webtest.PhoneCanary, Priority: "normal", Messages: []string{webtest.TextCanary}, Size: 1, Segments: 1, State: "done",
		Outcome: string(weir.Completed), QueuedAt: c.QueuedAt, FinishedAt: at(6), Attempts: []api.AttemptView{
			{ID: id + "-1", Number: 1, ClaimedAt: at(1), FinishedAt: at(2), Reason: "refused_by_provider"},
			{ID: id + "-2", Number: 2, ClaimedAt: at(3), SentAt: at(4), LastHeardAt: at(5), FinishedAt: at(6), ProviderRef: "g2", Outcome: string(weir.Completed)},
		},
	}
	if d := cmp.Diff(want, webtest.Into[api.ContactView](t, r.Do("GET", "/v1/contacts/"+id, ""), 200)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// Back in the queue after its first attempt: the attempt is listed once.
	c = r.Move(r.Contact(ch, weir.Progress{}), weir.Progress{State: weir.Queued, Attempt: 1, ClaimedAt: at(1)}, weir.Attempt{Number: 1, ClaimedAt: at(1), FinishedAt: at(2)})
	if v := webtest.Into[api.ContactView](t, r.Do("GET", "/v1/contacts/"+c.Ref.String(), ""), 200); len(v.Attempts) != 1 || v.Attempts[0].FinishedAt.IsZero() {
		t.Errorf("%+v", v.Attempts)
	}
	for _, id := range []string{"1-99", "1", "1-01", "zz", "1-1-1", "%2e%2e"} {
		if g := r.Do("GET", "/v1/contacts/"+id, ""); g.Status != 404 || g.Problem(t).Code != weir.CodeNotFound {
			t.Errorf("%s: %d", id, g.Status)
		}
	}
}

func TestAPI_ContactsAreListed(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	a, b := r.Channel("a", "texts"), r.Channel("b", "texts")
	names := map[string]string{} // by id
	for i, c := range []weir.Contact{
		r.Contact(a, weir.Progress{}, func(c *weir.Contact) { c.Survey = "s" }),
		r.Contact(a, weir.Progress{State: weir.Delayed, DueAt: time.Now().Add(time.Hour)}, func(c *weir.Contact) { c.Key = "k" }),
		r.Contact(b, weir.Progress{State: weir.Active, Attempt: 1}),
		r.Contact(a, weir.Progress{State: weir.Done, Outcome: weir.Canceled}),
	} {
		names[c.Ref.String()] = fmt.Sprint(i + 1)
	}
	first := webtest.Into[api.ContactList](t, r.Do("GET", "/v1/contacts?channel=a&limit=1", ""), 200)
	for query, want := range map[string][]string{
		"":                          {"1", "2", "4", "3"}, // channel by channel
		"channel=a":                 {"1", "2", "4"},
		"state=queued":              {"1", "2"},
		"state=active,done":         {"4", "3"},
		"survey=s":                  {"1"},
		"channel=a&key=k":           {"2"},
		"channel=b&state=queued":    nil,
		"channel=a&limit=1":         {"1"},
		"channel=a&state=&survey=":  {"1", "2", "4"},
		"channel=b&state=active&a=": nil, // rejected

		"channel=a&cursor=" + first.NextCursor: {"2", "4"},
	} {
		g := r.Do("GET", "/v1/contacts?"+query, "")
		if g.Status == 422 && strings.HasSuffix(query, "a=") {
			continue
		}
		v := webtest.Into[api.ContactList](t, g, 200)
		var ids []string
		for _, c := range v.Contacts {
			ids = append(ids, names[c.ID])
		}
		if d := cmp.Diff(want, ids); d != "" {
			t.Errorf("%s (-want +got):\n%s", query, d)
		}
		if (v.NextCursor != "") != strings.Contains(query, "limit=1") {
			t.Errorf("%s: cursor %q", query, v.NextCursor)
		}
	}
	if g := r.Do("GET", "/v1/contacts?channel=nobody", ""); g.Status != 404 {
		t.Errorf("unknown channel: %d", g.Status)
	}
}

func TestAPI_ContactIsCanceled(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	queued := r.Contact(ch, weir.Progress{})
	active := r.Contact(ch, weir.Progress{State: weir.Active, Attempt: 1})
	done := r.Contact(ch, weir.Progress{State: weir.Done, Outcome: weir.Completed})
	del := func(c weir.Contact) webtest.Got { return r.Do("DELETE", "/v1/contacts/"+c.Ref.String(), "") }
	for range 2 { // a canceled contact may be canceled again
		v := webtest.Into[api.CanceledView](t, del(queued), 200)
		if d := cmp.Diff(api.CanceledView{ID: queued.Ref.String(), State: "done", Outcome: string(weir.Canceled)}, v); d != "" {
			t.Error(d)
		}
	}
	if d := cmp.Diff(api.CanceledView{ID: active.Ref.String(), State: "active"}, webtest.Into[api.CanceledView](t, del(active), 202)); d != "" {
		t.Error(d)
	}
	if v := webtest.Into[api.ContactView](t, r.Do("GET", "/v1/contacts/"+active.Ref.String(), ""), 200); !v.Canceling {
		t.Error("not shown as canceling")
	}
	if g := del(done); g.Status != 409 || g.Problem(t).Code != weir.CodeConflict {
		t.Errorf("%d", g.Status)
	}
	if g := r.Do("DELETE", "/v1/contacts/1-77", ""); g.Status != 404 {
		t.Errorf("%d", g.Status)
	}
}

func TestAPI_IncomingIsReadPageByPage(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	for i := range 3 {
		if _, err := r.Receive(t.Context(), ch.ID, weir.Incoming{From: webtest.PhoneCanary, Body: webtest.TextCanary, GUID: fmt.Sprint(i), ReceivedAt: webtest.Start()}); err != nil {
			t.Fatal(err)
		}
	}
	v := webtest.Into[api.IncomingList](t, r.Do("GET", "/v1/channels/a/incoming?limit=2", ""), 200)
	all := r.Messages(ch)
	if len(v.Incoming) != 2 || v.NextCursor != fmt.Sprint(all[1].ID) {
		t.Fatalf("%+v", v)
	}
	v = webtest.Into[api.IncomingList](t, r.Do("GET", "/v1/channels/a/incoming?after="+v.NextCursor, ""), 200)
	if len(v.Incoming) != 1 || v.Incoming[0].ID != fmt.Sprint(all[2].ID) || v.NextCursor != "" {
		t.Errorf("%+v", v)
	}
}

// overtaken is a broker whose contacts are done before a cancellation reaches
// it.
type overtaken struct {
	web.Broker
	finish func()
}

func (o *overtaken) Cancel(context.Context, weir.Ref) (weir.State, error) {
	o.finish()
	return 0, weir.Errorf(weir.CodeConflict, "it is done")
}

func TestAPI_CancellationThatIsOvertakenIsAConflict(t *testing.T) {
	t.Parallel()
	for outcome, status := range map[weir.Outcome]int{weir.Completed: 409, weir.Canceled: 200} {
		broker := &overtaken{}
		r := webtest.New(t, func(o *web.Options) { broker.Broker, o.Broker = o.Broker, broker })
		c := r.Contact(r.Channel("a", "texts"), weir.Progress{State: weir.Active, Attempt: 1})
		broker.finish = func() { r.Move(c, weir.Progress{State: weir.Done, Attempt: 1, Outcome: outcome}) }
		if g := r.Do("DELETE", "/v1/contacts/"+c.Ref.String(), ""); g.Status != status {
			t.Errorf("%s: %d %s", outcome, g.Status, g.Body)
		}
	}
}

// racing is a store in which the channel is created concurrently, just before.
type racing struct{ web.Store }

func (s racing) PutChannel(ctx context.Context, c weir.Channel) (weir.Channel, bool, error) {
	other := c
	other.Title = "changed concurrently"
	if _, _, err := s.Store.PutChannel(ctx, other); err != nil {
		return c, false, err
	}
	return s.Store.PutChannel(ctx, c)
}

func TestAPI_CreationsThatRaceEndAsOne(t *testing.T) {
	t.Parallel()
	r := webtest.New(t, func(o *web.Options) { o.Store = racing{o.Store} })
	v := webtest.Into[api.ChannelView](t, r.Do("PUT", "/v1/channels/a", webtest.GoodTexts), 200)
	if all, err := r.Store.All(t.Context()); v.Name != "Our texts" || len(all) != 1 {
		t.Errorf("%+v: %+v, %v", v, all, err)
	}
}
