package httponce_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"weir/internal/httponce"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers connections as a test wants. Whatever arrives whole is counted.
type server struct {
	url     string
	tls     *tls.Config // of its clients; nil: it speaks plainly
	opened  atomic.Int64
	arrived atomic.Int64
	ended   <-chan struct{} // the test is over
	stalled chan struct{}   // gets an element when stall begins
}

// serve starts a server. speak gets each connection, with its number from 1, and ends it by
// returning. protocols are those that it speaks by TLS; none: it does not say.
func serve(t testing.TB, secure bool, speak func(s *server, n int64, c net.Conn), protocols ...string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{url: "http://" + l.Addr().String(), stalled: make(chan struct{}, 10)}
	var ours *tls.Config
	if secure {
		with := httptest.NewUnstartedServer(nil)
		with.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(with.Certificate())
		ours = &tls.Config{Certificates: with.TLS.Certificates, MinVersion: tls.VersionTLS12, NextProtos: protocols}
		s.tls = &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12}
		with.Close()
		s.url = "https://" + l.Addr().String()
	}
	ctx, stop := context.WithCancel(context.Background())
	s.ended = ctx.Done()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n := s.opened.Add(1)
			all.Go(func() {
				defer context.AfterFunc(ctx, func() { _ = c.Close() })()
				defer func() { _ = c.Close() }()
				if ours != nil {
					speak(s, n, tls.Server(c, ours))
					return
				}
				speak(s, n, c)
			})
		}
	})
	t.Cleanup(func() { stop(); _ = l.Close(); all.Wait() })
	return s
}

// request reads one request from a connection; false: none came.
func (s *server) request(in *bufio.Reader) bool {
	r, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	if _, err = io.Copy(io.Discard, r.Body); err != nil {
		return false
	}
	s.arrived.Add(1)
	return true
}

// stall does nothing until the test is over.
func (s *server) stall() {
	s.stalled <- struct{}{}
	<-s.ended
}

// answering has a server answer each request with a text.
func answering(text string) func(*server, int64, net.Conn) {
	return func(s *server, _ int64, c net.Conn) {
		for in := bufio.NewReader(c); s.request(in); {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

// once has a server answer one request with a text, and close.
func once(text string) func(*server, int64, net.Conn) {
	return func(s *server, _ int64, c net.Conn) {
		if s.request(bufio.NewReader(c)) {
			_, _ = io.WriteString(c, text)
		}
	}
}

func (s *server) transport(t testing.TB) *httponce.Transport {
	t.Helper()
	out := httponce.New(httponce.Options{TLS: s.tls, MaxHeader: 4 << 10})
	t.Cleanup(out.CloseIdleConnections)
	return out
}

// got is what a caller knows after a request.
type got struct {
	known  string // "not sent", "in doubt" or "answered"
	status int
	body   string
	err    error // of the request, or of reading the body
}

const (
	notSent  = "not sent"
	inDoubt  = "in doubt"
	answered = "answered"
)

func ask(ctx context.Context, t http.RoundTripper, method, target, body string) got {
	var text io.Reader
	if body != "" {
		text = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, target, text)
	if err != nil {
		return got{err: err}
	}
	answer, err := t.RoundTrip(r)
	switch {
	case err != nil && httponce.NotSent(err):
		return got{known: notSent, err: err}
	case err != nil:
		return got{known: inDoubt, err: err}
	}
	defer func() { _ = answer.Body.Close() }()
	read, err := io.ReadAll(answer.Body)
	return got{answered, answer.StatusCode, string(read), err}
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// row is a server, and what is known after a request to it.
type row struct {
	speak  func(*server, int64, net.Conn)
	method string // default: POST with a body
	body   string // default: a short one
	want   got    // err is any error, if it is one
	// arrives is how often the request arrives whole; 2 is never right.
	arrives int64
	patient bool // the server stalls: the request's context ends it
}

var errAny = errors.New("any")

func rows() map[string]row {
	long := strings.Repeat("x", 4<<20) // more than buffers take
	reset := func(c net.Conn) {
		if t, ok := c.(*tls.Conn); ok {
			c = t.NetConn()
		}
		_ = c.(*net.TCPConn).SetLinger(0)
	}
	return map[string]row{
		"answers":                {speak: answering(fine), want: got{answered, 200, "ok", nil}, arrives: 1},
		"answers a long request": {speak: answering(fine), body: long, want: got{answered, 200, "ok", nil}, arrives: 1},
		"closes after reading":   {speak: once(""), want: got{known: inDoubt, err: errAny}, arrives: 1},
		"resets after reading": {speak: func(s *server, _ int64, c net.Conn) { s.request(bufio.NewReader(c)); reset(c) },
			want: got{known: inDoubt, err: errAny}, arrives: 1},
		"closes in the middle of a long request": {speak: func(_ *server, _ int64, c net.Conn) { _, _ = io.CopyN(io.Discard, c, 1000) },
			body: long, want: got{known: inDoubt, err: errAny}},
		"stalls before its answer": {speak: func(s *server, _ int64, c net.Conn) { s.request(bufio.NewReader(c)); s.stall() },
			want: got{known: inDoubt, err: errAny}, arrives: 1, patient: true},
		"reads nothing": {speak: func(s *server, _ int64, c net.Conn) {
			if t, ok := c.(*tls.Conn); ok {
				_ = t.Handshake()
			}
			s.stall()
		}, body: long, want: got{known: inDoubt, err: errAny}, patient: true},
		"stalls in the head": {speak: func(s *server, _ int64, c net.Conn) {
			once("HTTP/1.1 200 OK\r\nX: ")(s, 1, c)
			s.stall()
		}, want: got{known: inDoubt, err: errAny}, arrives: 1, patient: true},
		"stalls in the body": {speak: func(s *server, _ int64, c net.Conn) {
			once("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")(s, 1, c)
			s.stall()
		}, want: got{answered, 200, "half", errAny}, arrives: 1, patient: true},
		"answers early, reads on": {speak: func(s *server, _ int64, c net.Conn) {
			in := bufio.NewReader(c)
			for { // the connection is kept if the whole body was sent before the answer was read
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
				_, _ = io.Copy(io.Discard, r.Body)
			}
		}, body: long, want: got{answered, 413, "", nil}},
		"answers early, closes": {speak: func(s *server, _ int64, c net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
			}
		}, body: long, want: got{answered, 413, "no", nil}},
		"answers a short one early, closes": {speak: func(_ *server, _ int64, c net.Conn) {
			if _, err := c.Read(make([]byte, 10)); err == nil { // it says so: the client could not know before its next request
				_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
			}
		}, body: strings.Repeat("x", 15<<10), want: got{answered, 413, "no", nil}},
		"chunks": {speak: answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n1\r\no\r\n1;x=y\r\nk\r\n0\r\nX: y\r\n\r\n"),
			want: got{answered, 200, "ok", nil}, arrives: 1},
		"chunks cut off":      {speak: once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal"), want: got{answered, 200, "hal", errAny}, arrives: 1},
		"a bad chunk":         {speak: once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), want: got{answered, 200, "", errAny}, arrives: 1},
		"body cut off":        {speak: once("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), want: got{answered, 200, "half", errAny}, arrives: 1},
		"interim answers":     {speak: answering("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + fine), want: got{answered, 200, "ok", nil}, arrives: 1},
		"endless interim":     {speak: answering(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 1000)), want: got{known: inDoubt, err: errAny}, arrives: 1},
		"interim, then close": {speak: once("HTTP/1.1 102 Processing\r\n\r\n"), want: got{known: inDoubt, err: errAny}, arrives: 1},
		"another protocol":    {speak: answering("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nsome of it"), want: got{answered, 101, "", nil}, arrives: 1},
		"close in the answer": {speak: once("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), want: got{answered, 200, "ok", nil}, arrives: 1},
		"until the end":       {speak: once("HTTP/1.1 200 OK\r\n\r\nok"), want: got{answered, 200, "ok", nil}, arrives: 1},
		"HTTP/1.0":            {speak: once("HTTP/1.0 200 OK\r\n\r\nok"), want: got{answered, 200, "ok", nil}, arrives: 1},
		"HTTP/1.0, kept":      {speak: answering("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"), want: got{answered, 200, "ok", nil}, arrives: 1},
		"HEAD":                {speak: answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), method: http.MethodHead, want: got{answered, 200, "", nil}, arrives: 1},
		"GET":                 {speak: answering(fine), method: http.MethodGet, want: got{answered, 200, "ok", nil}, arrives: 1},
		"GET, closed":         {speak: once(""), method: http.MethodGet, want: got{known: inDoubt, err: errAny}, arrives: 1},
		"204":                 {speak: answering("HTTP/1.1 204 No Content\r\n\r\n"), want: got{answered, 204, "", nil}, arrives: 1},
		"304":                 {speak: answering("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n"), want: got{answered, 304, "", nil}, arrives: 1},
		"a redirect":          {speak: answering("HTTP/1.1 307 Temporary Redirect\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"), want: got{answered, 307, "", nil}, arrives: 1},
		"no HTTP":             {speak: once("220 smtp.example ESMTP\r\n"), want: got{known: inDoubt, err: errAny}, arrives: 1},
		"a bad status":        {speak: once("HTTP/1.1 2xx OK\r\n\r\n"), want: got{known: inDoubt, err: errAny}, arrives: 1},
		"a status of no kind": {speak: once("HTTP/1.1 000 X\r\n\r\n"), want: got{known: inDoubt, err: errAny}, arrives: 1},
		"half a status line":  {speak: once("HTTP/1.1 20"), want: got{known: inDoubt, err: errAny}, arrives: 1},
		"a bad header":        {speak: once("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), want: got{known: inDoubt, err: errAny}, arrives: 1},
		"two lengths":         {speak: once("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), want: got{known: inDoubt, err: errAny}, arrives: 1},
		"a long header":       {speak: once("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n"), want: got{known: inDoubt, err: errAny}, arrives: 1},
		"many headers":        {speak: once("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 5000) + "\r\n"), want: got{known: inDoubt, err: errAny}, arrives: 1},
		// SETTINGS and GOAWAY of a server that assumes HTTP/2.
		"HTTP/2": {speak: once("\x00\x00\x00\x04\x00\x00\x00\x00\x00" + "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"),
			want: got{known: inDoubt, err: errAny}, arrives: 1},
	}
}

func TestTransport_KnowsHowFarARequestGot(t *testing.T) {
	t.Parallel()
	for name, c := range rows() {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %v", name, secure), func(t *testing.T) {
				t.Parallel()
				s := serve(t, secure, c.speak)
				transport := s.transport(t)
				for round := range int64(2) { // the second one may find a kept connection
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					if c.patient {
						go func() {
							<-s.stalled
							time.AfterFunc(500*time.Millisecond, cancel) // it gets what was written before
						}()
					}
					method, body := c.method, c.body
					if method == "" {
						method = http.MethodPost
						if body == "" {
							body = "hello"
						}
					}
					is := ask(ctx, transport, method, s.url, body)
					if !c.patient && ctx.Err() != nil {
						t.Error("it took until the context ended")
					}
					cancel()
					if is.known != c.want.known || is.status != c.want.status || is.body != c.want.body || (is.err != nil) != (c.want.err != nil) {
						t.Errorf("known: %+v, want %+v: %v", is, c.want, is.err)
					}
					if n := s.arrived.Load(); n != (round+1)*c.arrives {
						t.Errorf("after %d requests %d had arrived", round+1, n)
					}
				}
			})
		}
	}
}

// TestTransport_NothingIsSentBeforeThereIsAConnection: what fails before the first byte of a
// request is certain.
func TestTransport_NothingIsSentBeforeThereIsAConnection(t *testing.T) {
	t.Parallel()
	plain, secure := serve(t, false, answering(fine)), serve(t, true, answering(fine))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + l.Addr().String()
	_ = l.Close()
	silent := serve(t, false, func(_ *server, _ int64, c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	other := serve(t, true, answering(fine), "h3")
	for name, c := range map[string]struct {
		url     string
		options httponce.Options
		request func(*http.Request)
	}{
		"refused":                     {url: refused},
		"no such host":                {url: "http://no-such-host.invalid"},
		"unknown certificate":         {url: secure.url},
		"wrong name":                  {url: secure.url, options: httponce.Options{TLS: &tls.Config{RootCAs: secure.tls.RootCAs, ServerName: "other.example", MinVersion: tls.VersionTLS12}}},
		"plain server for TLS":        {url: strings.Replace(plain.url, "http:", "https:", 1)},
		"no common protocol":          {url: other.url, options: httponce.Options{TLS: other.tls}},
		"silent before the handshake": {url: strings.Replace(silent.url, "http:", "https:", 1), options: httponce.Options{HandshakeTimeout: 50 * time.Millisecond}},
		"forbidden":                   {url: plain.url, options: httponce.Options{Check: func(*url.URL) error { return errors.New("no") }}},
		"proxy is not found out":      {url: plain.url, options: httponce.Options{Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New("no") }}},
		"proxy of another kind":       {url: plain.url, options: httponce.Options{Proxy: http.ProxyURL(&url.URL{Scheme: "socks5", Host: "127.0.0.1:1"})}},
		"proxy refuses connections":   {url: plain.url, options: httponce.Options{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: strings.TrimPrefix(refused, "http://")})}},
		"not a web address":           {url: "ftp://127.0.0.1/"},
		"no host":                     {url: "http:///x"},
		"bad header name":             {url: plain.url, request: func(r *http.Request) { r.Header["a b"] = []string{"x"} }},
		"bad header value":            {url: plain.url, request: func(r *http.Request) { r.Header["A"] = []string{"x\r\nB: y"} }},
		"body that cannot be read":    {url: plain.url, request: func(r *http.Request) { r.Body = io.NopCloser(iotest.ErrReader(errors.New("gone"))) }},
		"body shorter than announced": {url: plain.url, request: func(r *http.Request) { r.ContentLength = 100 }},
		"context that is over": {url: plain.url, request: func(r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			*r = *r.WithContext(ctx)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport := httponce.New(c.options)
			defer transport.CloseIdleConnections()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, strings.NewReader("hello"))
			if err != nil {
				t.Fatal(err)
			}
			if c.request != nil {
				c.request(r)
			}
			answer, err := transport.RoundTrip(r)
			if err == nil {
				_ = answer.Body.Close()
			}
			if !httponce.NotSent(err) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Cleanup(func() {
		if n := plain.arrived.Load() + secure.arrived.Load() + other.arrived.Load(); n != 0 {
			t.Errorf("%d requests arrived", n)
		}
	})
}
