package daemon_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"weir/internal/polling"
	"weir/internal/tracing/tracingtest"
)

// TestTracing_TracesReachTheCollector runs the complete program with the variables of
// OpenTelemetry; its end exports what is left.
func TestTracing_TracesReachTheCollector(t *testing.T) {
	t.Parallel()
	for _, disabled := range []string{"false", "true"} {
		c := tracingtest.New(t)
		collector := httptest.NewServer(c)
		t.Cleanup(collector.Close)
		env := environment(sqliteURL(t))
		env["OTEL_EXPORTER_OTLP_ENDPOINT"], env["OTEL_SERVICE_NAME"], env["OTEL_SDK_DISABLED"] = collector.URL, "sms broker", disabled
		r := newRig(t, env)
		r.do("PUT", "/v1/channels/sms", map[string]any{"type": "nuntium", "capacity": 7, "settings": map[string]any{
			"base_url": r.smsURL, "account": "demo", "application": "weir", "token": "token", "channel": "sms",
		}}, nil)
		var accepted struct{ Contacts []struct{ ID string } }
		r.do("POST", "/v1/channels/sms/contacts", map[string]any{"contacts": []any{map[string]any{"to": "+15550001", "messages": []string{"hello"}}}}, &accepted)
		if !polling.Until(15*time.Second, 5*time.Millisecond, func() bool {
			var contact struct{ State string }
			r.do("GET", "/v1/contacts/"+accepted.Contacts[0].ID, nil, &contact)
			return contact.State == "done"
		}) {
			t.Fatal("the contact is not done")
		}
		r.stop()
		if disabled == "true" {
			if c.Requests() > 0 {
				t.Error("traces were exported")
			}
			continue
		}
		whole, dispatch := c.One("contact"), c.One("dispatch nuntium")
		if whole.Service != "sms broker" || whole.Attributes["weir.contact.id"] != accepted.Contacts[0].ID || dispatch.Parent != whole.ID {
			t.Errorf("%+v\n%+v", whole, dispatch)
		}
	}
}
