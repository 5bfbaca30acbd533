package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/polling"
)

// A template may name any address, so it may not reach into the operator's network: only
// public https and loopback, unless WEIR_OUTBOUND_ALLOW says more. Redirects are not
// followed, either.
// Scenario 264.
func TestOutbound_TemplatesStayOutOfTheNetwork(t *testing.T) {
	t.Parallel()
	var requests, leaks atomic.Int64
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaks.Add(1) }))
	t.Cleanup(inner.Close)
	gateway := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if requests.Add(1); r.URL.Path == "/away" {
			http.Redirect(rw, r, inner.URL, http.StatusTemporaryRedirect)
			return
		}
		_, _ = rw.Write([]byte(`{"id":"m1"}`))
	}))
	t.Cleanup(gateway.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(gateway.URL, "http://"), ":")
	template := func(url string) map[string]any {
		return map[string]any{"template": json.RawMessage(fmt.Sprintf(
			`{"send":{"url":%q,"json":{"text":"{text}"}},"answer":[{"status":"200","ref":"/id","fate":"completed"}]}`, url))}
	}
	for name, tt := range map[string]struct {
		url     string
		outcome string // empty: it is not sent
	}{
		"loopback":    {gateway.URL + "/", "completed"},
		"unspecified": {"http://0.0.0.0:" + port + "/", ""},
		"private":     {"https://10.1.2.3/", ""},
		"metadata":    {"http://169.254.169.254/", ""},
		"redirected":  {gateway.URL + "/away", ""},
	} {
		r := newRig(t, environment(sqliteURL(t)))
		before := requests.Load()
		if got := r.do("PUT", "/v1/channels/sms", map[string]any{"type": "http", "capacity": 1, "settings": template(tt.url)}, nil); got != 201 {
			t.Fatal(name, got)
		}
		var made struct{ Contacts []struct{ ID string } }
		r.do("POST", "/v1/channels/sms/contacts", map[string]any{"contacts": []map[string]any{{"to": "+15550001", "messages": []string{"hello"}}}}, &made)
		var c struct {
			State, Outcome string
			Attempts       []struct{ Result string }
		}
		if !polling.Until(20*time.Second, 20*time.Millisecond, func() bool {
			r.do("GET", "/v1/contacts/"+made.Contacts[0].ID, nil, &c)
			return c.Outcome != "" || len(c.Attempts) > 0 && c.State == "queued"
		}) {
			t.Errorf("%s: %+v", name, c)
		}
		if c.Outcome != tt.outcome {
			t.Errorf("%s: %+v", name, c)
		}
		if tt.outcome == "" && tt.url != gateway.URL+"/away" && requests.Load() != before {
			t.Errorf("%s: a request was made", name)
		}
		r.stop()
	}
	if leaks.Load() > 0 {
		t.Errorf("%d redirects were followed", leaks.Load())
	}
}
