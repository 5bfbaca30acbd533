package api_test

import (
	"testing"

	"weir/api"
	"weir/web/webtest"
)

// A channel type with content Any accepts a text, a link, both and neither.
func TestAccept_AnyContentIsAccepted(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Channel("a", "people")
	bare, both := `{"to":"+15550001"}`, `{"to":"+15550001","messages":["hi"],"call":{"callback_url":"https://form.example/1"}}`
	v := webtest.Into[api.AcceptedList](t, r.Do("POST", "/v1/channels/a/contacts", webtest.Batch(bare, webtest.Text(""), webtest.Call(`{"call_flow_id":7}`), both)), 202)
	if all := r.All(); len(v.Contacts) != 4 || all[0].Size() != 1 || all[3].Call == nil || len(all[3].Messages) != 1 {
		t.Errorf("%+v", v)
	}
}
