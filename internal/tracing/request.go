package tracing

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"weir"
)

// Request is a request that brings contacts. nil: traces are off.
type Request struct {
	t      *Tracer
	begun  time.Time
	caller trace.SpanContext // invalid: there was no traceparent
	id     trace.SpanID

	channel, typ string
	accepted     []weir.Accepted
}

// Request begins a request. The caller's span becomes its parent.
func (t *Tracer) Request(h http.Header) *Request {
	if t == nil {
		return nil
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(h))
	return &Request{t: t, begun: time.Now(), caller: trace.SpanContextFromContext(ctx), id: newSpanID()}
}

// Join has a contact that the caller sent alone live in the caller's trace. Each contact
// of a larger batch has a trace of its own, as the trace of a batch would show none of them.
func (r *Request) Join(specs []weir.Spec) {
	if r == nil || len(specs) != 1 || !r.caller.IsValid() {
		return
	}
	specs[0].Trace = format(r.caller.WithSpanID(r.id))
}

// Accepted notes what was accepted.
func (r *Request) Accepted(ch *weir.Channel, list []weir.Accepted) {
	if r != nil {
		r.channel, r.typ, r.accepted = ch.Name, ch.Type, list
	}
}

// End records the request, and the acceptance of each contact that has a trace of its own.
func (r *Request) End(status int, err error) {
	if r == nil {
		return
	}
	s := span{name: "POST /v1/channels/{channel}/contacts", kind: trace.SpanKindServer, begun: r.begun, end: time.Now(), attributes: []attribute.KeyValue{
		semconv.HTTPRequestMethodPost, semconv.HTTPRoute("/v1/channels/{channel}/contacts"),
		attribute.String(keyChannel, r.channel), attribute.String(keyType, r.typ), attribute.Int("weir.contacts", len(r.accepted)),
	}}
	if err != nil {
		s.failed = string(weir.CodeOf(err))
		s.attributes = append(s.attributes, semconv.ErrorTypeKey.String(s.failed))
	} else {
		s.attributes = append(s.attributes, semconv.HTTPResponseStatusCode(status))
	}
	var id trace.TraceID
	id, _ = generator{}.NewIDs(context.Background())
	if r.caller.IsValid() {
		id = r.caller.TraceID()
	}
	self := trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: r.id})
	for i := range r.accepted {
		if a := &r.accepted[i]; !a.Duplicate && a.Contact.Trace == "" {
			p := r.t.placeOf(a.Contact.Ref, "")
			s.links = append(s.links, p.link())
			r.accept(&a.Contact, p, self)
		}
	}
	r.t.record(withIDs(trace.ContextWithRemoteSpanContext(context.Background(), r.caller), id, r.id), s)
}

// accept records the acceptance in the trace of a contact.
func (r *Request) accept(c *weir.Contact, p place, request trace.SpanContext) {
	if !p.sampled() {
		return
	}
	r.t.record(p.within(), span{name: spanAccept, begun: r.begun, end: time.Now(), links: []trace.Link{{SpanContext: request}}, attributes: []attribute.KeyValue{
		attribute.String(keyContact, c.Ref.String()), attribute.String(keyChannel, r.channel), attribute.String(keyType, r.typ),
	}})
}

// callback is a provider's callback that is being handled.
type callback struct {
	begun   time.Time
	links   []trace.Link
	about   []string // contacts
	sampled bool     // one of them is
}

type callbackKey struct{}

// Callback begins a callback. A provider's own trace context is ignored: it is a stranger's.
func (t *Tracer) Callback(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, callbackKey{}, &callback{begun: time.Now()})
}

// Reported links the callback in ctx to the contact that it reported about. joined is
// stored with the contact; known is false if it has to be read.
func (t *Tracer) Reported(ctx context.Context, r *weir.Report, v weir.Verdict, joined string, known bool) {
	if t == nil {
		return
	}
	c, ok := ctx.Value(callbackKey{}).(*callback)
	if !ok || v == weir.UnknownAttempt {
		return
	}
	if !known {
		joined = t.stored(ctx, r.Attempt.Ref)
	}
	p := t.placeOf(r.Attempt.Ref, joined)
	c.links = append(c.links, p.link())
	c.about = append(c.about, r.Attempt.Ref.String())
	c.sampled = c.sampled || p.sampled()
}

// stored reads the trace context that is stored with a contact.
func (t *Tracer) stored(ctx context.Context, ref weir.Ref) string {
	if t.contact == nil {
		return ""
	}
	c, _, err := t.contact(ctx, ref)
	if err != nil {
		return ""
	}
	return c.Trace
}

// CallbackDone records the callback in ctx. Its URL holds a secret and is left out.
func (t *Tracer) CallbackDone(ctx context.Context, method string, ch *weir.Channel, results []string, err error) {
	if t == nil {
		return
	}
	c, ok := ctx.Value(callbackKey{}).(*callback)
	if !ok {
		return
	}
	s := span{name: spanCallback + " " + ch.Type, kind: trace.SpanKindServer, begun: c.begun, end: time.Now(), links: c.links, attributes: []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String(method), semconv.HTTPRoute("/callbacks/{channel}/{secret}/{path...}"), attribute.String(keyChannel, ch.Name), attribute.String(keyType, ch.Type),
		attribute.String(keyContact, strings.Join(c.about, ",")), attribute.String(keyResult, strings.Join(results, ",")),
	}}
	if err != nil {
		s.failed = string(weir.CodeOf(err))
		s.attributes = append(s.attributes, semconv.ErrorTypeKey.String(s.failed))
	}
	to := context.Background()
	if len(c.links) > 0 {
		to = context.WithValue(to, decisionKey{}, c.sampled)
	}
	t.record(to, s)
}

// Delivery is a delivery of an event that is under way. nil: it is not traced.
type Delivery struct{ span trace.Span }

// Delivery begins a delivery, with a link to the contact if the event has a contact as its
// subject. Requests that are made with the context it returns belong to it. address is the
// receiver's; empty: it is not known. Of it the host alone is recorded: the rest may be secret.
func (t *Tracer) Delivery(ctx context.Context, receiver, kind, subject, address string) (context.Context, *Delivery) {
	if t == nil {
		return ctx, nil
	}
	about := []attribute.KeyValue{semconv.HTTPRequestMethodPost, attribute.String("weir.receiver", receiver), attribute.String("weir.event.type", kind)}
	if target, err := url.Parse(address); err == nil && target.Host != "" {
		about = append(about, semconv.ServerAddress(target.Hostname()))
		if port, err := strconv.Atoi(target.Port()); err == nil {
			about = append(about, semconv.ServerPort(port))
		}
	}
	to := trace.ContextWithSpanContext(ctx, trace.SpanContext{})
	var links []trace.Link
	if id, ok := strings.CutPrefix(subject, "contact/"); ok {
		if ref, err := weir.ParseRef(id); err == nil {
			p := t.placeOf(ref, t.stored(ctx, ref))
			links = []trace.Link{p.link()}
			about = append(about, attribute.String(keyContact, id))
			to = context.WithValue(to, decisionKey{}, p.sampled())
		}
	}
	to, s := t.tracer.Start(to, spanDeliver, trace.WithSpanKind(trace.SpanKindClient), trace.WithLinks(links...), trace.WithAttributes(about...))
	return to, &Delivery{s}
}

// End ends a delivery; status is the answer's, 0: there was none. The error is not
// recorded: it may quote the address.
func (d *Delivery) End(status int, err error) {
	if d == nil {
		return
	}
	if status != 0 {
		d.span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	}
	if err != nil {
		d.span.SetStatus(codes.Error, "failed")
		kind := semconv.ErrorTypeOther
		if status != 0 {
			kind = semconv.ErrorTypeKey.String(strconv.Itoa(status))
		}
		d.span.SetAttributes(kind)
	}
	d.span.End()
}

// Inject returns the headers of a request with the trace context of the delivery in ctx,
// if there is one.
func Inject(ctx context.Context, h http.Header) http.Header {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return h
	}
	h = h.Clone()
	if h == nil {
		h = http.Header{}
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	return h
}
