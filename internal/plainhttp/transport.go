package plainhttp

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
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
	name, port := u.Hostname(), u.Port()
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '%' }) {
		return "", false
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(name, port), true
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
	h.idle = append(h.idle[:0], h.idle[old:]...)
	clear(h.idle[len(h.idle):cap(h.idle)])
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
