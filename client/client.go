package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// DefaultURL is the address at which Weir listens by default.
const DefaultURL = "http://127.0.0.1:8080"

// Options configure a client.
type Options struct {
	URL   string // empty: [DefaultURL]
	Token string // empty: none is sent
	// MaxTries is the maximum number of tries of an idempotent request; 0: 4.
	MaxTries int
	// RetryDelay is the delay before the second try; it doubles before each further
	// try, up to 10 s. 0: 250 ms. A longer Retry-After of the server takes precedence.
	RetryDelay time.Duration
	// Timeout bounds each try of a request, except imports and downloads; 0: 30 s.
	Timeout time.Duration
	// UserAgent is the value of the User-Agent header; empty: weir-client.
	UserAgent string
}

const (
	defaultMaxTries   = 4
	defaultRetryDelay = 250 * time.Millisecond
	maxRetryDelay     = 10 * time.Second
	defaultTimeout    = 30 * time.Second
	maxResponse       = 64 << 20 // bytes of a response that is read into memory
)

// Client is a client of one Weir. It is safe for concurrent use.
type Client struct {
	base       string
	token      string
	maxTries   int
	retryDelay time.Duration
	timeout    time.Duration
	userAgent  string
	http       *http.Client
	captured   *[]byte // receives the body of each successful response; may be nil
}

// New returns a client. Close it when it is no longer needed.
func New(o Options) (*Client, error) {
	base, err := parseBaseURL(o.URL)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the token must be printable ASCII without blanks")
	}
	c := &Client{
		base: base, token: o.Token, maxTries: cmp.Or(o.MaxTries, defaultMaxTries), retryDelay: cmp.Or(o.RetryDelay, defaultRetryDelay),
		timeout: cmp.Or(o.Timeout, defaultTimeout), userAgent: cmp.Or(o.UserAgent, "weir-client"),
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second,
			ExpectContinueTimeout: 2 * time.Second, MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second,
		},
		// The API never redirects; the target of a redirect must not get the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// parseBaseURL checks the address of the server. Errors must not quote it, because it may
// contain a password.
func parseBaseURL(text string) (string, error) {
	u, err := url.Parse(cmp.Or(text, DefaultURL))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", errors.New("the address of Weir must be an http or https URL, such as " + DefaultURL)
	case u.User != nil:
		return "", errors.New("the address of Weir must not contain a user or a password; use a token")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the address of Weir must not have a query or a fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// URL returns the address of the server.
func (c *Client) URL() string { return c.base }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// CaptureBody returns a copy of the client that also stores the body of each
// successful response in body, for use by one goroutine. The copy needs no Close of
// its own.
func (c *Client) CaptureBody(body *[]byte) *Client {
	capturing := *c
	capturing.captured = body
	return &capturing
}

// Request is a request with a JSON body, or with no body. The operations of the API
// are generated methods of [Client]; Request is for operations that only a later
// version of the API has, and for bodies that are already JSON.
type Request struct {
	Method string
	Path   string // with the leading slash, escaped
	Query  url.Values
	Body   any // marshaled, unless it is json.RawMessage; nil: none
	// Idempotent marks a POST or PATCH that may be retried because repeating it has no
	// further effect. GET, PUT and DELETE always are.
	Idempotent bool
}

// call makes a request and decodes its JSON response. It returns nil if the response
// has no body.
func call[T any](ctx context.Context, c *Client, r Request) (*T, error) {
	text, err := c.Raw(ctx, r)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	out := new(T)
	return out, c.decode(text, out)
}

// setQuery sets a query parameter, unless its value is zero.
func setQuery[T comparable](q url.Values, name string, value T) {
	if value == *new(T) {
		return
	}
	switch value := any(value).(type) {
	case time.Time:
		q.Set(name, value.UTC().Format(time.RFC3339Nano))
	case *string: // of a parameter for which an empty text is a value
		q.Set(name, *value)
	case *int: // for which zero is one
		q.Set(name, strconv.Itoa(*value))
	default:
		q.Set(name, fmt.Sprint(value))
	}
}

// Do makes a request and decodes the JSON response into out, unless out is nil.
// The error is an *[Error] if the server returned an error response.
func (c *Client) Do(ctx context.Context, r Request, out any) error {
	text, err := c.Raw(ctx, r)
	if err != nil || out == nil || len(text) == 0 {
		return err
	}
	return c.decode(text, out)
}

func (c *Client) decode(text []byte, out any) error {
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("unexpected response of Weir at %s: %w", c.base, err)
	}
	return nil
}

// Raw makes a request and returns the body of the response unchanged.
func (c *Client) Raw(ctx context.Context, r Request) ([]byte, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = json.Marshal(r.Body); err != nil {
			return nil, err
		}
	}
	text, err := c.sendWithRetry(ctx, r, body)
	if err == nil && c.captured != nil {
		*c.captured = text
	}
	return text, err
}

// Open makes a GET request and returns the body of the response, of any size. The
// caller closes it. Reading fails with [io.ErrUnexpectedEOF] if the body ends too
// early.
func (c *Client) Open(ctx context.Context, r Request) (io.ReadCloser, error) {
	request, err := c.newRequest(ctx, r.Method, r.Path, r.Query, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.send(request, nil)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// sendOnce makes one try.
func (c *Client) sendOnce(ctx context.Context, r Request, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var reader io.Reader
	if r.Body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := c.newRequest(ctx, r.Method, r.Path, r.Query, reader)
	if err != nil {
		return nil, err
	}
	if r.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.send(request, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, &noResponseError{c.base, err}
	case len(text) > maxResponse:
		return nil, fmt.Errorf("the response exceeds %d bytes", maxResponse)
	case len(text) == 0 && response.StatusCode != http.StatusNoContent && r.Method != http.MethodHead:
		return nil, fmt.Errorf("unexpected response of Weir at %s: it is empty", c.base)
	}
	return text, nil
}

func (c *Client) newRequest(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Request, error) {
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", c.userAgent)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return r, nil
}

// send makes a request and returns a successful response, whose body the caller
// closes. It passes unknown members of an error response to other; see [readError].
func (c *Client) send(r *http.Request, other func(name string, d *json.Decoder) error) (*http.Response, error) {
	response, err := c.http.Do(r)
	if err != nil {
		// net/http adds method and URL; noResponseError adds the address.
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err
		}
		return nil, &noResponseError{c.base, err}
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	return nil, readError(response, other)
}
