// Package balancer is a load balancer for demonstrations and tests of several processes. It
// gives each request to the next process in turn and knows no owner of the database: it
// prefers processes that are ready, as any balancer with a readiness probe does. A request
// that was sent is never sent again, since it may have been handled.
package balancer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"

	"weir/cmd/weirlab/machine"
)

const (
	probeEvery   = 100 * time.Millisecond
	probeTimeout = 500 * time.Millisecond
)

// Balancer is a running balancer on loopback.
type Balancer struct {
	URL string // the base URL that clients use

	server    *http.Server
	transport *http.Transport
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu        sync.Mutex
	processes []process
	next      int
	tally     Tally
}

// process is one of those behind the balancer.
type process struct {
	address string
	ready   bool
}

// Tally counts requests.
type Tally struct {
	Served  int            // all but those whose client has gone
	Refused int            // answered with 5xx
	Cut     int            // not answered: their process died, or there was none
	Why     map[string]int // Refused and Cut, by method and by what came back

	Slowest   time.Duration
	SlowestOf string // its method and path
}

// Start starts a balancer without processes. It runs until End, or until ctx is canceled.
func Start(ctx context.Context) (*Balancer, error) {
	address, err := machine.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	// Without keep-alive no request meets a connection that its process has just closed.
	b := &Balancer{URL: "http://" + address, transport: &http.Transport{DisableKeepAlives: true}}
	b.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address}) // send replaces the host
			r.Out.Host = r.In.Host                            // clients and providers may have signed it
		},
		Transport: through(b.send),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}}
	ctx, b.stop = context.WithCancel(ctx)
	b.running.Go(func() { _ = b.server.Serve(l) }) // ends when the server is closed
	b.running.Go(func() { b.check(ctx) })
	return b, nil
}

// End stops the balancer. It may be called again.
func (b *Balancer) End() {
	b.stop()
	_ = b.server.Close()
	b.running.Wait()
}

// Add adds a process by host and port; it gets requests from now on.
func (b *Balancer) Add(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.processes = append(b.processes, process{address, true})
}

// Failed is the number of requests that were refused or cut.
func (t Tally) Failed() int { return t.Refused + t.Cut }

// Tally returns what was counted so far.
func (b *Balancer) Tally() Tally {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tally
	t.Why = maps.Clone(t.Why)
	return t
}

// through is a function as a transport.
type through func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t through) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// check asks each process again and again whether it is ready.
func (b *Balancer) check(ctx context.Context) {
	client := &http.Client{Transport: b.transport, Timeout: probeTimeout}
	for machine.Sleep(ctx, probeEvery) {
		b.mu.Lock()
		list := slices.Clone(b.processes)
		b.mu.Unlock()
		var all sync.WaitGroup
		for i := range list {
			all.Go(func() { list[i].ready = ready(ctx, client, list[i].address) })
		}
		all.Wait()
		b.mu.Lock()
		copy(b.processes, list) // one that was added meanwhile is behind them
		b.mu.Unlock()
	}
}

func ready(ctx context.Context, client *http.Client, address string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return false
	}
	answer, err := client.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// order lists the processes in the order in which a request tries them: round robin, ready
// processes first.
func (b *Balancer) order() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	var ready, others []string
	for i := range b.processes {
		if p := b.processes[(b.next+i)%len(b.processes)]; p.ready {
			ready = append(ready, p.address)
		} else {
			others = append(others, p.address)
		}
	}
	return append(ready, others...)
}

// send tries one process after the other until one takes the connection.
func (b *Balancer) send(r *http.Request) (answer *http.Response, err error) {
	began := time.Now()
	var body []byte
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	err = errors.New("there is no process")
	for _, address := range b.order() {
		out := r.Clone(r.Context())
		out.URL.Host = address
		if r.Body != nil {
			out.Body = io.NopCloser(bytes.NewReader(body))
		}
		answer, err = b.transport.RoundTrip(out)
		if dial, ok := errors.AsType[*net.OpError](err); !ok || dial.Op != "dial" {
			break
		}
	}
	if r.Context().Err() == nil { // otherwise the client has gone
		b.count(r, answer, err, time.Since(began))
	}
	return answer, err
}

func (b *Balancer) count(r *http.Request, answer *http.Response, err error, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tally.Served++
	if took > b.tally.Slowest {
		b.tally.Slowest, b.tally.SlowestOf = took, r.Method+" "+r.URL.Path
	}
	var why string
	switch {
	case err != nil:
		b.tally.Cut++
		why = fmt.Sprint(r.Method, ": ", err)
	case answer.StatusCode >= http.StatusInternalServerError:
		b.tally.Refused++
		why = fmt.Sprint(r.Method, ": ", answer.Status)
	default:
		return
	}
	if b.tally.Why == nil {
		b.tally.Why = map[string]int{}
	}
	b.tally.Why[why]++
}
