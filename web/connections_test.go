package web_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"weir/web"
	"weir/web/webtest"
)

// Shutdown does not wait for a connection that has sent no request; it waits
// for one with a request in progress.
func TestConnections_ShutdownDoesNotWaitForSilentConnections(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, sent string
		want       time.Duration
	}{
		{"nothing asked", "", 0},
		{"a request under way", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conns := webtest.Connections(web.DefaultConnectionLimits())
				s := web.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(2 * time.Second) }), slog.New(slog.DiscardHandler), conns)
				l := newPipes()
				go func() {
					if err := s.Serve(conns.Listen(l)); !errors.Is(err, http.ErrServerClosed) {
						t.Error(err)
					}
				}()
				client := l.dial()
				go func() {
					_, _ = client.Write([]byte(tc.sent))
					_, _ = client.Read(make([]byte, 1000))
					_ = client.Close()
				}()
				synctest.Wait()
				began := time.Now()
				if err := s.Shutdown(context.Background()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < tc.want || took > tc.want+time.Second {
					t.Errorf("the end took %v; want %v", took, tc.want)
				}
			})
		})
	}
}

// The first request of a new connection may be on the way when the server shuts down: it is
// answered, if it arrives in a moment.
func TestConnections_ShutdownAnswersTheFirstRequestOfANewConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after    time.Duration
		answered bool
	}{"in a moment": {900 * time.Millisecond, true}, "late": {1100 * time.Millisecond, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limits := web.DefaultConnectionLimits()
				limits.First = time.Second
				conns := webtest.Connections(limits)
				s := web.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), slog.New(slog.DiscardHandler), conns)
				l := newPipes()
				go func() { _ = s.Serve(conns.Listen(l)) }()
				client := l.dial()
				synctest.Wait()
				ended := make(chan error, 1)
				go func() {
					_ = l.Close()
					conns.AwaitFirst(context.Background())
					ended <- s.Shutdown(context.Background())
				}()
				time.Sleep(c.after)
				_, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
				answer := make([]byte, 1000)
				n, _ := client.Read(answer)
				if got := n > 0; got != c.answered {
					t.Errorf("it got %q", answer[:n])
				}
				_ = client.Close()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// clientAt is the server's end of a connection from an address.
type clientAt struct {
	net.Conn
	from string
}

func (c clientAt) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.from))
}

// crowd is a server with few connections.
type crowd struct {
	*testing.T
	l *pipes
}

func newCrowd(t *testing.T, limits web.ConnectionLimits, proxies ...netip.Prefix) *crowd {
	t.Helper()
	conns := webtest.Connections(limits, proxies...)
	s := web.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			select {
			case <-time.After(10 * time.Second):
			case <-r.Context().Done():
			}
		}
	}), slog.New(slog.DiscardHandler), conns)
	c := &crowd{t, newPipes()}
	done := make(chan error)
	go func() { done <- s.Serve(conns.Listen(c.l)) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return c
}

// open connects from an address and requests a path, unless it is empty.
func (c *crowd) open(from, path string) net.Conn {
	c.Helper()
	client, server := net.Pipe()
	c.l.conns <- clientAt{server, from}
	if path != "" {
		go func() { _, _ = client.Write([]byte("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")) }()
	}
	synctest.Wait()
	c.Cleanup(func() { _ = client.Close() })
	return client
}

// ask connects and returns the status of the response; 0: the connection was
// closed. The server has released the connection by then, so that the next one
// has its place.
func (c *crowd) ask(from, path string) int {
	c.Helper()
	conn := c.open(from, path)
	got := status(conn)
	_ = conn.Close()
	synctest.Wait()
	return got
}

func status(conn net.Conn) int {
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// alive reports whether a connection is open.
func alive(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

const strangers, us = "192.0.2.1:1", "198.51.100.7:1"

// Scenario 186: an address that reaches its share loses its own oldest
// connection without a request, and no other address loses one.
func TestConnections_AddressAtItsShareLosesItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, web.ConnectionLimits{All: 10, Address: 3, Reserve: 1})
		ours := c.open(us, "")
		var theirs []net.Conn
		for range 5 {
			theirs = append(theirs, c.open(strangers, ""))
		}
		for i, conn := range theirs {
			if got, want := alive(conn), i >= 2; got != want {
				t.Errorf("connection %d is open: %v, want %v", i, got, want)
			}
		}
		if !alive(ours) {
			t.Error("another address lost its connection")
		}
	})
}

// Scenario 186: when all connections are taken, the address with the most loses
// one; a connection with a request in progress is never closed.
func TestConnections_AddressWithTheMostGivesOneUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, web.ConnectionLimits{All: 4, Address: 3, Reserve: 1})
		ours := c.open(us, "")
		busy := c.open(strangers, "/slow")
		idle := []net.Conn{c.open(strangers, ""), c.open(strangers, "")}
		if got := c.ask("203.0.113.9:1", "/v1/channels"); got != 200 {
			t.Errorf("a newcomer gets %d", got)
		}
		if !alive(ours) || alive(idle[0]) || !alive(idle[1]) {
			t.Error("the wrong connection was closed")
		}
		if got := status(busy); got != 200 {
			t.Errorf("the request under way gets %d", got)
		}
	})
}

// Scenario 186: when every connection has a request in progress, probes are
// still answered, one after the other, and nothing else is.
func TestConnections_ReserveIsKeptForProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, web.ConnectionLimits{All: 2, Address: 1, Reserve: 1})
		c.open(strangers, "/slow")
		for path, want := range map[string]int{"/livez": 200, "/readyz": 200, "/weir/metrics": 200, "/v1/channels": 503} {
			if got := c.ask(strangers, path); got != want {
				t.Errorf("over its share, %s: %d, want %d", path, got, want)
			}
		}
		c.open(us, "/slow")
		c.open("203.0.113.9:1", "") // occupies the reserve
		if got := c.ask("203.0.113.10:1", "/livez"); got != 200 {
			t.Errorf("with all taken, /livez: %d", got)
		}
		c.open("203.0.113.9:1", "/slow/livez")
		time.Sleep(2 * time.Minute) // unread responses have ended too
		if got := c.ask(strangers, "/v1/channels"); got != 200 {
			t.Errorf("after the requests, /v1/channels: %d", got)
		}
	})
}

// Scenario 186: a body that never arrives does not occupy the reserve.
func TestConnections_MissingBodyOccupiesNoReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, web.ConnectionLimits{All: 1, Address: 1, Reserve: 1})
		c.open(us, "/slow")
		for _, path := range []string{"/v1/channels", "/livez"} {
			go func(conn net.Conn) {
				_, _ = conn.Write([]byte("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"))
				_, _ = io.Copy(io.Discard, conn)
			}(c.open(strangers, ""))
			synctest.Wait()
			if got := c.ask("203.0.113.9:1", "/livez"); got != 200 {
				t.Errorf("beside a body of %s: %d", path, got)
			}
		}
	})
}

// Scenario 186: a trusted proxy has no share; its IPv6 neighbors have one.
func TestConnections_TrustedProxyHasNoShare(t *testing.T) {
	t.Parallel()
	for from, trusted := range map[string]bool{strangers: true, "[2001:db8::1]:1": true, "[2001:db8::2]:1": false} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, web.ConnectionLimits{All: 10, Address: 1, Reserve: 1}, netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::1/128"))
			first := c.open(from, "")
			c.open(from, "")
			if alive(first) != trusted {
				t.Errorf("%s: the first connection is open: %v", from, !trusted)
			}
		})
	}
}

// Scenario 186: a request that arrives on a connection while it is being closed
// for another one does not free a second place.
func TestConnections_RequestOnAClosingOneFreesNoSecondPlace(t *testing.T) {
	t.Parallel()
	conns, pipes := webtest.Connections(web.ConnectionLimits{All: 10, Address: 1}), newPipes()
	l, s := conns.Listen(pipes), web.NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler), conns)
	accept := func() (server, client net.Conn) {
		client, end := net.Pipe()
		go func() { pipes.conns <- clientAt{end, strangers} }()
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return server, client
	}
	first, _ := accept()
	accept() // closes the first
	s.ConnState(first, http.StateIdle)
	_, third := accept()
	accept()
	if alive(third) {
		t.Error("two connections are open; the share is one")
	}
}
