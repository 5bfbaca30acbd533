package daemon_test

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

	"weir/channels/nuntium/simulator"
	verboice "weir/channels/verboice/simulator"
	"weir/cmd/weir/daemon"
	"weir/config"
	"weir/internal/polling"
	"weir/test/daemontest"
)

// rig is a daemon with both simulated providers.
type rig struct {
	t       *testing.T
	url     string
	sms     *simulator.Server
	calls   *verboice.Server
	smsURL  string
	callURL string
	stop    func()
}

func environment(db string) map[string]string {
	return map[string]string{
		"DATABASE_URL": db, "LISTEN_ADDR": "127.0.0.1:0",
		"CHNL_BKR_GC_IDLE_MINUTES": "0.05", "CHNL_BKR_GC_INTERVAL_MINUTES": "0.02", "WEIR_SETTLE_AFTER": "1s",
	}
}

func newRig(t *testing.T, env map[string]string) *rig {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &rig{t: t}
	r.sms = must(simulator.New(simulator.Options{
		Applications: []simulator.Application{{Name: "weir", Password: "secret", Tokens: []string{"token"}}},
		Channels: []simulator.Channel{
			{Name: "sms", Application: "weir", Enabled: true}, {Name: "second", Application: "weir", Enabled: true},
		},
		DeliverTime: 5 * time.Millisecond, ConfirmTime: 5 * time.Millisecond}))
	r.calls = must(verboice.New(verboice.Options{
		Ring: time.Millisecond, Talk: 5 * time.Millisecond, SkipFlows: true,
		Channels: []verboice.Channel{{ID: 1, Name: "main", Limit: 50}},
	}))
	go r.sms.Run(ctx)
	go r.calls.Run(ctx)
	sms, calls := httptest.NewServer(r.sms), httptest.NewServer(r.calls)
	r.smsURL, r.callURL = sms.URL, calls.URL
	list := []string{}
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	cfg, _, err := config.Load(list)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		sms.Close()
		calls.Close()
	})
	d, stop := daemontest.Run(t, daemon.Options{Config: cfg, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	r.stop = stop
	r.url = "http://" + d.Addr()
	return r
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (r *rig) do(method, path string, body any, into any) int {
	r.t.Helper()
	b, _ := json.Marshal(body)
	req, _ := http.NewRequestWithContext(r.t.Context(), method, r.url+path, bytes.NewReader(b))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			r.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, text)
		}
	}
	if resp.StatusCode >= 400 {
		r.t.Logf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	return resp.StatusCode
}

// TestDaemon_ContactsRunThrough sends SMS and calls through the complete program.
func TestDaemon_ContactsRunThrough(t *testing.T) {
	t.Parallel()
	r := newRig(t, environment("sqlite://"+filepath.Join(t.TempDir(), "weir.db")))
	r.do("PUT", "/v1/channels/sms", map[string]any{"type": "nuntium", "capacity": 7, "settings": map[string]any{
		"base_url": r.smsURL, "account": "demo", "application": "weir", "token": "token", "channel": "sms",
	}}, nil)
	r.do("PUT", "/v1/channels/calls", map[string]any{"type": "verboice", "capacity": 5, "settings": map[string]any{
		"base_url": r.callURL, "username": "u", "password": "p", "channel": "main",
	}}, nil)
	var sms, calls []map[string]any
	for i := range 100 {
		sms = append(sms, map[string]any{"key": fmt.Sprint("s", i), "to": fmt.Sprintf("+1555%07d", i), "messages": []string{"hello"}})
		calls = append(calls, map[string]any{"key": fmt.Sprint("c", i), "to": fmt.Sprintf("+1555%07d", i), "call": map[string]any{"callback_url": "http://127.0.0.1:1/flow"}})
	}
	if got := r.do("POST", "/v1/channels/sms/contacts", map[string]any{"contacts": sms}, nil); got != 202 {
		t.Fatal(got)
	}
	if got := r.do("POST", "/v1/channels/calls/contacts", map[string]any{"contacts": calls}, nil); got != 202 {
		t.Fatal(got)
	}
	for _, ch := range []string{"sms", "calls"} {
		var list struct {
			Contacts []map[string]any
		}
		if !polling.Until(20*time.Second, 50*time.Millisecond, func() bool {
			r.do("GET", "/v1/contacts?channel="+ch+"&state=done&limit=1000", nil, &list)
			return len(list.Contacts) == 100
		}) {
			var fig map[string]any
			r.do("GET", "/v1/channels/"+ch, nil, &fig)
			t.Fatalf("%s: only %d done: %v", ch, len(list.Contacts), fig)
		}
		for _, c := range list.Contacts {
			if c["outcome"] != "completed" {
				t.Errorf("%s: %v", ch, c)
			}
		}
	}
}

// TestDaemon_ChannelsOfOneApplicationGetTheirOwnCallbacks checks that each channel of one Nuntium application
// gets its own acks and messages, although the application has one address for
// all of them.
func TestDaemon_ChannelsOfOneApplicationGetTheirOwnCallbacks(t *testing.T) {
	t.Parallel()
	r := newRig(t, environment(sqliteURL(t)))
	for _, name := range []string{"sms", "second"} {
		r.do("PUT", "/v1/channels/"+name, map[string]any{"type": "nuntium", "capacity": 3, "settings": map[string]any{
			"base_url": r.smsURL, "account": "demo", "application": "weir", "token": "token", "channel": name,
		}}, nil)
	}
	for _, name := range []string{"sms", "second"} {
		var contacts []map[string]any
		for i := range 20 {
			contacts = append(contacts, map[string]any{"key": fmt.Sprint(i), "to": "+15550100", "messages": []string{"hello"}})
		}
		r.do("POST", "/v1/channels/"+name+"/contacts", map[string]any{"contacts": contacts}, nil)
	}
	r.eventually("all are done", func() bool {
		var list struct{ Contacts []any }
		r.do("GET", "/v1/contacts?state=done&limit=1000", nil, &list)
		return len(list.Contacts) == 40
	})
	for _, name := range []string{"sms", "second"} {
		if _, _, err := r.sms.Receive(simulator.Incoming{Channel: name, From: "+15550009", To: "4000", Body: "to " + name}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sms", "second"} {
		r.eventually("a message for "+name, func() bool {
			var list struct{ Incoming []struct{ Body string } }
			r.do("GET", "/v1/channels/"+name+"/incoming", nil, &list)
			return len(list.Incoming) == 1 && list.Incoming[0].Body == "to "+name
		})
	}
}

func (r *rig) eventually(what string, cond func() bool) {
	r.t.Helper()
	if !polling.Until(20*time.Second, 20*time.Millisecond, cond) {
		r.t.Fatal("it never came to pass: " + what)
	}
}
