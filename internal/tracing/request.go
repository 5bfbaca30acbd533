package tracing

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
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
	if r != nil {
		r.end(status, err)
	}
}

func (r *Request) end(status int, err error) {
	s := span{name: "POST /v1/channels/{channel}/contacts", kind: trace.SpanKindServer, begun: r.begun, end: time.Now(), attributes: []attribute.KeyValue{
		attribute.String("http.request.method", http.MethodPost), attribute.String("http.route", "/v1/channels/{channel}/contacts"),
		attribute.String(keyChannel, r.channel), attribute.String(keyType, r.typ), attribute.Int("weir.contacts", len(r.accepted)),
	}}
	if err != nil {
		s.failed = string(weir.CodeOf(err))
		s.attributes = append(s.attributes, attribute.String("error.type", s.failed))
	} else {
		s.attributes = append(s.attributes, attribute.Int("http.response.status_code", status))
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
