package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/cmd/internal/clitest"
	"weir/cmd/weir/cli"
	"weir/cmd/weir/cli/app"
	"weir/internal/polling"
	"weir/internal/webhooksign"
)

// hookReceiver is a program that gets webhooks.
type hookReceiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	bodies []string // of requests that were answered with 2xx
	heads  []http.Header
	tries  int
}

func newHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	h := &hookReceiver{status: http.StatusNoContent}
	h.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.tries++; h.status/100 == 2 {
			h.bodies, h.heads = append(h.bodies, string(body)), append(h.heads, r.Header)
		}
		rw.WriteHeader(h.status)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hookReceiver) answers(status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status = status
}

// got waits until n requests were taken, and returns the last one.
func (h *hookReceiver) got(t *testing.T, n int) (body string, header http.Header) {
	t.Helper()
	if !polling.Until(20*time.Second, 5*time.Millisecond, func() bool { h.mu.Lock(); defer h.mu.Unlock(); return len(h.bodies) >= n }) {
		t.Fatalf("%d requests, want %d", len(h.bodies), n)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bodies[n-1], h.heads[n-1]
}

// verify checks the signature of a request.
func verify(t *testing.T, secret, body string, header http.Header) {
	t.Helper()
	var stamp int64
	if err := json.Unmarshal([]byte(header.Get(webhooksign.TimestampHeader)), &stamp); err != nil {
		t.Fatal(err)
	}
	want, err := webhooksign.Header(header.Get(webhooksign.IDHeader), time.Unix(stamp, 0), []byte(body), secret)
	if err != nil || header.Get(webhooksign.SignatureHeader) != want.Get(webhooksign.SignatureHeader) {
		t.Errorf("signature %q of %s (%v)", header.Get(webhooksign.SignatureHeader), body, err)
	}
}

func TestWebhook_IsCreatedTestedChangedAndRotated(t *testing.T) {
	t.Parallel()
	b, h := newBroker(t), newHookReceiver(t)
	b.channel("sms")
	clitest.Check(t, b.run("webhook", "create", "--url", h.URL), app.Usage, "^$", "give --url and --type")
	clitest.Check(t, b.run("webhook", "create", "--url", h.URL, "--type", "weir.nothing"), app.Rejected, "^$", `/types/0.*weir\.channel\.state`)
	made := b.run("webhook", "create", "--url", h.URL, "--type", "weir.contact.done", "--channel", "sms", "--paused", "--description", "test")
	clitest.Check(t, made, app.OK, `^wh\w+: created; its secret is whsec_.+\n$`, "^$")
	id, secret := made.Out[:strings.Index(made.Out, ":")], strings.TrimSpace(made.Out[strings.Index(made.Out, "whsec_"):])
	clitest.Check(t, b.run("webhook", "list"), app.OK, id+`  paused  weir\.contact\.done  sms  `, "^$")
	clitest.Check(t, b.run("webhook", "show", id), app.OK, `(?s)^`+id+`\n  state +paused\n  url +http://.*  types +weir\.contact\.done\n  channel +sms\n  description test\n`, "^$")
	clitest.Check(t, b.run("webhook", "test", id), app.OK, "^"+id+": delivered, status 204 after ", "^$")
	body, header := h.got(t, 1)
	verify(t, secret, body, header)
	h.answers(http.StatusInternalServerError)
	clitest.Check(t, b.run("webhook", "test", id), app.Failure, "^$", "the test event was not delivered: HTTP 500")
	h.answers(http.StatusNoContent)
	clitest.Check(t, b.run("webhook", "resume", id), app.OK, "^"+id+": resumed, enabled\n$", "^$")
	clitest.Check(t, b.run("webhook", "set", id), app.Usage, "^$", "no change given")
	clitest.Check(t, b.run("webhook", "set", id, "--channel", "", "--description", "renamed"), app.OK, "^"+id+": changed, enabled\n$", "^$")
	if out := b.run("webhook", "show", id).Out; strings.Contains(out, "channel") || !strings.Contains(out, "renamed") {
		t.Error(out)
	}

	rotated := b.run("webhook", "rotate", id, "--overlap", "0")
	clitest.Check(t, rotated, app.OK, `^`+id+`: rotated; the new secret is whsec_.+\n$`, "^$")
	clitest.Check(t, b.run("webhook", "rotate", id, "--overlap", "90m"), app.Usage, "^$", "whole hours")
	secret = strings.TrimSpace(rotated.Out[strings.Index(rotated.Out, "whsec_"):])
	b.end("sms", "+15550001")
	body, header = h.got(t, 2)
	verify(t, secret, body, header)

	var row string // once a second the tries are stored
	if !polling.Until(20*time.Second, 50*time.Millisecond, func() bool {
		row = regexp.MustCompile(`(\d+) +weir\.contact\.done +delivered +204`).FindString(b.run("webhook", "deliveries", id).Out)
		return row != ""
	}) {
		t.Fatal(b.run("webhook", "deliveries", id).Out)
	}
	clitest.Check(t, b.run("webhook", "replay", id), app.Usage, "^$", "give either --event or --failed-since")
	clitest.Check(t, b.run("webhook", "replay", id, "--failed-since", "1h"), app.OK, "^"+id+": 0 events will be delivered again\n$", "^$")
	clitest.Check(t, b.run("webhook", "replay", id, "--event", strings.Fields(row)[0]), app.OK, "^"+id+": 1 event will be delivered again\n$", "^$")
	again, repeated := h.got(t, 3)
	if again != body || repeated.Get(webhooksign.IDHeader) != header.Get(webhooksign.IDHeader) {
		t.Errorf("replayed %s with id %s, before %s with %s", again, repeated.Get(webhooksign.IDHeader), body, header.Get(webhooksign.IDHeader))
	}
	clitest.Check(t, b.run("webhook", "delete", id), app.Usage, "^$", "add --yes")
	clitest.Check(t, b.run("webhook", "delete", id, "--yes"), app.OK, "^"+id+": deleted\n$", "^$")
	clitest.Check(t, b.run("webhook", "show", id), app.NotFound, "^$", "404")
}

// end queues a contact on a paused channel and cancels it, which ends it.
func (b *broker) end(channel, to string) {
	b.t.Helper()
	sent := b.run("contact", "send", channel, "--to", to, "-m", "hello")
	clitest.Check(b.t, sent, app.OK, `^[\w-]+: queued`, "^$")
	clitest.Check(b.t, b.run("contact", "cancel", sent.Out[:strings.Index(sent.Out, ":")], "--yes"), app.OK, "canceled", "^$")
}

// A listener gets what a webhook gets. The ids agree up to the name of the receiver.
func TestWebhook_ListenerGetsWhatAWebhookGets(t *testing.T) {
	t.Parallel()
	b, hook, program := newBroker(t), newHookReceiver(t), newHookReceiver(t)
	b.channel("sms")
	clitest.Check(t, b.run("webhook", "create", "--url", hook.URL, "--type", "weir.contact.done", "--pii"), app.OK, "created", "^$")
	clitest.Check(t, b.run("listen", "--forward-to", "localhost:3000"), app.Usage, "^$", "--forward-to must be an http or https URL")
	clitest.Check(t, b.run("listen", "--forward-to", program.URL, "--secret-file", file(t, "bad", "whsec_x")), app.Failure, "^$", "whsec_ and the base64 form")
	secret := webhooksign.NewSecret()
	ctx, cancel := contextOf(t)
	s := &screenful{}
	done := make(chan int, 1)
	program.answers(http.StatusServiceUnavailable)
	go func() {
		o := s.options(b.url, nil, nil)
		o.Now = time.Now
		done <- cli.Run(ctx, []string{"listen", "--forward-to", program.URL + "/x", "--type", "weir.contact.*", "--after", "0", "--secret-file", file(t, "secret", secret+"\n"), "--output", "table"}, o)
	}()
	b.end("sms", "+15550001")
	want, header := hook.got(t, 1)
	if !polling.Until(20*time.Second, 5*time.Millisecond, func() bool { out, _ := s.text(); return strings.Contains(out, "503") }) {
		t.Fatal(s.text())
	}
	program.answers(http.StatusOK)
	body, got := program.got(t, 1)
	verify(t, secret, body, got)
	id, _, _ := strings.Cut(header.Get(webhooksign.IDHeader), "_")
	if own, _, _ := strings.Cut(got.Get(webhooksign.IDHeader), "_"); own != id {
		t.Errorf("id %s, of the webhook %s", own, id)
	}
	if !sameJSON(t, body, want) {
		t.Errorf("got %s, the webhook %s", body, want)
	}
	if !polling.Until(20*time.Second, 5*time.Millisecond, func() bool { out, _ := s.text(); return strings.Contains(out, "  200  ") }) {
		t.Error(s.text())
	}
	cancel()
	if code := <-done; code != app.OK {
		t.Errorf("exit code %d", code)
	}
	if out, err := s.text(); strings.Contains(out+err, "5550001") || !strings.Contains(out, "weir.contact.done") {
		t.Errorf("%s%s", out, err)
	}
}

func sameJSON(t *testing.T, one, other string) bool {
	t.Helper()
	list := make([]string, 2)
	for i, text := range []string{one, other} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(v)
		list[i] = string(raw)
	}
	return list[0] == list[1]
}
