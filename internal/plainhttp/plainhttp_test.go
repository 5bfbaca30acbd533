package plainhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"weir/internal/deadline"
	"weir/internal/plainhttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

// server passes the connection of each request to handle, until that returns true
// and the connection is closed.
type server struct {
	addr    string
	conns   atomic.Int64
	ended   chan struct{} // receives for each connection that the client closed
	end     func()
	mu      sync.Mutex
	seen    map[string]int // whole requests, by body
	handle  func(net.Conn) (last bool)
	waiting sync.WaitGroup
}

func newServer(handle func(net.Conn) (last bool)) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{addr: l.Addr().String(), seen: map[string]int{}, handle: handle, ended: make(chan struct{}, 1000)}
	ctx, stop := context.WithCancel(context.Background())
	s.end = func() { stop(); _ = l.Close(); s.waiting.Wait() }
	s.waiting.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			context.AfterFunc(ctx, func() { _ = conn.Close() })
			s.waiting.Go(func() { s.serve(conn) })
		}
	})
	return s, nil
}

func (s *server) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for in := bufio.NewReader(conn); ; {
		r, err := http.ReadRequest(in)
		if errors.Is(err, io.EOF) {
			s.ended <- struct{}{}
		}
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.seen[string(body)]++
		s.mu.Unlock()
		if s.handle(conn) {
			return
		}
	}
}

func (s *server) saw(body string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[body]
}

func start(t *testing.T, handle func(net.Conn) bool) *server {
	t.Helper()
	s, err := newServer(handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	return s
}

func say(text string) func(net.Conn) bool {
	return func(c net.Conn) bool { _, _ = io.WriteString(c, text); return false }
}

func others() *http.Transport {
	return &http.Transport{DialContext: (&net.Dialer{}).DialContext, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute}
}

func like(target string) *http.Request {
	u, err := url.Parse(target)
	if err != nil {
		panic(err)
	}
	return &http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Header: http.Header{"X-Test": {"1"}}}
}

func route(t *testing.T, s *server) (*plainhttp.Transport, *plainhttp.Route) {
	t.Helper()
	transport := plainhttp.New(others())
	t.Cleanup(transport.CloseIdleConnections)
	r, ok := transport.Route(like("http://" + s.addr + "/x"))
	if !ok {
		t.Fatal("there is no short way")
	}
	return transport, r
}

// One connection serves consecutive requests, however they are bounded.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	s := start(t, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"))
	_, r := route(t, s)
	for i := range 30 {
		ctx, end := t.Context(), func() {}
		switch i % 3 {
		case 1:
			ctx, end = context.WithTimeout(t.Context(), time.Minute)
		case 2:
			c := deadline.In(t.Context(), time.Minute)
			ctx, end = c, c.End
		}
		if a := r.Post(ctx, []byte(strconv.Itoa(i)), 10); a.Err != nil || string(a.Body) != "ok" {
			t.Fatalf("%d: %+v", i, a)
		}
		end()
	}
	if n := s.conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A connection is not reused if its answer forbids it, was not read to its end, or
// was followed by more data.
func TestConnectionsAreNotKept(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"said to close": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		"too long":      "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + strings.Repeat("x", 20),
		"more than one": fine + fine,
		"no end":        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, say(answer))
			_, r := route(t, s)
			for range 5 {
				if a := r.Post(t.Context(), nil, 10); a.Response == nil {
					t.Fatalf("%+v", a)
				}
			}
			if n := s.conns.Load(); n != 5 {
				t.Errorf("%d connections for 5 requests", n)
			}
		})
	}
}

// However a server treats its connections: no request arrives twice, none that was
// reported as unwritten arrives, and none is answered that did not arrive.
func TestNeverTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		does := rapid.SliceOfN(rapid.SampledFrom([]string{"answer", "answer", "answer, close", "close", "reset", "half"}), 1, 20).Draw(rt, "the server")
		var n atomic.Int64
		s, err := newServer(func(c net.Conn) bool {
			switch does[int(n.Add(1)-1)%len(does)] {
			case "answer":
				return say(fine)(c)
			case "answer, close":
				say(fine)(c)
			case "reset":
				_ = c.(*net.TCPConn).SetLinger(0)
			case "half":
				say(fine[:20])(c)
			}
			return true
		})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.end()
		transport := plainhttp.New(others())
		defer transport.CloseIdleConnections()
		r, _ := transport.Route(like("http://" + s.addr))
		answers := make([]plainhttp.Answer, 40)
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for i := g; i < len(answers); i += 4 {
					answers[i] = r.Post(context.Background(), []byte(strconv.Itoa(i)), 10)
				}
			})
		}
		all.Wait()
		for i, a := range answers {
			seen := s.saw(strconv.Itoa(i))
			if seen > 1 || a.Unwritten && seen > 0 || a.Response != nil && seen != 1 || a.Response == nil && a.Err == nil {
				rt.Errorf("request %d arrived %d times: %+v", i, seen, a)
			}
		}
	})
}

// A server that goes away between two requests must not make the second one's
// outcome unknown.
func TestDeadConnectionsAreSeen(t *testing.T) {
	t.Parallel()
	for range 20 {
		s := start(t, say(fine))
		_, r := route(t, s)
		if a := r.Post(t.Context(), []byte("1"), 10); a.Err != nil {
			t.Fatal(a.Err)
		}
		s.end()
		a := r.Post(t.Context(), []byte("2"), 10)
		if a.Err == nil {
			t.Fatalf("no server answers, and yet: %+v", a)
		}
		if a.Unwritten { // mostly at once; a busy machine may report the end of a connection later
			return
		}
	}
	t.Error("the end of a connection was never seen")
}

// A canceled request, or one that takes too long, ends at once with that error; it
// still counts as written.
func TestEnds(t *testing.T) {
	t.Parallel()
	bound := func(parent context.Context) (context.Context, func()) {
		c := deadline.In(parent, time.Minute)
		return c, c.End
	}
	plain := func(parent context.Context) (context.Context, func()) {
		return context.WithTimeout(parent, time.Minute)
	}
	for name, of := range map[string]func(context.Context) (context.Context, func()){"bound": bound, "plain": plain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived := make(chan struct{})
			var n atomic.Int64
			s := start(t, func(c net.Conn) bool {
				if n.Add(1) == 2 {
					close(arrived)
					return false // no answer
				}
				return say(fine)(c)
			})
			_, r := route(t, s)
			parent, stop := context.WithCancel(t.Context())
			defer stop()
			for i := range 2 {
				if i == 1 {
					go func() { <-arrived; stop() }()
				}
				ctx, end := of(parent)
				a := r.Post(ctx, []byte(strconv.Itoa(i)), 10)
				end()
				if i == 1 && (!errors.Is(a.Err, context.Canceled) || a.Unwritten) || i == 0 && a.Err != nil {
					t.Errorf("request %d: %+v", i, a)
				}
			}
			ctx, end := of(parent)
			defer end()
			if a := r.Post(ctx, []byte("none"), 10); !errors.Is(a.Err, context.Canceled) || !a.Unwritten {
				t.Errorf("after the end: %+v", a)
			}
			ctx, end = of(t.Context())
			defer end()
			if a := r.Post(ctx, []byte("another"), 10); a.Err != nil {
				t.Errorf("of another request: %+v", a)
			}
		})
	}
}

func TestTakesTooLong(t *testing.T) {
	t.Parallel()
	s := start(t, func(net.Conn) bool { return false })
	_, r := route(t, s)
	ctx := deadline.In(t.Context(), 30*time.Millisecond)
	defer ctx.End()
	if a := r.Post(ctx, nil, 10); !errors.Is(a.Err, context.DeadlineExceeded) || a.Unwritten {
		t.Errorf("%+v", a)
	}
}

// The owner of a transport may close idle connections at any time.
func TestCloseIdleConnections(t *testing.T) {
	t.Parallel()
	s := start(t, say(fine))
	transport, r := route(t, s)
	for i := range 3 {
		if a := r.Post(t.Context(), nil, 10); a.Err != nil {
			t.Fatal(a.Err)
		}
		transport.CloseIdleConnections()
		<-s.ended
		if n := s.conns.Load(); n != int64(i)+1 {
			t.Errorf("%d connections for %d requests", n, i+1)
		}
	}
}

// Requests that are not plain have no short way.
func TestRoute(t *testing.T) {
	t.Parallel()
	proxied := others()
	proxied.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.test"})
	direct := others()
	direct.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	get, body := like("http://a.test"), like("http://a.test")
	get.Method = http.MethodGet
	body.Body = io.NopCloser(&bytes.Buffer{})
	for name, c := range map[string]struct {
		of   *http.Transport
		r    *http.Request
		want bool
	}{
		"plain":            {others(), like("http://a.test/x?y=z"), true},
		"no proxy for it":  {direct, like("http://a.test"), true},
		"an address":       {others(), like("http://[::1]:80"), true},
		"TLS":              {others(), like("https://a.test"), false},
		"a proxy":          {proxied, like("http://a.test"), false},
		"a zone":           {others(), like("http://[fe80::1%25eth0]/"), false},
		"a name in need":   {others(), like("http://bücher.test"), false},
		"another method":   {others(), get, false},
		"a body":           {others(), body, false},
		"a way of dialing": {&http.Transport{}, like("http://a.test"), false},
	} {
		if _, ok := plainhttp.New(c.of).Route(c.r); ok != c.want {
			t.Errorf("%s: %v", name, ok)
		}
	}
}
