package tracing

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"weir"
)

// place is where a contact is in the traces.
type place struct {
	parent trace.SpanContext // of its span; invalid: none
	self   trace.SpanContext // its span, which covers its life and is recorded at the end
}

// sampled reports whether spans of the contact are exported.
func (p place) sampled() bool { return p.self.IsSampled() }

// within returns a context whose spans are children of the contact's.
func (p place) within() context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), p.self)
}

// link returns a link to the contact.
func (p place) link() trace.Link { return trace.Link{SpanContext: p.self} }

// placeOf returns where a contact is; joined is the trace context that is stored with it,
// if any.
// The ids are computed, not stored: every process of a database finds the same ones, also after a
// restart. Without the secret, an id of a trace does not show which contact it is.
func (t *Tracer) placeOf(ref weir.Ref, joined string) place {
	mac := hmac.New(sha256.New, t.secret)
	mac.Write([]byte("trace of contact " + ref.String()))
	sum := mac.Sum(nil)
	c := trace.SpanContextConfig{TraceID: trace.TraceID(sum[:16]), SpanID: trace.SpanID(sum[16:24])}
	parent := parse(joined)
	if parent.IsValid() {
		c.TraceID = parent.TraceID()
	}
	decision := t.sampler.ShouldSample(sdk.SamplingParameters{
		ParentContext: trace.ContextWithRemoteSpanContext(context.Background(), parent), TraceID: c.TraceID, Name: spanContact, Kind: trace.SpanKindInternal,
	}).Decision
	if decision == sdk.RecordAndSample {
		c.TraceFlags = trace.FlagsSampled
	}
	return place{parent, trace.NewSpanContext(c)}
}

const traceparent = "traceparent"

// parse reads a trace context in the form of the traceparent header.
func parse(text string) trace.SpanContext {
	if text == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceparent: text})
	return trace.SpanContextFromContext(ctx)
}

// format returns a trace context in the form of the traceparent header.
func format(c trace.SpanContext) string {
	to := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), c), to)
	return to[traceparent]
}

// Names of spans and attributes.
const (
	spanContact  = "contact"
	spanAccept   = "accept"
	spanClaim    = "claim"
	spanCallback = "callback"
	spanDeliver  = "deliver event"

	keyContact = "weir.contact.id"
	keyAttempt = "weir.attempt.id"
	keyChannel = "weir.channel"
	keyType    = "weir.channel.type"
	keySurvey  = "weir.survey"
	keyOutcome = "weir.outcome"
	keyReason  = "weir.reason"
	keyResult  = "weir.result"
)

// Call is a finished call of a provider about an attempt.
type Call struct {
	Operation     string // send, ask, cancel
	Channel, Type string // name and type of the channel
	Attempt       weir.AttemptRef
	Trace         string    // stored with the contact
	ClaimedAt     time.Time // of a send: when it was claimed
	Begun         time.Time // zero: the provider was not called
	Result        string
	Reason        string
	Failed        bool // an error, not an answer
}

// Called records a call of a provider. Before a send it records the claim, which was
// durable when the call began.
func (t *Tracer) Called(c *Call) {
	if t == nil {
		return
	}
	p := t.placeOf(c.Attempt.Ref, c.Trace)
	if !p.sampled() || c.Begun.IsZero() {
		return
	}
	about := []attribute.KeyValue{
		attribute.String(keyContact, c.Attempt.Ref.String()), attribute.String(keyAttempt, c.Attempt.String()),
		attribute.String(keyChannel, c.Channel), attribute.String(keyType, c.Type),
	}
	name := c.Operation + " " + c.Type
	if !c.ClaimedAt.IsZero() {
		name = "dispatch " + c.Type
		t.record(p.within(), span{name: spanClaim, begun: c.ClaimedAt, end: c.Begun, attributes: about})
	}
	// The attributes are capped, so that the append copies them: the claim's span has them, too.
	s := span{name: name, kind: trace.SpanKindClient, begun: c.Begun, end: time.Now(), attributes: append(about[:4:4], attribute.String(keyResult, c.Result))}
	s.reason(c.Reason)
	if c.Failed {
		s.failed = c.Result
	}
	t.record(p.within(), s)
}

// Done records the life of a contact that is done.
func (t *Tracer) Done(c *weir.Contact, channel, typ string) {
	if t == nil {
		return
	}
	p := t.placeOf(c.Ref, c.Trace)
	if !p.sampled() {
		return
	}
	s := span{name: spanContact, begun: c.QueuedAt, end: c.FinishedAt, attributes: []attribute.KeyValue{
		attribute.String(keyContact, c.Ref.String()), attribute.String(keyChannel, channel), attribute.String(keyType, typ),
		attribute.String(keyOutcome, string(c.Outcome)), attribute.Int("weir.attempts", c.Attempt),
	}}
	s.reason(c.Reason)
	if c.Survey != "" {
		s.attributes = append(s.attributes, attribute.String(keySurvey, c.Survey))
	}
	if c.Dead() {
		s.failed = string(c.Outcome)
	}
	s.events = []event{{"claimed", c.ClaimedAt}, {"accepted by the provider", c.SentAt}, {"last report", c.HeardAt}} // of the last attempt
	// The spans below it were exported before, with this id as their parent.
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), p.parent)
	t.record(withIDs(ctx, p.self.TraceID(), p.self.SpanID()), s)
}
