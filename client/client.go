package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultURL is the address at which Weir listens by default.
const DefaultURL = "http://127.0.0.1:8080"

// Options configure a client.
type Options struct {
	URL   string // empty: [DefaultURL]
	Token string // empty: none is sent
	Tries int    // max tries of requests that may be repeated; 0: 4
	// Pause is the delay before the second try; it doubles before each further try.
	// 0: a quarter of a second. A longer Retry-After of the server takes precedence.
	Pause time.Duration
	// Timeout bounds each request except uploads and downloads; 0: half a minute.
	Timeout time.Duration
	// UserAgent is the value of the User-Agent header; empty: weir-client.
	UserAgent string
}

const (
	usualTries   = 4
	usualPause   = 250 * time.Millisecond
	longestPause = 10 * time.Second
	usualTimeout = 30 * time.Second
	mostAnswer   = 64 << 20 // max bytes of an answer that is read whole
)

// Client is a client of one Weir. It is safe for concurrent use.
type Client struct {
	base    string
	token   string
	tries   int
	pause   time.Duration
	timeout time.Duration
	agent   string
	http    *http.Client
	heard   *[]byte // receives the body of each successful answer; may be nil
}

// New returns a client. Close it when it is no longer needed.
func New(o Options) (*Client, error) {
	base, err := baseOf(o.URL)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the token has characters other than printable ASCII without blanks")
	}
	c := &Client{base: base, token: o.Token, tries: o.Tries, pause: o.Pause, timeout: o.Timeout, agent: cmp.Or(o.UserAgent, "weir-client")}
	if c.tries <= 0 {
		c.tries = usualTries
	}
	if c.pause <= 0 {
		c.pause = usualPause
	}
	if c.timeout <= 0 {
		c.timeout = usualTimeout
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

// baseOf checks the address of the server. Errors must not quote it, because it may
// contain a password.
func baseOf(text string) (string, error) {
	if text == "" {
		text = DefaultURL
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", errors.New("the address of Weir must be an http or https URL, such as " + DefaultURL)
	case u.User != nil:
		return "", errors.New("the address of Weir must hold no user and no password; Weir takes a token")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the address of Weir must have neither query nor fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// URL returns the address of the server.
func (c *Client) URL() string { return c.base }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Keeping returns a copy of the client for one goroutine that also stores the body
// of each successful answer in raw. The copy needs no Close of its own.
func (c *Client) Keeping(raw *[]byte) *Client {
	other := *c
	other.heard = raw
	return &other
}

// Request is one request with a JSON body, or none. The operations of the API are
// generated; Request is for operations that only a later API has, and for bodies
// that are already JSON.
type Request struct {
	Method string
	Path   string // with the leading slash, escaped
	Query  url.Values
	Body   any // marshaled, unless it is json.RawMessage; nil: none
	// Repeatable marks a POST or PATCH whose repetition has no effect.
	// GET, PUT and DELETE are always repeatable.
	Repeatable bool
}

// answer makes a request and decodes its JSON answer. It is nil if the answer is empty.
func answer[T any](ctx context.Context, c *Client, r Request) (*T, error) {
	text, err := c.Raw(ctx, r)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	out := new(T)
	return out, c.read(text, out)
}

// set adds a parameter to a query, unless its value is zero.
func set[T comparable](q url.Values, name string, value T) {
	if value == *new(T) {
		return
	}
	if at, ok := any(value).(time.Time); ok {
		q.Set(name, at.UTC().Format(time.RFC3339Nano))
		return
	}
	q.Set(name, fmt.Sprint(value))
}

// repeatable reports whether repeating a POST or PATCH with this body has no
// effect.
func repeatable(body any) bool {
	b, ok := body.(interface{ repeatable() bool })
	return ok && b.repeatable()
}

func (r Request) repeatable() bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete:
		return true
	default:
		return r.Repeatable
	}
}

// Do makes a request and decodes the JSON answer into out, if that is not nil.
// The error is an *[Error] if the server has answered.
func (c *Client) Do(ctx context.Context, r Request, out any) error {
	text, err := c.Raw(ctx, r)
	if err != nil || out == nil || len(text) == 0 {
		return err
	}
	return c.read(text, out)
}

func (c *Client) read(text []byte, out any) error {
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("the answer of %s is no JSON as it is expected from Weir: %w", c.base, err)
	}
	return nil
}

// Raw makes a request and returns the body of the answer unchanged.
func (c *Client) Raw(ctx context.Context, r Request) ([]byte, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = json.Marshal(r.Body); err != nil {
			return nil, err
		}
	}
	text, err := c.try(ctx, r, body)
	if err == nil && c.heard != nil {
		*c.heard = text
	}
	return text, err
}

// try makes a request and repeats it while that is safe and may succeed.
func (c *Client) try(ctx context.Context, r Request, body []byte) ([]byte, error) {
	unclear := false // an earlier try may have been carried out
	for try := 1; ; try++ {
		text, err := c.once(ctx, r, body)
		if err == nil || r.Method == http.MethodDelete && unclear && StatusOf(err) == http.StatusNotFound {
			return text, nil
		}
		if try >= c.tries || ctx.Err() != nil || !passing(err) || !r.repeatable() && !neverArrived(err) {
			return nil, err
		}
		unclear = unclear || !neverArrived(err)
		if wait(ctx, c.before(try, err)) != nil {
			return nil, err
		}
	}
}

// once makes one try.
func (c *Client) once(ctx context.Context, r Request, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var reader io.Reader
	if r.Body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := c.request(ctx, r.Method, r.Path, r.Query, reader)
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
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer+1))
	switch {
	case err != nil:
		return nil, &unansweredError{c.base, err}
	case len(text) > mostAnswer:
		return nil, fmt.Errorf("the answer is longer than %d bytes", mostAnswer)
	}
	return text, nil
}

func (c *Client) request(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Request, error) {
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", c.agent)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return r, nil
}

// send returns a successful answer; the caller closes its body.
func (c *Client) send(r *http.Request, other func(name string, d *json.Decoder) error) (*http.Response, error) {
	response, err := c.http.Do(r)
	if err != nil {
		// net/http adds the method and the URL; the address is enough.
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err
		}
		return nil, &unansweredError{c.base, err}
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	return nil, problem(response, other)
}

// before returns the delay after a try, with a jitter of a quarter either way.
func (c *Client) before(try int, err error) time.Duration {
	d := min(c.pause<<(try-1), longestPause)
	d = time.Duration(float64(d) * (0.75 + rand.Float64()/2))
	if e := (*Error)(nil); errors.As(err, &e) {
		d = max(d, min(e.RetryAfter, longestPause))
	}
	return d
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
