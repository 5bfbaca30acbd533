package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"weir/internal/backoff"
)

// client posts traces in OTLP over HTTP. The SDK's own client would bring gRPC into the
// program, which is 2.2 MB larger then.
type client struct {
	o     Options
	http  *http.Client
	log   *slog.Logger
	life  context.Context // ends with abort
	abort context.CancelFunc

	mu       sync.Mutex
	failing  bool
	warnedAt time.Time
}

func newClient(o Options) *client {
	transport := o.Transport
	if transport == nil {
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true}
	}
	c := &client{o: o, log: o.Logger, http: &http.Client{Transport: transport, Timeout: o.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the headers hold a secret
	}}}
	c.life, c.abort = context.WithCancel(context.Background())
	return c
}

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

const (
	firstPause = time.Second
	lastPause  = 8 * time.Second
	warnEvery  = 10 * time.Minute
)

// UploadTraces implements otlptrace.Client. It retries until ctx ends, which the SDK sees
// to after half a minute; meanwhile the queue takes further spans.
func (c *client) UploadTraces(ctx context.Context, list []*otlp.ResourceSpans) error {
	// On the wire this is an ExportTraceServiceRequest, whose package needs gRPC.
	body, err := proto.Marshal(&otlp.TracesData{ResourceSpans: list})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	for n := 1; ; n++ {
		again, err := c.post(ctx, body)
		c.report(err)
		if err == nil || !again || !backoff.Wait(ctx, backoff.Random(n, firstPause, lastPause)) {
			return err
		}
	}
}

// post makes one request. again reports whether another try may help.
func (c *client) post(ctx context.Context, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.Endpoint, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("invalid endpoint")
	}
	for name, value := range c.o.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "weir/"+c.o.Version)
	answer, err := c.http.Do(r)
	if err != nil {
		return true, err
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection is used again
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if answer.StatusCode/100 != 2 {
		return again, fmt.Errorf("the collector answered %d", answer.StatusCode)
	}
	return false, nil
}

// report logs that the export begins to fail, and that it works again.
func (c *client) report(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil || (err != nil) == c.failing {
		return
	}
	now := time.Now()
	if err != nil && now.Sub(c.warnedAt) < warnEvery {
		return
	}
	c.failing = err != nil
	if err == nil {
		c.log.Info("trace export recovered")
		return
	}
	c.warnedAt = now
	c.log.Warn("trace export failed; traces are dropped until the collector takes them", "error", err)
}

// quiet keeps errors from the SDK, which would log each to standard error: the client has
// logged what there is to say.
type quiet struct{ sdk.SpanExporter }

// ExportSpans implements sdk.SpanExporter.
func (q quiet) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	_ = q.SpanExporter.ExportSpans(ctx, spans)
	return nil
}
