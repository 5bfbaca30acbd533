package peers_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"weir/internal/polling"
	"weir/web/forward"
	"weir/web/peers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const waitLimit = 10 * time.Second

// database is what processes know of each other.
type database struct {
	mu   sync.Mutex
	list []peers.Process
	read int
	// asked takes a request that is answered when answer is closed; nil: each is answered at once.
	asked  chan struct{}
	answer chan struct{}
}

func (d *database) add(p peers.Process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, p)
}

func (d *database) processes(context.Context) ([]peers.Process, error) {
	d.mu.Lock()
	asked := d.asked
	d.mu.Unlock()
	if asked != nil {
		asked <- struct{}{}
		<-d.answer
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read++
	return d.list, nil
}

// process is a process with its listener for peers.
type process struct {
	*peers.Server
	*peers.Identity
	self    peers.Process
	refused prometheus.Counter
	lost    atomic.Bool
}

func newProcess(t testing.TB, d *database, start int64) *process {
	t.Helper()
	identity, err := peers.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	l, address, err := peers.Listen(t.Context(), "", "127.0.0.1:3306")
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Identity: identity, refused: peers.NewRefused(prometheus.NewRegistry())}
	p.self = peers.Process{Start: start, Address: address, Fingerprint: identity.Fingerprint, Version: "1.0.0", Digests: map[string]string{"PUBLIC_URL": "same"}}
	p.Server = peers.NewServer(peers.Options{Identity: identity, Self: p.self, Processes: d.processes, Valid: func() bool { return !p.lost.Load() }, Logger: slog.New(slog.DiscardHandler), Refused: p.refused})
	d.add(p.self)
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(l) }()
	t.Cleanup(func() {
		_ = p.Close(context.WithoutCancel(t.Context()))
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *process) owner(epoch int64) forward.Owner {
	return forward.Owner{Epoch: epoch, Address: p.self.Address, Fingerprint: p.self.Fingerprint}
}

// pass sends a request of a client to another process.
func pass(t *testing.T, pools *forward.Peers, o forward.Owner, header http.Header) (given, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+o.Address+"/v1/channels", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	answer, err := pools.To(o).RoundTrip(r)
	if err != nil {
		return given{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return given{answer.StatusCode, answer.Header, string(text)}, err
}

// given is an answer.
type given struct {
	Status int
	Header http.Header
	Text   string
}

func passing(client, scheme string) http.Header {
	h := http.Header{forward.PeerHeader: {forward.PeerPass}, forward.ClientHeader: {client}}
	if scheme != "" {
		h[forward.SchemeHeader] = []string{scheme}
	}
	return h
}

// A process serves its peers while it owns the database, believes them who the client is, and
// refuses otherwise.
func TestServer_ServesItsPeersWhileItOwnsTheDatabase(t *testing.T) {
	t.Parallel()
	d := &database{}
	a, b := newProcess(t, d, 1), newProcess(t, d, 2)
	pools := &forward.Peers{TLS: a.Client}
	t.Cleanup(pools.Close)
	refusedBy := func(what string) {
		t.Helper()
		answer, err := pass(t, pools, b.owner(1), passing("192.0.2.7:99", ""))
		if err != nil || answer.Status != http.StatusMisdirectedRequest || answer.Header.Get(forward.PeerHeader) != forward.PeerNotOwner {
			t.Errorf("%s: %v %v", what, answer, err)
		}
	}
	refusedBy("before it owns it")
	owns := true
	b.Begin(1, func(w http.ResponseWriter, r *http.Request) bool {
		if owns {
			_, _ = io.WriteString(w, strings.Join([]string{r.RemoteAddr, map[bool]string{true: "https", false: "http"}[r.TLS != nil], r.Header.Get(forward.ClientHeader) + r.Header.Get(forward.PeerHeader)}, " "))
		}
		return owns
	})
	for scheme, want := range map[string]string{"": "192.0.2.7:99 http ", "https": "192.0.2.7:99 https "} {
		if answer, err := pass(t, pools, b.owner(1), passing("192.0.2.7:99", scheme)); err != nil || answer.Text != want {
			t.Errorf("%s: %q %v, want %q", scheme, answer.Text, err, want)
		}
	}
	for name, h := range map[string]http.Header{"nothing": {}, "no client": passing("", ""), "no address": passing("localhost", ""), "another word": {forward.PeerHeader: {"x"}, forward.ClientHeader: {"192.0.2.7:99"}}} {
		if answer, err := pass(t, pools, b.owner(1), h); err != nil || answer.Status != http.StatusBadRequest {
			t.Errorf("%s: %v %v", name, answer, err)
		}
	}
	b.Begin(1, func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	for _, lost := range []bool{false, true} {
		b.lost.Store(lost)
		answer, err := pass(t, pools, b.owner(1), passing("192.0.2.7:99", ""))
		if got := answer.Header.Get(forward.PeerHeader) == forward.PeerLost; err != nil || got != lost {
			t.Errorf("lost %v: %v %v", lost, answer, err)
		}
	}
	b.Begin(1, func(http.ResponseWriter, *http.Request) bool { return owns })
	owns = false
	refusedBy("when it has just stopped")
	owns = true
	b.Refuse()
	refusedBy("as it hands over")
	b.Released()
	refusedBy("when it has released it")
}

// Who is not in the database is refused in the handshake, whichever end it is; the owner of a
// certificate that has expired, too.
func TestServer_RefusesStrangersInTheHandshake(t *testing.T) {
	t.Parallel()
	d := &database{}
	a, b := newProcess(t, d, 1), newProcess(t, d, 2)
	b.Begin(1, func(http.ResponseWriter, *http.Request) bool { t.Error("a stranger was served"); return true })
	stranger, err := peers.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	old, oldPrint := expired(t)
	d.add(peers.Process{Start: 3, Fingerprint: oldPrint})
	counted := func(name string, before, want float64) {
		t.Helper()
		if !polling.Until(waitLimit, time.Millisecond, func() bool { return testutil.ToFloat64(b.refused) == before+want }) {
			t.Errorf("%s: %v were counted, want %v", name, testutil.ToFloat64(b.refused)-before, want)
		}
	}
	for name, config := range map[string]func(string) *tls.Config{
		"unknown": stranger.Client,
		"expired": func(string) *tls.Config {
			return &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, Certificates: []tls.Certificate{old}}
		},
		"none": func(string) *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true} },
		"old protocol": func(want string) *tls.Config {
			c := a.Client(want)
			c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
			return c
		},
		"not the one that it asked for": func(string) *tls.Config { return a.Client(stranger.Fingerprint) },
	} {
		pools := &forward.Peers{TLS: config}
		before := testutil.ToFloat64(b.refused)
		if answer, err := pass(t, pools, b.owner(1), passing("192.0.2.7:99", "")); err == nil {
			t.Errorf("%s: %v", name, answer)
		}
		pools.Close()
		if name != "not the one that it asked for" { // it hangs up itself
			counted(name, before, 1)
		}
	}
	before := testutil.ToFloat64(b.refused)
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", b.self.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nWeir-Peer: pass\r\nWeir-Client: 192.0.2.7:99\r\n\r\n")
	if text, _ := io.ReadAll(c); strings.Contains(string(text), " 200 ") { // it closes the connection
		t.Errorf("plain HTTP was served: %s", text)
	}
	counted("plain HTTP", before, 1)
	for range 3 { // as a health check of a balancer does
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", b.self.Address)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	if answer, err := pass(t, &forward.Peers{TLS: a.Client}, b.owner(1), http.Header{forward.PeerHeader: {forward.PeerPing}}); err != nil || answer.Status != http.StatusNoContent {
		t.Errorf("a peer is refused: %v %v", answer, err)
	}
	counted("a connection without a word, and a peer", before, 1)
}

// expired is a certificate of long ago.
func expired(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1e9, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, peers.FingerprintOf(der)
}

// Strangers cannot make a process ask the database again and again.
func TestServer_StrangersAskTheDatabaseSeldom(t *testing.T) {
	t.Parallel()
	d := &database{}
	b := newProcess(t, d, 2)
	stranger, err := peers.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for range 100 {
		pools := &forward.Peers{TLS: stranger.Client}
		if _, err := pass(t, pools, b.owner(1), passing("192.0.2.7:99", "")); err == nil {
			t.Fatal("a stranger was served")
		}
		pools.Close()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if most := 21 + int(time.Since(begin)/(200*time.Millisecond)); d.read > most {
		t.Errorf("%d looks, want %d at most", d.read, most)
	}
}

// While the database does not answer about a stranger, known processes connect.
func TestServer_KnownPeersAreServedWhileTheDatabaseDoesNotAnswer(t *testing.T) {
	t.Parallel()
	d := &database{}
	a, b := newProcess(t, d, 1), newProcess(t, d, 2)
	connect := func(client func(string) *tls.Config) error {
		pools := &forward.Peers{TLS: client}
		defer pools.Close()
		_, err := pass(t, pools, b.owner(1), passing("192.0.2.7:99", ""))
		return err
	}
	if err := connect(a.Client); err != nil { // now it is known
		t.Fatal(err)
	}
	stranger, err := peers.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	d.asked, d.answer = make(chan struct{}), make(chan struct{})
	d.mu.Unlock()
	strange, known := make(chan error, 1), make(chan error, 1)
	go func() { strange <- connect(stranger.Client) }()
	<-d.asked
	go func() { known <- connect(a.Client) }()
	select {
	case err := <-known:
		if err != nil {
			t.Errorf("a known process: %v", err)
		}
		close(d.answer)
	case err := <-strange:
		close(d.answer)
		t.Errorf("the stranger's connection ended before that of a known process: %v", errors.Join(err, <-known))
		return
	}
	if <-strange == nil {
		t.Error("a stranger was served")
	}
}

// owners is an owner that the test names.
type owners struct {
	mu      sync.Mutex
	now     forward.Owner
	changed chan struct{}
	refused int

	successor atomic.Int64
	looked    chan int64 // with the successor at that time
}

func (o *owners) Owner() (forward.Owner, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now, o.changed
}

func (o *owners) Refused(forward.Owner) { o.mu.Lock(); defer o.mu.Unlock(); o.refused++ }

// beat lets a standby send heartbeats, until stop or the end of the test.
func (p *process) beat(t *testing.T, o *owners) (g *peers.Heartbeat, stop func()) {
	t.Helper()
	pools := &forward.Peers{TLS: p.Client}
	t.Cleanup(pools.Close)
	g = &peers.Heartbeat{
		Self: func() peers.Process { return p.self }, Owners: o, Transports: pools, Logger: slog.New(slog.DiscardHandler),
		Succeed: func(start int64) { o.successor.Store(start) }, Poke: func() { o.looked <- o.successor.Load() },
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); g.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return g, stop
}

// A standby sends heartbeats until the owner tells it that the database is free, and who is next.
func TestHeartbeat_IsSentUntilTheDatabaseIsFree(t *testing.T) {
	t.Parallel()
	d := &database{}
	owner := newProcess(t, d, 1)
	owner.Begin(7, func(http.ResponseWriter, *http.Request) bool { return false })
	looked := make(chan int64, 10)
	for start := int64(2); start <= 3; start++ {
		p := newProcess(t, d, start)
		p.beat(t, &owners{now: owner.owner(7), changed: make(chan struct{}), looked: looked})
		if !polling.Until(waitLimit, time.Millisecond, func() bool { return len(owner.Standbys()) == int(start)-1 }) {
			t.Fatalf("the owner knows %v", owner.Standbys())
		}
	}
	if !polling.Until(waitLimit, time.Millisecond, func() bool { return owner.Standbys()[0].Checked() }) {
		t.Error("the owner did not connect back")
	}
	for _, s := range owner.Standbys() {
		if s.Unreachable != "" || s.Version != "1.0.0" || time.Since(s.Seen) > waitLimit {
			t.Errorf("%+v", s)
		}
	}
	began := time.Now()
	owner.Released()
	for range 2 {
		if n := <-looked; n != 2 {
			t.Errorf("the successor is %d, want 2", n)
		}
	}
	if took := time.Since(began); took > 900*time.Millisecond {
		t.Errorf("it was told after %v", took)
	}
}

// A standby that has ended is forgotten at once: it is nobody's successor.
func TestPeers_StandbyThatEndsIsForgotten(t *testing.T) {
	t.Parallel()
	d := &database{}
	owner, p := newProcess(t, d, 1), newProcess(t, d, 2)
	owner.Begin(7, func(http.ResponseWriter, *http.Request) bool { return false })
	_, stop := p.beat(t, &owners{now: owner.owner(7), changed: make(chan struct{})})
	if !polling.Until(waitLimit, time.Millisecond, func() bool { return len(owner.Standbys()) == 1 }) {
		t.Error("it is not known")
	}
	began := time.Now()
	stop()
	if !polling.Until(waitLimit, time.Millisecond, func() bool { return len(owner.Standbys()) == 0 }) || time.Since(began) > time.Second {
		t.Errorf("after %v: %v", time.Since(began), owner.Standbys())
	}
}

// A standby that the owner cannot reach is known as such.
func TestPeers_UnreachableStandbyIsKnownAsSuch(t *testing.T) {
	t.Parallel()
	d := &database{}
	owner, p := newProcess(t, d, 1), newProcess(t, d, 2)
	owner.Begin(7, func(http.ResponseWriter, *http.Request) bool { return false })
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	p.self.Address = gone.Listener.Addr().String()
	g, _ := p.beat(t, &owners{now: owner.owner(7), changed: make(chan struct{})})
	if !polling.Until(waitLimit, time.Millisecond, func() bool { l := owner.Standbys(); return len(l) == 1 && l[0].Unreachable != "" }) {
		t.Errorf("%+v", owner.Standbys())
	}
	if !polling.Until(waitLimit, time.Millisecond, func() bool { return !g.Reached().IsZero() }) {
		t.Error("it does not reach the owner")
	}
}

// A standby whose owner does not answer does not count as reached, and looks again.
func TestHeartbeat_LooksAgainIfTheOwnerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	d := &database{}
	other, p := newProcess(t, d, 1), newProcess(t, d, 2)
	o := &owners{now: other.owner(7), changed: make(chan struct{})} // it owns nothing
	g, _ := p.beat(t, o)
	if !polling.Until(waitLimit, time.Millisecond, func() bool { o.mu.Lock(); defer o.mu.Unlock(); return o.refused > 0 }) {
		t.Error("it does not look again")
	}
	if !g.Reached().IsZero() {
		t.Error("it was reached")
	}
}

// The successor is the newest version, of these the oldest start; who cannot be reached comes
// last, and whose last heartbeat is old is none.
func TestSuccessor_IsTheNewestVersionThenTheOldestStart(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	standby := func(start int64, version string, ago time.Duration, unreachable string) peers.Standby {
		return peers.Standby{Process: peers.Process{Start: start, Version: version}, Seen: now.Add(-ago), Unreachable: unreachable}
	}
	hindered := func(s peers.Standby) peers.Standby { s.Hindered = "it cannot read the database"; return s }
	tooOld := func(s peers.Standby) peers.Standby { s.Needs = 9; return s }
	for name, c := range map[string]struct {
		list []peers.Standby
		want int64
	}{
		"nobody":            {nil, 0},
		"one":               {[]peers.Standby{standby(5, "1.2.3", 0, "")}, 5},
		"the oldest":        {[]peers.Standby{standby(6, "1.2.3", 0, ""), standby(5, "1.2.3", 0, "")}, 5},
		"the newest":        {[]peers.Standby{standby(5, "1.9.0", 0, ""), standby(6, "1.10.0", 0, "")}, 6},
		"gone":              {[]peers.Standby{standby(5, "1.2.3", 4*time.Second, ""), standby(6, "1.0.0", time.Second, "")}, 6},
		"unreachable":       {[]peers.Standby{standby(5, "2.0.0", 0, "refused"), standby(6, "1.0.0", 0, "")}, 6},
		"nobody else":       {[]peers.Standby{standby(5, "2.0.0", 0, "refused")}, 5},
		"hindered":          {[]peers.Standby{hindered(standby(5, "2.0.0", 0, "")), standby(6, "1.0.0", 0, "")}, 6},
		"too old":           {[]peers.Standby{tooOld(standby(5, "1.0.0", 0, "")), standby(6, "1.0.0", 0, "refused")}, 6},
		"all too old":       {[]peers.Standby{tooOld(standby(5, "1.0.0", 0, ""))}, 0},
		"of a working tree": {[]peers.Standby{standby(5, "2.0.0", 0, ""), standby(6, "(devel)", 0, "")}, 6},
	} {
		if got := peers.Successor(c.list, now); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestCompareVersions_OrdersReleases(t *testing.T) {
	t.Parallel()
	order := []string{
		"v0.0.0-20261127185727-111a862b6cef", "v0.0.0-20261129180720-90658fa1cc57+dirty", "0.1", "0.9", "1.0.0", "v1.0.1", "1.2.0-rc1",
		"v1.2.4-0.20261127185727-111a862b6cef", "v1.2.4-0.20261127185728-011a862b6cef", "1.10.0", "2.0.0", "(devel)",
	}
	for i := range order {
		for j := range order {
			got := peers.CompareVersions(order[i], order[j])
			if want := map[bool]int{i < j: -1, i == j: 0, i > j: 1}[true]; got != want {
				t.Errorf("%s and %s: %d, want %d", order[i], order[j], got, want)
			}
		}
	}
}

// The address that others are told is one that they can reach.
func TestListen_TellsAnAddressThatOthersReach(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"": "127.0.0.1:", ":0": "127.0.0.1:", "127.0.0.1:0": "127.0.0.1:", "0.0.0.0:0": "127.0.0.1:", "localhost:0": "localhost:"} {
		l, told, err := peers.Listen(t.Context(), address, "127.0.0.1:3306")
		if err != nil {
			t.Errorf("%q: %v", address, err)
			continue
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		if told != want+port {
			t.Errorf("%q: others are told %s, want %s%s", address, told, want, port)
		}
		_ = l.Close()
	}
	taken, _, err := peers.Listen(t.Context(), "127.0.0.1:0", "127.0.0.1:3306")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	if _, _, err := peers.Listen(t.Context(), taken.Addr().String(), "127.0.0.1:3306"); err == nil {
		t.Error("an address that is taken was opened twice")
	}
}

// The owner knows what a standby says of itself, and what follows from it: which settings
// differ, and that the program is too old for the schema.
func TestPeers_OwnerKnowsWhatKeepsAStandbyFromTakingOver(t *testing.T) {
	t.Parallel()
	d := &database{}
	owner, p := newProcess(t, d, 1), newProcess(t, d, 2)
	owner.Require(7)
	owner.Begin(7, func(http.ResponseWriter, *http.Request) bool { return false })
	p.self.Schema, p.self.Hindered = 6, "it cannot read the database"
	o := &owners{now: owner.owner(7), changed: make(chan struct{})}
	o.successor.Store(9)
	p.beat(t, o)
	if !polling.Until(waitLimit, time.Millisecond, func() bool { return len(owner.Standbys()) == 1 }) {
		t.Fatal("it is not known")
	}
	if s := owner.Standbys()[0]; s.Needs != 7 || s.Hindered != p.self.Hindered {
		t.Errorf("%+v", s)
	}
	if !polling.Until(waitLimit, time.Millisecond, func() bool { return o.successor.Load() == 0 }) {
		t.Error("it is the successor")
	}
}

// The settings that differ are named, also those that only one of the processes has.
func TestDiffering_NamesEverySettingThatDiffers(t *testing.T) {
	t.Parallel()
	p := peers.Process{Digests: map[string]string{"a": "1", "b": "2", "c": "3"}}
	for name, c := range map[string]struct {
		digests map[string]string
		want    string
	}{
		"the same":           {map[string]string{"a": "1", "b": "2", "c": "3"}, ""},
		"one":                {map[string]string{"a": "1", "b": "9", "c": "3"}, "b"},
		"one more, one less": {map[string]string{"a": "1", "c": "3", "d": "4"}, "b d"},
		"none":               {nil, "a b c"},
	} {
		if got := strings.Join(p.Differing(c.digests), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Each peer has a series as long as it is there, and one that was started again at its address
// has one.
func TestPeers_EachHasOneSeriesWhileItIsThere(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	standby := func(start int64, address string, ago time.Duration, unreachable string) peers.Standby {
		return peers.Standby{Process: peers.Process{Start: start, Address: address}, Seen: now.Add(-ago), Unreachable: unreachable}
	}
	for name, c := range map[string]struct {
		up   map[string]bool
		want string
	}{
		"none":                         {peers.StandbysUp(nil, now), ""},
		"standbys":                     {peers.StandbysUp([]peers.Standby{standby(2, "b:1", 0, ""), standby(3, "c:1", time.Second, "refused"), standby(4, "d:1", 4*time.Second, "")}, now), `peer="b:1" 1, peer="c:1" 0`},
		"one that was started again":   {peers.StandbysUp([]peers.Standby{standby(2, "b:1", time.Second, "refused"), standby(3, "b:1", 0, "")}, now), `peer="b:1" 1`},
		"no owner":                     {peers.OwnerUp("", now, now), ""},
		"an owner that answers":        {peers.OwnerUp("a:1", now.Add(-time.Second), now), `peer="a:1" 1`},
		"an owner that does not":       {peers.OwnerUp("a:1", now.Add(-4*time.Second), now), `peer="a:1" 0`},
		"an owner that never answered": {peers.OwnerUp("a:1", time.Time{}, now), `peer="a:1" 0`},
	} {
		r := prometheus.NewPedanticRegistry()
		r.MustRegister(peers.Up{Peers: func(time.Time) map[string]bool { return c.up }})
		families, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range families {
			for _, m := range f.GetMetric() {
				got = append(got, fmt.Sprintf("%s=%q %v", m.GetLabel()[0].GetName(), m.GetLabel()[0].GetValue(), m.GetGauge().GetValue()))
			}
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}
