package provider

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"weir/internal/plainhttp"
)

// NewRequest returns a request with credentials. body may be nil.
func NewRequest(method string, target *url.URL, body io.Reader, credentials Credentials) (*http.Request, error) {
	request, err := http.NewRequest(method, target.String(), body) //nolint:noctx // Do gives it one
	if err != nil {
		return nil, fmt.Errorf("request cannot be made: %w", withoutURL(err))
	}
	credentials.apply(request)
	request.Header.Set("User-Agent", "weir")
	return request, nil
}

// Target is the destination of requests of one kind and what all of them carry,
// built once: a driver makes one request for each contact. It is safe for
// concurrent use.
type Target struct {
	client *http.Client
	url    *url.URL
	header http.Header      // shared by all requests: transports do not change it
	short  *plainhttp.Route // nil: no short way
}

// NewTarget returns a target for POSTs with a body of the given content type. Like
// Do, it uses only the client's transport.
func NewTarget(client *http.Client, target *url.URL, contentType string, credentials Credentials) (*Target, error) {
	r, err := NewRequest(http.MethodPost, target, nil, credentials)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", contentType)
	t := &Target{client: client, url: r.URL, header: r.Header}
	if transport, ok := client.Transport.(*plainhttp.Transport); ok {
		t.short, _ = transport.Route(r)
	}
	return t, nil
}

// Post makes a request with a body and reads up to maxBody bytes of the answer.
func (t *Target) Post(ctx context.Context, body []byte, maxBody int64) Result {
	if t.short == nil || len(body) > plainhttp.MaxBody {
		return Do(ctx, t.client, t.request(body), maxBody)
	}
	answer := t.short.Post(ctx, body, maxBody)
	switch {
	case answer.Response != nil:
		return answered(answer.Response, answer.Body, answer.Err, maxBody)
	case answer.Unwritten:
		return Result{Delivery: NeverSent, Err: answer.Err}
	}
	return Result{Delivery: MaybeSent, Err: answer.Err}
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
