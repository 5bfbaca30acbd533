package events_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	delivery "weir/actors/events"
	"weir/events"
	"weir/internal/outbound"
)

// receiver is an application that Weir calls.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	calls  []call
	answer func(call) (int, string)
}

type call struct {
	method, body string
	header       http.Header
}

func newReceiver(t *testing.T, answer func(call) (int, string)) (*receiver, *outbound.Client) {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		c := call{q.Method, string(body), q.Header}
		r.mu.Lock()
		r.calls = append(r.calls, c)
		status, text := r.answer(c)
		r.mu.Unlock()
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	client := outbound.New(outbound.Policy{AllowLoopback: true, Timeout: 5 * time.Second})
	t.Cleanup(func() {
		client.Close()
		r.Close()
	})
	return r, client
}

func fine(call) (int, string) { return http.StatusOK, "" }

func queued() events.Event {
	return events.Event{
		ID: 42, Type: "Microsoft.Communication.RouterJobQueued", Source: "router", Subject: "job/j1/channel/c/queue/q",
		At: time.Date(2026, 3, 1, 12, 0, 0, 5000, time.UTC), Data: json.RawMessage(`{"jobId":"j1"}`),
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestSubscriber_SpeaksEventGrid(t *testing.T) {
	t.Parallel()
	app, client := newReceiver(t, fine)
	r := delivery.Subscriber(delivery.Subscription{URL: app.URL + "/in?code=x", Format: delivery.EventGrid, Topic: "https://weir.example"}, client)
	for range 2 {
		if err := r.Deliver(t.Context(), queued()); err != nil {
			t.Fatal(err)
		}
	}
	if len(app.calls) != 3 {
		t.Fatalf("%d calls, want a handshake and two events", len(app.calls))
	}
	shake, event := app.calls[0], app.calls[1]
	first := decoded(t, shake.body).([]any)[0].(map[string]any)
	about, _ := first["data"].(map[string]any)
	if shake.header.Get("aeg-event-type") != "SubscriptionValidation" || first["eventType"] != "Microsoft.EventGrid.SubscriptionValidationEvent" || first["topic"] != "https://weir.example" || about["validationCode"] == "" {
		t.Errorf("handshake: %s %v", shake.body, shake.header)
	}
	want := []any{map[string]any{
		"id": "42-hg91vteyo5", "topic": "https://weir.example", "subject": "job/j1/channel/c/queue/q", "data": map[string]any{"jobId": "j1"},
		"eventType": "Microsoft.Communication.RouterJobQueued", "dataVersion": "1.0", "metadataVersion": "1", "eventTime": "2026-03-01T12:00:00.000005Z",
	}}
	if diff := cmp.Diff(want, decoded(t, event.body)); diff != "" {
		t.Error(diff)
	}
	if event.header.Get("aeg-event-type") != "Notification" || !strings.HasPrefix(event.header.Get("Content-Type"), "application/json") {
		t.Errorf("headers: %v", event.header)
	}
	if got := r.Order(queued()); got != "job/j1" {
		t.Errorf("order %q", got)
	}
	if got := r.Order(events.Event{Subject: "worker/w", Data: json.RawMessage(`{"workerId":"w"}`)}); got != "worker/w" {
		t.Errorf("order %q", got)
	}
	if !strings.HasPrefix(r.Name, "127.0.0.1:") || strings.Contains(r.Name, "code") || r.Wants(events.Event{Source: "surveys"}) {
		t.Errorf("receiver %q", r.Name)
	}
}

func TestSubscriber_SpeaksCloudEvents(t *testing.T) {
	t.Parallel()
	app, client := newReceiver(t, func(c call) (int, string) {
		if c.method == http.MethodOptions {
			return http.StatusMethodNotAllowed, "" // it need not support the handshake
		}
		return http.StatusNoContent, ""
	})
	r := delivery.Subscriber(delivery.Subscription{URL: app.URL, Format: delivery.CloudEvents, Topic: "https://weir.example/base"}, client)
	if err := r.Deliver(t.Context(), queued()); err != nil {
		t.Fatal(err)
	}
	if len(app.calls) != 2 || app.calls[0].method != http.MethodOptions || app.calls[0].header.Get("WebHook-Request-Origin") != "weir.example" {
		t.Fatalf("calls: %+v", app.calls)
	}
	want := map[string]any{
		"specversion": "1.0", "id": "42-hg91vteyo5", "source": "https://weir.example/base", "type": "Microsoft.Communication.RouterJobQueued",
		"subject": "job/j1/channel/c/queue/q", "time": "2026-03-01T12:00:00.000005Z", "datacontenttype": "application/json", "data": map[string]any{"jobId": "j1"},
	}
	if diff := cmp.Diff(want, decoded(t, app.calls[1].body)); diff != "" {
		t.Error(diff)
	}
	if got := app.calls[1].header.Get("Content-Type"); got != "application/cloudevents+json; charset=utf-8" {
		t.Errorf("content type %s", got)
	}
}

func TestSubscriber_FailsUnlessTheStatusIsASuccess(t *testing.T) {
	t.Parallel()
	status := http.StatusServiceUnavailable
	app, client := newReceiver(t, func(call) (int, string) { return status, "" })
	r := delivery.Subscriber(delivery.Subscription{URL: app.URL, Format: delivery.EventGrid}, client)
	for _, status = range []int{503, 500, 404, 400, 302, 199 + 101} {
		if err := r.Deliver(t.Context(), queued()); err == nil {
			t.Errorf("%d counts as delivered", status)
		}
	}
	status = http.StatusAccepted
	if err := r.Deliver(t.Context(), queued()); err != nil {
		t.Error(err)
	}
	gone := delivery.Subscriber(delivery.Subscription{URL: "http://127.0.0.1:1/?code=hunter2"}, client)
	if err := gone.Deliver(t.Context(), queued()); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("no such host: %v", err)
	}
}

func TestApplication_PassesTheAnswerOn(t *testing.T) {
	t.Parallel()
	reply, status := `{"stop":true}`, http.StatusOK
	app, client := newReceiver(t, func(call) (int, string) { return status, reply })
	var answered []string
	var found, refused error
	hook := delivery.Hook{URL: app.URL, Secret: "hush"}
	find := func(context.Context, events.Event) (delivery.Hook, error) { return hook, found }
	deliver := delivery.Application(client, find, func(_ context.Context, e events.Event, body []byte) error {
		answered = append(answered, strconv.FormatInt(e.ID, 10)+" "+string(body))
		return refused
	})
	if err := deliver(t.Context(), queued()); err != nil || len(answered) != 1 || answered[0] != `42 {"stop":true}` {
		t.Fatalf("answered %v (%v)", answered, err)
	}
	c := app.calls[0]
	at, err := strconv.ParseInt(c.header.Get("Webhook-Timestamp"), 10, 64)
	id := c.header.Get("Webhook-Id")
	if err != nil || time.Since(time.Unix(at, 0)) > time.Minute || id == "" || strings.Contains(id, ".") ||
		c.header.Get("Webhook-Signature") != "v1,"+base64.StdEncoding.EncodeToString(mac("hush", id+"."+strconv.FormatInt(at, 10)+"."+c.body)) {
		t.Errorf("signature: %v", c.header)
	}
	// The older headers, for one release.
	if c.header.Get("Weir-Timestamp") != c.header.Get("Webhook-Timestamp") || c.header.Get("Weir-Signature") != "v1="+hex.EncodeToString(mac("hush", strconv.FormatInt(at, 10)+"."+c.body)) {
		t.Errorf("older signature: %v", c.header)
	}
	var e events.Event
	if err := json.Unmarshal([]byte(c.body), &e); err != nil || e.ID != 42 || string(e.Data) != `{"jobId":"j1"}` {
		t.Errorf("body %s (%v)", c.body, err)
	}
	refused = errors.New("the database is away")
	if err := deliver(t.Context(), queued()); !errors.Is(err, refused) {
		t.Errorf("an answer that could not be taken: %v", err)
	}
	refused, status = nil, http.StatusBadGateway
	if err := deliver(t.Context(), queued()); err == nil || len(answered) != 2 {
		t.Errorf("a failure was taken for an answer: %v (%v)", answered, err)
	}
	hook.URL = ""
	if err := deliver(t.Context(), queued()); err != nil || len(app.calls) != 3 {
		t.Errorf("without an address: %v", err)
	}
	hook.URL, found = app.URL, errors.New("no")
	if err := deliver(t.Context(), queued()); !errors.Is(err, found) || len(app.calls) != 3 {
		t.Errorf("a lookup that failed: %v, %d calls", err, len(app.calls))
	}
}

func mac(key, text string) []byte {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return h.Sum(nil)
}
