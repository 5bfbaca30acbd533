package drivertest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"weir"
	"weir/channels"
	"weir/internal/httponce"
)

// wire is a transport that cuts its connections after a number of bytes. It opens one
// connection for each request.
type wire struct {
	*httponce.Transport
	read, written atomic.Int64 // bytes of the last connection
}

// newWire returns a transport whose connections end after that many bytes of the
// answer and of the request; a negative number is no limit.
func (w *World) newWire(answer, request int) *wire {
	out := &wire{}
	out.Transport = httponce.New(httponce.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := w.Net.Dial(ctx, network, address)
		out.read.Store(0)
		out.written.Store(0)
		return &cutConn{Conn: c, wire: out, answer: answer, request: request}, err
	}})
	return out
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Close = true
	return w.Transport.RoundTrip(r)
}

type cutConn struct {
	net.Conn
	wire            *wire
	answer, request int
	ended           bool
}

// Read implements net.Conn. It waits for an answer even if nothing of it is passed on,
// so that the provider has acted.
func (c *cutConn) Read(b []byte) (int, error) {
	if c.ended {
		return 0, io.EOF
	}
	n, err := c.Conn.Read(b)
	if have := int(c.wire.read.Load()); c.answer >= 0 && have+n >= c.answer {
		n, c.ended = c.answer-have, true
	}
	c.wire.read.Add(int64(n))
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements net.Conn.
func (c *cutConn) Write(b []byte) (int, error) {
	if c.request < 0 {
		n, err := c.Conn.Write(b)
		c.wire.written.Add(int64(n))
		return n, err
	}
	n, err := c.Conn.Write(b[:min(len(b), c.request-int(c.wire.written.Load()))])
	c.wire.written.Add(int64(n))
	if err == nil && n < len(b) {
		_ = c.Close()
		err = net.ErrClosed
	}
	return n, err
}

// An answer that was cut anywhere is never certainty that the provider has nothing,
// unless it has nothing.
func answersCut(t *testing.T, p Provider) {
	for name, meddle := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"accepted": nil, "refused": answering(p.Refusal), "rate limited": answering(Raw{429, "later"}),
		"unauthorized": answering(Raw{401, "no"}), "failing": answering(Raw{500, "oh"}), "unavailable": answering(Raw{503, "oh"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.run(t, Options{}, func(w *World) {
				w.Meddle(meddle)
				whole, length, _ := p.cutAt(w, 1, -1)
				for n := range length {
					got, _, has := p.cutAt(w, weir.ContactID(n+2), n)
					switch {
					case got.Status == channels.Accepted && (!has || whole.Status != channels.Accepted),
						has && got.Status != channels.Accepted && got.Status != channels.Unclear,
						n < len("HTTP/1.1 200 OK\r\n") && got.Status != channels.Unclear:
						w.Fatalf("cut at %d of %d, at the provider: %v; got %+v", n, length, has, got)
					}
				}
			})
		})
	}
}

// cutAt dispatches an attempt whose answer is cut; has reports whether the provider
// accepted it.
func (p Provider) cutAt(w *World, id weir.ContactID, answer int) (got channels.SendResult, length int, has bool) {
	before := p.taken(w)
	wire := w.newWire(answer, -1)
	got = w.NewDriver(p.Settings, &http.Client{Transport: wire}).Send(w.Context(), p.attempt(id))
	wire.CloseIdleConnections()
	synctest.Wait()
	p.keepsSecrets(w, got)
	return got, int(wire.read.Load()), p.taken(w) > before
}

// A request that was cut anywhere did not arrive; it may only be thought that it did.
func requestsCut(t *testing.T, p Provider) {
	p.run(t, Options{}, func(w *World) {
		whole := w.newWire(-1, -1)
		w.NewDriver(p.Settings, &http.Client{Transport: whole}).Send(w.Context(), p.attempt(1))
		synctest.Wait()
		length := int(whole.written.Load())
		for n := range length {
			wire := w.newWire(-1, n)
			got := w.NewDriver(p.Settings, &http.Client{Transport: wire}).Send(w.Context(), p.attempt(weir.ContactID(n+2)))
			synctest.Wait()
			if has := p.taken(w) > 1; has || got.Status != channels.NotSent && got.Status != channels.Unclear {
				w.Fatalf("cut at %d of %d, at the provider: %v; got %+v", n, length, has, got)
			}
			p.keepsSecrets(t, fmt.Sprint(got))
		}
	})
}
