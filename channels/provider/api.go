package provider

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
)

// API is the address that a driver calls, with the common parts of all requests to it.
type API struct {
	HTTP        *http.Client
	Base        *url.URL
	Credentials Credentials
	Header      http.Header // of every request; may be nil
	MaxBody     int64       // of an answer, in bytes; 0: MaxBody
}

// Call is one request to an API.
type Call struct {
	Method string
	Path   []string // segments below the base; they are escaped
	Query  url.Values
	Header http.Header // in addition to that of the API; may be nil
	Body   []byte      // empty: none
}

// URL returns an address below the base.
func (a *API) URL(path []string, query url.Values) *url.URL {
	target := *a.Base
	if len(path) > 0 {
		segments := make([]string, len(path))
		for i, s := range path {
			segments[i] = url.PathEscape(s)
		}
		target = *a.Base.JoinPath(segments...)
	}
	if len(query) > 0 {
		target.RawQuery = query.Encode()
	}
	return &target
}

// Do makes a request, as [Do] does.
func (a *API) Do(ctx context.Context, c Call) Result {
	var body io.Reader
	if len(c.Body) > 0 {
		body = bytes.NewReader(c.Body)
	}
	r, err := NewRequest(c.Method, a.URL(c.Path, c.Query), body, a.Credentials)
	if err != nil {
		return Result{Delivery: NeverSent, Err: err}
	}
	maps.Copy(r.Header, a.Header)
	maps.Copy(r.Header, c.Header)
	return Do(ctx, a.HTTP, r, cmp.Or(a.MaxBody, MaxBody))
}
