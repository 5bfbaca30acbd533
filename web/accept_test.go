package web_test

import (
	"testing"
	"time"

	"weir"
	"weir/web/api"
)

// A request with contacts does not read the channel's row each time, but
// changes by another process still take effect.
func TestAccept_ContactsGoToTheChannelAsItIs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.channel("a", "texts", func(c *weir.Channel) { c.Capacity = 1 })
	post := func(body string, want weir.ChannelID) {
		t.Helper()
		v := into[api.AcceptedList](t, r.do("POST", "/v1/channels/a/contacts", body), 202)
		ref, err := weir.ParseRef(v.Contacts[0].ID)
		if err != nil || ref.Channel != want {
			t.Errorf("went to channel %d (%v), want %d", ref.Channel, err, want)
		}
	}
	for range 20 {
		post(batch(text("")), first.ID)
	}
	if r.lookups != 1 {
		t.Errorf("the row was read %d times for 20 requests", r.lookups)
	}

	large := `{"to":"+15550001","messages":["one","two"]}`
	r.refuses(t, "POST", "/v1/channels/a/contacts", refused{body: batch(large), code: weir.CodeInvalid, mistakes: []mistake{{"/contacts/0/messages", "size"}}})
	r.channel("a", "texts", func(c *weir.Channel) { c.Capacity = 2 })
	post(batch(large), first.ID) // the capacity was raised a moment ago

	r.channels[0].Deleted = true
	second := r.channel("a", "texts")
	post(batch(text("")), second.ID)

	r.channels[1].Deleted = true
	r.clock.advance(time.Millisecond)
	r.refuses(t, "POST", "/v1/channels/a/contacts", refused{body: batch(text("")), status: 404, code: weir.CodeNotFound})
}
