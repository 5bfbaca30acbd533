package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/persistence"
	dbase "weir/persistence/database"
	"weir/web"
	"weir/web/callbacks"
	"weir/web/forward"
	"weir/web/peers"
)

// peering connects this process with the others of its database.
type peering struct {
	store             *persistence.Store
	listener          net.Listener
	server            *peers.Server
	pools             *forward.Peers
	forwarder         *forward.Forwarder
	heartbeat         *peers.Heartbeat
	without           absence
	self              peers.Process
	unresponsiveSince atomic.Pointer[time.Time] // since when this process, as the owner, has not answered itself; nil: it does
}

// readyWithout is for how long a standby counts as ready that does not reach an owner: it
// holds requests for as long.
const readyWithout = 10 * time.Second

// openPeers opens the address for other processes, if there can be any. They read it in the
// database, so it is open before this process registers there.
func (d *Daemon) openPeers(ctx context.Context) error {
	store, c := d.parts.store, &d.o.Config
	database := store.ServerAddress()
	if database == "" {
		return nil
	}
	identity, err := peers.NewIdentity()
	if err != nil {
		return err
	}
	p := &peering{store: store, without: absence{since: time.Now()}, pools: &forward.Peers{TLS: identity.Client}}
	listener, address, err := peers.Listen(ctx, c.PeerAddr, database)
	if err != nil {
		return fmt.Errorf("WEIR_PEER_ADDR: %w", err)
	}
	p.listener = listener
	self := peers.Process{Address: address, Fingerprint: identity.Fingerprint, Version: d.o.Version, Schema: store.NewestStep(), Digests: digests(d.o)}
	store.Introduce(dbase.Process{Address: self.Address, Fingerprint: self.Fingerprint, Version: self.Version})
	p.self = self
	p.server = peers.NewServer(peers.Options{Identity: identity, Self: self, Processes: p.processes, Valid: store.Valid, Logger: d.log, Refused: peers.NewRefused(d.o.Registry)})
	p.forwarder = forward.New(forward.Options{
		Owners: p, Transports: p.pools, Logger: d.log,
		Repeatable: func(r *http.Request) bool {
			return strings.HasPrefix(strings.TrimPrefix(r.URL.Path, c.PathPrefix), callbacks.Path)
		},
		Result: forward.NewMetrics(d.o.Registry).Result,
	})
	d.o.Registry.MustRegister(peers.Up{Peers: p.up}, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "weir_held_requests", Help: "Requests that wait for an owner of the database.",
	}, func() float64 { return float64(p.forwarder.Held()) }))
	p.heartbeat = &peers.Heartbeat{
		Self: func() peers.Process {
			named := self
			named.Start, named.Hindered = store.Start(), store.Hindered()
			return named
		},
		Owners: p, Transports: p.pools, Succeed: store.Succeed, Poke: store.Poke, Logger: d.log,
	}
	store.SetUnresponsive(p.unresponsiveFor)
	d.peers = p
	d.cleanups.add("peers", func(ctx context.Context) error { p.pools.Close(); return p.server.Close(ctx) })
	go func() { _ = p.server.Serve(listener) }() // it ends with Close
	return nil
}

// askItself asks this process a question a second, in the way of a peer, until it is stopped:
// an owner that renews its lease and does not answer would be worse than none.
func (p *peering) askItself(log *slog.Logger) (end func(context.Context) error) {
	stop := startJobs([]job{{name: "ask itself", every: time.Second, step: func(ctx context.Context) (bool, error) {
		err := p.ask(ctx)
		switch now := time.Now(); {
		case ctx.Err() != nil, err == nil:
			p.unresponsiveSince.Store(nil)
		default:
			p.unresponsiveSince.CompareAndSwap(nil, &now)
		}
		return false, err
	}}}, log)
	return func(ctx context.Context) error {
		err := stop(ctx)
		p.unresponsiveSince.Store(nil)
		return err
	}
}

const askItselfTime = 3 * time.Second

// ask asks the owner whether it lives.
func (p *peering) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askItselfTime)
	defer cancel()
	o, _ := p.Owner()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+o.Address+"/livez", nil)
	if err != nil {
		return err
	}
	r.Header.Set(forward.PeerHeader, forward.PeerPass)
	r.Header.Set(forward.ClientHeader, "127.0.0.1:0")
	answer, err := p.pools.To(o).RoundTrip(r)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusMisdirectedRequest { // as it hands over
		return fmt.Errorf("it answers itself %s", answer.Status)
	}
	return nil
}

// unresponsiveFor returns for how long the owner has not answered itself.
func (p *peering) unresponsiveFor(now time.Time) time.Duration {
	if since := p.unresponsiveSince.Load(); since != nil {
		return now.Sub(*since)
	}
	return 0
}

// processes implements the list of peers.Options.
func (p *peering) processes(ctx context.Context) ([]peers.Process, error) {
	list, err := p.store.Processes(ctx)
	out := make([]peers.Process, len(list))
	for i, one := range list {
		out[i] = peers.Process{Start: one.Start, Address: one.Address, Fingerprint: one.Fingerprint, Version: one.Version, Schema: one.Schema}
	}
	return out, err
}

// Owner implements forward.Owners.
func (p *peering) Owner() (forward.Owner, <-chan struct{}) {
	owner, changed := p.store.OwnerStatus()
	if owner.Address == "" { // none, or one that has no listener
		return forward.Owner{}, changed
	}
	return forward.Owner{Epoch: owner.Epoch, Address: owner.Address, Fingerprint: owner.Fingerprint}, changed
}

// Refused implements forward.Owners.
func (p *peering) Refused(forward.Owner) { p.store.Poke() }

// absence is since when a standby has not reached an owner.
type absence struct {
	mu    sync.Mutex
	since time.Time
}

// reasons says why no requests should come to this standby; nil: they should.
func (a *absence) reasons(now, reached time.Time) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if reached.After(a.since) {
		a.since = reached
	}
	if now.Sub(a.since) <= readyWithout {
		return nil
	}
	return []string{"owner: this process has not reached the owner of the database for " + now.Sub(a.since).Round(time.Second).String()}
}

// standby returns the handler of this process while another one owns the database.
func (d *Daemon) standby() http.Handler {
	p := d.peers
	return web.Standby(web.StandbyOptions{
		Database: p.store.ServerAddress,
		Pass:     p.forwarder, Gate: d.parts.gate, Gatherer: d.o.Registry, Prefix: d.o.Config.PathPrefix, PublicURL: d.o.Config.PublicURL, Proxies: web.Proxies(d.o.Config.TrustedProxies),
		Reasons: func() []string {
			reasons := p.without.reasons(time.Now(), p.heartbeat.Reached())
			if d.draining.Load() {
				reasons = append(reasons, "draining: the process is shutting down")
			}
			return reasons
		},
	})
}

// standBy passes requests on until this process owns the database, and then begins to serve
// them itself.
func (d *Daemon) standBy(ctx context.Context) error {
	beating, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { d.peers.heartbeat.Run(beating) })
	err := d.parts.store.Own(ctx)
	stop()
	done.Wait()
	if err != nil {
		return err
	}
	if err := d.settle(ctx); err != nil {
		return err
	}
	return d.begin(ctx)
}

// up says which peers this process reaches.
func (p *peering) up(now time.Time) map[string]bool {
	if p.store.Owns() {
		return peers.StandbysUp(p.server.Standbys(), now)
	}
	owner, _ := p.store.OwnerStatus()
	return peers.OwnerUp(owner.Address, p.heartbeat.Reached(), now)
}

// hasSuccessor reports whether another process is there to take the database.
func (p *peering) hasSuccessor() bool {
	return p != nil && peers.Successor(p.server.Standbys(), time.Now()) != 0
}
