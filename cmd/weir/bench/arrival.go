package bench

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// arrivals gives the connections of the provider. Each knows when the request that
// it is at reached this machine: on a busy one, handlers get their turn in
// another order than that in which requests came.
type arrivals struct{ net.Listener }

func newArrivals(l net.Listener) arrivals {
	stampArrivals(l)
	return arrivals{l}
}

// Accept implements net.Listener.
func (a arrivals) Accept() (net.Conn, error) {
	c, err := a.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &arriving{Conn: c, stamped: newStamped(c)}, nil
}

// arriving is a connection. No client sends a request before the one before it is
// answered, so that whatever comes first after an answer is the next one.
type arriving struct {
	net.Conn
	stamped *stamped     // nil: the system cannot tell when data came
	first   atomic.Int64 // when the request began to arrive, in ns; 0: not yet
}

// Read implements net.Conn.
func (c *arriving) Read(p []byte) (n int, err error) {
	var at time.Time
	if c.stamped != nil {
		n, at, err = c.stamped.read(p)
	} else {
		n, err = c.Conn.Read(p)
	}
	if n > 0 {
		if at.IsZero() {
			at = time.Now()
		}
		c.first.CompareAndSwap(0, at.UnixNano())
	}
	return n, err
}

// connection is the key under which a request's context has its connection.
type connection struct{}

// withConnection is for http.Server.ConnContext.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connection{}, c)
}

// arrivedAt is when a request arrived.
func arrivedAt(r *http.Request) time.Time {
	if c, ok := r.Context().Value(connection{}).(*arriving); ok && c.first.Load() != 0 {
		return time.Unix(0, c.first.Load())
	}
	return time.Now()
}

// answering has a request's connection wait for the next one. To be called before
// the answer goes out.
func answering(r *http.Request) {
	if c, ok := r.Context().Value(connection{}).(*arriving); ok {
		c.first.Store(0)
	}
}
