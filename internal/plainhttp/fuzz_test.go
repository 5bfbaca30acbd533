package plainhttp_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/plainhttp"
)

// FuzzAnswer: whatever a provider writes before it closes the connection results in an answer or an error, of bounded size.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{fine, "", "\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n" + fine, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "HTTP/1.0 503 x\r\nContent-Length: 99999999\r\n\r\nab", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"} {
		f.Add([]byte(s))
	}
	var text atomic.Pointer[[]byte]
	s, err := newServer(func(c net.Conn) bool {
		_, _ = c.Write(*text.Load())
		return true
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.end)
	transport := plainhttp.New(others())
	f.Cleanup(transport.CloseIdleConnections)
	way, ok := transport.Route(like("http://" + s.addr + "/x"))
	if !ok {
		f.Fatal("there is no short way")
	}
	const most = 64
	f.Fuzz(func(t *testing.T, answer []byte) {
		text.Store(&answer)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		got := way.Post(ctx, []byte("hello"), most)
		switch {
		case ctx.Err() != nil:
			t.Errorf("no end after %q", answer)
		case got.Response == nil && got.Err == nil:
			t.Errorf("neither an answer nor an error after %q", answer)
		case len(got.Body) > most+1:
			t.Errorf("%d bytes of body", len(got.Body))
		case got.Unwritten:
			t.Errorf("unwritten, although the server read it: %q", answer)
		}
	})
}
