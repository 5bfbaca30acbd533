package api_test

import (
	"testing"
	"time"

	"weir"
	"weir/api"
	"weir/web/webtest"
)

// A request with contacts does not read the channel's row each time, but
// changes by another process still take effect.
func TestAccept_ContactsGoToTheChannelAsItIs(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	first := r.Channel("a", "texts", func(c *weir.Channel) { c.Capacity = 1 })
	post := func(body string, want weir.ChannelID) {
		t.Helper()
		v := webtest.Into[api.AcceptedList](t, r.Do("POST", "/v1/channels/a/contacts", body), 202)
		ref, err := weir.ParseRef(v.Contacts[0].ID)
		if err != nil || ref.Channel != want {
			t.Errorf("went to channel %d (%v), want %d", ref.Channel, err, want)
		}
	}
	for range 20 {
		post(webtest.Batch(webtest.Text("")), first.ID)
	}
	if r.Lookups != 1 {
		t.Errorf("the row was read %d times for 20 requests", r.Lookups)
	}

	large := `{"to":"+15550001","messages":["one","two"]}`
	r.Refuses(t, "POST", "/v1/channels/a/contacts", webtest.Refused{Body: webtest.Batch(large), Code: weir.CodeInvalid, Mistakes: []webtest.Mistake{{Pointer: "/contacts/0/messages", Code: "size"}}})
	r.Channel("a", "texts", func(c *weir.Channel) { c.Capacity = 2 })
	post(webtest.Batch(large), first.ID) // the capacity was raised a moment ago

	for _, c := range r.All() {
		r.Move(c, weir.Progress{State: weir.Done, Outcome: weir.Canceled})
	}
	if err := r.DeleteChannel(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	second := r.Channel("a", "texts")
	post(webtest.Batch(webtest.Text("")), second.ID)

	for _, c := range r.All() {
		r.Move(c, weir.Progress{State: weir.Done, Outcome: weir.Canceled})
	}
	if err := r.DeleteChannel(t.Context(), second.ID); err != nil {
		t.Fatal(err)
	}
	r.Clock.Advance(time.Millisecond)
	r.Refuses(t, "POST", "/v1/channels/a/contacts", webtest.Refused{Body: webtest.Batch(webtest.Text("")), Status: 404, Code: weir.CodeNotFound})
}
