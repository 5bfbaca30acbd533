// Package tracing exports OpenTelemetry spans of the life of contacts.
//
// A contact has one trace, which every process finds again without asking another: its
// id is derived from the contact's id and a secret of the database or, if the request
// that brought the contact alone had a traceparent header, it is the caller's, which is
// stored with the contact. What comes later from outside, a provider's callback, and what
// leaves for a webhook, has a trace of its own with a link to the contact.
//
// A nil [Tracer] means that traces are off. All its methods may be called; they return at
// once and allocate nothing. Nothing here is global: the spans of two daemons in one
// process stay apart.
package tracing

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"weir"
	"weir/operators"
)

// Options configures a Tracer.
type Options struct {
	Endpoint string            // URL to which traces are posted, in OTLP over HTTP
	Headers  map[string]string // of these requests
	Timeout  time.Duration     // of one of them
	Service  string            // name of this service in traces
	Version  string
	// Sampler is a value of OTEL_TRACES_SAMPLER; Ratio is for samplers that keep a share.
	Sampler string
	Ratio   float64
	// Secret is one of the database, so that ids of traces differ between installations.
	Secret []byte
	// Contact reads a contact.
	Contact   func(context.Context, weir.Ref) (weir.Contact, []weir.Attempt, error)
	Transport http.RoundTripper // nil: connections of its own
	Logger    *slog.Logger
}

// Tracer exports spans. Its methods are safe for concurrent use; none of them waits for
// the collector. nil: traces are off.
type Tracer struct {
	contact  func(context.Context, weir.Ref) (weir.Contact, []weir.Attempt, error)
	secret   []byte
	sampler  sampler
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	client   *client
}

// closeLimit bounds how long the last spans may take.
const closeLimit = time.Second

// Start starts exporting. The spans wait in a queue of limited length; if it is full, they
// are dropped. The variables OTEL_BSP_* of the process bound queue and batches.
func Start(ctx context.Context, o Options) (*Tracer, error) {
	base, err := samplerOf(o.Sampler, o.Ratio)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName(o.Service), semconv.ServiceVersion(o.Version)),
		resource.WithFromEnv()) // the last one prevails
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, err
	}
	t := &Tracer{contact: o.Contact, secret: o.Secret, sampler: sampler{base}, client: newClient(o)}
	exporter, err := otlptrace.New(ctx, t.client)
	if err != nil {
		return nil, err
	}
	t.provider = sdk.NewTracerProvider(sdk.WithBatcher(quiet{exporter}), sdk.WithSampler(t.sampler), sdk.WithIDGenerator(generator{}), sdk.WithResource(about))
	t.tracer = t.provider.Tracer("weir")
	return t, nil
}

// Close exports what is left, as far as the collector takes it within a second.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	err := t.provider.Shutdown(ctx)
	t.client.abort()
	if err != nil {
		t.client.log.Warn("last traces not exported", "error", err)
	}
	return nil // the daemon has stopped in order all the same
}

// span is a finished span.
type span struct {
	name       string
	kind       trace.SpanKind
	begun, end time.Time
	attributes []attribute.KeyValue
	links      []trace.Link
	failed     string // what failed; empty: nothing
	events     []event
}

// reason adds the reason of a result, without phone numbers that a provider may have put
// into it.
func (s *span) reason(text string) {
	if text != "" {
		s.attributes = append(s.attributes, attribute.String(keyReason, operators.ReplacePhoneNumbers(text, func(string) string { return "…" })))
	}
}

// event is an instant within a span.
type event struct {
	name string
	at   time.Time
}

// record records a finished span as a child of the one in ctx.
func (t *Tracer) record(ctx context.Context, s span) {
	_, to := t.tracer.Start(ctx, s.name, trace.WithSpanKind(s.kind), trace.WithTimestamp(s.begun), trace.WithLinks(s.links...), trace.WithAttributes(s.attributes...))
	if s.failed != "" {
		to.SetStatus(codes.Error, s.failed)
	}
	for _, e := range s.events {
		if !e.at.IsZero() {
			to.AddEvent(e.name, trace.WithTimestamp(e.at))
		}
	}
	to.End(trace.WithTimestamp(s.end))
}

// Keys of values in a context.
type (
	idsKey      struct{} // ids of the next span
	decisionKey struct{} // whether the next span is sampled: bool
)

// ids are those of a span that is known before it is recorded.
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

// withIDs sets the ids of the next span. The id of the trace counts for a span without parent.
func withIDs(ctx context.Context, t trace.TraceID, s trace.SpanID) context.Context {
	return context.WithValue(ctx, idsKey{}, ids{t, s})
}

// generator gives spans their ids: those in the context, or random ones.
type generator struct{}

// NewIDs implements sdk.IDGenerator.
func (g generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if known, ok := ctx.Value(idsKey{}).(ids); ok {
		return known.trace, known.span
	}
	var id trace.TraceID
	binary.BigEndian.PutUint64(id[:8], rand.Uint64()|1) // never zero
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	return id, newSpanID()
}

// NewSpanID implements sdk.IDGenerator.
func (g generator) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if known, ok := ctx.Value(idsKey{}).(ids); ok {
		return known.span
	}
	return newSpanID()
}

func newSpanID() (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}

// sampler decides as configured, unless the context has the decision already: what is
// linked to a contact is sampled if the contact is.
type sampler struct{ sdk.Sampler }

// ShouldSample implements sdk.Sampler.
func (s sampler) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	switch sampled, decided := p.ParentContext.Value(decisionKey{}).(bool); {
	case decided && sampled:
		return sdk.SamplingResult{Decision: sdk.RecordAndSample}
	case decided:
		return sdk.SamplingResult{Decision: sdk.Drop}
	default:
		return s.Sampler.ShouldSample(p)
	}
}

// samplerOf returns the sampler of a value of OTEL_TRACES_SAMPLER.
func samplerOf(name string, ratio float64) (sdk.Sampler, error) {
	root, parentBased := strings.CutPrefix(cmp.Or(name, "parentbased_always_on"), "parentbased_")
	s := map[string]sdk.Sampler{"always_on": sdk.AlwaysSample(), "always_off": sdk.NeverSample(), "traceidratio": sdk.TraceIDRatioBased(ratio)}[root]
	switch {
	case s == nil:
		return nil, errors.New("unknown sampler " + name)
	case parentBased:
		return sdk.ParentBased(s), nil
	}
	return s, nil
}
