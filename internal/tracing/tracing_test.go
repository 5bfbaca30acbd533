package tracing_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/internal/tracing"
	"weir/internal/tracing/tracingtest"
)

func start(t *testing.T, o tracing.Options) *tracing.Tracer {
	t.Helper()
	o.Endpoint, o.Service, o.Secret = "http://collector.test/v1/traces", "weir", []byte("secret")
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	tr, err := tracing.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func ended(id weir.ContactID) *weir.Contact {
	now := time.Now()
	return &weir.Contact{Ref: weir.Ref{Channel: 1, ID: id}, QueuedAt: now.Add(-time.Minute), Progress: weir.Progress{State: weir.Done, FinishedAt: now, Outcome: weir.Completed, Attempt: 1}}
}

func end(t *testing.T, tr *tracing.Tracer) {
	t.Helper()
	if err := tr.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// A process finds a contact's trace again, whichever other process began it; another
// installation with the same ids has other traces.
func TestTracing_TraceIsDerivedFromTheContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tracingtest.New(t)
		call := &tracing.Call{Operation: "send", Channel: "a", Type: "nuntium", Attempt: weir.AttemptRef{Ref: ended(1).Ref, Number: 1}, ClaimedAt: time.Now(), Begun: time.Now(), Result: "accepted"}
		first := start(t, tracing.Options{Transport: c})
		first.Called(call)
		end(t, first)
		second := start(t, tracing.Options{Transport: c})
		second.Done(ended(1), "a", "nuntium")
		second.Done(ended(2), "a", "nuntium")
		end(t, second)
		whole := c.Spans("contact")
		dispatch := c.One("dispatch nuntium")
		if len(whole) != 2 || dispatch.Trace != whole[0].Trace || dispatch.Parent != whole[0].ID || whole[0].Parent != "" || whole[0].Trace == whole[1].Trace {
			t.Errorf("%+v\n%+v", dispatch, whole)
		}
		o := tracing.Options{Transport: c, Endpoint: "http://collector.test/v1/traces", Secret: []byte("other"), Logger: slog.New(slog.DiscardHandler), Timeout: time.Second}
		other, err := tracing.Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		other.Done(ended(1), "a", "nuntium")
		end(t, other)
		if again := c.Spans("contact"); again[2].Trace == whole[0].Trace {
			t.Error("two installations share a trace")
		}
	})
}

// A sampler that keeps a share keeps all of a contact or nothing, with what is linked to it.
func TestTracing_AContactIsSampledWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tracingtest.New(t)
		tr := start(t, tracing.Options{Transport: c, Sampler: "parentbased_traceidratio", Ratio: 0.3})
		const contacts = 400
		for id := range weir.ContactID(contacts) {
			contact := ended(id + 1)
			tr.Done(contact, "a", "nuntium")
			ctx := tr.Callback(t.Context())
			tr.Reported(ctx, &weir.Report{Attempt: weir.AttemptRef{Ref: contact.Ref}}, weir.Applied, "", true)
			tr.CallbackDone(ctx, "POST", &weir.Channel{Name: "a", Type: "nuntium"}, []string{"applied"}, nil)
		}
		end(t, tr)
		whole := map[string]bool{}
		for _, s := range c.Spans("contact") {
			whole[s.Ref()] = true
		}
		if n := len(whole); n < contacts/5 || n > contacts*2/5 {
			t.Errorf("%d of %d contacts are traced, want 30 %%", n, contacts)
		}
		callbacks := c.Spans("callback")
		if len(callbacks) != len(whole) {
			t.Errorf("%d callbacks and %d contacts", len(callbacks), len(whole))
		}
		for _, s := range callbacks {
			if len(s.Links) != 1 || !whole[s.Links[0]] {
				t.Fatalf("a callback of a contact that is not traced: %+v", s)
			}
		}
	})
}

// With a sampler that follows the parent, the caller decides for the contact that it sends alone.
func TestTracing_TheCallerDecidesForItsContact(t *testing.T) {
	for flags, want := range map[string]int{"01": 2, "00": 0} {
		synctest.Test(t, func(t *testing.T) {
			c := tracingtest.New(t)
			tr := start(t, tracing.Options{Transport: c})
			r := tr.Request(http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-" + flags}})
			specs := []weir.Spec{{}}
			r.Join(specs)
			contact := ended(1)
			contact.Trace = specs[0].Trace
			r.Accepted(&weir.Channel{Name: "a", Type: "nuntium"}, []weir.Accepted{{Contact: *contact}})
			r.End(http.StatusAccepted, nil)
			tr.Done(contact, "a", "nuntium")
			end(t, tr)
			list := c.Spans("")
			if len(list) != want {
				t.Fatalf("%d spans with flags %s, want %d", len(list), flags, want)
			}
			if want > 0 && (list[0].Parent != "b7ad6b7169203331" || list[1].Parent != list[0].ID || list[1].Trace != "0af7651916cd43dd8448eb211c80319c" || list[0].Trace != list[1].Trace) {
				t.Errorf("%+v", list)
			}
		})
	}
}

// A header that is no trace context is as good as none.
func TestTracing_AnInvalidTraceparentIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tracingtest.New(t)
		tr := start(t, tracing.Options{Transport: c})
		for _, text := range []string{"", "x", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", strings.Repeat("0", 1<<16)} {
			specs := []weir.Spec{{}}
			tr.Request(http.Header{"Traceparent": {text}}).Join(specs)
			if specs[0].Trace != "" {
				t.Errorf("%.80s was stored as %s", text, specs[0].Trace)
			}
		}
		end(t, tr)
	})
}

// A collector that is down for a day delays nothing: spans beyond the queue are dropped,
// the log has few lines, and the end is in time. When it is up again, it gets new spans.
func TestTracing_ACollectorThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedLog
		c := tracingtest.New(t)
		c.SetDown(true)
		tr := start(t, tracing.Options{Transport: c, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		begun := time.Now()
		for range 24 {
			for id := range weir.ContactID(4000) {
				at := time.Now()
				tr.Done(ended(id+1), "a", "nuntium")
				if took := time.Since(at); took > 0 { // virtual: it waited for something
					t.Fatalf("a span took %v", took)
				}
			}
			time.Sleep(time.Hour)
		}
		synctest.Wait()
		if n := c.Requests(); n < 100 || n > 10_000 {
			t.Errorf("%d requests in a day", n)
		}
		if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "trace export failed") {
			t.Errorf("after %v the log has %d lines:\n%.2000s", time.Since(begun), lines, log.String())
		}
		c.SetDown(false)
		tr.Done(ended(7), "a", "nuntium")
		time.Sleep(time.Minute)
		if n := len(c.Spans("contact")); n == 0 || !strings.Contains(log.String(), "trace export recovered") {
			t.Errorf("%d spans after it was up again:\n%s", n, log.String())
		}
		for range 100 { // it is down and up all the time
			c.SetDown(true)
			tr.Done(ended(8), "a", "nuntium")
			time.Sleep(10 * time.Second)
			c.SetDown(false)
			time.Sleep(10 * time.Second)
		}
		if lines := strings.Count(log.String(), "\n"); lines > 12 {
			t.Errorf("the log has %d lines:\n%.2000s", lines, log.String())
		}
		c.SetDown(true)
		tr.Done(ended(8), "a", "nuntium")
		begun = time.Now()
		end(t, tr)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it took %v to end", took)
		}
	})
}

// lockedLog is a log that a test reads while the tracer writes.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Neither a reason nor anything else of a span holds a phone number.
// Spans of deliveries and callbacks have the attributes of HTTP calls.
func TestTracing_AttributesOfHTTPCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tracingtest.New(t)
		tr := start(t, tracing.Options{Transport: c})
		deliver := func(address string, status int, err error) {
			_, d := tr.Delivery(t.Context(), "hook", "weir.contact.done", "job/1", address)
			d.End(status, err)
		}
		deliver("https://hook.example:8443/secret?token=secret", 204, nil)
		deliver("https://hook.example/", 503, errors.New("status 503"))
		deliver("", 0, errors.New("connection refused"))
		ctx := tr.Callback(t.Context())
		tr.CallbackDone(ctx, "GET", &weir.Channel{Name: "a", Type: "nuntium"}, nil, &weir.Error{Code: weir.CodeUnavailable, Message: "closed"})
		end(t, tr)
		var got []map[string]string
		for _, s := range append(c.Spans("deliver event"), c.Spans("callback")...) {
			about := map[string]string{}
			for _, key := range []string{"http.request.method", "http.response.status_code", "server.address", "server.port", "error.type", "http.route"} {
				if value := s.Attributes[key]; value != "" {
					about[key] = value
				}
			}
			got = append(got, about)
			if strings.Contains(s.All, "secret?") {
				t.Errorf("%s", s.All)
			}
		}
		want := []map[string]string{
			{"http.request.method": "POST", "http.response.status_code": "204", "server.address": "hook.example", "server.port": "8443"},
			{"http.request.method": "POST", "http.response.status_code": "503", "server.address": "hook.example", "error.type": "503"},
			{"http.request.method": "POST", "error.type": "_OTHER"},
			{"http.request.method": "GET", "http.route": "/callbacks/{channel}/{secret}/{path...}", "error.type": "store_unavailable"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTracing_PhoneNumbersStayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := tracingtest.New(t)
		tr := start(t, tracing.Options{Transport: c})
		contact := ended(1)
		contact.To, contact.Key, contact.Messages, contact.Labels = "+15559998877", "k+15559998877", []string{"hello CANARY"}, map[string]string{"n": "CANARY"}
		contact.Reason = "the number +1 555 999 8877 is not in service"
		tr.Done(contact, "a", "nuntium")
		tr.Called(&tracing.Call{Operation: "send", Attempt: contact.AttemptRef(), ClaimedAt: time.Now(), Begun: time.Now(), Result: "refused", Reason: contact.Reason})
		_, d := tr.Delivery(t.Context(), "hook", "weir.contact.done", "contact/1-1", "https://user:CANARY@example.test:8443/CANARY")
		d.End(0, errors.New("POST https://user:CANARY@example.test failed"))
		end(t, tr)
		list := c.Spans("")
		if len(list) != 4 {
			t.Fatalf("%d spans", len(list))
		}
		for _, s := range list {
			if strings.Contains(s.All, "8877") || strings.Contains(s.All, "CANARY") {
				t.Errorf("%s", s.All)
			}
		}
		if got := list[0].Attributes["weir.reason"]; got != "the number … is not in service" {
			t.Errorf("reason %q", got)
		}
	})
}

// Headers of the configuration reach the collector, and not where it redirects to.
func TestTracing_RedirectsAreNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hosts []string
		tr := start(t, tracing.Options{Headers: map[string]string{"Authorization": "Bearer x"}, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			hosts = append(hosts, r.URL.Host+" "+r.Header.Get("Authorization"))
			return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"http://elsewhere.test/"}}, Body: http.NoBody}, nil
		})})
		tr.Done(ended(1), "a", "nuntium")
		end(t, tr)
		if len(hosts) != 1 || hosts[0] != "collector.test Bearer x" {
			t.Errorf("%v", hosts)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
