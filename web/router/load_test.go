package router_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// caller is an HTTP client of a router.
type caller struct {
	r      *rig
	base   string
	client *http.Client
}

// call sends a signed request and decodes the response into out, if any.
func (c *caller) call(method, target, body string, out any) (int, error) {
	req, err := http.NewRequest(method, c.base+target, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.RequestURI = target
	c.r.signAs(req, target, body)
	req.RequestURI = ""
	if body != "" {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || out == nil {
		return resp.StatusCode, err
	}
	return resp.StatusCode, json.NewDecoder(bytes.NewReader(text)).Decode(out)
}

const suffix = "?api-version=2024-01-18-preview"

// cycle takes a job through its life: submitted, offered to worker n, the only one
// that can take it, accepted, completed, closed.
func (c *caller) cycle(worker int, job string) error {
	w, j := fmt.Sprintf("/routing/workers/w%d", worker), "/routing/jobs/"+job
	steps := func(method, target, body string, want int, out any) error {
		got, err := c.call(method, target, body, out)
		if err == nil && got != want {
			err = fmt.Errorf("%s %s: %d instead of %d", method, target, got, want)
		}
		return err
	}
	err := steps("PATCH", j+suffix, fmt.Sprintf(`{"channelId":"chat","queueId":"q","requestedWorkerSelectors":[{"key":"Id","labelOperator":"equal","value":"w%d"}]}`, worker), 201, nil)
	if err != nil {
		return err
	}
	var seen struct {
		Offers []struct{ OfferID, JobID string }
	}
	if err := steps("GET", w+suffix, "", 200, &seen); err != nil {
		return err
	}
	if len(seen.Offers) != 1 || seen.Offers[0].JobID != job {
		return fmt.Errorf("worker %d has the offers %v; want one of %s", worker, seen.Offers, job)
	}
	var taken struct{ AssignmentID string }
	if err := steps("POST", w+"/offers/"+seen.Offers[0].OfferID+":accept"+suffix, "", 200, &taken); err != nil {
		return err
	}
	if err := steps("POST", j+"/assignments/"+taken.AssignmentID+":complete"+suffix, "", 200, nil); err != nil {
		return err
	}
	return steps("POST", j+"/assignments/"+taken.AssignmentID+":close"+suffix, "", 200, nil)
}

// serve starts a server with n workers.
func (r *rig) serve(n int) *caller {
	r.t.Helper()
	r.put("/routing/queues/q", `{}`)
	for i := range n {
		r.put(fmt.Sprintf("/routing/workers/w%d", i), busyWorker)
	}
	server := httptest.NewServer(r.handler)
	r.t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}
	r.t.Cleanup(client.CloseIdleConnections)
	return &caller{r: r, base: server.URL, client: client}
}

func TestLoad_ManyClientsWorkAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("of the library", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		c := r.serve(clientsAtOnce)
		r.live(func() (cycler, error) { return c, nil })
	})
	t.Run("fastClient", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.live(r.fastClients(r.serve(clientsAtOnce)))
	})
}

const clientsAtOnce = 8

// live takes jobs through their lives on several clients at once, and checks that
// every job is closed.
func (r *rig) live(connect func() (cycler, error)) {
	r.t.Helper()
	const jobs = 20
	var all sync.WaitGroup
	for n := range clientsAtOnce {
		c, err := connect()
		if err != nil {
			r.t.Fatal(err)
		}
		all.Go(func() {
			for i := range jobs {
				if err := c.cycle(n, fmt.Sprintf("j%d-%d", n, i)); err != nil {
					r.t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if got := len(r.walk("/routing/jobs?status=closed&maxpagesize=1000")[0]); got != clientsAtOnce*jobs {
		r.t.Errorf("%d jobs are closed; want %d", got, clientsAtOnce*jobs)
	}
}

// fastClients returns clients of that kind for the server that c is connected to.
func (r *rig) fastClients(c *caller) func() (cycler, error) {
	address := strings.TrimPrefix(c.base, "http://")
	return func() (cycler, error) {
		l, err := r.fastClient(address)
		if err == nil {
			r.t.Cleanup(func() { _ = l.conn.Close() })
		}
		return l, err
	}
}

// running returns a client of a running router, given its connection string.
func (r *rig) running(connection string, n int) *caller {
	r.t.Helper()
	endpoint, secret, _ := strings.Cut(strings.TrimPrefix(connection, "endpoint="), ";accesskey=")
	var err error
	if r.key, err = base64.StdEncoding.DecodeString(secret); err != nil {
		r.t.Fatal(err)
	}
	r.engine.live = true
	c := &caller{r: r, base: strings.TrimSuffix(endpoint, "/"), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}}
	put := func(target, body string) {
		if status, err := c.call("PATCH", target+suffix, body, nil); err != nil || status >= 300 {
			r.t.Fatalf("%s: %d %v", target, status, err)
		}
	}
	put("/routing/queues/q", `{}`)
	for i := range n {
		put(fmt.Sprintf("/routing/workers/w%d", i), busyWorker)
	}
	return c
}

const busyWorker = `{"queues":["q"],"capacity":1,"channels":[{"channelId":"chat","capacityCostPerJob":1}],"availableForOffers":true}`

// cycler takes jobs of a worker through their lives, one after the other.
type cycler interface {
	cycle(worker int, job string) error
}

// BenchmarkSignedCycles runs cycles of five signed requests each, over HTTP, from
// 64 clients, against an engine in memory or the router whose connection string is
// in WEIR_TEST_ROUTER. The clients are net/http clients or fastClient ones.
func BenchmarkSignedCycles(b *testing.B) {
	const clients = 64
	b.Run("client=library", func(b *testing.B) {
		c := newRig(b).target(clients)
		cycles(b, clients, func() (cycler, error) { return c, nil })
	})
	b.Run("client=fastClient", func(b *testing.B) {
		c := newRig(b).target(clients)
		cycles(b, clients, c.r.fastClients(c))
	})
}

// target returns a client of the router to benchmark, with n workers.
func (r *rig) target(n int) *caller {
	if connection := os.Getenv("WEIR_TEST_ROUTER"); connection != "" {
		return r.running(connection, n)
	}
	return r.serve(n)
}

// cycles measures how many cycles per second the clients complete.
func cycles(b *testing.B, clients int, connect func() (cycler, error)) {
	list := make([]cycler, clients)
	for n := range list {
		var err error
		if list[n], err = connect(); err != nil {
			b.Fatal(err)
		}
	}
	run := time.Now().UnixNano()
	var next atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	b.ResetTimer()
	for n, c := range list {
		all.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(b.N) {
					return
				}
				if err := c.cycle(n, fmt.Sprintf("j%d-%d", run, i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "cycles/s")
}
