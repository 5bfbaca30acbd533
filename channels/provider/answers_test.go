package provider_test

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
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/channels/provider"
	"weir/internal/httponce"
)

func transport() *httponce.Transport {
	return httponce.New(httponce.Options{MaxIdle: 8, MaxHeader: 8 << 10})
}

// raw is a server with scripted handling of its connections.
type raw struct {
	url  string
	mu   sync.Mutex
	seen []string // whole requests
}

func (s *raw) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, text)
}

func (s *raw) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// serve passes each request on every connection to answer, which writes the answer
// and reports whether it is the connection's last.
func serve(t *testing.T, answer func(n int, conn net.Conn) (last bool)) *raw {
	t.Helper()
	s, end := listen(t, answer)
	t.Cleanup(end)
	return s
}

// listen starts a server that ends with end.
func listen(t interface{ Fatal(...any) }, answer func(n int, conn net.Conn) (last bool)) (_ *raw, end func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, all := &raw{url: "http://" + l.Addr().String()}, new(sync.WaitGroup)
	ctx, stop := context.WithCancel(context.Background())
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { _ = conn.Close() })
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				s.converse(conn, answer)
			})
		}
	})
	return s, func() { stop(); _ = l.Close(); all.Wait() }
}

func (s *raw) converse(conn net.Conn, answer func(int, net.Conn) bool) {
	var text bytes.Buffer
	in := bufio.NewReader(io.TeeReader(conn, &text))
	for n := 0; ; n++ {
		text.Reset()
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err = io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		s.note(text.String())
		if answer(n, conn) {
			return
		}
	}
}

func says(text string) func(int, net.Conn) bool {
	return func(_ int, conn net.Conn) bool { _, _ = io.WriteString(conn, text); return false }
}

func saysLast(text string) func(int, net.Conn) bool {
	return func(_ int, conn net.Conn) bool { _, _ = io.WriteString(conn, text); return true }
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Nuntium-Token: t\r\n\r\n"

// answer describes how a server handles each request, and what its client must make of it.
type answer struct {
	does   func(int, net.Conn) bool
	status int // 0: there is no answer, and the server may have acted on the request
	body   string
	after  time.Duration
	err    error // of the answer's body
}

// answers returns servers' answers, valid and invalid ones.
func answers() map[string]answer {
	return map[string]answer{
		"nothing in it":      {does: says(fine), status: 200, body: ""},
		"a body":             {does: says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), status: 200, body: "hello"},
		"chunks":             {does: says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"), status: 200, body: "hello"},
		"chunks, trailer":    {does: says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n"), status: 200, body: "lo"},
		"no content":         {does: says("HTTP/1.1 204 No Content\r\n\r\n"), status: 204, body: ""},
		"early hints":        {does: says("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + fine), status: 200, body: ""},
		"another protocol":   {does: says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), status: 101, body: ""},
		"close":              {does: saysLast("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), status: 200, body: "ok"},
		"until the end":      {does: saysLast("HTTP/1.1 200 OK\r\n\r\nall that there is"), status: 200, body: "all that there is"},
		"old protocol":       {does: saysLast("HTTP/1.0 200 OK\r\n\r\nold"), status: 200, body: "old"},
		"old, kept":          {does: says("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nold"), status: 200, body: "old"},
		"redirect":           {does: says("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"), status: 302, body: ""},
		"limited":            {does: says("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"), status: 429, body: "", after: 7 * time.Second},
		"refused":            {does: says("HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno"), status: 400, body: "no"},
		"cut off":            {does: saysLast("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), status: 200, body: "half", err: io.ErrUnexpectedEOF},
		"chunks cut off":     {does: saysLast("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"), status: 200, body: "he", err: io.ErrUnexpectedEOF},
		"too large":          {does: says("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000)), status: 200, body: strings.Repeat("x", 1000), err: provider.ErrBodyTooLarge},
		"as large as may be": {does: says("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000)), status: 200, body: strings.Repeat("x", 1000)},
		"no answer":          {does: saysLast("")},
		"half a head":        {does: saysLast("HTTP/1.1 200 OK\r\nContent-")},
		"no HTTP":            {does: saysLast("220 smtp.example ESMTP\r\n")},
		"a bad header":       {does: saysLast("HTTP/1.1 200 OK\r\nno colon\r\n\r\n")},
		"two lengths":        {does: saysLast("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")},
		"a long head":        {does: saysLast("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n")},
		"endless hints":      {does: saysLast(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 2000))},
		"reset":              {does: reset},
	}
}

func reset(_ int, conn net.Conn) bool {
	_ = conn.(*net.TCPConn).SetLinger(0)
	return true
}

// post posts each body to the server in turn.
func post(t testing.TB, client *http.Client, server *raw, bodies []string) []provider.Result {
	t.Helper()
	u, err := url.Parse(server.url + "/a%20b/send.json?x=1")
	if err != nil {
		t.Fatal(err)
	}
	target, err := provider.NewTarget(client, u, "application/json", provider.Credentials{Username: "u", Password: "p"})
	if err != nil {
		t.Fatal(err)
	}
	var results []provider.Result
	for _, body := range bodies {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		results = append(results, target.Post(ctx, []byte(body), 1000))
		cancel()
	}
	return results
}

// Whatever a server answers, it sees each request once, and its answer is understood.
func TestTarget_EachAnswerIsUnderstood(t *testing.T) {
	t.Parallel()
	for name, a := range answers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bodies := []string{`[{"a":1}]`, "", strings.Repeat("long ", 2000), strings.Repeat("longer ", 10_000)}
			server := serve(t, a.does)
			client := &http.Client{Transport: transport()}
			defer client.CloseIdleConnections()
			for i, r := range post(t, client, server, bodies) {
				switch {
				case a.status == 0 && (r.Delivery != provider.MaybeSent || r.Err == nil),
					a.status != 0 && (r.Delivery != provider.Answered || !errors.Is(r.Err, a.err)),
					r.Status != a.status, string(r.Body) != a.body, r.RetryAfter != a.after:
					t.Errorf("request %d: %+v", i, r)
				}
			}
			seen := server.requests()
			if len(seen) != len(bodies) {
				t.Fatalf("the server saw %d requests of %d", len(seen), len(bodies))
			}
			for i, text := range seen {
				if !strings.HasPrefix(text, "POST /a%20b/send.json?x=1 HTTP/1.1\r\n") || !strings.HasSuffix(text, "\r\n\r\n"+bodies[i]) {
					t.Errorf("the server saw %.200q", text)
				}
			}
		})
	}
}

// However a server treats its connections: no request arrives twice, none that was never
// sent arrives, and none is answered that did not arrive.
func TestTarget_NoRequestArrivesTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		does := rapid.SliceOfN(rapid.SampledFrom([]string{"answer", "answer", "answer, close", "close", "reset", "half"}), 1, 20).Draw(rt, "the server")
		var n atomic.Int64
		server, end := listen(rt, func(_ int, c net.Conn) bool {
			switch does[int(n.Add(1)-1)%len(does)] {
			case "answer":
				return says(fine)(0, c)
			case "answer, close":
				return saysLast(fine)(0, c)
			case "reset":
				return reset(0, c)
			case "half":
				return saysLast(fine[:20])(0, c)
			}
			return true
		})
		defer end()
		client := &http.Client{Transport: transport()}
		defer client.CloseIdleConnections()
		u, err := url.Parse(server.url)
		if err != nil {
			rt.Fatal(err)
		}
		target, err := provider.NewTarget(client, u, "text/plain", provider.Credentials{})
		if err != nil {
			rt.Fatal(err)
		}
		results := make([]provider.Result, 40)
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for i := g; i < len(results); i += 4 {
					results[i] = target.Post(context.Background(), []byte("number "+strconv.Itoa(i)), 10)
				}
			})
		}
		all.Wait()
		end() // nothing arrives any more
		for i, r := range results {
			seen := 0
			for _, text := range server.requests() {
				if strings.HasSuffix(text, "\r\n\r\nnumber "+strconv.Itoa(i)) {
					seen++
				}
			}
			if seen > 1 || r.Delivery == provider.NeverSent && seen > 0 || r.Delivery == provider.Answered && seen != 1 || r.Delivery != provider.Answered && r.Err == nil {
				rt.Errorf("request %d arrived %d times: %+v", i, seen, r)
			}
		}
	})
}

// breaking is a connection on which one write fails after a number of bytes.
type breaking struct {
	*net.TCPConn
	writes *atomic.Int64 // over all connections
	from   int64         // number of the write that fails
	after  int
}

func (b breaking) Write(p []byte) (int, error) {
	if b.writes.Add(1) != b.from {
		return b.TCPConn.Write(p)
	}
	n, err := b.TCPConn.Write(p[:min(b.after, len(p))])
	if err != nil {
		return n, err
	}
	return n, &net.OpError{Op: "write", Err: syscall.EPIPE}
}

// A request whose bytes may all have been sent when the write failed counts as sent, is never
// repeated, and is answered if the server answers.
func TestTarget_FailedWriteMayCountAsSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from  int64
		after int
		most  int // max number of arrivals
	}{
		"some, reused connection": {from: 2, after: 5, most: 0},
		"all, reused connection":  {from: 2, after: 1 << 20, most: 1},
		"none of it, new":         {from: 1, after: 0, most: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, says(fine))
			var writes atomic.Int64
			own := httponce.New(httponce.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				return breaking{conn.(*net.TCPConn), &writes, c.from, c.after}, nil
			}})
			client := &http.Client{Transport: own}
			defer client.CloseIdleConnections()
			if c.from == 2 {
				if r := post(t, client, server, []string{"before"})[0]; r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			r := post(t, client, server, []string{"this"})[0]
			seen := 0
			for _, text := range server.requests() {
				if strings.HasSuffix(text, "this") {
					seen++
				}
			}
			if seen > c.most || seen > 0 && r.Delivery == provider.NeverSent || r.Delivery == provider.Answered && seen != 1 {
				t.Errorf("it arrived %d times: %+v", seen, r)
			}
		})
	}
}
