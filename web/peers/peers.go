// Package peers lets the processes of one database find and trust each other. Each listens
// at an address of its own, with a certificate that it made at its start; address and
// fingerprint are in the database, which is all that has to be configured.
//
// # Invariants
//
//   - Both ends of a connection hold a certificate whose fingerprint is in the database
//     (TestServer_RefusesStrangersInTheHandshake).
//   - The listener serves while this process owns the database, and refuses otherwise, before
//     a request begins. It never passes anything on (TestServer_ServesItsPeersWhileItOwnsTheDatabase).
//   - The address and the scheme of a client are taken from peers only.
package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"

	"weir/web"
	"weir/web/forward"
)

// Logger is where peers are logged.
type Logger = *slog.Logger

// Options configure a Server.
type Options struct {
	Identity *Identity
	Self     Process
	// Processes lists the processes of the database.
	Processes func(ctx context.Context) ([]Process, error)
	// Valid reports whether this process certainly owns the database.
	Valid   func() bool
	Logger  Logger
	Refused prometheus.Counter // connections that were refused
}

// NewRefused registers the counter of refused connections.
func NewRefused(r prometheus.Registerer) prometheus.Counter {
	return promauto.With(r).NewCounter(prometheus.CounterOpts{
		Name: "weir_peer_refused_total", Help: "Connections to the listener for peers that were refused: without TLS 1.3, or without the valid certificate of a process of the database.",
	})
}

// Handler serves a request, or does nothing and returns false: then this process does not own
// the database.
type Handler func(w http.ResponseWriter, r *http.Request) bool

// Server is the listener for peers of this process.
type Server struct {
	o           Options
	http        *http.Server
	connections *web.Connections

	knownMu sync.Mutex
	known   map[string]bool // fingerprints of processes
	looks   *rate.Limiter   // at the database, for unknown ones

	mu       sync.Mutex
	handler  Handler // nil: requests are refused
	epoch    int64   // 0: this process does not own the database
	needs    int64   // step of the schema that its owner has to know
	released chan struct{}
	standbys map[int64]*Standby // by start number
}

// NewServer returns a server; [Server.Serve] starts it.
func NewServer(o Options) *Server {
	s := &Server{o: o, standbys: map[int64]*Standby{}, known: map[string]bool{}, looks: rate.NewLimiter(looksPerSecond, looksAtOnce)}
	s.connections = web.NewConnections(web.ConnectionLimits{All: 16384, Address: 8192}, nil, web.NewRefusalLog(o.Logger))
	s.http = web.NewServer(http.HandlerFunc(s.serve), o.Logger, s.connections)
	s.http.IdleTimeout = 5 * time.Minute // longer than a standby keeps a connection
	s.http.TLSConfig = o.Identity.server(s.check)
	track := s.http.ConnState
	s.http.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			s.count(c)
		}
		track(c, state)
	}
	return s
}

// Serve serves a listener until Close.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.ServeTLS(s.connections.Listen(l), "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close lets requests finish, for a moment, and ends all connections.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	if s.http.Shutdown(ctx) == nil {
		return nil
	}
	return s.http.Close()
}

const closeTime = 500 * time.Millisecond

// Require says which step of the schema a standby has to know to own the database. It comes
// before Begin.
func (s *Server) Require(step int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.needs = step
}

// Begin serves requests, because this process owns the database.
func (s *Server) Begin(epoch int64, h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler, s.epoch, s.released = h, epoch, make(chan struct{})
}

// Refuse refuses new requests from now on: this process is about to release the database.
func (s *Server) Refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = nil
}

// Released tells all standbys that the database is free.
func (s *Server) Released() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = nil
	if s.epoch != 0 {
		s.epoch = 0
		close(s.released)
	}
}

// serve serves one request of a peer.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	kind := r.Header.Get(forward.PeerHeader)
	switch kind {
	case forward.PeerHeartbeat:
		s.heartbeat(w, r)
		return
	case forward.PeerPing:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.mu.Lock()
	h := s.handler
	s.mu.Unlock()
	client, err := netip.ParseAddrPort(r.Header.Get(forward.ClientHeader))
	switch {
	case kind != forward.PeerPass || err != nil:
		http.Error(w, "this port is for other processes of Weir", http.StatusBadRequest)
	case h == nil || !h(&lastWord{w, s.o.Valid}, received(r, client)):
		refuse(w)
	}
}

// lastWord is the answer of a process that may lose the database meanwhile. What it refuses
// then may be sent to the next owner.
type lastWord struct {
	http.ResponseWriter
	valid func() bool
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (l *lastWord) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (l *lastWord) WriteHeader(status int) {
	if status == http.StatusServiceUnavailable && !l.valid() {
		l.Header().Set(forward.PeerHeader, forward.PeerLost)
	}
	l.ResponseWriter.WriteHeader(status)
}

// received is a request as it came to the peer that passed it on.
func received(r *http.Request, client netip.AddrPort) *http.Request {
	own := *r
	own.RemoteAddr = client.String()
	if r.Header.Get(forward.SchemeHeader) != "https" {
		own.TLS = nil
	}
	own.Header = r.Header.Clone()
	forward.Received(own.Header)
	return &own
}

// refuse says that this process does not own the database, and has done nothing.
func refuse(w http.ResponseWriter) {
	w.Header().Set(forward.PeerHeader, forward.PeerNotOwner)
	w.WriteHeader(http.StatusMisdirectedRequest)
}

// Looks for unknown fingerprints are bounded, so that strangers cannot make this process ask
// the database all the time. Several processes may start at once.
const (
	looksPerSecond = 5
	looksAtOnce    = 20
)

// check refuses a connection whose certificate is that of no process. The database is asked
// without the lock: while it does not answer, known processes are accepted.
func (s *Server) check(fingerprint string) error {
	if s.knows(fingerprint) {
		return nil
	}
	if !s.looks.Allow() {
		return errStranger
	}
	ctx, cancel := context.WithTimeout(context.Background(), heartbeatTime)
	defer cancel()
	list, err := s.o.Processes(ctx)
	if err != nil {
		return errors.Join(errNotAsked, err)
	}
	known := make(map[string]bool, len(list))
	for _, p := range list {
		known[p.Fingerprint] = p.Fingerprint != ""
	}
	s.knownMu.Lock()
	s.known = known
	s.knownMu.Unlock()
	if !known[fingerprint] {
		return errStranger
	}
	return nil
}

func (s *Server) knows(fingerprint string) bool {
	s.knownMu.Lock()
	defer s.knownMu.Unlock()
	return s.known[fingerprint]
}

// count counts a connection that has ended, if it was refused.
func (s *Server) count(c net.Conn) {
	secured, ok := c.(*tls.Conn)
	if !ok || secured.ConnectionState().HandshakeComplete {
		return
	}
	if refused(secured.HandshakeContext(context.Background())) { // the error of the handshake that failed: it is not tried again
		s.o.Refused.Inc()
	}
}

// errNotAsked reports that a certificate could not be looked up.
var errNotAsked = errors.New("the processes of the database are not known")

// refused reports whether a handshake failed because of what the other end sent. One that hung
// up, or was too slow, was not refused.
func refused(err error) bool {
	if _, broken := errors.AsType[net.Error](err); broken || err == nil {
		return false
	}
	for _, other := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.Canceled, errNotAsked} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}

// dial opens a connection to a peer.
func dial(ctx context.Context, c *tls.Config, address string) (net.Conn, error) {
	d := tls.Dialer{Config: c}
	return d.DialContext(ctx, "tcp", address)
}

// reach is when a standby reached the owner last.
type reach struct {
	mu    sync.Mutex
	at    time.Time
	epoch int64
}

// reached notes that it was reached, and reports whether it is another one than before.
func (r *reach) reached(now time.Time, epoch int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := r.epoch != epoch
	r.at, r.epoch = now, epoch
	return changed
}

func (r *reach) last() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}
