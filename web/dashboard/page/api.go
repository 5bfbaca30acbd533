package page

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

// Problem is an error response of the API.
type Problem struct { //nolint:errname // RFC 9457 has the name: it is a body, which the forms and pages show
	Status int               `json:"status"`
	Detail string            `json:"detail"`
	Errors []weir.FieldError `json:"errors"`
	Wait   string            `json:"-"` // Retry-After
	// Words are the detail of a problem of the dashboard itself, where no language is known. The
	// details of its errors are messages, too.
	Words locale.Message `json:"-"`
}

// Error returns the API's detail.
func (p *Problem) Error() string { return cmp.Or(p.Detail, string(p.Words)) }

// In returns the problem in a language.
func (p *Problem) In(l *locale.Locale) *Problem {
	if p.Words == "" {
		return p
	}
	out := *p
	out.Detail, out.Errors = l.T(p.Words), slices.Clone(p.Errors)
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

// Caller calls the API with the rights of a browser's session.
type Caller struct {
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
func (c *Caller) May(oneOf ...operators.Scope) bool { return oneOf == nil || c.held.MaySome(oneOf...) }

// MayAll reports whether the token has one of the scopes for the whole installation; none: any token will do.
func (c *Caller) MayAll(oneOf ...operators.Scope) bool {
	return oneOf == nil || c.held.MayAll(oneOf...)
}

// MayChannel reports whether the token has one of the scopes for a channel; none: any token will do.
func (c *Caller) MayChannel(name string, oneOf ...operators.Scope) bool {
	return oneOf == nil || c.held.May(oneOf, operators.Channel(name))
}

// MaySurvey reports whether the token has one of the scopes for a survey; none: any token will do.
func (c *Caller) MaySurvey(name string, oneOf ...operators.Scope) bool {
	return oneOf == nil || c.held.May(oneOf, operators.Survey(name))
}

// MaySearch reports whether the API lets the token search for people.
func (c *Caller) MaySearch() bool {
	return c.May(operators.ScopePIIRead) && c.May(operators.ScopePeopleAdmin, operators.ScopeContactsRead)
}

// Limit returns what names must begin with, if the token has the scopes only for some; empty: it may be any.
func (c *Caller) Limit(oneOf ...operators.Scope) string {
	if c.held.MayAll(oneOf...) {
		return ""
	}
	return strings.Join(c.held.Prefixes(oneOf), c.T(" or "))
}

// Prefixes returns what names must begin with, if the token has the scopes only for some.
func (c *Caller) Prefixes(oneOf ...operators.Scope) []string { return c.held.Prefixes(oneOf) }

// NameOutside returns the mistake in the name of a new channel or survey that the token may not have.
func (c *Caller) NameOutside(oneOf ...operators.Scope) string {
	return c.T("It must begin with %s: your scopes are limited to such names.", c.Limit(oneOf...))
}

// NewName returns a name within the limits of the token that nothing has: for a dry run of what has no usable name yet.
func (c *Caller) NewName(oneOf ...operators.Scope) string {
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

// Save sends a document that was filled in to the API. If the page has found mistakes itself, it is a dry run, in which the API
// finds all others and changes nothing.
func (c *Caller) Save(method, path string, body any, mistakes map[string]string, into any) error {
	if len(mistakes) == 0 {
		return c.Call(method, path, body, into)
	}
	at, query, _ := strings.Cut(path, "?")
	if query != "" {
		query += "&"
	}
	if err := c.Call(method, at+"?"+query+"dry_run=true", body, nil); err != nil {
		return err
	}
	return &Problem{Status: http.StatusUnprocessableEntity} // the mistakes of the page are all that there are
}

// Creating returns the query of a request that is to create a document and replace none.
func Creating(fresh bool) string {
	if fresh {
		return "?create=true"
	}
	return ""
}

// RightsKey returns a key that is equal for all who see the same.
func (c *Caller) RightsKey() string { return c.Code + " " + display.Join(c.Who.Scopes, " ") }

// Get reads a resource of the API.
func (c *Caller) Get(path string, query url.Values, into any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.Call(http.MethodGet, path, nil, into)
}

// Call sends a request to the API with the rights of the session. body is sent as
// JSON; into, if not nil, receives the response.
func (c *Caller) Call(method, path string, body, into any) error {
	_, err := c.Exchange(method, path, "", body, into)
	return err
}

// Exchange is call for a resource that has versions: tag is the one that the request demands, if
// it is not empty, and the response has the one returned.
func (c *Caller) Exchange(method, path, tag string, body, into any) (string, error) {
	req, err := c.NewRequest(c.browser.Context(), method, path, body)
	if err != nil {
		return "", err
	}
	if tag != "" {
		req.Header.Set("If-Match", tag)
	}
	return c.Send(req, into)
}

// Send sends a request to the API, and returns the version of what it answers, if that has one.
func (c *Caller) Send(req *http.Request, into any) (string, error) {
	res := &ResponseBuffer{Fields: http.Header{}}
	c.api.ServeHTTP(res, req)
	if err := req.Context().Err(); err != nil {
		return "", err
	}
	res.WriteHeader(http.StatusOK) // for a handler that has not
	if res.Status >= http.StatusBadRequest {
		return "", ProblemOf(c.Locale, res)
	}
	if into == nil || res.Status == http.StatusNoContent {
		return "", nil
	}
	if err := plainjson.Unmarshal(res.Body.Bytes(), into); err != nil {
		return "", fmt.Errorf("decode a response of the API: %w", err)
	}
	return res.Fields.Get("ETag"), nil
}

// Context is that of the browser's request.
func (c *Caller) Context() context.Context { return c.browser.Context() }

// Answer lets the API answer a request.
func (c *Caller) Answer(w http.ResponseWriter, req *http.Request) { c.api.ServeHTTP(w, req) }

// Forward lets the API answer the browser directly, for files too large to buffer
// in memory.
func (c *Caller) Forward(w http.ResponseWriter, path string) error {
	req, err := c.NewRequest(c.browser.Context(), http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	c.api.ServeHTTP(w, req)
	return nil
}

// NewRequest builds a request that the API treats as the browser's own.
func (c *Caller) NewRequest(ctx context.Context, method, path string, body any) (*http.Request, error) {
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

// ProblemOf returns the problem in an answer of the API, in the language of the reader.
func ProblemOf(l *locale.Locale, res *ResponseBuffer) error {
	var said struct {
		Problem
		Router *routerError `json:"error"`
	}
	_ = json.Unmarshal(res.Body.Bytes(), &said) // an unreadable body leaves only the status
	p := &said.Problem
	if e := said.Router; e != nil {
		p.Detail = e.Message
		for _, d := range e.Details {
			p.Errors = append(p.Errors, weir.FieldError{Detail: d.Message})
		}
	}
	p.Detail = l.Mistake(cmp.Or(p.Detail, http.StatusText(res.Status)))
	Translate(l, p.Errors)
	p.Status, p.Wait = res.Status, res.Fields.Get("Retry-After")
	return p
}

// Translate puts what the API says of mistakes into the language of the reader.
func Translate(l *locale.Locale, list []weir.FieldError) {
	for i := range list {
		list[i].Detail = l.Mistake(list[i].Detail)
	}
}

// ResponseBuffer buffers a response of the API in memory.
type ResponseBuffer struct {
	Fields http.Header
	Status int
	Body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (h *ResponseBuffer) Header() http.Header { return h.Fields }

// WriteHeader implements http.ResponseWriter.
func (h *ResponseBuffer) WriteHeader(status int) {
	if h.Status == 0 {
		h.Status = status
	}
}

// Write implements http.ResponseWriter.
func (h *ResponseBuffer) Write(b []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.Body.Write(b)
}

// StatusOf returns the HTTP status of an error, and its problem.
func StatusOf(err error) (int, *Problem) {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p.Status, p
	}
	p := &Problem{Status: http.StatusInternalServerError, Words: "internal error; details are in the log"}
	switch code := weir.CodeOf(err); {
	case code == weir.CodeUnauthorised: // a session could not begin or end, here and in the next case
		p = &Problem{Status: http.StatusUnauthorized}
	case code == weir.CodeUnavailable:
		p = &Problem{Status: http.StatusServiceUnavailable, Words: "the session could not be stored; try again", Wait: "2"}
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded): // the browser disconnected, or it took too long
		p = &Problem{Status: http.StatusServiceUnavailable, Words: "the request timed out; try again", Wait: "2"}
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
func (c *Caller) readIdentity() error {
	c.Who = api.WhoView{}
	err := c.Get("/v1/whoami", nil, &c.Who)
	c.held = operators.RightsOf(operators.ScopesOf(c.Who.Scopes))
	return err
}
