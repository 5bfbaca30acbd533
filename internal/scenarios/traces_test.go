package scenarios_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"weir/channels/drivertest"
	"weir/channels/drivertest/peers"
	"weir/internal/tracing"
	"weir/internal/tracing/tracingtest"
)

// traces are the traces of a world. nil: they are off.
type traces struct {
	*tracingtest.Collector
	tracer *tracing.Tracer
	ended  *atomic.Bool // of the process: what it had not exported is lost
}

// start starts the export of a process.
func (x *traces) start(w *world) *tracing.Tracer {
	if x == nil {
		return nil
	}
	w.Helper()
	x.ended = new(atomic.Bool)
	ended := x.ended
	var err error
	x.tracer, err = tracing.Start(w.Context(), tracing.Options{
		Endpoint: "http://collector.test/v1/traces", Timeout: 10 * time.Second, Service: "weir", Secret: []byte("of the database"), Contact: w.store.Contact, Logger: w.logger(),
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			if ended.Load() {
				return nil, errors.New("the process has crashed")
			}
			return x.RoundTrip(r)
		}),
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = x.running().Close(context.Background()) })
	return x.tracer
}

func (x *traces) running() *tracing.Tracer {
	if x == nil {
		return nil
	}
	return x.tracer
}

// crash loses what was not exported.
func (x *traces) crash() {
	if x != nil && x.tracer != nil {
		x.ended.Store(true)
		_ = x.tracer.Close(context.Background())
	}
}

// flush waits until everything is exported.
func (x *traces) flush() { _ = x.tracer.Close(context.Background()) }

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const (
	callerTrace = "0af7651916cd43dd8448eb211c80319c"
	callerSpan  = "b7ad6b7169203331"
)

// acceptTraced posts contacts as a caller whose request belongs to a trace.
func (w *world) acceptTraced(channel string, contacts ...fields) map[string]string {
	w.Helper()
	handler := w.handler
	w.handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Header.Set("Traceparent", "00-"+callerTrace+"-"+callerSpan+"-01")
		handler.ServeHTTP(rw, r)
	})
	defer func() { w.handler = handler }()
	return w.accept(channel, contacts...)
}

// Scenario 280: a text message through the simulated Twilio, sent alone by a caller with
// a traceparent: request, claim, dispatch and the contact itself are in the caller's trace,
// and the callbacks are linked to it. No span holds an address, a text or a secret.
func TestTraces_ShowAMessageWholeAndHoldNoSecret(t *testing.T) {
	onStores(t, func(w *world) {
		w.traces = &traces{Collector: tracingtest.New(t)}
		withPeer(w, peers.Twilio(), 5, drivertest.Options{})
		id := w.acceptTraced("ch", sms("CANARY-text", fields{"to": "+15559998877", "survey": "s1"}))["CANARY-text"]
		if got := w.done(id); got != "completed" {
			w.Fatalf("ended as %s", got)
		}
		w.waitIdle()
		w.traces.flush()

		request, claim, dispatch, whole := w.traces.One("POST /v1/channels/{channel}/contacts"), w.traces.One("claim"), w.traces.One("dispatch twilio"), w.traces.One("contact")
		if request.Parent != callerSpan || request.Kind != otlp.Span_SPAN_KIND_SERVER || whole.Parent != request.ID || claim.Parent != whole.ID || dispatch.Parent != whole.ID || dispatch.Kind != otlp.Span_SPAN_KIND_CLIENT {
			w.Errorf("request %+v\nclaim %+v\ndispatch %+v\ncontact %+v", request, claim, dispatch, whole)
		}
		for _, s := range []tracingtest.Span{request, claim, dispatch, whole} {
			if s.Trace != callerTrace {
				w.Errorf("%s is in trace %s", s.Name, s.Trace)
			}
		}
		if claim.End.After(dispatch.Begun) || whole.Begun.After(claim.Begun) || dispatch.End.After(whole.End) {
			w.Errorf("the order is wrong:\nclaim %+v\ndispatch %+v\ncontact %+v", claim, dispatch, whole)
		}
		if a := dispatch.Attributes; a["weir.contact.id"] != id || a["weir.attempt.id"] != id+"-1" || a["weir.channel"] != "ch" || a["weir.result"] != "accepted" {
			w.Errorf("%v", a)
		}
		if a := whole.Attributes; a["weir.outcome"] != "completed" || a["weir.survey"] != "s1" || whole.Failed || whole.Service != "weir" {
			w.Errorf("%+v", whole)
		}
		callbacks := w.traces.Spans("callback twilio")
		if len(callbacks) == 0 {
			w.Error("no callback is traced")
		}
		for _, s := range callbacks {
			if s.Kind != otlp.Span_SPAN_KIND_SERVER || s.Trace == callerTrace || !slices.Equal(s.Links, []string{whole.Ref()}) {
				w.Errorf("%+v", s)
			}
		}
		ch, err := w.store.Channel(w.Context(), "ch")
		if err != nil {
			w.Fatal(err)
		}
		for _, s := range w.traces.Spans("") {
			for _, secret := range []string{"9998877", "CANARY", ch.Secret} {
				if strings.Contains(s.All, secret) {
					w.Errorf("%s is in %s", secret, s.All)
				}
			}
		}
	})
}

// Scenario 281: the process crashes while contacts are at the provider, before it has
// exported anything. Their later spans are in the same traces: in the caller's for the
// contact that a caller with a traceparent sent alone, in one of its own for each other.
func TestTraces_ContinueAfterACrash(t *testing.T) {
	onStores(t, func(w *world) {
		w.traces = &traces{Collector: tracingtest.New(t)}
		w.restart()
		w.channel("ch", 5)
		ids := w.accept("ch", sms("a"), sms("b"))
		ids["joined"] = w.acceptTraced("ch", sms("joined"))["joined"]
		for _, id := range ids {
			w.becomes(id, "active")
		}
		w.traces.flush() // the next process must agree with this
		dispatched := map[string]tracingtest.Span{}
		for _, s := range w.traces.Spans("dispatch") {
			dispatched[s.Attributes["weir.contact.id"]] = s
		}
		w.restart()
		w.finish("a", "b", "joined")
		for _, id := range ids {
			w.done(id)
		}
		w.waitIdle()
		w.traces.flush()
		whole := map[string]tracingtest.Span{}
		for _, s := range w.traces.Spans("contact") {
			whole[s.Attributes["weir.contact.id"]] = s
		}
		for key, id := range ids {
			if d, c := dispatched[id], whole[id]; d.Trace == "" || d.Trace != c.Trace || d.Parent != c.ID || (c.Trace == callerTrace) != (key == "joined") {
				w.Errorf("%s: dispatch %+v\ncontact %+v", key, d, c)
			}
		}
		if len(whole) != 3 || whole[ids["a"]].Trace == whole[ids["b"]].Trace {
			w.Errorf("%+v", whole)
		}
		for _, s := range w.traces.Spans("callback") {
			if c := whole[s.Attributes["weir.contact.id"]]; !slices.Equal(s.Links, []string{c.Ref()}) {
				w.Errorf("%+v is not linked to %s", s, c.Ref())
			}
		}
		if n := len(w.traces.Spans("callback")); n != 3 {
			w.Errorf("%d callbacks", n)
		}
	})
}

// Scenario 282: contacts that come in one request have a trace each, which is linked to
// that of the request, and a repeated request adds nothing to them.
func TestTraces_EachContactOfABatchHasItsTrace(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.traces = &traces{Collector: tracingtest.New(t)}
		w.restart()
		w.channel("ch", 3)
		ids := w.acceptTraced("ch", many("c", 3)...)
		w.acceptTraced("ch", many("c", 3)...)
		w.sent(3)
		w.finish(slices.Sorted(maps.Keys(ids))...)
		for _, id := range ids {
			w.done(id)
		}
		w.waitIdle()
		w.traces.flush()
		requests, accepts, whole := w.traces.Spans("POST"), w.traces.Spans("accept"), map[string]tracingtest.Span{}
		for _, s := range w.traces.Spans("contact") {
			whole[s.Trace] = s
		}
		if len(requests) != 2 || len(accepts) != 3 || len(whole) != 3 {
			w.Fatalf("%d requests, %d acceptances, %d contacts", len(requests), len(accepts), len(whole))
		}
		if requests[0].Trace != callerTrace || requests[0].Parent != callerSpan {
			w.Errorf("request %+v", requests[0])
		}
		for _, s := range accepts {
			c := whole[s.Trace]
			if s.Parent != c.ID || c.Parent != "" || !slices.Equal(s.Links, []string{requests[0].Ref()}) || !slices.Contains(requests[0].Links, c.Ref()) {
				w.Errorf("accept %+v\ncontact %+v\nrequest %+v", s, c, requests[0])
			}
		}
		if len(requests[1].Links) != 0 {
			w.Errorf("the repeated request is linked to %v", requests[1].Links)
		}
	})
}

// Scenario 283: while the collector is down, contacts go on as ever.
func TestTraces_CollectorThatIsDownHoldsNothingUp(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.quiet = true
		w.traces = &traces{Collector: tracingtest.New(t)}
		w.traces.SetDown(true)
		w.restart()
		w.channel("ch", 3000)
		begun := time.Now()
		ids := w.accept("ch", many("c", 3000)...)
		w.sent(3000)
		w.finish(slices.Sorted(maps.Keys(ids))...)
		w.inFlight("ch", 0)
		if took := time.Since(begun); took > time.Minute {
			w.Errorf("it took %v", took)
		}
		if w.traces.Requests() == 0 {
			w.Error("the collector was never asked")
		}
	})
}
