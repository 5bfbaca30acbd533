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
	usualHead = 10 << 20 // default max size of an answer's head, as in net/http
	maxKept   = 8 << 10  // max size of a buffer that is kept with its connection
)

// conn is a connection. One request at a time uses it.
type conn struct {
	raw     net.Conn
	system  syscall.RawConn // nil: it cannot be checked
	look    func(uintptr) bool
	silent  bool // result of look: neither data nor EOF
	in      *bufio.Reader
	out     []byte
	since   time.Time // start of the idle time
	maxHead int64
	left    int64 // bytes that may still be read
	ended   bool  // the server has closed its side

	watched context.Context // the context whose end interrupts the connection; nil: none
	forget  func() bool     // stops that
}

func newConn(raw net.Conn, maxHead int64) *conn {
	if maxHead <= 0 {
		maxHead = usualHead
	}
	c := &conn{raw: raw, maxHead: maxHead}
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

// watch makes the end of a context interrupt I/O on the connection. For a
// [deadline.Context] it watches the parent instead, and keeps watching it:
// successive requests of one caller mostly share it. It returns false if an
// earlier context may still interrupt the connection.
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

// undisturbed reports, after a request, whether its context certainly no longer
// affects the connection.
func (c *conn) undisturbed(ctx context.Context) bool {
	if bounded, ok := ctx.(*deadline.Context); ok {
		return bounded.Parent().Err() == nil // stays watched: the next request mostly has the same parent
	}
	return c.unwatch()
}

// interrupt ends pending I/O on the connection.
func (c *conn) interrupt() { _ = c.raw.SetDeadline(time.Unix(1, 0)) }

// dead reports whether the server has closed an idle connection, or sent
// unrequested data.
func (c *conn) dead() bool {
	return c.system == nil || c.system.Read(c.look) != nil || !c.silent
}

// readHead reads the head of the answer and skips 1xx answers that precede it. One
// bound applies to all these heads together.
func (c *conn) readHead() (*http.Response, error) {
	c.left = c.maxHead
	for {
		response, err := http.ReadResponse(c.in, nil)
		if err != nil {
			if c.left <= 0 {
				err = errHead
			}
			return nil, err
		}
		if response.StatusCode >= http.StatusOK || response.StatusCode == http.StatusSwitchingProtocols {
			c.left = math.MaxInt64 // the reader of the body bounds it
			return response, nil
		}
	}
}

var errHead = errors.New("the header of the answer is too long")

// reusable reports whether another request may follow on a connection whose answer
// was read to its end.
func (c *conn) reusable(r *http.Response) bool {
	if cap(c.out) > maxKept {
		c.out = nil
	}
	return !r.Close && r.StatusCode >= http.StatusOK && !c.ended && c.in.Buffered() == 0
}

// limited reads the bytes that a connection may still read.
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
