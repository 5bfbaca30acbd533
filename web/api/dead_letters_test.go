package api_test

import (
	"strings"
	"testing"
	"time"

	"weir"
	"weir/api"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/webtest"
)

func TestDeadLetters_AreShown(t *testing.T) {
	t.Parallel()
	r, _, list := webtest.DeadRig(t, 3)
	page := webtest.Into[api.DeadList](t, r.Do("GET", "/v1/dead-letters?channel=a&outcome=failed&reason=refused:+%E2%80%A6&limit=2", ""), 200)
	if len(page.DeadLetters) != 2 || page.NextCursor == "" || page.DeadLetters[0].Contact.ID != list[2].Ref.String() || page.DeadLetters[0].Reason != "refused: …" {
		t.Errorf("%+v", page)
	}
	rest := webtest.Into[api.DeadList](t, r.Do("GET", "/v1/dead-letters?channel=a&cursor="+page.NextCursor, ""), 200)
	if len(rest.DeadLetters) != 1 || rest.NextCursor != "" || rest.DeadLetters[0].Contact.ID != list[0].Ref.String() {
		t.Errorf("%+v", rest)
	}
	groups := webtest.Into[api.DeadGroups](t, r.Do("GET", "/v1/dead-letters/groups", ""), 200)
	if len(groups.Groups) != 1 || groups.Groups[0].Count != 3 || groups.Groups[0].Channel != "a" || groups.Groups[0].Reason != "refused: …" {
		t.Errorf("%+v", groups)
	}
	if none := webtest.Into[api.DeadList](t, r.Do("GET", "/v1/dead-letters?channel=b", ""), 200); len(none.DeadLetters) != 0 {
		t.Errorf("%+v", none)
	}
	r.Refuses(t, "GET", "/v1/dead-letters?outcome=busy", webtest.Refused{Mistakes: []webtest.Mistake{{Pointer: "/outcome", Code: "enum"}}})
	r.Refuses(t, "GET", "/v1/dead-letters?cursor=x", webtest.Refused{Mistakes: []webtest.Mistake{{Pointer: "/cursor", Code: "format"}}})
}

func TestContacts_AreListedBetweenTwoInstants(t *testing.T) {
	t.Parallel()
	r, _, list := webtest.DeadRig(t, 3)
	from := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	to := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for query, want := range map[string]int{
		"since=" + from + "&until=" + to + "&state=done&channel=a": len(list), "since=" + from + "&outcome=failed": len(list),
		"since=" + to: 0, "until=" + from: 0,
	} {
		if page := webtest.Into[api.ContactList](t, r.Do("GET", "/v1/contacts?"+query, ""), 200); len(page.Contacts) != want {
			t.Errorf("%s: %d contacts, want %d", query, len(page.Contacts), want)
		}
	}
}

func TestDeadLetters_HideNumbers(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return webtest.Start() }
	b := webtest.NewBearers(t, now)
	r, _, _ := webtest.DeadRig(t, 1, func(o *web.Options) { o.Now = now })
	open := r.Do("GET", "/v1/dead-letters", "")
	if !strings.Contains(open.Body, webtest.PhoneCanary) {
		t.Errorf("%s", open.Body)
	}
	store := storetest.SQLite(t)
	masked := webtest.New(t, func(o *web.Options) { o.Gate, o.Store, o.Dead, o.Now = b.Gate, store, store, now })
	ch, _, err := store.PutChannel(t.Context(), weir.Channel{Name: "a", Type: "texts", Capacity: 1})
	if err != nil {
		t.Fatal(err)
	}
	webtest.FailAll(t, store, ch.ID, []weir.Spec{{To: webtest.PhoneCanary}})
	for _, path := range []string{"/v1/dead-letters", "/v1/dead-letters/groups"} {
		g := masked.As("GET", path, "", b.Text["contacts:read"])
		if g.Status != 200 || strings.Contains(g.Body, webtest.PhoneCanary[1:]) {
			t.Errorf("%d %s", g.Status, g.Body)
		}
	}
}

func TestDeadLetters_AreRequeuedInBulk(t *testing.T) {
	t.Parallel()
	r, store, list := webtest.DeadRig(t, 450)
	do := func(step, body string) api.DeadDone {
		t.Helper()
		return webtest.Into[api.DeadDone](t, r.Do("POST", "/v1/dead-letters:"+step, body), 200)
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
	g := r.Do("POST", "/v1/dead-letters:requeue", `{"contacts":["`+list[1].Ref.String()+`","`+theirs+`"]}`)
	if p := g.Problem(t); g.Status != 409 || len(p.Errors) != 1 || p.Errors[0].Pointer != "/contacts/1" {
		t.Errorf("a respondent's: %d %s", g.Status, g.Body)
	}
	for body, want := range map[string]webtest.Mistake{
		`{}`:                              {Pointer: "", Code: "required"},
		`{"dry_run":true}`:                {Pointer: "", Code: "required"},
		`{"contacts":["x"]}`:              {Pointer: "/contacts/0", Code: "format"},
		`{"contacts":["1-1"],"all":true}`: {Pointer: "/contacts", Code: "conflict"},
		`{"all":true,"limit":10001}`:      {Pointer: "/limit", Code: "range"},
		`{"outcome":"busy"}`:              {Pointer: "/outcome", Code: "enum"},
	} {
		g := r.Do("POST", "/v1/dead-letters:discard", body)
		if p := g.Problem(t); g.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Pointer != want.Pointer || p.Errors[0].Code != want.Code {
			t.Errorf("%s: %d %s", body, g.Status, g.Body)
		}
	}
}
