package web_test

import (
	"testing"

	"weir/web/api"
)

// A channel type with content Any accepts a text, a link, both and neither.
func TestAccept_AnyContentIsAccepted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.channel("a", "people")
	bare, both := `{"to":"+15550001"}`, `{"to":"+15550001","messages":["hi"],"call":{"callback_url":"https://form.example/1"}}`
	v := into[api.AcceptedList](t, r.do("POST", "/v1/channels/a/contacts", batch(bare, text(""), call(`{"call_flow_id":7}`), both)), 202)
	if len(v.Contacts) != 4 || r.contacts[0].Size() != 1 || r.contacts[3].Call == nil || len(r.contacts[3].Messages) != 1 {
		t.Errorf("%+v", v)
	}
}
