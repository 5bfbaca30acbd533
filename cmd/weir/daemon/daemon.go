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

	"weir"
	"weir/config"
	"weir/events"
	"weir/persistence"
	"weir/web"
	"weir/web/auth"
)

// Daemon is one broker process.
type Daemon struct {
	log         *slog.Logger
	handler     http.Handler
	server      *http.Server
	listener    net.Listener
	parts       components
	draining    atomic.Bool
	cleanups    cleanups
	startFields []any // attributes of the start log line besides the address

	connections *web.Connections

	notifySocket string
}

// New sets up a daemon with all its components. It already listens when New returns,
// and serves once Run is called.
func New(ctx context.Context, o Options) (_ *Daemon, err error) {
	o = withDefaults(o)
	d := &Daemon{log: o.Logger, notifySocket: o.NotifySocket, startFields: []any{"version", o.Version, "store", config.Redact(o.Config.DatabaseURL)}}
	refusals := web.NewRefusalLog(o.Logger)
	d.connections = web.NewConnections(web.DefaultConnectionLimits(), web.Proxies(o.Config.TrustedProxies), refusals)
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close(context.WithoutCancel(ctx)))
		}
	}()

	p := &d.parts
	if p.store, err = d.openStore(ctx, o); err != nil {
		return nil, err
	}
	if err := own(ctx, o, p.store); err != nil {
		return nil, err
	}
	if p.tracing, err = startTracing(ctx, o, p.store); err != nil {
		return nil, err
	}
	d.cleanups.add("traces", p.tracing.Close)
	if p.hold, err = openHold(ctx, o.Config, p.store, o.Logger); err != nil {
		return nil, err
	}
	if p.gate, err = openGate(ctx, o, p.store); err != nil {
		return nil, err
	}
	certificates, err := openCertificates(o)
	if err != nil {
		return nil, err
	}
	if err := d.listen(ctx, &o.Config); err != nil {
		return nil, err
	}
	if err := p.start(ctx, o, &d.cleanups); err != nil {
		return nil, err
	}
	p.trail = auth.NewTrail(p.store)
	d.cleanups.add("audit log", p.trail.Write)
	d.cleanups.add("token uses", p.gate.StoreLastUsed)
	d.cleanups.add("background jobs", startJobs(slices.Concat(storeJobs(o.Config, p.store), accessJobs(p), certificates.jobs(), []job{p.hold.job()}), o.Logger))
	if d.handler, err = p.handler(o, d.draining.Load, refusals); err != nil {
		return nil, err
	}
	d.server = web.NewServer(d.handler, o.Logger, d.connections)
	if certificates != nil {
		d.server.TLSConfig = certificates.config()
	}
	d.cleanups.add("HTTP server", func(context.Context) error { return d.server.Close() })
	return d, nil
}

func (d *Daemon) openStore(ctx context.Context, o Options) (*persistence.Store, error) {
	store, err := persistence.Open(ctx, o.Config.DatabaseURL, persistence.Options{
		DefaultCapacity: o.Config.DefaultChannelCapacity,
		Logger:          o.Logger, Metrics: persistence.NewMetrics(o.Registry), LeaseTTL: o.Config.LeaseTTL.Duration(),
		ContactEvents: events.When(o.Config.ContactEvents),
	})
	if err != nil {
		return nil, err
	}
	d.cleanups.add("store", store.Close)
	return store, nil
}

// own waits until this process owns the database. As its owner it applies pending schema
// migrations, if that is configured, and always on SQLite. Otherwise it returns an error if
// any are pending.
func own(ctx context.Context, o Options, store *persistence.Store) error {
	steps := o.Config.AutoMigrate || strings.HasPrefix(o.Config.DatabaseURL, "sqlite:")
	if !steps {
		pending, err := store.Pending(ctx)
		if err != nil {
			return err
		}
		if pending > 0 {
			return fmt.Errorf("the database schema has %d pending migrations and WEIR_AUTO_MIGRATE is false; run: weir migrate up", pending)
		}
	}
	if err := store.Own(ctx); err != nil {
		return err
	}
	if steps {
		if err := store.MigrateUp(ctx); err != nil {
			return err
		}
	}
	ahead, err := store.Ahead(ctx)
	if ahead > 0 {
		o.Logger.Warn("database schema is newer than this binary (untested combination)", "migrations", ahead)
	}
	if err != nil {
		return err
	}
	return store.Join(ctx)
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
func (d *Daemon) Handler() http.Handler { return d.handler }

// Addr returns the address that the daemon listens on.
func (d *Daemon) Addr() string { return d.listener.Addr().String() }

// Close undoes the set-up without draining first. Run calls it.
func (d *Daemon) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	return d.cleanups.run(ctx)
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
