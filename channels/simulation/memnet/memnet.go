// Package memnet is an in-memory network: HTTP servers and clients exchange
// real HTTP over pipes. It is for tests in a testing/synctest bubble, where
// waiting for a socket would stop the clock.
package memnet

import (
	"context"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// Network holds listeners by host name. The zero value is ready to use.
type Network struct {
	mu    sync.Mutex
	hosts map[string]*listener
}

// Listen opens a listener for a host such as "verboice.test". The port is
// ignored.
func (n *Network) Listen(host string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts == nil {
		n.hosts = map[string]*listener{}
	}
	l := &listener{network: n, host: host, accept: make(chan net.Conn), closed: make(chan struct{})}
	n.hosts[host] = l
	return l
}

// Serve runs an HTTP server on a host until the returned function is called.
func (n *Network) Serve(host string, handler http.Handler) (stop func()) {
	server := &http.Server{Handler: handler}
	l := n.Listen(host)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	return func() {
		_ = server.Close()
		_ = l.Close() // Serve may not have begun yet
		<-done
	}
}

// Host serves a simulated provider on a host and runs its background work,
// until the returned function is called.
func (n *Network) Host(host string, handler http.Handler, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	stopServer := n.Serve(host, handler)
	return func() {
		cancel()
		running.Wait()
		stopServer()
	}
}

// Transport returns a transport of net/http whose connections lead into the network.
func (n *Network) Transport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 64, DialContext: n.Dial}
}

// Dial connects to a host. One without a listener refuses.
func (n *Network) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	l := n.hosts[host]
	n.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "mem", Err: syscall.ECONNREFUSED}
	if l == nil {
		return nil, refused
	}
	ours, theirs := net.Pipe()
	select {
	case l.accept <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct {
	network *Network
	host    string
	accept  chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		if l.network.hosts[l.host] == l {
			delete(l.network.hosts, l.host)
		}
	})
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return address(l.host) }

type address string

// Network implements net.Addr.
func (address) Network() string { return "mem" }

// String implements net.Addr.
func (a address) String() string { return string(a) + ":80" }
