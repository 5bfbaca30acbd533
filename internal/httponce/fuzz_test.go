package httponce_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/httponce"
)

// script is a connection on which a server says a text once it was asked something, and closes.
type script struct {
	net.Conn // nil
	text     io.Reader
	asked    chan struct{}
	ask      func()
}

func newScript(text string) *script {
	s := &script{text: strings.NewReader(text), asked: make(chan struct{})}
	s.ask = sync.OnceFunc(func() { close(s.asked) })
	return s
}

func (s *script) Read(b []byte) (int, error) {
	<-s.asked
	return s.text.Read(b)
}

func (s *script) Write(b []byte) (int, error)      { s.ask(); return len(b), nil }
func (s *script) Close() error                     { s.ask(); return nil }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// FuzzTransport_UnderstandsAnswersAsNetHTTPDoes compares what is known after any answer with
// what the transport of net/http makes of it, and with [http.ReadResponse].
func FuzzTransport_UnderstandsAnswersAsNetHTTPDoes(f *testing.F) {
	for _, text := range []string{
		fine, "", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\n\r\nok", "HTTP/1.0 200 OK\r\n\r\n", fine + fine,
		"HTTP/1.1 100 Continue\r\n\r\n" + fine, "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 X\r\nContent-Length: 3\r\n\r\nabc",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", "HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx", "\x00\x00\x00\x04\x00",
	} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, head bool) {
		method := http.MethodPost
		if head {
			method = http.MethodHead
		}
		const bound = 4 << 10
		dial := func(context.Context, string, string) (net.Conn, error) { return newScript(text), nil }
		ours := httponce.New(httponce.Options{Dial: dial, MaxHeader: bound})
		defer ours.CloseIdleConnections()
		theirs := &http.Transport{DialContext: dial, MaxResponseHeaderBytes: bound, DisableCompression: true}
		defer theirs.CloseIdleConnections()
		is, want := ask(t.Context(), ours, method, "http://x.test/", ""), ask(t.Context(), theirs, method, "http://x.test/", "")
		if want.status == http.StatusSwitchingProtocols { // whose body is the rest of the connection there
			want.body, want.err = "", nil
		}
		if want.known == answered && want.status < 100 { // no status says less than this one
			want = got{known: inDoubt, err: errAny}
		}
		if is.known == notSent || is.known != want.known || is.status != want.status || is.body != want.body || (is.err == nil) != (want.err == nil) {
			t.Errorf("%q is understood as %+v, by net/http as %+v", text, is, want)
		}
		if is.known == answered && is.err != nil && !errors.Is(is.err, io.ErrUnexpectedEOF) && errors.Is(is.err, io.EOF) {
			t.Errorf("an answer that was cut off ends well: %v", is.err)
		}
	})
}
