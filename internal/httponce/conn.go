package httponce

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// atOnce is how long a request may be that is written before its answer is looked for. The
// buffers of a connection take as much, even if the server reads nothing. While a longer one is
// written, an early answer is read beside it.
const atOnce = 16 << 10

// key identifies connections that are as good as each other.
type key struct {
	secure         bool
	address, proxy string
}

// conn is a connection. One request at a time uses it.
type conn struct {
	transport *Transport
	key       key
	socket    *socket
	stream    net.Conn // the socket, or TLS over it
	in        *bufio.Reader
	left      int64     // bytes that may still be read of an answer's head
	kept      bool      // an earlier request used it
	since     time.Time // idle

	// Of the request that uses it:
	before  int64      // bytes that the socket had taken before it
	writing chan error // gets the result of a write that an answer did not wait for; nil: there is none
	stop    func() bool
}

// Read reads from the stream, within the bound of a head. The buffered reader uses it.
func (c *conn) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errors.New("the head of the answer is too large")
	}
	n, err := c.stream.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	return n, err
}

// hasSent reports whether a byte of the request, or of a TLS record with it, was handed to the
// network.
func (c *conn) hasSent() bool { return c.socket.sent.Load() > c.before }

func (c *conn) close() { _ = c.socket.Close() }

// isAlive reports whether a kept connection can be used: the server has neither closed it nor
// sent anything but what TLS itself has to say.
func (c *conn) isAlive() bool {
	var one [1]byte
	c.socket.probing = true
	n, err := c.stream.Read(one[:])
	c.socket.probing = false
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

// exchange writes a request and reads the head of its answer. After an error the connection
// is closed, and whether the request was sent is certain; see hasSent.
func (c *conn) exchange(r *http.Request, text []byte) (*http.Response, error) {
	c.before, c.left, c.writing = c.socket.sent.Load(), c.transport.o.MaxHeader, nil
	c.stop = c.socket.endWith(r.Context())
	failed := c.write(text)
	if failed != nil && !c.hasSent() {
		c.stop()
		c.close()
		return nil, failed
	}
	// A server may have answered and closed before it read all. Once a write fails for that, all
	// that it sent has arrived, and there is nothing to wait for.
	c.socket.probing = failed != nil
	response, err := c.head(r)
	if err != nil {
		c.stop()
		c.close()
		if c.writing != nil {
			<-c.writing //nolint:errcheck // so that hasSent is final; the error of the answer is returned
		}
		return nil, err
	}
	keep := failed == nil && !response.Close && !r.Close && response.StatusCode != http.StatusSwitchingProtocols
	if response.Body == http.NoBody {
		c.done(keep)
	} else {
		response.Body = &body{ReadCloser: response.Body, c: c, keep: keep}
	}
	return response, nil
}

// write writes a request; a long one in a goroutine of its own.
func (c *conn) write(text []byte) error {
	if len(text) <= atOnce {
		_, err := c.stream.Write(text)
		return err
	}
	c.writing = make(chan error, 1)
	go func(result chan<- error) {
		_, err := c.stream.Write(text)
		result <- err
	}(c.writing)
	return nil
}

// head reads the head of the answer, and those of the interim answers before it.
func (c *conn) head(r *http.Request) (*http.Response, error) {
	for {
		response, err := http.ReadResponse(c.in, r)
		if err != nil {
			return nil, err
		}
		if response.StatusCode < 100 {
			return nil, errors.New("the status of the answer is invalid")
		}
		if response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols {
			c.left = math.MaxInt64 // callers bound the body
			return response, nil
		}
	}
}

// done ends a request whose answer was read, or given up.
func (c *conn) done(keep bool) {
	if c.writing != nil {
		select {
		case err := <-c.writing:
			keep = keep && err == nil
		default: // the server did not wait for the rest of the request
			keep = false
		}
	}
	if c.stop() && keep && c.in.Buffered() == 0 {
		c.kept = true
		c.transport.idle.put(c)
		return
	}
	c.close()
}

// body is the body of an answer. Its end returns the connection.
type body struct {
	io.ReadCloser
	c     *conn
	keep  bool
	ended bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end(b.keep && errors.Is(err, io.EOF))
	}
	return n, err
}

// Close implements io.Closer. A body that was not read to its end ends the connection.
func (b *body) Close() error {
	b.end(false)
	return nil
}

func (b *body) end(keep bool) {
	if !b.ended {
		b.ended = true
		b.c.done(keep)
	}
}

// socket is the lowest layer of a connection. It counts what is written, and can read without
// waiting.
type socket struct {
	net.Conn
	raw     syscall.RawConn // nil: it is no socket of the system
	sent    atomic.Int64
	probing bool
}

func newSocket(c net.Conn) *socket {
	s := &socket{Conn: c}
	if system, ok := c.(syscall.Conn); ok {
		if raw, err := system.SyscallConn(); err == nil {
			s.raw = raw
		}
	}
	return s
}

// Write implements io.Writer.
func (s *socket) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	s.sent.Add(int64(n))
	return n, err
}

// Read implements io.Reader. While probing it does not wait: [os.ErrDeadlineExceeded] means
// that there is nothing to read.
func (s *socket) Read(b []byte) (int, error) {
	switch {
	case !s.probing:
		return s.Conn.Read(b)
	case s.raw != nil:
		return readNow(s.raw, b)
	}
	if err := s.SetReadDeadline(past()); err != nil {
		return 0, err
	}
	n, err := s.Conn.Read(b)
	if failed := s.SetReadDeadline(time.Time{}); failed != nil {
		return n, failed
	}
	return n, err // as it is: TLS goes on after a timeout only
}

// endWith makes reads and writes fail when a context ends. stop ends that; false: they fail
// already, or will.
func (s *socket) endWith(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = s.SetDeadline(past()) })
}

// past is a deadline that is over.
func past() time.Time { return time.Unix(1, 0) }
