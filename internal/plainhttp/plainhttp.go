// Package plainhttp sends POSTs over plain HTTP, on connections that it keeps and
// on the goroutine of the caller. net/http passes each request to a goroutine that
// writes, and its answer to the caller from one that reads; if a request is small
// and its answer is waited for, that costs more than the request. If the provider is
// reached without TLS, this package saves 18 of 189 µs of CPU per contact (ADR 13,
// docs/performance.md).
//
// Everything else in HTTP stays with net/http: TLS, HTTP/2, proxies, other
// methods, large bodies. The head of a request is written as by net/http, and its
// parser reads the answer.
//
// # Invariants
//
//   - A request is written once. The only exception are kept connections that
//     are found dead before a single byte was written.
//   - Unwritten is reported only if no byte of the request was sent.
//   - A connection is kept only after a whole answer with nothing after it, and
//     only if nothing can still disturb it.
//   - A call ends with its context; heads and bodies of answers are bounded.
//   - Redirects are answers.
package plainhttp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MaxBody is the max size in bytes of a request body for the short way. Larger
// bodies are left to net/http, which reads while it writes: a server may answer
// before it has read more than it can buffer.
const MaxBody = 32 << 10

// Transport is an http.RoundTripper that leaves requests to another one, and has
// connections of its own for requests along a [Route].
type Transport struct {
	others *http.Transport

	mu    sync.Mutex
	hosts map[string]*host // by address
}

// New returns a transport with the settings of others: how to dial, how many idle
// connections are kept and for how long, whether there is a proxy, and the max
// size of an answer's head.
func New(others *http.Transport) *Transport {
	return &Transport{others: others, hosts: map[string]*host{}}
}

// RoundTrip implements http.RoundTripper, through net/http.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.others.RoundTrip(r) }

// CloseIdleConnections closes the idle connections, and those in use once they
// are done.
func (t *Transport) CloseIdleConnections() {
	t.others.CloseIdleConnections()
	t.mu.Lock()
	defer t.mu.Unlock()
	for address, h := range t.hosts {
		h.close()
		delete(t.hosts, address)
	}
}

// Route is the short way for requests that differ only in their body. It is safe
// for concurrent use.
type Route struct {
	t             *Transport
	address       string
	before, after []byte // the head, around the length of the body
}

// lengthHeader is the header that net/http writes for a POST without a body.
const lengthHeader = "\r\nContent-Length: 0\r\n"

// Route returns the short way for requests like this one, which has no body. ok is
// false if there is none.
func (t *Transport) Route(like *http.Request) (_ *Route, ok bool) {
	if !canCheck || like.Method != http.MethodPost || like.Body != nil || like.Close || like.URL.Scheme != "http" ||
		t.others.DialContext == nil || t.others.DisableKeepAlives || t.proxied(like) {
		return nil, false
	}
	address, ok := addressOf(like.URL)
	if !ok {
		return nil, false
	}
	var head bytes.Buffer
	if like.Write(&head) != nil {
		return nil, false
	}
	before, after, found := strings.Cut(head.String(), lengthHeader)
	if !found || !strings.HasSuffix(after, "\r\n") || strings.Contains(after, lengthHeader) {
		return nil, false
	}
	cut := len(lengthHeader) - len("0\r\n")
	return &Route{t: t, address: address, before: []byte(before + lengthHeader[:cut]), after: []byte("\r\n" + after)}, true
}

func (t *Transport) proxied(r *http.Request) bool {
	if t.others.Proxy == nil {
		return false
	}
	proxy, err := t.others.Proxy(r)
	return proxy != nil || err != nil
}

// addressOf returns the address to dial for a URL. Hosts that net/http would
// rewrite first are left to it.
func addressOf(u *url.URL) (string, bool) {
	name := u.Hostname()
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '%' }) {
		return "", false
	}
	return net.JoinHostPort(name, cmp.Or(u.Port(), "80")), true
}

// appendRequest appends a whole request.
func (r *Route) appendRequest(out, body []byte) []byte {
	out = append(out, r.before...)
	out = strconv.AppendInt(out, int64(len(body)), 10)
	out = append(out, r.after...)
	return append(out, body...)
}

// host returns the connections to the route's server.
func (r *Route) host() *host {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	h := r.t.hosts[r.address]
	if h == nil {
		h = &host{most: cmp.Or(r.t.others.MaxIdleConnsPerHost, http.DefaultMaxIdleConnsPerHost), keep: r.t.others.IdleConnTimeout}
		r.t.hosts[r.address] = h
	}
	return h
}

// dial opens a new connection.
func (r *Route) dial(ctx context.Context) (*conn, error) {
	nc, err := r.t.others.DialContext(ctx, "tcp", r.address)
	if err != nil {
		return nil, err
	}
	return newConn(nc, r.t.others.MaxResponseHeaderBytes), nil
}

// host keeps the idle connections to one server.
type host struct {
	most int
	keep time.Duration

	mu     sync.Mutex
	idle   []*conn // last in, first out
	closed bool
	timer  *time.Timer // closes connections that were idle for too long; nil if there are none
}

// take returns the connection that was used last, or nil.
func (h *host) take() *conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := len(h.idle) - 1
	if last < 0 {
		return nil
	}
	c := h.idle[last]
	h.idle[last] = nil
	h.idle = h.idle[:last]
	return c
}

// put keeps a connection for the next request.
func (h *host) put(c *conn, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.idle) >= h.most {
		c.close()
		return
	}
	c.since = now
	h.idle = append(h.idle, c)
	if h.timer == nil && h.keep > 0 {
		h.timer = time.AfterFunc(h.keep, h.tidy)
	}
}

// tidy closes the connections that were idle for too long.
func (h *host) tidy() {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	old := 0
	for old < len(h.idle) && now.Sub(h.idle[old].since) >= h.keep {
		h.idle[old].close()
		old++
	}
	h.idle = slices.Delete(h.idle, 0, old)
	h.timer = nil
	if len(h.idle) > 0 && !h.closed {
		h.timer = time.AfterFunc(h.keep-now.Sub(h.idle[0].since), h.tidy)
	}
}

// close closes the idle connections, and connections that are put back later.
func (h *host) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, c := range h.idle {
		c.close()
	}
	h.idle = nil
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}

// Answer is the outcome of a request.
type Answer struct {
	// Response is the head of the answer, without a body; nil: there is none.
	Response *http.Response
	Body     []byte
	// Unwritten, for a request without an answer, means that nothing of it was
	// sent.
	Unwritten bool
	// Err is the reason why there is no answer, or only part of one.
	Err error
}

// Post makes a request, and reads up to most bytes of the answer's body. A longer
// body is cut one byte after that.
func (r *Route) Post(ctx context.Context, body []byte, most int64) Answer {
	h := r.host()
	for {
		if err := ctx.Err(); err != nil {
			return Answer{Unwritten: true, Err: err}
		}
		c := h.take()
		reused := c != nil
		if !reused {
			var err error
			if c, err = r.dial(ctx); err != nil {
				return Answer{Unwritten: true, Err: endOf(ctx, err)}
			}
		}
		answer, stale, kept := r.on(ctx, c, reused, body, most)
		if kept {
			h.put(c, time.Now())
		} else {
			c.close()
		}
		if !stale {
			return answer
		}
	}
}

// on makes a request on a connection. stale means that nothing was written because
// the connection was dead; kept, that it can be used for another request.
func (r *Route) on(ctx context.Context, c *conn, reused bool, body []byte, most int64) (_ Answer, stale, kept bool) {
	deadline, _ := ctx.Deadline()
	if c.raw.SetDeadline(deadline) != nil || reused && c.dead() || !c.watch(ctx) {
		return Answer{Unwritten: true, Err: errStale}, reused, false
	}
	if err := ctx.Err(); err != nil { // its interruption may have preceded SetDeadline
		return Answer{Unwritten: true, Err: err}, false, false
	}
	defer func() { kept = c.undisturbed(ctx) && kept }()
	c.out = r.appendRequest(c.out[:0], body)
	written, err := c.raw.Write(c.out)
	if err != nil {
		// net/http also uses another connection if nothing was written on one that
		// had been idle. On a new one the cause is unknown.
		return Answer{Err: endOf(ctx, err)}, reused && written == 0, false
	}
	response, err := c.readHead() //nolint:bodyclose // the body ends with the connection, or is read to its end
	if err != nil {
		return Answer{Err: endOf(ctx, err)}, false, false
	}
	answer := Answer{Response: response}
	if response.Body != http.NoBody {
		answer.Body, answer.Err = io.ReadAll(io.LimitReader(response.Body, most+1))
		answer.Err = endOf(ctx, answer.Err)
	}
	whole := answer.Err == nil && int64(len(answer.Body)) <= most
	return answer, false, whole && c.reusable(response)
}

var errStale = errors.New("the idle connection was closed by the server")

// endOf returns the reason of an error: the context's end, if it has ended,
// whatever effect that had on the connection.
func endOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	if _, bounded := ctx.Deadline(); bounded && errors.Is(err, os.ErrDeadlineExceeded) {
		return context.DeadlineExceeded // the context is about to end
	}
	return err
}
