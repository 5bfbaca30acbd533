// Package forward passes requests on to the process that owns the database. A standby
// serves every request in this way, whole, and while there is no owner it holds requests
// instead of refusing them.
//
// # Invariants
//
//   - A request is sent again only if it was certainly not handled, or if handling it twice
//     has no effect: reads, and reports of providers (TestForwarder_RepeatsOnlyWhatMayBeDoneTwice, TestForwarder_HoldsWhatWasNotHandled).
//   - Method, path, query, host, headers and body reach the owner as they came, so that
//     signatures remain valid. For the exceptions see [Forwarder].
//   - Requests are held for at most [Limits].Hold each, and in bounded number and size.
//   - Nothing is passed on twice: the listener for peers serves or refuses (package peers).
package forward

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"weir"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// Owner is the process that owns the database, as a standby knows it.
type Owner struct {
	Epoch       int64  // of its ownership; 0: there is no owner
	Address     string // of its listener for peers
	Fingerprint string // of its certificate
}

// Owners says who owns the database.
type Owners interface {
	// Owner returns the owner, as far as it is known, and a channel that is closed once that
	// changes. Epoch 0: there is none at the moment.
	Owner() (o Owner, changed <-chan struct{})
	// Refused reports that what was taken for the owner said that it is not, or could not be
	// reached, so that it is worth polling again.
	Refused(o Owner)
}

// Transports gives the connections to an owner.
type Transports interface {
	To(o Owner) http.RoundTripper
}

// Limits bound what a forwarder holds. The zero value of each means its default.
type Limits struct {
	Hold     time.Duration // how long a request waits for an owner: 10 s
	Requests int64         // how many wait at a time: 10,000
	Bytes    int64         // of all bodies in memory, as far as they have arrived: 64 MiB
	Share    int64         // of these, for the clients of one address: a quarter
	Body     int64         // of one body in memory; a larger one is streamed: 1 MiB
}

// Outcomes of requests, for [Options.Result].
const (
	Passed      = "passed"      // answered by the owner
	NoOwner     = "no_owner"    // held until its time was over
	Full        = "full"        // too much was held
	NotKnown    = "not_known"   // the connection broke; it may have been handled
	ClientGone  = "client_gone" // the client gave up
	pauseBefore = 100 * time.Millisecond
)

// Results lists the outcomes, for metrics.
func Results() []string { return []string{Passed, NoOwner, Full, NotKnown, ClientGone} }

// Headers between peers. Whatever a client sends under these names is overwritten.
const (
	PeerHeader   = "Weir-Peer"   // request: one of the words below; answer: this process does not own the database
	ClientHeader = "Weir-Client" // the address of the client
	SchemeHeader = "Weir-Scheme" // https, if the client used it
	KeyHeader    = "Weir-Key"    // the client's Idempotency-Key, by which net/http would repeat requests
)

// keyHeader is a header that the owner refuses, since it does not support it.
const keyHeader = "Idempotency-Key"

// Values of [PeerHeader].
const (
	PeerPass      = "pass"
	PeerHeartbeat = "hello"     // as programs before this one call it
	PeerPing      = "ping"      // the first request of a connection, answered by 204
	PeerNotOwner  = "not-owner" // in an answer with status 421
	PeerLost      = "lost"      // in an answer with status 503: the owner has just lost the database
)

// Options configure a Forwarder.
type Options struct {
	Owners     Owners
	Transports Transports
	Limits     Limits
	// Repeatable reports whether a request may be handled twice, besides GET and HEAD.
	Repeatable func(r *http.Request) bool
	Logger     *slog.Logger
	// Result is called with the outcome of each request, how long it was held, and how long it took.
	Result func(outcome string, held, took time.Duration)
}

// Forwarder passes requests on to the owner. It is an http.Handler. X-Idempotency-Key is not
// passed on, and Idempotency-Key under the name [KeyHeader]: net/http would take them as
// permission to repeat a request.
type Forwarder struct {
	o     Options
	proxy *httputil.ReverseProxy
	held  atomic.Int64 // requests that wait for an owner
	room  room
	ended context.Context // streams of events end with it
	end   context.CancelFunc
}

// New returns a forwarder.
func New(o Options) *Forwarder {
	if o.Limits.Hold == 0 {
		o.Limits.Hold = 10 * time.Second
	}
	if o.Limits.Requests == 0 {
		o.Limits.Requests = 10_000
	}
	if o.Limits.Bytes == 0 {
		o.Limits.Bytes = 64 << 20
	}
	if o.Limits.Body == 0 {
		o.Limits.Body = 1 << 20
	}
	if o.Limits.Share == 0 {
		o.Limits.Share = max(o.Limits.Bytes/4, o.Limits.Body+1)
	}
	if o.Repeatable == nil {
		o.Repeatable = func(*http.Request) bool { return false }
	}
	if o.Result == nil {
		o.Result = func(string, time.Duration, time.Duration) {}
	}
	f := &Forwarder{o: o, room: room{all: o.Limits.Bytes, share: o.Limits.Share, used: map[netip.Addr]int64{}}}
	f.ended, f.end = context.WithCancel(context.Background())
	f.proxy = &httputil.ReverseProxy{
		Rewrite: rewrite, Transport: roundTripper(f.roundTrip),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { httpjson.WriteProblem(w, err) },
		ErrorLog:     slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		BufferPool:   &buffers{sync.Pool{New: func() any { return new([32 << 10]byte) }}},
	}
	return f
}

// buffers are those through which answers go. Without them each answer would allocate its own.
type buffers struct{ sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte { return b.Pool.Get().(*[32 << 10]byte)[:] } //nolint:forcetypeassert // the only type in it

// Put implements httputil.BufferPool.
func (b *buffers) Put(p []byte) { b.Pool.Put((*[32 << 10]byte)(p)) }

// EndStreams ends all streams of events, which have no end of their own: their clients come
// back, and then to another process.
func (f *Forwarder) EndStreams() { f.end() }

// Held returns how many requests wait for an owner.
func (f *Forwarder) Held() int64 { return f.held.Load() }

// Received undoes, at the owner, what a forwarder has done to the headers of a request.
func Received(h http.Header) {
	if values, ok := h[KeyHeader]; ok {
		h[keyHeader] = values
	}
	for _, name := range []string{PeerHeader, ClientHeader, SchemeHeader, KeyHeader} {
		h.Del(name)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// hopByHop reports whether a header belongs to one connection (RFC 9110, 7.6.1).
func hopByHop(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// rewrite undoes what ReverseProxy changes in a request, except for the headers of the
// connection, and sets who the client is.
func rewrite(r *httputil.ProxyRequest) {
	r.Out.Host, r.Out.URL.RawQuery = r.In.Host, r.In.URL.RawQuery
	for name, values := range r.In.Header { // also one that the client has named in Connection: the owner would not drop it
		if !hopByHop(name) {
			r.Out.Header[name] = values
		}
	}
	for _, name := range []string{keyHeader, "X-Idempotency-Key", "Expect", SchemeHeader, KeyHeader} {
		r.Out.Header.Del(name)
	}
	if values, ok := r.In.Header[keyHeader]; ok {
		r.Out.Header[KeyHeader] = values
	}
	r.Out.Header.Set(PeerHeader, PeerPass)
	r.Out.Header.Set(ClientHeader, r.In.RemoteAddr)
	if r.In.TLS != nil {
		r.Out.Header.Set(SchemeHeader, "https")
	}
}

// exchange is one request on its way.
type exchange struct {
	begin   time.Time
	held    time.Duration
	body    *body
	outcome string
}

type exchangeKey struct{}

// ServeHTTP implements http.Handler.
func (f *Forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{begin: time.Now(), outcome: Passed}
	defer func() { f.o.Result(x.outcome, x.held, time.Since(x.begin)) }()
	limits := route.NewDeadlines(w)
	read, err := f.read(r, limits)
	if err != nil {
		x.outcome = Full
		if errors.Unwrap(err) != nil { // of the connection
			x.outcome = ClientGone
		}
		httpjson.WriteProblem(w, err)
		return
	}
	defer read.free()
	x.body = read
	ctx := context.WithValue(r.Context(), exchangeKey{}, x)
	out := r.WithContext(ctx)
	out.Body, out.ContentLength = http.NoBody, r.ContentLength // the body is that of x
	f.proxy.ServeHTTP(&answer{ResponseWriter: w, limits: limits}, out)
}

// roundTrip sends a request until it is answered, or must not be sent again.
func (f *Forwarder) roundTrip(r *http.Request) (*http.Response, error) {
	x := r.Context().Value(exchangeKey{}).(*exchange) //nolint:forcetypeassert // set by ServeHTTP
	repeatable := r.Method == http.MethodGet || r.Method == http.MethodHead || f.o.Repeatable(r)
	var waiting time.Time // since when it has been waiting for an owner; zero: it is not
	defer func() { f.wake(x, &waiting) }()
	for {
		o, changed := f.o.Owners.Owner()
		s := State{Owner: o.Epoch != 0, Repeatable: repeatable, Streamed: x.body.stream != nil}
		if s.Owner {
			f.wake(x, &waiting)
			answer, err := f.send(r, o, x.body)
			if err == nil && (!lost(answer) || !repeatable || s.Streamed) {
				f.watchStream(answer)
				return answer, nil
			}
			if err == nil {
				_ = answer.Body.Close()
				err = errLost
			}
			s.Sent = err
			if r.Context().Err() != nil {
				x.outcome = ClientGone
				return nil, r.Context().Err()
			}
		}
		if !waiting.IsZero() {
			s.Waited = time.Since(waiting)
		}
		switch what := Decide(s, f.o.Limits.Hold-x.held); what {
		case Hold:
		case GiveUp:
			x.outcome = NoOwner
			return nil, unavailable("no process owns the database at the moment, and nothing was done; try again", s.Sent)
		case Refuse:
			x.outcome = Full
			return nil, unavailable("no process owns the database at the moment, and the body is too large to wait with it; nothing was done, try again", s.Sent)
		case Unknown:
			x.outcome = NotKnown
			return nil, unavailable("the connection to the process that owns the database broke; it is not known whether this was done", s.Sent)
		}
		if s.Owner {
			f.o.Owners.Refused(o)
			f.o.Logger.Debug("a request was not answered by the owner; it waits", "owner", o.Epoch, "error", s.Sent)
		}
		if waiting.IsZero() {
			if f.held.Add(1) > f.o.Limits.Requests {
				f.held.Add(-1)
				x.outcome = Full
				return nil, unavailable("no process owns the database at the moment, and too many requests wait; nothing was done, try again", s.Sent)
			}
			waiting = time.Now()
		}
		if !await(r.Context(), changed, s.Owner, f.o.Limits.Hold-x.held-time.Since(waiting)) {
			x.outcome = ClientGone
			return nil, r.Context().Err()
		}
	}
}

// wake ends the waiting of a request.
func (f *Forwarder) wake(x *exchange, waiting *time.Time) {
	if !waiting.IsZero() {
		f.held.Add(-1)
		x.held += time.Since(*waiting)
		*waiting = time.Time{}
	}
}

// await waits until the owner changes; at most for limit, and only a moment if there is one
// that may answer yet. It returns false once ctx has ended.
func await(ctx context.Context, changed <-chan struct{}, soon bool, limit time.Duration) bool {
	if soon {
		limit = min(limit, pauseBefore)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-timer.C:
	}
	return true
}

func unavailable(message string, cause error) error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: message, RetryAfter: httpjson.RetryAfter, Cause: cause}
}

// body is that of a request: in memory, or as it arrives.
type body struct {
	held   []byte
	stream io.Reader // nil: all of it is in memory; it is read once, so the request is sent once
	length int64
	free   func()
}

// read reads the body of a request into memory, unless it is larger than one may be.
func (f *Forwarder) read(r *http.Request, limits *route.Deadlines) (*body, error) {
	b := &body{length: r.ContentLength, free: func() {}}
	if r.Body == nil || r.Body == http.NoBody {
		limits.ClearRead()
		return b, nil
	}
	most := f.o.Limits.Body
	if r.ContentLength > most {
		b.stream = &progress{r.Body, limits}
		return b, nil
	}
	in := &arriving{Reader: r.Body, room: &f.room, from: auth.ClientAddress(r)}
	b.free = in.free
	held, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case errors.Is(err, errFull):
		b.free()
		return nil, unavailable("too many requests are being passed on; nothing was done, try again", nil)
	case err != nil:
		b.free()
		return nil, unavailable("the body did not arrive whole; nothing was done, try again", err)
	case int64(len(held)) > most: // of unknown content length
		b.stream = io.MultiReader(bytes.NewReader(held), &progress{r.Body, limits})
	default:
		b.held, b.length = held, int64(len(held))
		limits.ClearRead()
	}
	return b, nil
}

// errFull reports that there is no room for more of a body.
var errFull = errors.New("no room")

// room bounds the bytes of bodies in memory, in all and for each address of clients.
type room struct {
	all, share int64

	mu   sync.Mutex
	sum  int64
	used map[netip.Addr]int64
}

// take takes n bytes, or with a negative n gives them back. It reports false if there is no room.
func (m *room) take(from netip.Addr, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > 0 && (m.sum+n > m.all || m.used[from]+n > m.share) {
		return false
	}
	m.sum += n
	if m.used[from] += n; m.used[from] == 0 {
		delete(m.used, from)
	}
	return true
}

// arriving is a body that reserves room for the bytes that have arrived, whatever its declared
// length: a slow body must not keep other requests out.
type arriving struct {
	io.Reader
	room  *room
	from  netip.Addr
	taken int64
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if !a.room.take(a.from, int64(n)) {
		return 0, errFull
	}
	a.taken += int64(n)
	return n, err
}

func (a *arriving) free() { a.room.take(a.from, -a.taken) }

// open returns the body for one try.
func (b *body) open() io.ReadCloser {
	switch {
	case b.stream != nil:
		return io.NopCloser(b.stream)
	case len(b.held) == 0:
		return http.NoBody
	default:
		return io.NopCloser(bytes.NewReader(b.held))
	}
}

// progress gives the client time for each piece of a long body.
type progress struct {
	io.Reader
	limits *route.Deadlines
}

func (p *progress) Read(b []byte) (int, error) {
	p.limits.ExtendRead()
	n, err := p.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		p.limits.ClearRead()
	}
	return n, err
}

// answer gives the client time for each piece of an answer.
type answer struct {
	http.ResponseWriter
	limits *route.Deadlines
	last   time.Time
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.extend()
	a.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (a *answer) Write(p []byte) (int, error) {
	a.extend()
	return a.ResponseWriter.Write(p)
}

func (a *answer) extend() {
	if now := time.Now(); now.Sub(a.last) > time.Second {
		a.last = now
		a.limits.ExtendWrite()
	}
}
