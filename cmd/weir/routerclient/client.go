// Package routerclient is a client of the job router's API, for the command line.
// Requests are signed, or carry a token; no request is retried; neither key nor
// token appears in any error.
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
	"strconv"
	"strings"
	"time"

	"weir/internal/hmacsign"
	"weir/router"
	"weir/router/resource"
)

const (
	apiVersion  = "2024-01-18-preview"
	timeout     = 30 * time.Second
	maxResponse = 64 << 20
	maxPages    = 10_000
)

// DefaultURL is where Weir listens by default.
const DefaultURL = "http://127.0.0.1:8080"

// Client is a client of the job router's API. It is safe for concurrent use.
type Client struct {
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
	return &Client{
		base: strings.TrimRight(u.String(), "/"), key: key, token: token, now: now,
		http: &http.Client{
			Timeout: timeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: timeout},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

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

// resourcePath returns the path of a resource, with its ids escaped.
func resourcePath(parts ...string) string {
	for i := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(parts[i]), ":", "%3A")
	}
	return "/routing/" + strings.Join(parts, "/")
}

// Patch creates or changes a resource; kind is the name of its collection in the path.
func (c *Client) Patch(ctx context.Context, kind, id string, body any) error {
	return c.do(ctx, http.MethodPatch, resourcePath(kind, id), nil, body, nil)
}

// Job reads a job.
func (c *Client) Job(ctx context.Context, id string) (router.Job, error) {
	return get[router.Job](ctx, c, resourcePath("jobs", id), nil)
}

// Worker reads a worker.
func (c *Client) Worker(ctx context.Context, id string) (router.Worker, error) {
	return get[router.Worker](ctx, c, resourcePath("workers", id), nil)
}

// Queue is a queue in the form of the API.
type Queue struct {
	ID string `json:"id"`
	resource.QueueSpec
}

// Pool is a pool in the form of the API.
type Pool struct {
	ID string `json:"id"`
	resource.PoolSpec
	Depth   int    `json:"depth"`
	Version uint64 `json:"version"`
}

// Ready lists the available workers, the next one first, and their total number.
type Ready struct {
	Depth int                      `json:"depth"`
	Value []router.AvailableWorker `json:"value"`
}

// Ready returns the workers available for a filter, at most limit of them.
func (c *Client) Ready(ctx context.Context, queue, channel, filter string, limit int) (Ready, error) {
	query := url.Values{"queueId": {queue}, "channelId": {channel}, "filter": {filter}, "maxpagesize": {strconv.Itoa(limit)}}
	return get[Ready](ctx, c, resourcePath("ready"), query)
}

// Unmatchable lists the waiting jobs of a queue that no worker could take, at
// most a thousand.
func (c *Client) Unmatchable(ctx context.Context, queue string) ([]string, error) {
	out, err := get[struct{ Value []string }](ctx, c, resourcePath("queues", queue)+"/unmatchable", url.Values{"maxpagesize": {"1000"}})
	return out.Value, err
}

// Statistics reads the statistics of a queue.
func (c *Client) Statistics(ctx context.Context, queue string) (router.Statistics, error) {
	return get[router.Statistics](ctx, c, resourcePath("queues", queue)+"/statistics", nil)
}

// Why returns why a job waits; empty if it does not wait, or was deleted.
func (c *Client) Why(ctx context.Context, job string) (string, error) {
	out, err := get[struct{ Why string }](ctx, c, resourcePath("jobs", job)+"/why", nil)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusNotFound {
		err = nil
	}
	return out.Why, err
}

// Position reads the position of a queued job.
func (c *Client) Position(ctx context.Context, job string) (router.Position, error) {
	return get[router.Position](ctx, c, resourcePath("jobs", job)+"/position", nil)
}

// Each reads a list page by page, and calls see for each element, decoded into T
// and raw. It stops at the first error of see.
func Each[T any](ctx context.Context, c *Client, kind string, query url.Values, see func(T, json.RawMessage) error) error {
	path, ask := resourcePath(kind), query
	for range maxPages {
		var page struct {
			Value    []json.RawMessage
			NextLink string
		}
		if err := c.do(ctx, http.MethodGet, path, ask, nil, &page); err != nil {
			return err
		}
		for _, raw := range page.Value {
			var x T
			if err := json.Unmarshal(raw, &x); err != nil {
				return fmt.Errorf("unexpected response: %w", err)
			}
			if err := see(x, raw); err != nil {
				return err
			}
		}
		if page.NextLink == "" {
			return nil
		}
		// The link has a host for which the request would not be signed, and a path
		// that may have another prefix of the server. The query is enough.
		next, err := url.Parse(page.NextLink)
		if err != nil {
			return errors.New("invalid nextLink in the response")
		}
		ask = next.Query()
		ask.Del("api-version")
	}
	return fmt.Errorf("the list has more than %d pages", maxPages)
}

// get reads a resource.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (out T, err error) {
	err = c.do(ctx, http.MethodGet, path, query, nil, &out)
	return out, err
}

// do makes one request. body, which is for PATCH, and into may be nil.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body, into any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	all := ""
	if q := query.Encode(); q != "" {
		all = strings.ReplaceAll(q, "+", "%20") + "&"
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path+"?"+all+"api-version="+apiVersion, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("make a request: %w", withoutURL(err))
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "weir")
	if body != nil {
		r.Header.Set("Content-Type", "application/merge-patch+json")
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
