// Package routerclient is the client of the job router's API, for the command line
// and the dashboard: what they ask, page by page where a list is long. How a request
// travels is a [Send]: over HTTP, signed or with a token, or to the router's handler
// in the same process. No request is retried.
package routerclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"weir/api"
	"weir/router"
	"weir/router/resource"
)

const (
	apiVersion = "2024-01-18-preview"
	maxPages   = 10_000
)

// Send sends a request to the router. target is its path with its query. body, unless
// it is nil, is sent as JSON: of a PATCH as a merge patch. into, unless it is nil,
// receives the response. The errors of a client are those of its Send.
type Send func(ctx context.Context, method, target string, body, into any) error

// Client is a client of the job router's API. It is safe for concurrent use.
type Client struct {
	send  Send
	close func()
}

// Over returns a client with a transport of its own.
func Over(send Send) *Client { return &Client{send, func() {}} }

// Close closes idle connections.
func (c *Client) Close() { c.close() }

// resourcePath returns the path of a resource, with its ids escaped. Text after a
// colon would be an action, so colons in ids are escaped, too.
func resourcePath(parts ...string) string {
	escaped := make([]string, len(parts))
	for i := range parts {
		escaped[i] = strings.ReplaceAll(url.PathEscape(parts[i]), ":", "%3A")
	}
	return "/routing/" + strings.Join(escaped, "/")
}

func (c *Client) do(ctx context.Context, method, path string, query url.Values, body, into any) error {
	all := ""
	if q := query.Encode(); q != "" {
		all = strings.ReplaceAll(q, "+", "%20") + "&"
	}
	return c.send(ctx, method, path+"?"+all+"api-version="+apiVersion, body, into)
}

// get reads a resource.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (out T, err error) {
	err = c.do(ctx, http.MethodGet, path, query, nil, &out)
	return out, err
}

// Patch creates or changes a resource; kind is the name of its collection in the path.
func (c *Client) Patch(ctx context.Context, kind, id string, body any) error {
	return c.do(ctx, http.MethodPatch, resourcePath(kind, id), nil, body, nil)
}

// Act performs an action, such as cancel, on the resource that parts name; body may be nil.
func (c *Client) Act(ctx context.Context, action string, body any, parts ...string) error {
	return c.do(ctx, http.MethodPost, resourcePath(parts...)+":"+action, nil, body, nil)
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

// Queue reads a queue.
func (c *Client) Queue(ctx context.Context, id string) (Queue, error) {
	return get[Queue](ctx, c, resourcePath("queues", id), nil)
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

// Unmatchable lists the waiting jobs of a queue that no worker could take, at most
// limit of them.
func (c *Client) Unmatchable(ctx context.Context, queue string, limit int) ([]string, error) {
	out, err := get[Page[string]](ctx, c, resourcePath("queues", queue)+"/unmatchable", url.Values{"maxpagesize": {strconv.Itoa(limit)}})
	return out.Value, err
}

// Statistics reads the statistics of a queue.
func (c *Client) Statistics(ctx context.Context, queue string) (router.Statistics, error) {
	return get[router.Statistics](ctx, c, resourcePath("queues", queue)+"/statistics", nil)
}

// Waiting explains why a job waits. It is empty if the job does not wait.
type Waiting struct {
	Why        string       `json:"why"`
	WhyClauses []api.Clause `json:"whyClauses"`
	Estimated  int          `json:"estimatedWaitTimeMinutes"` // 0: not known
}

// Why returns why a job waits.
func (c *Client) Why(ctx context.Context, job string) (Waiting, error) {
	return get[Waiting](ctx, c, resourcePath("jobs", job)+"/why", nil)
}

// Position reads the position of a queued job.
func (c *Client) Position(ctx context.Context, job string) (router.Position, error) {
	return get[router.Position](ctx, c, resourcePath("jobs", job)+"/position", nil)
}

// Figures reads the overview of the router into a value that has the members that are wanted.
func (c *Client) Figures(ctx context.Context, query url.Values, into any) error {
	return c.do(ctx, http.MethodGet, resourcePath("figures"), query, nil, into)
}

// Page is a page of a list.
type Page[T any] struct {
	Value    []T    `json:"value"`
	NextLink string `json:"nextLink"` // see [After]
}

// List reads a page of a list; kind is the name of the collection in the path.
func List[T any](ctx context.Context, c *Client, kind string, query url.Values) (Page[T], error) {
	return get[Page[T]](ctx, c, resourcePath(kind), query)
}

// After returns the query of the page to which the link to the next one leads; empty: there is none.
// The link has a host for which a request would not be signed, and a path that may have another
// prefix of the server. The query is enough.
func After(nextLink string) (url.Values, error) {
	next, err := url.Parse(nextLink)
	if err != nil {
		return nil, errors.New("invalid nextLink in the response")
	}
	query := next.Query()
	query.Del("api-version")
	return query, nil
}

// Each reads a list page by page, and calls see for each element, decoded into T
// and raw. It stops at the first error of see.
func Each[T any](ctx context.Context, c *Client, kind string, query url.Values, see func(T, json.RawMessage) error) error {
	for range maxPages {
		page, err := List[json.RawMessage](ctx, c, kind, query)
		if err != nil {
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
		if query, err = After(page.NextLink); err != nil {
			return err
		}
	}
	return fmt.Errorf("the list has more than %d pages", maxPages)
}
