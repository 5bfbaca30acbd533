package provider_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/channels/provider"
	"weir/internal/plainhttp"
)

// ways returns the two ways of a POST: net/http alone, and the short one.
func ways() map[string]func(*http.Transport) http.RoundTripper {
	return map[string]func(*http.Transport) http.RoundTripper{
		"net/http": func(t *http.Transport) http.RoundTripper { return t },
		"short":    func(t *http.Transport) http.RoundTripper { return plainhttp.New(t) },
	}
}

func transport() *http.Transport {
	return &http.Transport{
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, DisableCompression: true,
		MaxIdleConnsPerHost: 8, MaxResponseHeaderBytes: 8 << 10,
	}
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, all := &raw{url: "http://" + l.Addr().String()}, sync.WaitGroup{}
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() { stop(); _ = l.Close(); all.Wait() })
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
	return s
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

// answers returns servers' answers, valid and invalid ones.
func answers() map[string]func(int, net.Conn) bool {
	return map[string]func(int, net.Conn) bool{
		"nothing in it":      says(fine),
		"a body":             says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
		"chunks":             says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"),
		"chunks, trailer":    says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n"),
		"no content":         says("HTTP/1.1 204 No Content\r\n\r\n"),
		"early hints":        says("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + fine),
		"another protocol":   says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
		"close":              saysLast("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"),
		"until the end":      saysLast("HTTP/1.1 200 OK\r\n\r\nall that there is"),
		"old protocol":       saysLast("HTTP/1.0 200 OK\r\n\r\nold"),
		"old, kept":          says("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nold"),
		"redirect":           says("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"),
		"limited":            says("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"),
		"refused":            says("HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno"),
		"cut off":            saysLast("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
		"chunks cut off":     saysLast("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"),
		"too large":          says("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000)),
		"as large as may be": says("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000)),
		"no answer":          saysLast(""),
		"half a head":        saysLast("HTTP/1.1 200 OK\r\nContent-"),
		"no HTTP":            saysLast("220 smtp.example ESMTP\r\n"),
		"a bad header":       saysLast("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"),
		"two lengths":        saysLast("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
		"a long head":        saysLast("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n"),
		"endless hints":      saysLast(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 2000)),
		"reset": func(_ int, conn net.Conn) bool {
			_ = conn.(*net.TCPConn).SetLinger(0)
			return true
		},
		"every second is the last": func(n int, conn net.Conn) bool {
			_, _ = io.WriteString(conn, fine)
			return n == 1
		},
	}
}

// story records what a caller and a server observe for some requests.
type story struct {
	Results  []provider.Result
	Reasons  []string
	Requests []string
}

func tell(t *testing.T, way http.RoundTripper, server *raw, bodies []string) story {
	t.Helper()
	u, err := url.Parse(server.url + "/a%20b/send.json?x=1")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: way}
	defer client.CloseIdleConnections()
	target, err := provider.NewTarget(client, u, "application/json", provider.Credentials{Username: "u", Password: "p"})
	if err != nil {
		t.Fatal(err)
	}
	var s story
	for _, body := range bodies {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		result := target.Post(ctx, []byte(body), 1000)
		cancel()
		s.Reasons = append(s.Reasons, fmt.Sprint(result.Reason(), " ", result.Err == nil))
		result.Err = nil
		s.Results = append(s.Results, result)
	}
	for _, r := range server.requests() {
		s.Requests = append(s.Requests, strings.Replace(r, strings.TrimPrefix(server.url, "http://"), "host", 1))
	}
	return s
}

// Whatever a server does, both ways send the same bytes and interpret the answers
// alike.
func TestBothWaysAgree(t *testing.T) {
	t.Parallel()
	for name, answer := range answers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bodies := []string{`[{"a":1}]`, "", strings.Repeat("long ", 2000), strings.Repeat("longer ", 10_000)}
			stories := map[string]story{}
			for way, of := range ways() {
				stories[way] = tell(t, of(transport()), serve(t, answer), bodies)
			}
			if d := cmp.Diff(stories["net/http"], stories["short"], cmp.Comparer(sameBody)); d != "" {
				t.Errorf("net/http (-) and the short way (+) differ:\n%s", d)
			}
			if n := len(stories["short"].Requests); n != len(bodies) {
				t.Errorf("the server saw %d requests of %d", n, len(bodies))
			}
		})
	}
}

// sameBody treats an empty body and a missing one as equal.
func sameBody(a, b []byte) bool { return bytes.Equal(a, b) }
