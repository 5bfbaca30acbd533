// Package tracingtest receives the spans that tests export.
package tracingtest

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector receives traces in OTLP over HTTP. It is a handler for a server, and a
// transport for clients in a bubble of virtual time.
type Collector struct {
	t testing.TB

	mu       sync.Mutex
	spans    []Span
	requests int
	down     bool
}

// New returns a Collector without spans.
func New(t testing.TB) *Collector { return &Collector{t: t} }

// Span is a span as it was exported. Ids are hexadecimal, and empty if there is none.
type Span struct {
	Trace, ID, Parent string
	Name              string
	Kind              otlp.Span_SpanKind
	Begun, End        time.Time
	Attributes        map[string]string // texts and integers
	Links             []string          // trace and id, joined by a hyphen
	Events            []string
	Failed            bool
	Service           string
	All               string // the whole span as text, to search for what must not be in it
}

// Ref returns the form of the span in links.
func (s Span) Ref() string { return s.Trace + "-" + s.ID }

// SetDown makes the collector refuse, or take, requests from now on.
func (c *Collector) SetDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// Requests returns the number of requests so far.
func (c *Collector) Requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

// Spans returns the spans whose name begins with prefix, in the order of their arrival.
func (c *Collector) Spans(prefix string) []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []Span
	for _, s := range c.spans {
		if strings.HasPrefix(s.Name, prefix) {
			list = append(list, s)
		}
	}
	return list
}

// One returns the only span whose name begins with prefix.
func (c *Collector) One(prefix string) Span {
	c.t.Helper()
	list := c.Spans(prefix)
	if len(list) != 1 {
		c.t.Fatalf("%d spans %s, want one; there are %v", len(list), prefix, c.names())
	}
	return list[0]
}

func (c *Collector) names() (names []string) {
	for _, s := range c.Spans("") {
		names = append(names, s.Name)
	}
	return names
}

// RoundTrip implements http.RoundTripper.
func (c *Collector) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w.Result(), nil
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if c.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	// The request has the form of this message.
	var data otlp.TracesData
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, &data) != nil {
		c.t.Errorf("%s %s with %s is no export (%v)", r.Method, r.URL, r.Header.Get("Content-Type"), err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, resource := range data.GetResourceSpans() {
		service := texts(resource.GetResource().GetAttributes())["service.name"]
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, read(s, service))
			}
		}
	}
}

func read(s *otlp.Span, service string) Span {
	out := Span{
		Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
		Name: s.GetName(), Kind: s.GetKind(), Begun: time.Unix(0, int64(s.GetStartTimeUnixNano())), End: time.Unix(0, int64(s.GetEndTimeUnixNano())),
		Attributes: texts(s.GetAttributes()), Failed: s.GetStatus().GetCode() == otlp.Status_STATUS_CODE_ERROR, Service: service, All: s.String(),
	}
	for _, l := range s.GetLinks() {
		out.Links = append(out.Links, hex.EncodeToString(l.GetTraceId())+"-"+hex.EncodeToString(l.GetSpanId()))
	}
	for _, e := range s.GetEvents() {
		out.Events = append(out.Events, e.GetName())
	}
	return out
}

func texts(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.GetKey()] = strconv.FormatInt(v.IntValue, 10)
		}
	}
	return out
}
