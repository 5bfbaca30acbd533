// Package provider holds what HTTP drivers share: one way to make a request, to
// determine exactly whether it can have reached the provider, and to interpret
// the result for a contact; to check settings, and to read callbacks.
//
// # Invariants
//
//   - A request is never carried out twice: neither the transport (package httponce)
//     nor this package repeats one that the provider may have seen.
//   - Redirects are not followed, so that credentials stay with the configured
//     host.
//   - No error or reason holds a URL, an address or a credential.
package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"weir/internal/backoff"
	"weir/internal/httponce"
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
// client's transport, not its redirect policy, cookies or timeout. Only a transport whose errors
// tell that nothing was sent ([httponce.NotSent]) yields NeverSent. The request must not be used
// again.
func Do(ctx context.Context, client *http.Client, request *http.Request, maxBody int64) Result {
	if client.Transport == nil { // the default one repeats requests
		return Result{Delivery: NeverSent, Err: errors.New("the client has no transport")}
	}
	response, err := client.Transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		delivery := MaybeSent
		if httponce.NotSent(err) {
			delivery = NeverSent
		}
		if ctx.Err() != nil {
			err = ctx.Err() // whatever cause the transport reports
		}
		return Result{Delivery: delivery, Err: err}
	}
	defer func() { _ = response.Body.Close() }()
	var body []byte
	if response.Body != http.NoBody {
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
	return result
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
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return r
}
