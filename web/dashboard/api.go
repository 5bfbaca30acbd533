package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"weir"
	"weir/web/auth"
)

// requestID identifies a request in responses, in the log and in the audit log.
const requestID = "X-Request-Id"

// problem is an error response of the API.
type problem struct {
	Status int               `json:"status"`
	Title  string            `json:"title"`
	Detail string            `json:"detail"`
	Code   weir.Code         `json:"code"`
	Errors []weir.FieldError `json:"errors"`
	wait   string            // Retry-After
}

// Error returns the API's detail.
func (p *problem) Error() string { return p.Detail }

// apiPath joins the segments of a path, each escaped.
func apiPath(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}

// get reads a resource of the API.
func (v *visit) get(path string, query url.Values, into any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return v.call(http.MethodGet, path, nil, into)
}

// call sends a request to the API with the rights of the session. body is sent as
// JSON; into, if not nil, receives the response.
func (v *visit) call(method, path string, body, into any) error {
	req, err := v.request(method, path, body)
	if err != nil {
		return err
	}
	res, err := v.transport().RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= http.StatusBadRequest {
		return problemOf(res)
	}
	if into == nil || res.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		return fmt.Errorf("decode a response of the API: %w", err)
	}
	return nil
}

// transport sends requests to the API.
func (v *visit) transport() http.RoundTripper { return handlerTransport{v.d.API} }

// forward lets the API answer the browser directly, for files too large to buffer
// in memory.
func (v *visit) forward(w http.ResponseWriter, path string) error {
	req, err := v.request(http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	v.d.API.ServeHTTP(w, req)
	return nil
}

// request builds a request that the API treats as the browser's own.
func (v *visit) request(method, path string, body any) (*http.Request, error) {
	var r io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(raw)
	}
	ctx := v.r.Context()
	if v.session {
		ctx = auth.WithSession(ctx)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, r)
	if err != nil {
		return nil, err
	}
	// Host is set separately from the URL, because not every Host header is valid
	// in a URL.
	req.Host, req.RemoteAddr, req.RequestURI = v.r.Host, v.r.RemoteAddr, path
	if v.token != "" {
		req.Header.Set("Authorization", "Bearer "+v.token)
	}
	if v.id != "" {
		req.Header.Set(requestID, v.id)
	}
	if body != nil {
		kind := "application/json"
		if method == http.MethodPatch {
			kind = "application/merge-patch+json"
		}
		req.Header.Set("Content-Type", kind)
	}
	return req, nil
}

func problemOf(res *http.Response) error {
	var said struct {
		problem
		Router *routerError `json:"error"`
	}
	_ = json.NewDecoder(res.Body).Decode(&said) // an unreadable body leaves only the status
	p := &said.problem
	if said.Router != nil {
		said.Router.fill(p)
	}
	if p.Detail == "" {
		p.Detail = http.StatusText(res.StatusCode)
	}
	p.Status, p.wait = res.StatusCode, res.Header.Get("Retry-After")
	return p
}

// handlerTransport sends requests to a handler in the same process.
type handlerTransport struct{ handler http.Handler }

// RoundTrip returns when the response is complete.
func (m handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &responseBuffer{header: http.Header{}}
	m.handler.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Header: w.header, Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()),
	}, nil
}

// responseBuffer buffers a response in memory.
type responseBuffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (h *responseBuffer) Header() http.Header { return h.header }

// WriteHeader implements http.ResponseWriter.
func (h *responseBuffer) WriteHeader(status int) {
	if h.status == 0 {
		h.status = status
	}
}

// Write implements http.ResponseWriter.
func (h *responseBuffer) Write(b []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(b)
}

// routerVersion is the version of the router's API that the pages use.
const routerVersion = "2024-01-18-preview"

// routerError is an error in the format of the router's API.
type routerError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details []struct {
		Message string `json:"message"`
	} `json:"details"`
}

// fill copies the error in the format of Weir's own API.
func (f *routerError) fill(p *problem) {
	p.Code, p.Detail = weir.Code(f.Code), f.Message
	for _, d := range f.Details {
		p.Errors = append(p.Errors, weir.FieldError{Detail: d.Message})
	}
}

// routerList is a page of a list of the router.
type routerList[T any] struct {
	Value    []T    `json:"value"`
	NextLink string `json:"nextLink"`
}

// cursorOf returns the token in the router's link to its next page.
func cursorOf(nextLink string) string {
	u, err := url.Parse(nextLink)
	if err != nil {
		return ""
	}
	return u.Query().Get("skipToken")
}

// routerPath returns a path of the router's API. Text after a colon would be an
// action, so colons in ids are escaped.
func routerPath(segments ...string) string {
	return "/routing" + strings.ReplaceAll(apiPath(segments...), ":", "%3A")
}

// getRouter reads a resource of the router.
func (v *visit) getRouter(path string, query url.Values, into any) error {
	return v.callRouter(http.MethodGet, path, query, nil, into)
}

// callRouter sends a request to the router. Errors that explain why the router
// cannot answer are worded for readers of a page.
func (v *visit) callRouter(method, path string, query url.Values, body, into any) error {
	if query == nil {
		query = url.Values{}
	}
	query.Set("api-version", routerVersion)
	err := v.call(method, path+"?"+query.Encode(), body, into)
	switch status, p := statusOf(err); {
	case err == nil:
		return nil
	case status == http.StatusServiceUnavailable:
		return &problem{Status: status, Code: weir.CodeUnavailable, wait: p.wait, Detail: "The router is unavailable in this process: " + p.Detail +
			". One process at a time runs it. Open this page on that process, or try again after it has stopped."}
	case status == http.StatusUnauthorized && v.who.Open:
		return &problem{Status: http.StatusForbidden, Code: weir.CodeForbidden, Detail: "The router requires a token. " +
			"Create one and log in with it: weir token create --name ann --scope router --scope pii:read"}
	}
	return err
}

// listPage reads a page of a list of the router.
func listPage[T any](v *visit, path string, query url.Values, size int) (list []T, p pager, err error) {
	query.Set("maxpagesize", strconv.Itoa(size))
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		query.Set("skipToken", cursor)
	}
	var page routerList[T]
	if err := v.getRouter(path, query, &page); err != nil {
		return nil, p, err
	}
	return page.Value, v.more(cursorOf(page.NextLink)), nil
}

// firstEntries reads the beginning of a list.
func firstEntries[T any](v *visit, path string, query url.Values) ([]T, error) {
	query.Set("maxpagesize", strconv.Itoa(maxListed))
	var page routerList[T]
	err := v.getRouter(path, query, &page)
	return page.Value, err
}
