package web_test

import (
	"testing"

	"weir"
	"weir/web/api"
)

// TestChannel_NoMoveWhileContactsAreInFlight: otherwise attempts in flight would be
// queried and canceled at a place where the same name may belong to someone
// else's.
func TestChannel_NoMoveWhileContactsAreInFlight(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.channel("a", "texts")
	r.contacts = append(r.contacts, weir.Contact{
		Ref: weir.Ref{Channel: ch.ID, ID: 1}, Spec: weir.Spec{Messages: []string{"x"}}, Progress: weir.Progress{State: weir.Active},
	})
	const moved = `{"settings":{"base_url":"http://elsewhere.test","token":"t"}}`
	writes := r.writes
	for _, method := range []string{"PATCH", "PUT"} {
		body := moved
		if method == "PUT" {
			body = `{"type":"texts","settings":{"base_url":"http://elsewhere.test","token":"t"}}`
		}
		g := r.do(method, "/v1/channels/a", body)
		if g.status != 409 {
			t.Errorf("%s: %d %s", method, g.status, g.body)
		}
	}
	if r.writes != writes {
		t.Error("something was written")
	}
	into[api.ChannelView](t, r.do("PATCH", "/v1/channels/a", `{"capacity":5}`), 200)
	into[api.ChannelView](t, r.do("PATCH", "/v1/channels/a?force=true", moved), 200)
	r.contacts[0].State = weir.Done
	into[api.ChannelView](t, r.do("PATCH", "/v1/channels/a", `{"settings":{"base_url":"http://p.test","token":"t"}}`), 200)
}
