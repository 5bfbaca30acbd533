package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"weir"
	"weir/api"
	"weir/internal/plainjson"
	"weir/operators"
	"weir/web/auth"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

// problem is an error response of the API.
type problem struct {
	Status int               `json:"status"`
	Detail string            `json:"detail"`
	Errors []weir.FieldError `json:"errors"`
	wait   string            `json:"-"` // Retry-After
	// words are the detail of a problem of the dashboard itself, where no language is known. The
	// details of its errors are messages, too.
	words locale.Message `json:"-"`
}

// Error returns the API's detail.
func (p *problem) Error() string { return cmp.Or(p.Detail, string(p.words)) }

// in returns the problem in a language.
func (p *problem) in(l *locale.Locale) *problem {
	if p.words == "" {
		return p
	}
	out := *p
	out.Detail, out.Errors = l.T(p.words), slices.Clone(p.Errors)
	for i := range out.Errors {
		out.Errors[i].Detail = l.T(locale.Message(out.Errors[i].Detail))
	}
	return &out
}

// routerError is an error in the format of the router's API.
type routerError struct {
	Message string `json:"message"`
	Details []struct {
		Message string `json:"message"`
	} `json:"details"`
}

// caller calls the API with the rights of a browser's session.
type caller struct {
	*locale.Locale // of the reader
	api            http.Handler
	browser        *http.Request // whose address and context the calls have
	id             string        // X-Request-Id
	token          string        // empty while no token is needed
	session        bool          // token is the text of a session
	Who            api.WhoView
	held           operators.Rights // those of Who
}

// May reports whether the token has one of the scopes, be it with a limit; none: any token will do.
func (c *caller) May(oneOf ...operators.Scope) bool { return oneOf == nil || c.held.MaySome(oneOf...) }

// MayAll reports whether the token has one of the scopes for the whole installation; none: any token will do.
func (c *caller) MayAll(oneOf ...operators.Scope) bool {
	return oneOf == nil || c.held.MayAll(oneOf...)
}

// MayChannel reports whether the token has one of the scopes for a channel; none: any token will do.
func (c *caller) MayChannel(name string, oneOf ...operators.Scope) bool {
	return oneOf == nil || c.held.May(oneOf, operators.Channel(name))
}

// MaySurvey reports whether the token has one of the scopes for a survey; none: any token will do.
func (c *caller) MaySurvey(name string, oneOf ...operators.Scope) bool {
	return oneOf == nil || c.held.May(oneOf, operators.Survey(name))
}

// MaySearch reports whether the API lets the token search for people.
func (c *caller) MaySearch() bool {
	return c.May(operators.ScopePIIRead) && c.May(operators.ScopePeopleAdmin, operators.ScopeContactsRead)
}

// Limit returns what names must begin with, if the token has the scopes only for some; empty: it may be any.
func (c *caller) Limit(oneOf ...operators.Scope) string {
	if c.held.MayAll(oneOf...) {
		return ""
	}
	return strings.Join(c.held.Prefixes(oneOf), c.T(" or "))
}

// prefixes returns what names must begin with, if the token has the scopes only for some.
func (c *caller) prefixes(oneOf ...operators.Scope) []string { return c.held.Prefixes(oneOf) }

// nameOutside returns the mistake in the name of a new channel or survey that the token may not have.
func (c *caller) nameOutside(oneOf ...operators.Scope) string {
	return c.T("It must begin with %s: your scopes are limited to such names.", c.Limit(oneOf...))
}

// newName returns a name within the limits of the token that nothing has: for a dry run of what has no usable name yet.
func (c *caller) newName(oneOf ...operators.Scope) string {
	name := strings.ToLower(rand.Text())
	if c.held.MayAll(oneOf...) {
		return name
	}
	prefixes := c.held.Prefixes(oneOf)
	switch {
	case len(prefixes) == 0:
		return name
	case strings.ContainsAny(prefixes[0][len(prefixes[0])-1:], "-._"):
		return prefixes[0] + name[:min(len(name), maxName-len(prefixes[0]))]
	default:
		return prefixes[0] // it is the only name that the scope reaches
	}
}

// maxName is the max length of a name of a channel, a survey, a purpose or a limit.
const maxName = 63

// save sends a document that was filled in to the API. If the page has found mistakes itself, it is a dry run, in which the API
// finds all others and changes nothing.
func (c *caller) save(method, path string, body any, mistakes map[string]string, into any) error {
	if len(mistakes) == 0 {
		return c.call(method, path, body, into)
	}
	at, query, _ := strings.Cut(path, "?")
	if query != "" {
		query += "&"
	}
	if err := c.call(method, at+"?"+query+"dry_run=true", body, nil); err != nil {
		return err
	}
	return &problem{Status: http.StatusUnprocessableEntity} // the mistakes of the page are all that there are
}

// rights returns a key that is equal for all who see the same.
func (c *caller) rights() string { return c.Code + " " + display.Join(c.Who.Scopes, " ") }

// get reads a resource of the API.
func (c *caller) get(path string, query url.Values, into any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.call(http.MethodGet, path, nil, into)
}

// call sends a request to the API with the rights of the session. body is sent as
// JSON; into, if not nil, receives the response.
func (c *caller) call(method, path string, body, into any) error {
	_, err := c.exchange(method, path, "", body, into)
	return err
}

// exchange is call for a resource that has versions: tag is the one that the request demands, if
// it is not empty, and the response has the one returned.
func (c *caller) exchange(method, path, tag string, body, into any) (string, error) {
	req, err := c.request(c.browser.Context(), method, path, body)
	if err != nil {
		return "", err
	}
	if tag != "" {
		req.Header.Set("If-Match", tag)
	}
	return c.send(req, into)
}

// send sends a request to the API, and returns the version of what it answers, if that has one.
func (c *caller) send(req *http.Request, into any) (string, error) {
	res := &responseBuffer{header: http.Header{}}
	c.api.ServeHTTP(res, req)
	if err := req.Context().Err(); err != nil {
		return "", err
	}
	res.WriteHeader(http.StatusOK) // for a handler that has not
	if res.status >= http.StatusBadRequest {
		return "", problemOf(c.Locale, res)
	}
	if into == nil || res.status == http.StatusNoContent {
		return "", nil
	}
	if err := plainjson.Unmarshal(res.body.Bytes(), into); err != nil {
		return "", fmt.Errorf("decode a response of the API: %w", err)
	}
	return res.header.Get("ETag"), nil
}

// context is that of the browser's request.
func (c *caller) context() context.Context { return c.browser.Context() }

// answer lets the API answer a request.
func (c *caller) answer(w http.ResponseWriter, req *http.Request) { c.api.ServeHTTP(w, req) }

// forward lets the API answer the browser directly, for files too large to buffer
// in memory.
func (c *caller) forward(w http.ResponseWriter, path string) error {
	req, err := c.request(c.browser.Context(), http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	c.api.ServeHTTP(w, req)
	return nil
}

// request builds a request that the API treats as the browser's own.
func (c *caller) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var r io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(raw)
	}
	switch {
	case c.session:
		ctx = auth.WithSession(ctx)
	case c.token == "":
		ctx = auth.WithVisitor(ctx)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, r)
	if err != nil {
		return nil, err
	}
	// Host is set separately from the URL, because not every Host header is valid
	// in a URL.
	req.Host, req.RemoteAddr, req.RequestURI = c.browser.Host, c.browser.RemoteAddr, path
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.id != "" {
		req.Header.Set(requestID, c.id)
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

// problemOf returns the problem in an answer of the API, in the language of the reader.
func problemOf(l *locale.Locale, res *responseBuffer) error {
	var said struct {
		problem
		Router *routerError `json:"error"`
	}
	_ = json.Unmarshal(res.body.Bytes(), &said) // an unreadable body leaves only the status
	p := &said.problem
	if e := said.Router; e != nil {
		p.Detail = e.Message
		for _, d := range e.Details {
			p.Errors = append(p.Errors, weir.FieldError{Detail: d.Message})
		}
	}
	p.Detail = l.Mistake(cmp.Or(p.Detail, http.StatusText(res.status)))
	translate(l, p.Errors)
	p.Status, p.wait = res.status, res.header.Get("Retry-After")
	return p
}

// translate puts what the API says of mistakes into the language of the reader.
func translate(l *locale.Locale, list []weir.FieldError) {
	for i := range list {
		list[i].Detail = l.Mistake(list[i].Detail)
	}
}

// responseBuffer buffers a response of the API in memory.
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

// statusOf returns the HTTP status of an error, and its problem.
func statusOf(err error) (int, *problem) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.Status, p
	}
	p := &problem{Status: http.StatusInternalServerError, words: "internal error; details are in the log"}
	switch code := weir.CodeOf(err); {
	case code == weir.CodeUnauthorised: // a session could not begin or end, here and in the next case
		p = &problem{Status: http.StatusUnauthorized}
	case code == weir.CodeUnavailable:
		p = &problem{Status: http.StatusServiceUnavailable, words: "the session could not be stored; try again", wait: "2"}
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded): // the browser disconnected, or it took too long
		p = &problem{Status: http.StatusServiceUnavailable, words: "the request timed out; try again", wait: "2"}
	}
	return p.Status, p
}

func titleOf(status int) locale.Message {
	switch status {
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusNotFound:
		return "Not found"
	case http.StatusConflict:
		return "Conflict"
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return "Invalid request"
	case http.StatusTooManyRequests:
		return "Too many requests"
	case http.StatusServiceUnavailable:
		return "Unavailable"
	default:
		return "Internal error"
	}
}

// readIdentity reads the identity and scopes of the session.
func (c *caller) readIdentity() error {
	c.Who = api.WhoView{}
	err := c.get("/v1/whoami", nil, &c.Who)
	c.held = operators.RightsOf(operators.ScopesOf(c.Who.Scopes))
	return err
}
