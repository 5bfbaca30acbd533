package api_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/api"
	"weir/web/webtest"
)

// A request that cancels many contacts says every mistake, and then changes nothing.
func TestContactsCancel_BadInputChangesNothing(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "texts")
	webtest.Into[api.AcceptedList](t, r.Do("POST", "/v1/channels/a/contacts", `{"contacts":[{"to":"`+webtest.PhoneCanary+`","messages":["hello"]}]}`), 202)
	for body, want := range map[string]string{
		`{}`: `"required"`, `{"all":true,"contacts":["1-1"]}`: `"/contacts"`, `{"contacts":["x","1-1","!"]}`: `"/contacts/0"`,
		`{"contacts":[]}`: `"/contacts"`, `{"states":["done"]}`: `"/states`, `{"channel":"a","limit":0}`: `"/limit"`, `{"all":true,"until":"soon"}`: `"/until"`,
	} {
		if g := r.Do("POST", "/v1/contacts:cancel", body); g.Status != 422 || !strings.Contains(g.Body, want) {
			t.Errorf("%s: %d %s", body, g.Status, g.Body)
		}
	}
	if g := r.Do("POST", "/v1/contacts:cancel", `{"channel":"none"}`); g.Status != 404 {
		t.Errorf("a channel that does not exist: %d %s", g.Status, g.Body)
	}
	if list := webtest.Into[api.ContactList](t, r.Do("GET", "/v1/contacts?state=queued", ""), 200); len(list.Contacts) != 1 {
		t.Errorf("%d contacts are queued", len(list.Contacts))
	}
}

// Contacts end as canceled once each, the provider is asked for those in flight once, and a
// repetition finds nothing left.
func TestContactsCancel_CountsWhatItDoes(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "texts")
	var list strings.Builder
	for i := range 5 {
		later := ""
		if i == 4 { // it is delayed, and waits as well
			later = `,"not_before":"2100-01-01T00:00:00Z"`
		}
		fmt.Fprintf(&list, `,{"to":"+1555000%d","messages":["hello"]%s}`, i, later)
	}
	got := webtest.Into[api.AcceptedList](t, r.Do("POST", "/v1/channels/a/contacts", `{"contacts":[`+list.String()[1:]+`]}`), 202)
	count := webtest.Into[api.CancelDone](t, r.Do("POST", "/v1/contacts:cancel", `{"all":true,"dry_run":true}`), 200)
	if count != (api.CancelDone{DryRun: true, Matching: 5, Waiting: 5}) {
		t.Errorf("counted %+v", count)
	}
	two := fmt.Sprintf(`{"contacts":["%s","%s","%s","1-zzzzz"]}`, got.Contacts[0].ID, got.Contacts[1].ID, got.Contacts[1].ID)
	if done := webtest.Into[api.CancelDone](t, r.Do("POST", "/v1/contacts:cancel", two), 200); done != (api.CancelDone{Matching: 2, Waiting: 2, Canceled: 2, Ended: 1}) {
		t.Errorf("of a list: %+v", done)
	}
	if done := webtest.Into[api.CancelDone](t, r.Do("POST", "/v1/contacts:cancel", two), 200); done != (api.CancelDone{Ended: 3}) {
		t.Errorf("of the same list again: %+v", done)
	}
	if done := webtest.Into[api.CancelDone](t, r.Do("POST", "/v1/contacts:cancel", `{"channel":"a","limit":1}`), 200); done.Canceled != 1 || !done.More {
		t.Errorf("with a limit: %+v", done)
	}
	if done := webtest.Into[api.CancelDone](t, r.Do("POST", "/v1/contacts:cancel", `{"channel":"a","states":["queued"]}`), 200); done.Canceled != 2 || done.More {
		t.Errorf("the rest: %+v", done)
	}
	if done := webtest.Into[api.CancelDone](t, r.Do("POST", "/v1/contacts:cancel", `{"all":true}`), 200); done != (api.CancelDone{}) {
		t.Errorf("nothing is left: %+v", done)
	}
}

// The contacts of a request are canceled at the same time, and each is.
func TestContactsCancel_ManyAtOnce(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "texts")
	list := make([]string, 200)
	for i := range list {
		list[i] = fmt.Sprintf(`{"to":"+15550%03d","messages":["hello"]}`, i)
	}
	r.Do("POST", "/v1/channels/a/contacts", `{"contacts":[`+strings.Join(list, ",")+`]}`)
	if done := webtest.Into[api.CancelDone](t, r.Do("POST", "/v1/contacts:cancel", `{"all":true}`), 200); done != (api.CancelDone{Matching: 200, Waiting: 200, Canceled: 200}) {
		t.Errorf("%+v", done)
	}
}
