// Package provider holds what HTTP drivers share: one way to make a request, to
// determine exactly whether it can have reached the provider, and to interpret
// the result for a contact; to check settings, and to read callbacks.
//
// # Invariants
//
//   - A request is never carried out twice: neither the transport nor this
//     package repeats one that the provider may have seen.
//   - Redirects are not followed, so that credentials stay with the configured
//     host.
//   - No error or reason holds a URL, an address or a credential.
package provider

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"weir/internal/backoff"
)

// Delivery is how far a request got.
type Delivery int

// The values of Delivery.
const (
	// NeverSent: the provider certainly has not seen a whole request.
	NeverSent Delivery = iota + 1
	// MaybeSent: the provider may have seen and carried out the request.
	MaybeSent
	// Answered: the provider sent at least the head of an answer.
	Answered
)

// MaxBody is the max size of an answer in bytes, unless a driver sets its own.
const MaxBody = 1 << 20

// ErrBodyTooLarge means that an answer exceeded the bound. The part that was read
// is in the result.
var ErrBodyTooLarge = errors.New("the answer is too large")

// Result is the outcome of a request.
type Result struct {
	Delivery   Delivery
	Status     int // of Answered; otherwise 0
	Header     http.Header
	Body       []byte
	RetryAfter time.Duration // as requested by the provider; 0: none
	// Err is the reason why there is no answer, or only part of one.
	Err error
}

// OK reports whether the provider answered 2xx and the whole answer was read.
func (r Result) OK() bool {
	return r.Delivery == Answered && r.Err == nil && r.Status >= 200 && r.Status < 300
}

// Do makes a request and reads up to maxBody bytes of the answer. It uses only the
// client's transport, not its redirect policy, cookies or timeout. The request
// must not be used again.
func Do(ctx context.Context, client *http.Client, request *http.Request, maxBody int64) Result {
	transport := client.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	// A server may close an idle connection just as it is taken from the pool. If
	// certainly nothing of the request was sent, another connection is tried, a
	// few times, because a pool may be full of dead ones.
	tries := 4
	if request.Body != nil && request.Body != http.NoBody && request.GetBody == nil {
		tries = 1 // its body can be read only once
	}
	plain(request)
	for {
		result, stale := once(ctx, transport, request, maxBody)
		if tries--; !stale || tries == 0 || ctx.Err() != nil {
			return result
		}
		if request.GetBody != nil {
			body, err := request.GetBody()
			if err != nil {
				return Result{Delivery: NeverSent, Err: err}
			}
			request.Body = body
		}
	}
}

// plain prevents net/http from repeating a request by itself. Its transport
// repeats a request on another connection if it can be replayed, which it assumes
// of every GET without a body (Request.isReplayable), and a GET may create a
// call. A body without GetBody prevents that. The transport probes it, finds it
// empty and sends no body and no body header.
func plain(request *http.Request) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} { // these also make a request replayable
		if _, ok := request.Header[name]; ok {
			request.Header = request.Header.Clone() // may be shared
			delete(request.Header, name)
		}
	}
	switch request.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		if request.Body == nil || request.Body == http.NoBody {
			request.Body, request.ContentLength = emptyBody{}, 0
		}
		request.GetBody = nil
	}
}

type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }
func (emptyBody) Close() error             { return nil }

// once makes one try. stale means that it failed on a reused connection without
// having been sent.
func once(
	ctx context.Context, transport http.RoundTripper, request *http.Request, maxBody int64,
) (_ Result, stale bool) {
	var t trace
	_, bodyless := request.Body.(emptyBody)
	response, err := transport.RoundTrip(request.WithContext(httptrace.WithClientTrace(ctx, t.hooks())))
	if err != nil {
		neverSent := t.neverSent(err, bodyless)
		if ctx.Err() != nil {
			err = ctx.Err() // whatever cause the transport reports
		}
		if neverSent {
			return Result{Delivery: NeverSent, Err: err}, t.reused.Load()
		}
		return Result{Delivery: MaybeSent, Err: err}, false
	}
	defer func() { _ = response.Body.Close() }()
	var body []byte
	if response.Body != http.NoBody && response.StatusCode != http.StatusSwitchingProtocols { // which has a body without end
		body, err = io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	}
	result := Result{Delivery: Answered, Status: response.StatusCode, Header: response.Header, Body: body, Err: err}
	if after := response.Header.Get("Retry-After"); after != "" {
		result.RetryAfter = backoff.RetryAfter(after, time.Now())
	}
	if int64(len(body)) > maxBody {
		result.Body, result.Err = body[:maxBody], ErrBodyTooLarge
	} else if err == nil {
		result.Body, result.Err = Unpack(body, maxBody)
	}
	result.Body = WithoutMark(result.Body)
	return result, false
}

// trace observes how far one request gets. On HTTP/1 the transport waits for its
// writing goroutine before it returns an error, so the hooks have seen everything
// by then; on HTTP/2 it does not.
type trace struct {
	asked  atomic.Bool // a transport that calls hooks was asked for a connection
	got    atomic.Bool // and returned one
	reused atomic.Bool // the connection had been used before
	http2  atomic.Bool
	wrote  atomic.Bool // all headers were written to the connection's buffer
	client httptrace.ClientTrace
}

func (t *trace) hooks() *httptrace.ClientTrace {
	t.client = httptrace.ClientTrace{
		GetConn: func(string) { t.asked.Store(true) },
		GotConn: func(info httptrace.GotConnInfo) {
			t.got.Store(true)
			t.reused.Store(info.Reused)
			if c, ok := info.Conn.(*tls.Conn); ok && c.ConnectionState().NegotiatedProtocol == "h2" {
				t.http2.Store(true)
			}
		},
		WroteHeaders: func() { t.wrote.Store(true) },
	}
	return &t.client
}

func (t *trace) neverSent(err error, bodyless bool) bool {
	switch {
	case !t.asked.Load(): // another kind of RoundTripper: nothing is known
		return false
	case !t.got.Load(): // dialing, name lookup, TLS handshake, or waiting for one of these
		return true
	case t.http2.Load():
		return false
	case !t.wrote.Load(): // no server acts on a request before the end of its headers
		return true
	}
	// The headers are written from a buffer at the end of the request. If that
	// write fails, their end is missing; with a body, perhaps only the body's end.
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "write" && bodyless
}

// BaseURL parses the base_url of a channel. Drivers join paths to it.
func BaseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("base_url: want http or https, a host and no more than a path")
	}
	return u, nil
}

// NewRequest returns a request with credentials. body may be nil.
func NewRequest(method string, target *url.URL, body io.Reader, credentials Credentials) (*http.Request, error) {
	request, err := http.NewRequest(method, target.String(), body) //nolint:noctx // Do gives it one
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the URL, which holds addresses and callback secrets
	}
	if err != nil {
		return nil, fmt.Errorf("request cannot be made: %w", err)
	}
	credentials.apply(request)
	request.Header.Set("User-Agent", "weir")
	request.Header.Set("Accept-Encoding", "identity") // answers are short
	return request, nil
}

// Target is the destination of requests of one kind and what all of them carry,
// built once: a driver makes one request for each contact. It is safe for
// concurrent use.
type Target struct {
	client *http.Client
	url    *url.URL
	header http.Header // shared by all requests: transports do not change it
}

// NewTarget returns a target for POSTs with a body of the given content type. Like
// Do, it uses only the client's transport.
func NewTarget(client *http.Client, target *url.URL, contentType string, credentials Credentials) (*Target, error) {
	r, err := NewRequest(http.MethodPost, target, nil, credentials)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", contentType)
	return &Target{client: client, url: r.URL, header: r.Header}, nil
}

// Post makes a request with a body and reads up to maxBody bytes of the answer.
func (t *Target) Post(ctx context.Context, body []byte, maxBody int64) Result {
	return Do(ctx, t.client, t.request(body), maxBody)
}

// request returns a request with a body, for Do.
func (t *Target) request(body []byte) *http.Request {
	r := &http.Request{
		Method: http.MethodPost, URL: t.url, Host: t.url.Host, Header: t.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if len(body) > 0 { // otherwise net/http would treat its length as unknown
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.Body, _ = r.GetBody() // cannot fail
		r.ContentLength = int64(len(body))
	}
	return r
}
