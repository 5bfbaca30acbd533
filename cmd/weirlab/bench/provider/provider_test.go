package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/internal/polling"
)

// start runs a provider and returns its URL.
func start(t *testing.T) Client {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- newServer().serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return Client{"http://" + l.Addr().String()}
}

// broker answers reports, and records them.
type broker struct {
	*httptest.Server
	mu      sync.Mutex
	reports []string
	refuse  atomic.Int64 // how many reports are refused first
}

func newBroker(t *testing.T) *broker {
	t.Helper()
	b := &broker{}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.refuse.Add(-1) >= 0 {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		_ = r.ParseForm()
		b.mu.Lock()
		b.reports = append(b.reports, r.Method+" "+r.URL.Path+" "+r.Form.Encode())
		b.mu.Unlock()
	}))
	t.Cleanup(b.Close)
	return b
}

// send sends the contacts with these numbers as a driver of Nuntium does.
func send(t *testing.T, p Client, application string, ids ...int) {
	t.Helper()
	list := make([]map[string]string, len(ids))
	for i, id := range ids {
		list[i] = map[string]string{"to": "sms://1555", "body": judge.Text(id, 0, time.Now()), "guid": fmt.Sprintf("c%d.0", id), "token": fmt.Sprintf("c%d", id)}
	}
	body, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(p.URL+"/"+Account+"/"+application+"/send_ao.json", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK || res.Header.Get("X-Nuntium-Token") == "" || len(text) > 0 {
		t.Fatalf("answer: %s %v %q", res.Status, res.Header, text)
	}
}

// seen waits until n ends are reported or given up.
func seen(t *testing.T, p Client, n int) (s judge.Seen) {
	t.Helper()
	if !polling.Until(20*time.Second, time.Millisecond, func() bool {
		var err error
		if s, err = p.Seen(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s.Reported() >= n
	}) {
		t.Fatalf("the ends are not reported: %+v", s)
	}
	return s
}

func TestReports_GoToTheProcessesOfARunInTurn(t *testing.T) {
	t.Parallel()
	p, wanted, a, b := start(t), newBroker(t), newBroker(t), newBroker(t)
	if err := p.Announce(t.Context(), "3", wanted.URL+"/callbacks/x"); err != nil {
		t.Fatal(err)
	}
	const n = 40
	run := Run{Expectation: judge.Expectation{N: n, Channels: 1, Capacity: n}, Spread: []string{a.URL, b.URL}}
	if err := p.Reset(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		send(t, p, "3", i+1)
	}
	seen(t, p, n)
	for _, to := range []*broker{a, b} {
		if len(to.reports) != n/2 || !strings.HasPrefix(to.reports[0], "POST /callbacks/x ") {
			t.Errorf("%d reports at one of two processes, want %d: %v", len(to.reports), n/2, to.reports)
		}
	}
	if len(wanted.reports) > 0 {
		t.Errorf("%d reports elsewhere", len(wanted.reports))
	}
	run.Spread = []string{"ftp://a"}
	if err := p.Reset(t.Context(), run); err == nil {
		t.Error("a process without an http address was taken")
	}
	run.Spread = nil
	if err := p.Reset(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	send(t, p, "3", 1)
	seen(t, p, 1)
	if len(wanted.reports) != 1 {
		t.Errorf("%d reports at the address that the broker has given, want 1", len(wanted.reports))
	}
}

func TestProvider_MessagesAreRecordedAndReported(t *testing.T) {
	t.Parallel()
	p, b := start(t), newBroker(t)
	if err := p.Announce(t.Context(), "3", b.URL+"/callbacks/x"); err != nil {
		t.Fatal(err)
	}
	if err := p.Reset(t.Context(), Run{Expectation: judge.Expectation{N: 4, Channels: 1, Capacity: 3, Order: true}, Delay: 20 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	b.refuse.Store(1)
	began := time.Now()
	send(t, p, "3", 2)
	send(t, p, "3", 1, 3)
	send(t, p, "3", 4)
	s := seen(t, p, 4)
	if s.Distinct != 4 || s.Twice+s.Strange+s.Refused != 0 || s.Ended != 4 || s.CPU <= 0 || s.P50 <= 0 || s.Last.Sub(began) < 20*time.Millisecond {
		t.Errorf("%+v", s)
	}
	if s.MaxActive < 3 || s.MaxActive > 4 {
		t.Errorf("%d were active at once", s.MaxActive)
	}
	ids, err := p.Arrived(t.Context())
	if err != nil || fmt.Sprint(ids) != "[2 1 3 4]" {
		t.Errorf("arrived: %v, %v", ids, err)
	}
	if len(b.reports) != 4 || !strings.Contains(strings.Join(b.reports, "\n"), "POST /callbacks/x channel=3&guid=c3.0&state=delivered") {
		t.Errorf("reports: %q", b.reports)
	}
	for token, want := range map[string]string{"c1": `[{"guid":"c1.0","state":"delivered"}]`, "c9": `[]`} {
		if got := get(t, p.URL+"/bench/3/get_ao.json?token="+token); got != want {
			t.Errorf("asked for %s: %s", token, got)
		}
	}
}

func get(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestProvider_CallsAreRecordedAndReported(t *testing.T) {
	t.Parallel()
	p, b := start(t), newBroker(t)
	if err := p.Reset(t.Context(), Run{Expectation: judge.Expectation{N: 2, Channels: 1, Capacity: 2}, Answer: 5 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for id := range 2 {
		query := url.Values{
			"address": {"+1555"}, "channel": {"7"}, "status_callback_url": {b.URL + "/callbacks/y/status/a" + strconv.Itoa(id)},
			"callback_url": {"http://flow.invalid/" + strings.ReplaceAll(judge.Text(id+1, 0, time.Now()), " ", "-")},
		}
		began := time.Now()
		if got, want := get(t, p.URL+"/api/call?"+query.Encode()), fmt.Sprintf(`{"call_id":%d,"state":"queued"}`, id+1); got != want {
			t.Errorf("answer %s, want %s", got, want)
		}
		if took := time.Since(began); took < 5*time.Millisecond {
			t.Errorf("answered after %s", took)
		}
	}
	if s := seen(t, p, 2); s.Distinct != 2 || s.Strange != 0 || s.Ended != 2 || s.P99 < s.P50 || s.P50 <= 0 {
		t.Errorf("%+v", s)
	}
	if all := strings.Join(b.reports, "\n"); !strings.Contains(all, "GET /callbacks/y/status/a0 CallSid=1&CallStatus=completed") {
		t.Errorf("reports: %q", all)
	}
	if got := get(t, p.URL+"/api/calls/2/state.json"); got != `{"call_id":2,"state":"completed"}` {
		t.Error(got)
	}
	if got := get(t, p.URL+"/api/channels/7"); !strings.Contains(got, `"enabled":true`) {
		t.Error(got)
	}
}

// A message that is no valid request is refused, and the connection goes on.
func TestProvider_BadRequestsLeaveTheConnectionOpen(t *testing.T) {
	t.Parallel()
	p := start(t)
	for path, body := range map[string]string{"/bench/0/send_ao.json": "{}", "/api/call?status_callback_url=x": "", "/reset": "x", "/nothing": ""} {
		res, err := http.Post(p.URL+path, "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode/100 != 4 {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

// Messages are read the same by hand and by encoding/json.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(`[{"body":"1 2 3 x","guid":"a.0","token":"a"},{"body":"","guid":"b"}]`))
	f.Add([]byte(`[{"body":"a\"b","guid":"a.0"}]`))
	f.Add([]byte(`[{"body":"x"}`))
	f.Add([]byte(`[{"body":"x"},]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		plain, ok := parsePlain(raw)
		var list []map[string]string
		if !ok || json.Unmarshal(raw, &list) != nil {
			return // read by encoding/json, or not sent by any broker: control characters, invalid UTF-8
		}
		if len(plain) != len(list) {
			t.Fatalf("%d messages, want %d", len(plain), len(list))
		}
		for i, m := range list {
			if strings.ToValidUTF8(string(plain[i].guid), "\ufffd") != m["guid"] && strings.ToValidUTF8(string(raw), "") == string(raw) {
				t.Errorf("guid %q, want %q", plain[i].guid, m["guid"])
			}
		}
	})
}

// A message may arrive in any parts.
func TestProvider_MessagesArriveInParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw      string
		response bool
		status   int
		body     string
		closing  bool
	}{
		{"HTTP/1.1 204 No Content\r\nX: y\r\n\r\n", true, 204, "", false},
		{"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", true, 200, "hello", false},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true, 200, "", true},
		{"HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", true, 503, "x", true},
		{"POST /x HTTP/1.1\r\nContent-Length: 6000\r\n\r\n" + strings.Repeat("y", 6000), false, 0, strings.Repeat("y", 6000), false},
	} {
		client, server := net.Pipe()
		go func() {
			for _, b := range []byte(c.raw) {
				_, _ = client.Write([]byte{b})
			}
		}()
		m, err := (&reader{conn: server}).next(c.response)
		if err != nil || c.response && m.status() != c.status || string(m.body) != c.body || m.closing != c.closing {
			t.Errorf("%.40q: status %d, %d bytes, closing %v, %v", c.raw, m.status(), len(m.body), m.closing, err)
		}
		_ = client.Close()
		_ = server.Close()
	}
}
