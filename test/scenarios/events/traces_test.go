package events_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"weir/channels/drivertest"
	"weir/channels/drivertest/peers"
	"weir/internal/tracing/tracingtest"
	"weir/test/scenarios/world"
)

// flush waits until everything is exported.
func flush(x *world.Traces) { _ = x.Tracer.Close(context.Background()) }

const (
	callerTrace = "0af7651916cd43dd8448eb211c80319c"
	callerSpan  = "b7ad6b7169203331"
)

// acceptTraced posts contacts as a caller whose request belongs to a trace.
func acceptTraced(w *world.World, channel string, contacts ...world.Fields) map[string]string {
	w.Helper()
	handler := w.Handler
	w.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Header.Set("Traceparent", "00-"+callerTrace+"-"+callerSpan+"-01")
		handler.ServeHTTP(rw, r)
	})
	defer func() { w.Handler = handler }()
	return w.Accept(channel, contacts...)
}

// Scenario 280: a text message through the simulated Twilio, sent alone by a caller with
// a traceparent: request, claim, dispatch and the contact itself are in the caller's trace,
// and the callbacks are linked to it. No span holds an address, a text or a secret.
func TestTraces_ShowAMessageWholeAndHoldNoSecret(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Traces = &world.Traces{Collector: tracingtest.New(t)}
		world.WithPeer(w, peers.Twilio(), 5, drivertest.Options{})
		id := acceptTraced(w, "ch", world.SMS("CANARY-text", world.Fields{"to": "+15559998877", "survey": "s1"}))["CANARY-text"]
		if got := w.Done(id); got != "completed" {
			w.Fatalf("ended as %s", got)
		}
		w.WaitIdle()
		flush(w.Traces)

		request, claim, dispatch, whole := w.Traces.One("POST /v1/channels/{channel}/contacts"), w.Traces.One("claim"), w.Traces.One("dispatch twilio"), w.Traces.One("contact")
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
		callbacks := w.Traces.Spans("callback twilio")
		if len(callbacks) == 0 {
			w.Error("no callback is traced")
		}
		for _, s := range callbacks {
			if s.Kind != otlp.Span_SPAN_KIND_SERVER || s.Trace == callerTrace || !slices.Equal(s.Links, []string{whole.Ref()}) {
				w.Errorf("%+v", s)
			}
		}
		ch, err := w.Store.Channel(w.Context(), "ch")
		if err != nil {
			w.Fatal(err)
		}
		for _, s := range w.Traces.Spans("") {
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
	world.OnStores(t, func(w *world.World) {
		w.Traces = &world.Traces{Collector: tracingtest.New(t)}
		w.Restart()
		w.Channel("ch", 5)
		ids := w.Accept("ch", world.SMS("a"), world.SMS("b"))
		ids["joined"] = acceptTraced(w, "ch", world.SMS("joined"))["joined"]
		for _, id := range ids {
			w.Becomes(id, "active")
		}
		flush(w.Traces) // the next process must agree with this
		dispatched := map[string]tracingtest.Span{}
		for _, s := range w.Traces.Spans("dispatch") {
			dispatched[s.Attributes["weir.contact.id"]] = s
		}
		w.Restart()
		w.Finish("a", "b", "joined")
		for _, id := range ids {
			w.Done(id)
		}
		w.WaitIdle()
		flush(w.Traces)
		whole := map[string]tracingtest.Span{}
		for _, s := range w.Traces.Spans("contact") {
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
		for _, s := range w.Traces.Spans("callback") {
			if c := whole[s.Attributes["weir.contact.id"]]; !slices.Equal(s.Links, []string{c.Ref()}) {
				w.Errorf("%+v is not linked to %s", s, c.Ref())
			}
		}
		if n := len(w.Traces.Spans("callback")); n != 3 {
			w.Errorf("%d callbacks", n)
		}
	})
}

// Scenario 282: contacts that come in one request have a trace each, which is linked to
// that of the request, and a repeated request adds nothing to them.
func TestTraces_EachContactOfABatchHasItsTrace(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Traces = &world.Traces{Collector: tracingtest.New(t)}
		w.Restart()
		w.Channel("ch", 3)
		ids := acceptTraced(w, "ch", world.Many("c", 3)...)
		acceptTraced(w, "ch", world.Many("c", 3)...)
		w.Sent(3)
		w.Finish(slices.Sorted(maps.Keys(ids))...)
		for _, id := range ids {
			w.Done(id)
		}
		w.WaitIdle()
		flush(w.Traces)
		requests, accepts, whole := w.Traces.Spans("POST"), w.Traces.Spans("accept"), map[string]tracingtest.Span{}
		for _, s := range w.Traces.Spans("contact") {
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
	world.OnVirtualTime(t, func(w *world.World) {
		w.Quiet = true
		w.Traces = &world.Traces{Collector: tracingtest.New(t)}
		w.Traces.SetDown(true)
		w.Restart()
		w.Channel("ch", 3000)
		begun := time.Now()
		ids := w.Accept("ch", world.Many("c", 3000)...)
		w.Sent(3000)
		w.Finish(slices.Sorted(maps.Keys(ids))...)
		w.InFlight("ch", 0)
		if took := time.Since(begun); took > time.Minute {
			w.Errorf("it took %v", took)
		}
		if w.Traces.Requests() == 0 {
			w.Error("the collector was never asked")
		}
	})
}
