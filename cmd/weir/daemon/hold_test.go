package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/cmd/weir/cli"
	"weir/cmd/weir/daemon"
	"weir/internal/polling"
	"weir/test/daemontest"
)

// Scenario 192: a Weir that starts with --paused, as on a restored copy, sends no request
// to any provider and posts no event, also after a restart without the flag, until weir resume.
func TestHold_PausedStartCallsNobody(t *testing.T) {
	t.Parallel()
	onBothStores(t, startPaused)
}

// pausable is a daemon whose provider and subscriber count the requests that they receive.
type pausable struct {
	*testing.T
	database, provider string
	sent               atomic.Int64
	url                string
}

func (p *pausable) start(environ ...string) (stop func()) {
	p.Helper()
	d, stop := daemontest.Run(p, daemon.Options{Config: configuration(p.T, append(environ,
		"DATABASE_URL="+p.database, "LISTEN_ADDR=127.0.0.1:0", "JOB_ROUTER_EVENT_SUBSCRIPTIONS="+p.provider+"#eventgrid")...)})
	p.url = "http://" + d.Addr()
	return stop
}

func (p *pausable) do(method, path, body string) map[string]any {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var out map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || resp.StatusCode >= 300 {
		p.Fatalf("%s %s: %d %v %v", method, path, resp.StatusCode, out, err)
	}
	return out
}

func startPaused(t *testing.T, database string) {
	t.Helper()
	p := &pausable{T: t, database: database}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.sent.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	p.provider = server.URL
	stop := p.start("WEIR_PAUSED=true")
	p.do("PUT", "/v1/channels/sms", fmt.Sprintf(`{"type":"nuntium","settings":{"base_url":%q,"account":"a","application":"b","password":"c","channel":"d"}}`, server.URL))
	p.do("PUT", "/v1/channels/idle", `{"type":"http","settings":{"template":{"send":{"url":"https://gateway.example/"},"answer":[{"status":"2xx","fate":"completed"}]}}}`)
	p.do("POST", "/v1/channels/sms/contacts", `{"contacts":[{"to":"+15550001","messages":["hello"]}]}`)
	stop()
	stop = p.start()
	if !polling.Until(20*time.Second, 50*time.Millisecond, func() bool { return p.do("GET", "/readyz", "")["ready"] == true }) {
		t.Fatal("not ready within 20 s")
	}
	if polling.Until(3*time.Second, 50*time.Millisecond, func() bool { return p.sent.Load() > 0 }) {
		t.Errorf("%d requests went out while Weir was held", p.sent.Load())
	}
	ready := p.do("GET", "/readyz", "")
	if ready["ready"] != true || ready["held_since"] == nil {
		t.Errorf("/readyz: %v", ready)
	}
	for _, name := range []string{"idle", "sms"} {
		if state := p.do("GET", "/v1/channels/"+name, "")["state"]; state != "paused" {
			t.Errorf("channel %s is %v", name, state)
		}
	}
	list := p.do("GET", "/v1/channels", "")["channels"].([]any)
	for _, ch := range list {
		if got := ch.(map[string]any); got["state"] != "paused" || got["paused"] == true {
			t.Errorf("in the list, channel %v is %v, paused by a user: %v", got["channel"], got["state"], got["paused"])
		}
	}
	if len(list) != 2 {
		t.Errorf("%d channels are listed, want 2", len(list))
	}
	p.do("PUT", "/v1/surveys/s", `{"schedule":{"time_zone":"UTC","weekdays":["mon","tue","wed","thu","fri","sat","sun"],"windows":[{"from":"00:00","to":"24:00"}]},`+
		`"modes":{"sms":{"channel":"sms"}},"arms":[{"modes":["sms"]}],"questionnaires":{"q":{"sms":[{"messages":["hello"]}]}}}`)
	p.do("POST", "/v1/surveys/s/respondents", `{"respondents":[{"phone":"+12025550001"}]}`)
	p.do("POST", "/v1/surveys/s:launch", "")
	for _, path := range []string{"/v1/channels/sms", "/v1/surveys/s"} {
		if got := p.do("GET", path, ""); got["why_code"] != "channel_paused" || !strings.Contains(fmt.Sprint(got["why"]), "weir resume") {
			t.Errorf("%s waits because of %v: %v", path, got["why_code"], got["why"])
		}
	}
	if who := p.do("GET", "/v1/whoami", ""); who["held"] != true {
		t.Errorf("whoami: %v", who)
	}
	var out, errors bytes.Buffer
	if code := cli.Run(t.Context(), []string{"resume", "--url", p.url}, cli.Options{Stdout: &out, Stderr: &errors}); code != 0 {
		t.Fatalf("weir resume: %d %s", code, &errors)
	}
	if !polling.Until(20*time.Second, 50*time.Millisecond, func() bool { return p.sent.Load() > 0 }) {
		t.Fatal("nothing went out after weir resume")
	}
	if ready := p.do("GET", "/readyz", ""); ready["held_since"] != nil {
		t.Errorf("/readyz after it: %v", ready)
	}
	stop()
	before := p.sent.Load()
	p.start()
	if held := p.do("GET", "/v1/hold", ""); held["held"] != false {
		t.Errorf("after another restart: %v, %d sent before", held, before)
	}
}
