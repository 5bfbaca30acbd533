package bench

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// arrivals is the provider's listener. Each connection records when its current
// request reached this machine: on a busy machine, handlers run in another order than
// the requests arrived in.
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

// arriving is a connection. A client sends a request only after the previous one is
// answered, so the first data after an answer belongs to the next request.
type arriving struct {
	net.Conn
	stamped *stamped     // nil: the system has no timestamps of arrival
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

// connection is the context key of a request's connection.
type connection struct{}

// withConnection is a function for http.Server.ConnContext.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connection{}, c)
}

// arrivedAt returns when a request arrived.
func arrivedAt(r *http.Request) time.Time {
	if c, ok := r.Context().Value(connection{}).(*arriving); ok && c.first.Load() != 0 {
		return time.Unix(0, c.first.Load())
	}
	return time.Now()
}

// answering prepares a request's connection for the next request. It must be called
// before the answer is sent.
func answering(r *http.Request) {
	if c, ok := r.Context().Value(connection{}).(*arriving); ok {
		c.first.Store(0)
	}
}
