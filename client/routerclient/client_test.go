package routerclient_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/client/routerclient"
)

// asked is a request as the router gets it.
type asked struct{ Method, Target, Type, Body string }

const version = "api-version=2024-01-18-preview"

// calls returns every call of a client, with the request that it makes. The id has what a path
// would take for something else.
func calls() map[asked]func(context.Context, *routerclient.Client) error {
	const id = "a/b:c?d"
	const path = "a%2Fb%3Ac%3Fd"
	const merge = "application/merge-patch+json"
	type client = *routerclient.Client
	read := func(target string) asked { return asked{"GET", "/routing/" + target + version, "", ""} }
	return map[asked]func(context.Context, client) error{
		{"PATCH", "/routing/jobs/" + path + "?" + version, merge, `{"priority":1}`}: func(ctx context.Context, c client) error {
			return c.Patch(ctx, "jobs", id, map[string]int{"priority": 1})
		},
		{"POST", "/routing/jobs/" + path + "/assignments/x:close?" + version, "application/json", `{"note":"n"}`}: func(ctx context.Context, c client) error {
			return c.Act(ctx, "close", map[string]string{"note": "n"}, "jobs", id, "assignments", "x")
		},
		{"POST", "/routing/workers/w/offers/" + path + ":accept?" + version, "", ""}: func(ctx context.Context, c client) error {
			return c.Act(ctx, "accept", nil, "workers", "w", "offers", id)
		},
		read("jobs/" + path + "?"):              func(ctx context.Context, c client) error { _, err := c.Job(ctx, id); return err },
		read("workers/" + path + "?"):           func(ctx context.Context, c client) error { _, err := c.Worker(ctx, id); return err },
		read("queues/" + path + "?"):            func(ctx context.Context, c client) error { _, err := c.Queue(ctx, id); return err },
		read("queues/" + path + "/statistics?"): func(ctx context.Context, c client) error { _, err := c.Statistics(ctx, id); return err },
		read("jobs/" + path + "/why?"):          func(ctx context.Context, c client) error { _, err := c.Why(ctx, id); return err },
		read("jobs/" + path + "/position?"):     func(ctx context.Context, c client) error { _, err := c.Position(ctx, id); return err },
		read("figures?maxpagesize=1&"): func(ctx context.Context, c client) error {
			return c.Figures(ctx, url.Values{"maxpagesize": {"1"}}, nil)
		},
		read("queues/" + path + "/unmatchable?maxpagesize=9&"): func(ctx context.Context, c client) error {
			_, err := c.Unmatchable(ctx, id, 9)
			return err
		},
		read("ready?channelId=call&filter=a%3Db%20c&maxpagesize=2&queueId=q&"): func(ctx context.Context, c client) error {
			_, err := c.Ready(ctx, "q", "call", "a=b c", 2)
			return err
		},
		read("jobs?status=queued&"): func(ctx context.Context, c client) error {
			_, err := routerclient.List[json.RawMessage](ctx, c, "jobs", url.Values{"status": {"queued"}})
			return err
		},
	}
}

// A transport of one's own, and HTTP, get the same requests.
func TestClient_AsksTheSameOverEachTransport(t *testing.T) {
	t.Parallel()
	var got asked
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got = asked{r.Method, r.RequestURI, r.Header.Get("Content-Type"), string(raw)}
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	overHTTP, err := routerclient.New(server.URL, nil, "", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer overHTTP.Close()
	own := routerclient.Over(func(_ context.Context, method, target string, body, _ any) error {
		got = asked{Method: method, Target: target}
		if body != nil {
			raw, err := json.Marshal(body)
			got.Body = string(raw)
			return err
		}
		return nil
	})
	defer own.Close()
	for want, call := range calls() {
		if err := call(t.Context(), overHTTP); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("over HTTP:\n%s", diff)
		}
		want.Type = "" // the transport's
		if err := call(t.Context(), own); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("over another transport:\n%s", diff)
		}
	}
}

// A list is read to its end with the queries of the links, whichever host and prefix they have.
func TestEach_FollowsLinksToTheEnd(t *testing.T) {
	t.Parallel()
	var targets []string
	c := routerclient.Over(func(_ context.Context, _, target string, _, into any) error {
		targets = append(targets, target)
		n := len(targets)
		page := `{"value":[` + strconv.Itoa(n) + `]`
		if n < 3 {
			page += `,"nextLink":"https://other/prefix/routing/jobs?api-version=2023-11-01&maxpagesize=1&skipToken=t` + strconv.Itoa(n) + `"`
		}
		return json.Unmarshal([]byte(page+"}"), into)
	})
	var seen []int
	err := routerclient.Each(t.Context(), c, "jobs", url.Values{"maxpagesize": {"1"}}, func(n int, _ json.RawMessage) error {
		seen = append(seen, n)
		return nil
	})
	if diff := cmp.Diff([]int{1, 2, 3}, seen); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	want := []string{"/routing/jobs?maxpagesize=1&" + version, "/routing/jobs?maxpagesize=1&skipToken=t1&" + version, "/routing/jobs?maxpagesize=1&skipToken=t2&" + version}
	if diff := cmp.Diff(want, targets); diff != "" {
		t.Error(diff)
	}
}
