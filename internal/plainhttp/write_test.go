package plainhttp_test

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"

	"weir/internal/plainhttp"
)

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

// A failed write is retried only if none of its bytes was sent, and only if the
// connection had been idle.
func TestWritesThatFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from  int64
		after int
		want  bool // there is an answer
		most  int  // max number of arrivals
	}{
		"none of it, waited": {from: 2, after: 0, want: true, most: 1},
		"some, waited":       {from: 2, after: 5, want: false, most: 0},
		"all, waited":        {from: 2, after: 1 << 20, want: false, most: 1},
		"none of it, new":    {from: 1, after: 0, want: false, most: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, say(fine))
			var writes atomic.Int64
			o := others()
			o.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				var d net.Dialer
				raw, err := d.DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				return breaking{raw.(*net.TCPConn), &writes, c.from, c.after}, nil
			}
			transport := plainhttp.New(o)
			defer transport.CloseIdleConnections()
			r, _ := transport.Route(like("http://" + s.addr))
			if c.from == 2 {
				if a := r.Post(t.Context(), []byte("before"), 10); a.Err != nil {
					t.Fatal(a.Err)
				}
			}
			a := r.Post(t.Context(), []byte("this"), 10)
			if answered := a.Response != nil; answered != c.want || a.Unwritten || answered && a.Response.StatusCode != http.StatusOK {
				t.Errorf("%+v", a)
			}
			s.end() // nothing arrives any more
			if seen := s.saw("this"); seen > c.most || c.want && seen == 0 {
				t.Errorf("it arrived %d times, want %d", seen, c.most)
			}
		})
	}
}
