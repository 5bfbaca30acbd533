// Package daemon is the composition root: the only package that imports
// every component of the broker. It starts the components in sequence and stops them.
//
// # Invariants
//
//   - Each step of the set-up registers its cleanup before the next one begins;
//     a set-up that fails half-way undoes its completed steps.
//   - The daemon stops within [Limit] of the request, in this order: not ready,
//     no new work, running dispatches finish, HTTP stops, the database is released
//     and closed.
//   - Nothing is global: two daemons can run in one process.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir"
	"weir/config"
	"weir/events"
	"weir/persistence"
	"weir/persistence/database"
	"weir/persistence/dialect"
	"weir/web"
	"weir/web/auth"
)

// Daemon is one broker process.
type Daemon struct {
	o           Options
	log         *slog.Logger
	board       switchboard
	server      *http.Server
	listener    net.Listener
	peers       *peering // nil: only one process can use the database
	takeOver    *takeOver
	parts       components
	refusals    *web.RefusalLog
	draining    atomic.Bool // this process shuts down, and still serves
	ending      atomic.Bool // ... and ends what takes long
	owner       cleanups    // of what only the owner of the database has
	cleanups    cleanups    // of the rest
	startFields []any       // attributes of the start log line besides the address

	connections *web.Connections

	notifySocket string
}

// New sets up a daemon. It already listens when New returns, and serves once Run is called.
// If another process owns the database, Run waits for it, and passes requests on meanwhile.
func New(ctx context.Context, o Options) (_ *Daemon, err error) {
	o = withDefaults(o)
	d := &Daemon{o: o, log: o.Logger, notifySocket: o.NotifySocket, startFields: []any{"version", o.Version, "store", config.Redact(o.Config.DatabaseURL)}}
	d.refusals = web.NewRefusalLog(o.Logger)
	limits := web.DefaultConnectionLimits()
	if !strings.HasPrefix(o.Config.DatabaseURL, "sqlite:") { // others serve meanwhile, so there is no hurry
		limits.First = time.Second
	}
	d.connections = web.NewConnections(limits, web.Proxies(o.Config.TrustedProxies), d.refusals)
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close(context.WithoutCancel(ctx)))
		}
	}()

	p := &d.parts
	if p.store, err = d.openStore(ctx, o); err != nil {
		return nil, err
	}
	if err := d.openPeers(ctx); err != nil {
		return nil, err
	}
	if err := awaitRoom(ctx, d.log, func() error { return p.store.Room(ctx) }); err != nil {
		return nil, err
	}
	owner, err := own(ctx, o, p.store)
	if err == nil && owner {
		err = d.settle(ctx)
	}
	if err != nil {
		return nil, err
	}
	if p.gate, err = openGate(ctx, o, p.store, !owner); err != nil {
		return nil, err
	}
	certificates, err := openCertificates(o)
	if err != nil {
		return nil, err
	}
	if err := d.listen(ctx, &d.o.Config); err != nil {
		return nil, err
	}
	d.cleanups.add("refreshed", startJobs(append(certificates.jobs(), refreshJob(p)), o.Logger))
	if d.peers != nil {
		d.board.pass = d.standby()
	}
	if owner {
		if err := d.begin(ctx); err != nil {
			return nil, err
		}
	}
	d.server = web.NewServer(d.closing(&d.board), o.Logger, d.connections)
	if certificates != nil {
		d.server.TLSConfig = certificates.config()
	}
	d.cleanups.add("HTTP server", func(context.Context) error { return d.server.Close() })
	return d, nil
}

// closing closes each connection after its next answer once this process ends. A balancer
// that keeps connections would otherwise send a request on one that is just being closed,
// and may not send a POST again.
func (d *Daemon) closing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.ending.Load() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// begin starts what the owner of the database runs, and serves requests itself from now on.
func (d *Daemon) begin(ctx context.Context) (err error) {
	p, o := &d.parts, d.o
	if p.tracing, err = startTracing(ctx, o, p.store); err != nil {
		return err
	}
	d.owner.add("traces", p.tracing.Close)
	if p.hold, err = openHold(ctx, o.Config, p.store, o.Logger); err != nil {
		return err
	}
	if err := p.start(ctx, o, &d.owner); err != nil {
		return err
	}
	p.trail = auth.NewTrail(p.store)
	d.owner.add("audit log", p.trail.Write)
	d.owner.add("token uses", p.gate.StoreLastUsed)
	d.owner.add("background jobs", startJobs(slices.Concat(storeJobs(o.Config, p.store), accessJobs(p), []job{p.hold.job()}), o.Logger))
	h, err := p.handler(o, d.draining.Load, d.ending.Load, d.processes, d.refusals)
	if err != nil {
		return err
	}
	d.board.serve(h)
	d.takeOver.reached(phaseStart)
	if d.peers != nil {
		oldest, err := p.store.OldestStep(ctx)
		if err != nil {
			return err
		}
		d.peers.server.Require(oldest)
		d.peers.server.Begin(p.store.Epoch(), d.board.serveOwn)
		d.owner.add("questions to itself", d.peers.askItself(o.Logger))
	}
	return nil
}

func (d *Daemon) openStore(ctx context.Context, o Options) (*persistence.Store, error) {
	metrics := persistence.NewMetrics(o.Registry)
	var store *persistence.Store
	err := awaitRoom(ctx, d.log, func() (err error) {
		store, err = persistence.Open(ctx, o.Config.DatabaseURL, persistence.Options{
			DefaultCapacity: o.Config.DefaultChannelCapacity,
			Logger:          o.Logger, Metrics: metrics, LeaseTTL: o.Config.LeaseTTL.Duration(),
			ContactEvents: events.When(o.Config.ContactEvents),
			URL:           o.Config.CurrentDatabaseURL(),
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	d.cleanups.add("store", store.Close)
	o.Registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "weir_owner", Help: "1 at the process that owns the database, 0 at the others."}, func() float64 {
			if store.Valid() {
				return 1
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "weir_owner_epoch", Help: "Number of the ownership of this process, which grows with each owner of the database; 0: it has not owned it."}, func() float64 {
			return float64(store.Epoch())
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "weir_owner_changes_total", Help: "How often this process saw another ownership of the database begin, its own included; the first one that it saw does not count."}, func() float64 {
			return float64(store.OwnerChanges())
		}),
	)
	d.takeOver = newTakeOver(o.Registry)
	return store, nil
}

// awaitRoom repeats what fails for want of room on the disk of the database, until there is some:
// a process that ended instead could not say what it needs for as long as it takes.
func awaitRoom(ctx context.Context, log *slog.Logger, do func() error) error {
	for told := (time.Time{}); ; {
		err := do()
		full, ok := errors.AsType[*dialect.NoRoomError](err)
		if !ok {
			return err
		}
		if time.Since(told) >= time.Minute {
			told = time.Now()
			log.Error("disk of the database full; waiting for room", "folder", full.Folder, "free", full.Free, "needed", full.Needs)
		}
		if !database.Pause(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

// own makes this process the owner of the database, if it can be: on SQLite it waits until it
// can. Before that it returns an error if steps of the schema are pending that this process
// is not to take.
func own(ctx context.Context, o Options, store *persistence.Store) (owner bool, err error) {
	if !migrates(o.Config) {
		pending, err := store.Pending(ctx)
		if err != nil {
			return false, err
		}
		if pending > 0 {
			return false, fmt.Errorf("the database schema has %d pending migrations and WEIR_AUTO_MIGRATE is false; run: weir migrate up", pending)
		}
	}
	if store.ServerAddress() == "" {
		return true, store.Own(ctx)
	}
	err = store.TryOwn(ctx)
	if _, tooOld := errors.AsType[*database.TooOldError](err); tooOld || errors.Is(err, dialect.ErrMember) {
		return false, nil
	}
	return err == nil, err
}

// migrates reports whether the owner applies pending steps of the schema.
func migrates(c config.Config) bool {
	return c.AutoMigrate || strings.HasPrefix(c.DatabaseURL, "sqlite:")
}

// settle brings the schema up to date, if that is configured, and starts the writer.
func (d *Daemon) settle(ctx context.Context) error {
	o, store := d.o, d.parts.store
	since, vacancy := store.Began()
	d.takeOver.begin(since, vacancy)
	if migrates(o.Config) {
		if err := store.MigrateUp(ctx); err != nil {
			return err
		}
	}
	ahead, err := store.Ahead(ctx)
	if ahead > 0 {
		o.Logger.Info("the database schema is newer than this program, which can still run on it", "steps", ahead)
	}
	if err != nil {
		return err
	}
	if err := store.Join(ctx); err != nil {
		return err
	}
	d.takeOver.reached(phaseSchema)
	return nil
}

// listen opens the address, and derives the public URL from it if none is
// configured: the system may have chosen the port.
func (d *Daemon) listen(ctx context.Context, c *config.Config) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.ListenAddr)
	if err != nil {
		return fmt.Errorf("LISTEN_ADDR: %w", err)
	}
	d.listener = d.connections.Listen(l)
	d.cleanups.add("listener", func(context.Context) error {
		if err := d.listener.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	if c.PublicURL == "" {
		c.PublicURL = c.DerivePublicURL(d.Addr())
	}
	if d.parts.gate.Open() {
		d.log.Warn("no token configured: any program on this machine can use the API", "listen", d.Addr())
	}
	return nil
}

// Handler returns the handler of all routes.
func (d *Daemon) Handler() http.Handler { return &d.board }

// Addr returns the address that the daemon listens on.
func (d *Daemon) Addr() string { return d.listener.Addr().String() }

// Close undoes the set-up without draining first. Run calls it.
func (d *Daemon) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	return errors.Join(d.owner.run(ctx), d.cleanups.run(ctx))
}

const closeLimit = 3 * time.Second

// Channel reads a channel by name, for programs that embed a daemon.
func (d *Daemon) Channel(ctx context.Context, name string) (weir.Channel, error) {
	return d.parts.store.Channel(ctx, name)
}

// Accept accepts contacts without HTTP. They are durable when it returns.
func (d *Daemon) Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error) {
	return d.parts.channels.Accept(ctx, ch, specs)
}
