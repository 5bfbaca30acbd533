package daemon_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// TestMetrics_NamesAndLabelsFollowTheConventions checks the metrics of a program that has done some work: their
// names follow the conventions, the metrics that dashboards and alerts use are
// present, and no label holds a phone number, an id or a secret.
func TestMetrics_NamesAndLabelsFollowTheConventions(t *testing.T) {
	t.Parallel()
	r := newRig(t, environment(sqliteURL(t)))
	r.do("PUT", "/v1/channels/sms", map[string]any{"type": "nuntium", "capacity": 3, "settings": map[string]any{
		"base_url": r.smsURL, "account": "demo", "application": "weir", "token": "token", "channel": "sms",
	}}, nil)
	var accepted struct{ Contacts []struct{ ID string } }
	r.do("POST", "/v1/channels/sms/contacts", map[string]any{"contacts": []map[string]any{
		{"key": "canary-key", "to": "+15559871234", "messages": []string{"canary text"}},
	}}, &accepted)
	r.eventually("it is done", func() bool {
		var c struct{ State string }
		r.do("GET", "/v1/contacts/"+accepted.Contacts[0].ID, nil, &c)
		return c.State == "done"
	})
	text := r.metrics()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "weir_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	for _, canary := range []string{"5559871234", accepted.Contacts[0].ID, "canary", `"token"`, "/callbacks/sms/"} {
		if strings.Contains(text, canary) {
			t.Errorf("the figures hold %q", canary)
		}
	}
	var missing []string
	for _, name := range promised() {
		if !regexp.MustCompile(`(?m)^weir_` + name + `(_bucket|_count)?[{ ]`).MatchString(text) {
			missing = append(missing, name)
		}
	}
	if d := cmp.Diff([]string(nil), missing); d != "" {
		t.Errorf("missing (+): %s", d)
	}
}

// promised lists the metrics that users may rely on, except reconciler_contacts_total, which
// appears with the first contact that the reconciler asks about.
func promised() []string {
	return []string{
		"channel_capacity_contacts", "channel_active_contacts", "channel_sending_contacts", "channel_unknown_contacts",
		"channel_queued_contacts", "channel_blocked_contacts", "channel_in_flight_slots", "channel_oldest_queued_timestamp_seconds",
		"channel_state", "contacts_accepted_total", "contacts_finished_total", "contact_wait_seconds", "contact_active_seconds",
		"provider_requests_total", "provider_request_duration_seconds", "provider_breaker_state", "provider_retry_budget_ratio",
		"reconciler_runs_total", "callbacks_total", "actor_restarts_total", "actor_panics_total",
		"mailbox_messages", "db_errors_total", "db_transaction_retries_total",
		"db_clock_skew_seconds", "dead_letters_total", "http_requests_total", "http_request_duration_seconds", "build_info",
	}
}

func (r *rig) metrics() string {
	r.t.Helper()
	resp, err := http.Get(r.url + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}
