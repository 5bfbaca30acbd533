package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/failpoint"
)

// send sends a request to an owner. Its error wraps ErrNotSent if the request was certainly
// not handled.
func (f *Forwarder) send(r *http.Request, o Owner, b *body) (*http.Response, error) {
	var sent sentBytes
	out := r.WithContext(httptrace.WithClientTrace(r.Context(), sent.trace()))
	u := *r.URL
	u.Scheme, u.Host = "https", o.Address
	out.URL, out.Body, out.ContentLength, out.GetBody, out.TransferEncoding = &u, b.open(), b.length, nil, nil
	answer, err := f.o.Transports.To(o).RoundTrip(out)
	switch {
	case err != nil && !sent.any():
		return nil, errors.Join(ErrNotSent, hideURL(err))
	case err != nil:
		return nil, hideURL(err)
	case answer.StatusCode == http.StatusMisdirectedRequest && answer.Header.Get(PeerHeader) == PeerNotOwner:
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 4<<10)) // so that the connection can be used again
		_ = answer.Body.Close()
		return nil, fmt.Errorf("%w: the process at %s does not own the database", ErrNotSent, o.Address)
	}
	failpoint.Hit("pass.answered")
	return answer, nil
}

// errLost is the error of a request whose owner has lost the database while it handled it.
var errLost = errors.New("the process has lost the database")

// lost reports whether an answer says that its sender has just lost the database.
func lost(answer *http.Response) bool {
	is := answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get(PeerHeader) == PeerLost
	answer.Header.Del(PeerHeader)
	return is
}

// hideURL removes the URL of a request from an error: it may hold a secret.
func hideURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// sentBytes watches how much of a request was written to connections.
type sentBytes struct {
	mu   sync.Mutex
	conn *countedConn
	from int64 // what the connection had written before
	seen bool  // an earlier connection took some of it
}

func (s *sentBytes) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = s.seen || s.wrote()
		c, ok := info.Conn.(*countedConn)
		if !ok {
			s.seen = true // nobody counts: assume the worst
			return
		}
		s.conn, s.from = c, c.written.Load()
	}, WroteRequest: func(httptrace.WroteRequestInfo) { failpoint.Hit("pass.sent") }}
}

func (s *sentBytes) wrote() bool { return s.conn != nil && s.conn.written.Load() > s.from }

func (s *sentBytes) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen || s.wrote()
}

// countedConn counts what is handed to it, before it is written.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.written.Add(int64(len(p)))
	return c.Conn.Write(p)
}

// Peers are the connections to owners, one pool for each ownership. When another process
// has become the owner, what the earlier one has not answered after a moment is given up:
// it can commit nothing any more.
type Peers struct {
	// TLS returns the configuration for connections to the holder of a certificate.
	TLS func(fingerprint string) *tls.Config

	mu      sync.Mutex
	current *pool
}

type pool struct {
	owner     Owner
	transport *http.Transport
	ctx       context.Context
	end       context.CancelFunc
}

// graceAfter is how long a former owner may take to answer what it was sent.
const graceAfter = 3 * time.Second

// To implements Transports.
func (p *Peers) To(o Owner) http.RoundTripper {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil && p.current.owner == o {
		return p.current
	}
	if p.current != nil && p.current.owner.Epoch > o.Epoch {
		return refusing{} // a look that is late
	}
	p.retire()
	ctx, end := context.WithCancel(context.Background())
	config := p.TLS(o.Fingerprint)
	p.current = &pool{owner: o, ctx: ctx, end: end, transport: &http.Transport{
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			d := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: config}
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			c, err := d.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			if err := ping(ctx, c); err != nil {
				_ = c.Close()
				return nil, err
			}
			return &countedConn{Conn: c}, nil
		},
		DisableCompression:  true, // Accept-Encoding is the client's
		MaxIdleConnsPerHost: 512,
		IdleConnTimeout:     idleTimeout,
	}} // of HTTP/1: a transport that dials TLS itself has no other
	return p.current
}

// ping asks whether the other end accepts this one: with TLS 1.3 that is not known when the
// handshake has ended here, and a request that is sent too early may have been handled.
func ping(ctx context.Context, c net.Conn) error {
	if at, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(at); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: peer\r\n"+PeerHeader+": "+PeerPing+"\r\n\r\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return c.SetDeadline(time.Time{})
}

// dialTimeout bounds a connection to the owner; idleTimeout is below that of the owner's
// listener, so that no request meets a connection that is being closed.
const (
	dialTimeout = 2 * time.Second
	idleTimeout = time.Minute
)

// retire gives up the connections to a former owner, after a moment.
func (p *Peers) retire() {
	if old := p.current; old != nil {
		time.AfterFunc(graceAfter, old.close)
	}
}

// Close gives up all connections, for good.
func (p *Peers) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.current.close()
	}
}

func (p *pool) close() {
	p.end()
	p.transport.CloseIdleConnections()
}

// RoundTrip implements http.RoundTripper.
func (p *pool) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(p.ctx, cancel)
	answer, err := p.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	answer.Body = &watched{answer.Body, func() { stop(); cancel() }}
	return answer, nil
}

// watched is a body that lets go of its context when it is closed.
type watched struct {
	io.ReadCloser
	done func()
}

func (w *watched) Close() error {
	defer w.done()
	return w.ReadCloser.Close()
}

// watchStream makes a stream of events end with the others.
func (f *Forwarder) watchStream(answer *http.Response) {
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind != "text/event-stream" {
		return
	}
	s := &stream{ReadCloser: answer.Body, ended: f.ended}
	s.stop = context.AfterFunc(f.ended, func() { _ = s.ReadCloser.Close() }) // interrupts Read
	answer.Body = s
}

// stream is a stream of events. That it was ended is no error.
type stream struct {
	io.ReadCloser
	ended context.Context
	stop  func() bool
}

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	if err != nil && s.ended.Err() != nil {
		err = io.EOF
	}
	return n, err
}

func (s *stream) Close() error {
	s.stop()
	return s.ReadCloser.Close()
}

// refusing refuses every request before anything is sent.
type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("another process owns the database")
}
