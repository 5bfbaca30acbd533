package web

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"weir"
	webapi "weir/web/api"
	"weir/web/auth"
	"weir/web/httpjson"
)

// ConnectionLimits bound the number of concurrent connections.
type ConnectionLimits struct {
	All     int // ordinary connections
	Address int // of one address, unless it is a trusted proxy
	Reserve int // in addition to both, for probes only
	// First is how long new connections have for their first request when the server is to shut
	// down.
	First time.Duration
}

// DefaultConnectionLimits returns the limits of the daemon.
func DefaultConnectionLimits() ConnectionLimits {
	return ConnectionLimits{All: 4096, Address: 1024, Reserve: 64, First: 250 * time.Millisecond}
}

// Connections shares the connections of a server among its clients. At a limit
// it makes room by closing a connection without a request in progress: at the
// limit of an address, that address's oldest; otherwise the oldest of the
// address with the most connections. If all are busy, the new connection goes
// into the reserve, where only probes are served. Accept never waits for room.
type Connections struct {
	limits   ConnectionLimits
	proxies  Proxies
	refusals *RefusalLog

	mu      sync.Mutex
	closing bool
	open    int           // without the reserve
	unused  int           // connections that have carried no request
	allUsed chan struct{} // closed when there are none; nil: nothing waits
	clients map[netip.Addr]*client
	reserve client
}

// client holds the connections of an address, or of the reserve.
type client struct {
	open  int
	spare list.List // *conn without a request in progress, oldest first
}

// NewConnections returns the connections of one server.
func NewConnections(limits ConnectionLimits, proxies Proxies, refusals *RefusalLog) *Connections {
	return &Connections{limits: limits, proxies: proxies, refusals: refusals, clients: map[netip.Addr]*client{}}
}

// Listen applies the limits to a listener.
func (c *Connections) Listen(l net.Listener) net.Listener { return &limitedListener{l, c} }

type limitedListener struct {
	net.Listener
	all *Connections
}

// Accept returns the next connection for which there is room.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.all.admit(raw); c != nil {
			return c, nil
		}
		_ = raw.Close()
	}
}

// conn is an accepted connection.
type conn struct {
	net.Conn
	all      *Connections
	address  netip.Addr
	owner    *client
	reserved bool
	spare    *list.Element // in owner.spare; nil: a request is in progress
	since    time.Time     // when it last became spare
	used     bool          // it has carried a request
	removed  bool
}

// Close closes the connection and frees its place.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.all.remove(c)
	return err
}

// admit makes room for a new connection; nil: there is none.
func (c *Connections) admit(raw net.Conn) *conn {
	host := auth.HostAddress(raw.RemoteAddr().String())
	in := &conn{Conn: raw, all: c, address: auth.Network(host), since: time.Now()}
	share := c.limits.Address
	if c.proxies.Trust(host) { // a proxy carries the connections of all its clients
		in.address, share = host, c.limits.All
	}
	c.mu.Lock()
	victim, ok := c.place(in, share)
	if ok {
		in.owner.open++
		c.unused++
		in.spare = in.owner.spare.PushBack(in)
		if !in.reserved {
			c.open++
		}
	}
	if victim != nil {
		c.remove(victim)
	}
	c.mu.Unlock()
	if victim != nil {
		_ = victim.Conn.Close()
	}
	switch {
	case !ok:
		c.refusals.note("connection_refused", "address", in.address.String())
		return nil
	case in.reserved:
		c.refusals.note("connection_for_probes_only", "address", in.address.String())
	case victim != nil:
		c.refusals.note("connection_closed_for_another", "address", victim.address.String())
	}
	return in
}

// place sets the owner of a new connection and returns the connection to close
// for it. share is the limit of its address.
func (c *Connections) place(in *conn, share int) (victim *conn, ok bool) {
	who := c.clients[in.address]
	if who == nil {
		who = &client{}
	}
	in.owner = who
	switch {
	case who.open >= share:
		victim = who.oldest()
	case c.open >= c.limits.All:
		victim = c.oldestOfLargest()
	default:
		c.clients[in.address] = who
		return nil, true
	}
	if victim == nil {
		in.owner, in.reserved = &c.reserve, true
		if c.reserve.open < c.limits.Reserve {
			return nil, true
		}
		victim = c.reserve.oldest()
		return victim, victim != nil
	}
	c.clients[in.address] = who
	return victim, true
}

// oldest returns the connection that has had no request for the longest time.
func (c *client) oldest() *conn {
	if front := c.spare.Front(); front != nil {
		return front.Value.(*conn) //nolint:forcetypeassert // the list holds nothing else
	}
	return nil
}

// oldestOfLargest returns the connection to close when the total limit is
// reached.
func (c *Connections) oldestOfLargest() *conn {
	var found *conn
	most := 0
	for _, who := range c.clients {
		if o := who.oldest(); o != nil && (who.open > most || who.open == most && o.since.Before(found.since)) {
			found, most = o, who.open
		}
	}
	return found
}

// remove forgets a connection. Repeated calls have no effect.
func (c *Connections) remove(gone *conn) {
	if gone.removed {
		return
	}
	gone.removed = true
	gone.busy()
	c.use(gone)
	gone.owner.open--
	if gone.reserved {
		return
	}
	c.open--
	if gone.owner.open == 0 {
		delete(c.clients, gone.address)
	}
}

// busy protects a connection from being closed to make room.
func (c *conn) busy() {
	if c.spare != nil {
		c.owner.spare.Remove(c.spare)
		c.spare = nil
	}
}

// use notes that a connection has carried a request, or never will. The caller holds the lock.
func (c *Connections) use(in *conn) {
	if in.used {
		return
	}
	in.used = true
	if c.unused--; c.unused == 0 && c.allUsed != nil {
		close(c.allUsed)
		c.allUsed = nil
	}
}

// AwaitFirst waits until each connection has carried a request, for [ConnectionLimits].First
// at most. It comes before http.Server.Shutdown, which drops requests that arrive later
// without an answer.
func (c *Connections) AwaitFirst(ctx context.Context) {
	c.mu.Lock()
	all := make(chan struct{})
	if c.allUsed = all; c.unused == 0 {
		close(all)
		c.allUsed = nil
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, c.limits.First)
	defer cancel()
	select {
	case <-all:
	case <-ctx.Done():
	}
}

// track is the ConnState hook of an http.Server.
func (c *Connections) track(nc net.Conn, state http.ConnState) {
	in := connOf(nc)
	if in == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateActive:
		in.busy()
		c.use(in)
	case http.StateIdle:
		if in.spare == nil && !in.removed { // a request may begin while the connection is being closed to make room
			in.since = time.Now()
			in.spare = in.owner.spare.PushBack(in)
		}
	case http.StateNew:
		if c.closing {
			_ = in.Conn.Close()
		}
	default:
	}
}

// connOf returns the accepted connection below TLS.
func connOf(nc net.Conn) *conn {
	if secure, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = secure.NetConn()
	}
	in, _ := nc.(*conn)
	return in
}

// close closes all connections without a request in progress, and any accepted
// later. http.Server.Shutdown would wait five seconds for connections that
// clients opened in advance.
func (c *Connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	owners := []*client{&c.reserve}
	for _, who := range c.clients {
		owners = append(owners, who)
	}
	for _, who := range owners {
		for e := who.spare.Front(); e != nil; e = e.Next() {
			_ = e.Value.(*conn).Conn.Close() //nolint:forcetypeassert // the list holds nothing else
		}
	}
}

// reservedKey marks the context of connections in the reserve.
type reservedKey struct{}

func markReserved(ctx context.Context, nc net.Conn) context.Context {
	if in := connOf(nc); in != nil && in.reserved {
		return context.WithValue(ctx, reservedKey{}, true)
	}
	return ctx
}

// probesOnly serves only probes on a connection of the reserve, and closes it
// after the first response.
func probesOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(reservedKey{}) != nil {
			w.Header().Set("Connection", "close")
			if r.Body != http.NoBody || !probe(r.URL.Path) {
				// Otherwise the server would wait for the rest of the body.
				_ = http.NewResponseController(w).SetReadDeadline(time.Now())
				httpjson.WriteProblem(w, errConnections())
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

// probe reports whether a path, which may have a prefix, is a monitoring path.
func probe(path string) bool {
	return slices.ContainsFunc([]string{"/livez", "/readyz", OwnerPath, webapi.MetricsPath}, func(end string) bool { return strings.HasSuffix(path, end) })
}

func errConnections() error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: "too many connections; only probes are answered on this one", RetryAfter: httpjson.RetryAfter}
}
