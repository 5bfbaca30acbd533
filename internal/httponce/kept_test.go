package httponce_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/channels/simulation/memnet"
	"weir/internal/httponce"
)

// A connection is used again, by TLS and without, and also if the server sends session tickets.
func TestTransport_KeepsConnections(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		s := serve(t, secure, answering(fine))
		transport := s.transport(t)
		for range 20 {
			if is := ask(t.Context(), transport, http.MethodPost, s.url, "hello"); is.status != 200 {
				t.Fatal(is)
			}
		}
		if n := s.opened.Load(); n != 1 {
			t.Errorf("TLS %v: %d connections for 20 requests", secure, n)
		}
	}
}

// What a server does to a kept connection is noticed before a request is written on it.
func TestTransport_NoticesWhatBefellAKeptConnection(t *testing.T) {
	t.Parallel()
	for name, befalls := range map[string]func(c net.Conn){
		"nothing":       nil,
		"closed":        func(c net.Conn) { _ = c.Close() },
		"closed weakly": func(c net.Conn) { _ = tcpOf(c).CloseWrite() },
		"reset":         func(c net.Conn) { _ = tcpOf(c).SetLinger(0); _ = tcpOf(c).Close() },
		"told of a timeout": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			_ = c.Close()
		},
		"answered twice": func(c net.Conn) { _, _ = io.WriteString(c, fine) },
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %v", name, secure), func(t *testing.T) {
				t.Parallel()
				befell := make(chan struct{})
				s := serve(t, secure, func(s *server, n int64, c net.Conn) {
					in := bufio.NewReader(c)
					for i := 0; s.request(in); i++ {
						_, _ = io.WriteString(c, fine)
						if n == 1 && i == 0 && befalls != nil {
							befalls(c)
						}
						if n == 1 && i == 0 {
							close(befell)
						}
					}
				})
				transport := s.transport(t)
				if is := ask(t.Context(), transport, http.MethodPost, s.url, "hello"); is.status != 200 {
					t.Fatal(is)
				}
				<-befell
				if is := ask(t.Context(), transport, http.MethodPost, s.url, "hello"); is.known != answered || is.status != 200 {
					t.Errorf("%+v", is)
				}
				want := int64(2)
				if befalls == nil {
					want = 1
				}
				if s.opened.Load() != want || s.arrived.Load() != 2 {
					t.Errorf("%d requests arrived on %d connections, want 2 on %d", s.arrived.Load(), s.opened.Load(), want)
				}
			})
		}
	}
}

func tcpOf(c net.Conn) *net.TCPConn {
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
	}
	return c.(*net.TCPConn)
}

// failing is a connection whose writes fail after a number of bytes, from the n-th request on.
type failing struct {
	*net.TCPConn
	requests *atomic.Int64 // over all connections
	from     int64
	until    int64
	after    int
}

func (f failing) Write(p []byte) (int, error) {
	if n := f.requests.Add(1); n < f.from || n > f.until {
		return f.TCPConn.Write(p)
	}
	n, err := f.TCPConn.Write(p[:min(f.after, len(p))])
	if err != nil {
		return n, err
	}
	return n, &net.OpError{Op: "write", Err: syscall.EPIPE}
}

// A request goes to another connection only if not a byte of it was written on the one that
// was kept.
func TestTransport_RepeatsNothingAfterAByte(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, until int64
		after       int
		known       string
		dialed      int64
	}{
		"no byte, kept":           {2, 2, 0, answered, 2},
		"no byte, kept, then new": {2, 3, 0, notSent, 2},
		"no byte, new":            {1, 1, 0, notSent, 1},
		"a byte, kept":            {2, 2, 1, inDoubt, 1},
		"a byte, new":             {1, 1, 1, inDoubt, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, false, answering(fine))
			var requests, dialed atomic.Int64
			transport := httponce.New(httponce.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				dialed.Add(1)
				return failing{conn.(*net.TCPConn), &requests, c.from, c.until, c.after}, nil
			}})
			defer transport.CloseIdleConnections()
			if c.from == 2 {
				if is := ask(t.Context(), transport, http.MethodGet, s.url, ""); is.status != 200 {
					t.Fatal(is)
				}
			}
			if is := ask(t.Context(), transport, http.MethodGet, s.url, ""); is.known != c.known {
				t.Errorf("%+v, want %s", is, c.known)
			}
			if n := dialed.Load(); n != c.dialed {
				t.Errorf("%d connections, want %d", n, c.dialed)
			}
		})
	}
}

// counted counts open connections of an in-memory network.
type counted struct {
	memnet.Network
	open, dialed atomic.Int64
}

type countedConn struct {
	net.Conn
	close func()
}

func (c countedConn) Close() error { c.close(); return c.Conn.Close() }

func (n *counted) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := n.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	n.open.Add(1)
	n.dialed.Add(1)
	return countedConn{c, sync.OnceFunc(func() { n.open.Add(-1) })}, nil
}

// Kept connections are bounded in number and in time; those that are used often live on.
func TestTransport_KeptConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n counted
		wait := make(chan struct{})
		defer n.Serve("x.test", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-wait }))()
		transport := httponce.New(httponce.Options{Dial: n.dial, MaxIdle: 3, IdleTimeout: 90 * time.Second})
		defer transport.CloseIdleConnections()
		many := func(requests int) {
			var all sync.WaitGroup
			for range requests {
				all.Go(func() {
					if is := ask(t.Context(), transport, http.MethodPost, "http://x.test/", "hello"); is.status != 200 {
						t.Error(is)
					}
				})
			}
			synctest.Wait()
			for range requests {
				wait <- struct{}{}
			}
			all.Wait()
		}
		many(5)
		if n.open.Load() != 3 {
			t.Errorf("%d of 5 connections are kept, want 3", n.open.Load())
		}
		for range 10 {
			time.Sleep(30 * time.Second)
			many(1)
		}
		if n.open.Load() != 1 || n.dialed.Load() != 5 {
			t.Errorf("%d connections of %d are kept, want the one that is used", n.open.Load(), n.dialed.Load())
		}
		time.Sleep(90 * time.Second)
		synctest.Wait()
		if n.open.Load() != 0 {
			t.Errorf("%d are kept for ever", n.open.Load())
		}
	})
}

// Closing reaches connections that are in use, after their requests.
func TestTransport_CloseReachesConnectionsInUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n counted
		defer n.Serve("x.test", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }))()
		transport := httponce.New(httponce.Options{Dial: n.dial})
		done := make(chan got)
		go func() { done <- ask(t.Context(), transport, http.MethodPost, "http://x.test/", "hello") }()
		time.Sleep(time.Millisecond)
		transport.CloseIdleConnections()
		if is := <-done; is.status != 200 || n.open.Load() != 0 {
			t.Errorf("%+v; %d connections are open", is, n.open.Load())
		}
		if is := ask(t.Context(), transport, http.MethodPost, "http://x.test/", "hello"); is.status != 200 || n.open.Load() != 1 {
			t.Errorf("afterwards: %+v; %d connections are open", is, n.open.Load())
		}
		transport.CloseIdleConnections()
		if n.open.Load() != 0 {
			t.Error("it is still open")
		}
	})
}

// An answer that is not read to its end ends its connection: the rest of it must not be taken
// for an answer to the next request.
func TestTransport_AnswerThatIsGivenUpEndsItsConnection(t *testing.T) {
	t.Parallel()
	s := serve(t, false, func(s *server, _ int64, c net.Conn) {
		in := bufio.NewReader(c)
		s.request(in)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n1234") // the rest comes late
		if s.request(in) {
			_, _ = io.WriteString(c, "5678"+fine)
		}
	})
	transport := s.transport(t)
	for range 3 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(answer.Body, make([]byte, 4)); err != nil {
			t.Error(err)
		}
		_ = answer.Body.Close()
	}
	if n := s.opened.Load(); n != 3 {
		t.Errorf("%d connections for 3 requests", n)
	}
}

// A context that ends after its request does not disturb the next one on the connection.
func TestTransport_EndOfAnEarlierContextIsNotNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n counted
		defer n.Serve("x.test", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }))()
		transport := httponce.New(httponce.Options{Dial: n.dial})
		defer transport.CloseIdleConnections()
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			if is := ask(ctx, transport, http.MethodPost, "http://x.test/", "hello"); is.status != 200 {
				t.Errorf("%+v", is)
			}
		}
		if n.dialed.Load() != 1 {
			t.Errorf("%d connections", n.dialed.Load())
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		begun := time.Now()
		if is := ask(ctx, transport, http.MethodPost, "http://x.test/", "hello"); is.known != inDoubt || time.Since(begun) != 500*time.Millisecond || errors.Is(is.err, io.EOF) {
			t.Errorf("%+v after %v", is, time.Since(begun))
		}
		time.Sleep(time.Second) // the handler ends
	})
}
