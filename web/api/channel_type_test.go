package api_test

import (
	"testing"

	"weir"
	"weir/api"
	"weir/web/webtest"
)

// TestChannel_NoMoveWhileContactsAreInFlight: otherwise attempts in flight would be
// queried and canceled at a place where the same name may belong to someone
// else's.
func TestChannel_NoMoveWhileContactsAreInFlight(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	c := r.Contact(ch, weir.Progress{State: weir.Active, Attempt: 1})
	const moved = `{"settings":{"base_url":"http://elsewhere.test","token":"t"}}`
	writes := r.Writes()
	for _, method := range []string{"PATCH", "PUT"} {
		body := moved
		if method == "PUT" {
			body = `{"type":"texts","settings":{"base_url":"http://elsewhere.test","token":"t"}}`
		}
		g := r.Do(method, "/v1/channels/a", body)
		if g.Status != 409 {
			t.Errorf("%s: %d %s", method, g.Status, g.Body)
		}
	}
	if r.Writes() != writes {
		t.Error("something was written")
	}
	webtest.Into[api.ChannelView](t, r.Do("PATCH", "/v1/channels/a", `{"capacity":5}`), 200)
	webtest.Into[api.ChannelView](t, r.Do("PATCH", "/v1/channels/a?force=true", moved), 200)
	r.Move(c, weir.Progress{State: weir.Done, Attempt: 1, Outcome: weir.Completed})
	webtest.Into[api.ChannelView](t, r.Do("PATCH", "/v1/channels/a", `{"settings":{"base_url":"http://p.test","token":"t"}}`), 200)
}
