package routerclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/internal/hmacsign"
)

const (
	timeout     = 30 * time.Second
	maxResponse = 64 << 20
)

// DefaultURL is where Weir listens by default.
const DefaultURL = "http://127.0.0.1:8080"

// connection sends requests over HTTP. Neither its key nor its token appears in any error.
type connection struct {
	base  string
	key   *hmacsign.Key
	token string
	now   func() time.Time
	http  *http.Client
}

// New returns a client of the router at the URL base; empty is [DefaultURL].
// Without a key, requests are not signed and carry the token, unless that is empty.
func New(base string, key *hmacsign.Key, token string, now func() time.Time) (*Client, error) {
	u, err := url.Parse(cmp.Or(base, DefaultURL))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the address of Weir must be an http or https URL without user, query and fragment, such as " + DefaultURL)
	}
	c := &connection{
		base: strings.TrimRight(u.String(), "/"), key: key, token: token, now: now,
		http: &http.Client{
			Timeout: timeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: timeout},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	return &Client{c.send, c.http.CloseIdleConnections}, nil
}

// Error is an error response of the server.
type Error struct {
	Status  int
	Code    string
	Message string
	Details []Detail
}

// Detail is one of the errors in an error response.
type Detail struct{ Message, Target string }

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the router returned %d (%s): %s", e.Status, e.Code, e.Message)
	for _, d := range e.Details {
		fmt.Fprintf(&b, "; %s", strings.TrimSpace(d.Target+" "+d.Message))
	}
	if e.Status == http.StatusUnauthorized {
		b.WriteString("; set a key of JOB_ROUTER_ACCESS_KEYS with WEIR_ROUTER_KEY or --key-file, or a token with WEIR_TOKEN or --token-file")
	}
	return b.String()
}

// noResponseError is the error of a request without a complete response.
type noResponseError struct {
	base  string
	cause error
}

func (u *noResponseError) Error() string {
	return fmt.Sprintf("no response from the router at %s: %v", u.base, u.cause)
}

func (u *noResponseError) Unwrap() error { return u.cause }

// NoResponse reports whether err is the error of a request without a complete
// response: the router was unreachable, or the outcome of the request is unknown.
func NoResponse(err error) bool {
	_, ok := errors.AsType[*noResponseError](err)
	return ok
}

// send is a [Send].
func (c *connection) send(ctx context.Context, method, target string, body, into any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+target, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("make a request: %w", withoutURL(err))
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "weir")
	switch {
	case body != nil && method == http.MethodPatch:
		r.Header.Set("Content-Type", "application/merge-patch+json")
	case body != nil:
		r.Header.Set("Content-Type", "application/json")
	}
	switch {
	case c.key != nil:
		c.key.Sign(r, data, c.now())
	case c.token != "":
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return &noResponseError{c.base, withoutURL(err)}
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return &noResponseError{c.base, err}
	}
	return decode(response.StatusCode, text, into)
}

func decode(status int, text []byte, into any) error {
	if status/100 != 2 {
		var failure struct {
			Error struct {
				Code, Message string
				Details       []Detail
			}
		}
		if json.Unmarshal(text, &failure) != nil || failure.Error.Code == "" {
			failure.Error.Code, failure.Error.Message = http.StatusText(status), "not a response of a job router; check the address"
		}
		return &Error{status, failure.Error.Code, failure.Error.Message, failure.Error.Details}
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("unexpected response: %w", err)
	}
	return nil
}

// withoutURL removes the URL from an error: its query does not help the reader.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
