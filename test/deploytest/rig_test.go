package deploytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	nuntium "weir/channels/nuntium/simulator"
	verboice "weir/channels/verboice/simulator"
	"weir/client/routerclient"
	"weir/cmd/weir/daemon"
	"weir/internal/hmacsign"
	"weir/internal/polling"
	"weir/router/acd"
	"weir/test/daemontest"
)

const (
	token = "a-token-for-these-tests"
	key   = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldC0="
)

// rig is a running Weir with both simulated providers.
type rig struct {
	*testing.T
	addr       string
	stop       func() // ends Weir
	sms        *nuntium.Server
	texts, ivr string // addresses of the simulated providers
}

// start runs a Weir with further variables, given as alternating names and values.
func start(t *testing.T, more ...string) *rig {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	texts, err := nuntium.New(nuntium.Options{
		Applications: []nuntium.Application{{Name: "weir", Password: "secret"}}, Channels: []nuntium.Channel{{Name: "sms", Application: "weir", Enabled: true}},
		DeliverTime: 5 * time.Millisecond, ConfirmTime: 5 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	calls, err := verboice.New(verboice.Options{
		Ring: time.Millisecond, Talk: 5 * time.Millisecond, SkipFlows: true, Channels: []verboice.Channel{{ID: 1, Name: "main", Limit: 50}},
		Faults: []string{"drop:0.3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	go texts.Run(ctx)
	go calls.Run(ctx)
	r := &rig{T: t, sms: texts, texts: serve(t, texts), ivr: serve(t, calls)}
	variables := map[string]string{
		"DATABASE_URL": "sqlite://" + filepath.Join(t.TempDir(), "weir.db"), "LISTEN_ADDR": "127.0.0.1:0", "WEIR_API_TOKENS": token, "JOB_ROUTER_ACCESS_KEYS": key,
		"CHNL_BKR_GC_IDLE_MINUTES": "0.005", "CHNL_BKR_GC_INTERVAL_MINUTES": "0.005", "WEIR_SETTLE_AFTER": "100ms", "WEIR_SEND_TIMEOUT": "90ms",
		"PUBLIC_URL": "http://127.0.0.1:1",
	}
	for i := 0; i+1 < len(more); i += 2 {
		variables[more[i]] = more[i+1]
	}
	cfg, complaints := load(t, variables)
	_ = complaints // warnings about the short times
	cfg.PublicURL = ""
	d, stop := daemontest.Run(t, daemon.Options{Config: cfg, Logger: slog.New(slog.DiscardHandler), Version: "test"})
	r.addr, r.stop = d.Addr(), stop
	return r
}

func serve(t *testing.T, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// do sends a request to the API.
func (r *rig) do(method, path string, body any) {
	r.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		r.Fatal(err)
	}
	answer, status := r.get(method, "http://"+r.addr+path, text)
	if status >= 300 {
		r.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
}

func (r *rig) get(method, url string, body []byte) (string, int) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	return string(text), resp.StatusCode
}

// furnish creates channels, a survey and a contact center.
func (r *rig) furnish() {
	r.Helper()
	r.do("PUT", "/v1/channels/sms", object{"type": "nuntium", "capacity": 20, "settings": object{
		"base_url": r.texts, "account": "demo", "application": "weir", "password": "secret", "channel": "sms"}})
	r.do("PUT", "/v1/channels/calls", object{"type": "verboice", "capacity": 10, "settings": object{
		"base_url": r.ivr, "username": "u", "password": "p", "channel": "main"}})
	r.do("PUT", "/v1/surveys/flu", object{
		"schedule": object{"time_zone": "UTC", "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, "windows": []object{{"from": "00:00", "to": "24:00"}}},
		"modes":    object{"sms": object{"channel": "sms", "retries": "1h"}}, "arms": []object{{"modes": []string{"sms"}}},
		"questionnaires": object{"q": object{"sms": []object{{"messages": []string{"Hello {{respondent}}"}}}}},
	})
	var people []object
	for i := range 200 {
		people = append(people, object{"phone": fmt.Sprintf("+1555%07d", i)})
	}
	r.do("POST", "/v1/surveys/flu/respondents", object{"respondents": people})
	r.do("POST", "/v1/surveys/flu:launch", object{})
	r.centre()
}

// centre loads the example of a contact center into the router, with a job that no
// worker can take.
func (r *rig) centre() {
	r.Helper()
	k, err := hmacsign.ParseKey(key)
	if err != nil {
		r.Fatal(err)
	}
	to, err := routerclient.New("http://"+r.addr, &k, "", time.Now)
	if err != nil {
		r.Fatal(err)
	}
	defer to.Close()
	patch := func(kind, id string, spec any) {
		r.Helper()
		if err := to.Patch(r.Context(), kind, id, spec); err != nil {
			r.Fatal(err)
		}
	}
	x := acd.Seed(5, 1)
	for id, spec := range x.Distribution {
		patch("distributionPolicies", id, spec)
	}
	for id, spec := range x.Exception {
		patch("exceptionPolicies", id, spec)
	}
	for id, spec := range x.Queues {
		patch("queues", id, spec)
	}
	for _, w := range x.Agents {
		patch("workers", w.ID, w.Spec)
	}
	patch("jobs", "j1", object{"channelId": acd.Channel, "queueId": acd.Callers, "requestedWorkerSelectors": []object{{"key": "none", "labelOperator": "equal", "value": true}}})
	patch("jobs", "j2", object{"channelId": acd.Channel, "queueId": acd.Callers})
}

// traffic queues contacts on both channels, and lets a person send a message.
func (r *rig) traffic(round int) {
	r.Helper()
	var texts, calls []object
	for i := range 20 {
		name, to := fmt.Sprintf("%d-%d", round, i), fmt.Sprintf("+1556%07d", i)
		texts = append(texts, object{"key": name, "to": to, "messages": []string{"hello"}})
		calls = append(calls, object{"key": name, "to": to, "call": object{"callback_url": "http://127.0.0.1:1/flow"}})
	}
	r.do("POST", "/v1/channels/sms/contacts", object{"contacts": texts})
	r.do("POST", "/v1/channels/calls/contacts", object{"contacts": calls})
	if _, _, err := r.sms.Receive(nuntium.Incoming{Channel: "sms", From: "+15550009", To: "4000", Body: "hi"}); err != nil {
		r.Log(err) // until the channel has set up its address
	}
}

// until waits until done reports true.
func (r *rig) until(what string, most time.Duration, done func() bool) {
	r.Helper()
	if !polling.Until(most, 100*time.Millisecond, done) {
		r.Fatalf("in %v it did not happen that %s", most, what)
	}
}
