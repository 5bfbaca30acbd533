package demo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/cmd/weirlab/machine"
)

// balancer gives each request to the next process in turn. It knows no owner: it prefers
// processes that are ready, as any load balancer with a readiness probe does.
type balancer struct {
	url    string
	server *http.Server
	probe  *http.Client
	stop   context.CancelFunc
	all    sync.WaitGroup
	next   atomic.Int64

	served, failed atomic.Int64 // requests that were answered, and those of them with 5xx or without an answer

	mu        sync.Mutex
	processes []upstream
}

// upstream is a process as the balancer sees it.
type upstream struct {
	address string
	ready   bool
}

const (
	probeEvery   = 100 * time.Millisecond
	probeTimeout = 500 * time.Millisecond
)

// startBalancer starts a balancer without processes.
func startBalancer(ctx context.Context) (*balancer, error) {
	address, err := machine.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	// Without keep-alive no request meets a connection that its process has just closed.
	transport := &http.Transport{DisableKeepAlives: true}
	b := &balancer{url: "http://" + address, probe: &http.Client{Transport: transport, Timeout: probeTimeout}}
	b.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address}) // send replaces the host
			r.Out.Host = r.In.Host                            // clients and providers may have signed it
		},
		Transport:    through(func(r *http.Request) (*http.Response, error) { return b.send(transport, r) }),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}}
	ctx, b.stop = context.WithCancel(ctx)
	b.all.Go(func() { _ = b.server.Serve(l) }) // ends when the server is closed
	b.all.Go(func() { b.check(ctx) })
	return b, nil
}

// end stops the balancer. It may be called again.
func (b *balancer) end() {
	b.stop()
	_ = b.server.Close()
	b.all.Wait()
}

// through is a function as a transport.
type through func(*http.Request) (*http.Response, error)

func (t through) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// add adds a process; it gets requests from now on.
func (b *balancer) add(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.processes = append(b.processes, upstream{address, true})
}

// check asks each process again and again whether it is ready.
func (b *balancer) check(ctx context.Context) {
	for machine.Sleep(ctx, probeEvery) {
		b.mu.Lock()
		list := slices.Clone(b.processes)
		b.mu.Unlock()
		var all sync.WaitGroup
		for i := range list {
			all.Go(func() { list[i].ready = b.ready(ctx, list[i].address) })
		}
		all.Wait()
		b.mu.Lock()
		copy(b.processes, list) // one that was added meanwhile is behind them
		b.mu.Unlock()
	}
}

func (b *balancer) ready(ctx context.Context, address string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return false
	}
	answer, err := b.probe.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// order lists the processes for a request: another one first each time, and those that are
// not ready last.
func (b *balancer) order() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := int(b.next.Add(1))
	var ready, others []string
	for i := range b.processes {
		if u := b.processes[(first+i)%len(b.processes)]; u.ready {
			ready = append(ready, u.address)
		} else {
			others = append(others, u.address)
		}
	}
	return append(ready, others...)
}

// send tries one process after the other until one takes the connection. A request that was
// sent is never sent again: it may have been handled.
func (b *balancer) send(transport http.RoundTripper, r *http.Request) (answer *http.Response, err error) {
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
		answer, err = transport.RoundTrip(out)
		if dial, ok := errors.AsType[*net.OpError](err); !ok || dial.Op != "dial" {
			break
		}
	}
	b.served.Add(1)
	if err != nil || answer.StatusCode >= http.StatusInternalServerError {
		b.failed.Add(1)
	}
	return answer, err
}
