package plainhttp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"syscall"
	"time"

	"weir/internal/deadline"
)

const (
	usualHead = 10 << 20 // most of an answer's, as net/http has it if nothing is set
	mostKept  = 8 << 10  // size of a buffer that is kept with its connection
)

// conn is a connection. One request at a time has it.
type conn struct {
	raw      net.Conn
	system   syscall.RawConn // nil: it cannot be looked at
	look     func(uintptr) bool
	silent   bool // what look found: neither data nor an end
	in       *bufio.Reader
	out      []byte
	since    time.Time // when it began to wait
	mostHead int64
	left     int64 // bytes that may still be read
	ended    bool  // the server has closed its side

	watched context.Context // its end interrupts; nil: none
	forget  func() bool     // so that it does not any more
}

func newConn(raw net.Conn, mostHead int64) *conn {
	if mostHead <= 0 {
		mostHead = usualHead
	}
	c := &conn{raw: raw, mostHead: mostHead}
	c.in = bufio.NewReader((*limited)(c))
	if s, ok := raw.(syscall.Conn); ok {
		if system, err := s.SyscallConn(); err == nil {
			c.system = system
			c.look = func(fd uintptr) bool { c.silent = silent(fd); return true }
		}
	}
	return c
}

func (c *conn) close() {
	_ = c.unwatch()
	_ = c.raw.Close()
}

// watch has the end of a context interrupt what waits for the connection. Of one
// that is bounded by its instant alone it is the parent that is watched, from
// then on: requests of one caller mostly have the same. false: something may
// interrupt it still.
func (c *conn) watch(ctx context.Context) bool {
	if bounded, ok := ctx.(*deadline.Context); ok {
		ctx = bounded.Parent()
	}
	if c.watched == ctx {
		return true
	}
	if !c.unwatch() {
		return false
	}
	c.watched, c.forget = ctx, context.AfterFunc(ctx, c.interrupt)
	return true
}

func (c *conn) unwatch() bool {
	if c.watched == nil {
		return true
	}
	forgotten := c.forget()
	c.watched, c.forget = nil, nil
	return forgotten
}

// undisturbed tells, after a request, whether its context certainly does nothing
// to the connection any more.
func (c *conn) undisturbed(ctx context.Context) bool {
	if bounded, ok := ctx.(*deadline.Context); ok {
		return bounded.Parent().Err() == nil // that of the next request is mostly the same
	}
	return c.unwatch()
}

// interrupt ends whatever waits for the connection.
func (c *conn) interrupt() { _ = c.raw.SetDeadline(time.Unix(1, 0)) }

// dead tells whether the server has closed a connection that waited, or said
// something that nobody asked for.
func (c *conn) dead() bool {
	return c.system == nil || c.system.Read(c.look) != nil || !c.silent
}

// readHead reads the head of the answer; answers that announce another one are
// passed over, which the bound of all heads together bounds.
func (c *conn) readHead() (*http.Response, error) {
	c.left = c.mostHead
	for {
		response, err := http.ReadResponse(c.in, nil)
		if err != nil {
			if c.left <= 0 {
				err = errHead
			}
			return nil, err
		}
		if response.StatusCode >= http.StatusOK || response.StatusCode == http.StatusSwitchingProtocols {
			c.left = math.MaxInt64 // whoever reads the body bounds it
			return response, nil
		}
	}
}

var errHead = errors.New("the head of the answer is too long")

// reusable tells whether another request may follow on a connection whose answer
// was read to its end.
func (c *conn) reusable(r *http.Response) bool {
	if cap(c.out) > mostKept {
		c.out = nil
	}
	return !r.Close && r.StatusCode >= http.StatusOK && !c.ended && c.in.Buffered() == 0
}

// limited reads what a connection still may.
type limited conn

func (c *limited) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errHead
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.raw.Read(p)
	c.left -= int64(n)
	if errors.Is(err, io.EOF) {
		c.ended = true
	}
	return n, err
}
