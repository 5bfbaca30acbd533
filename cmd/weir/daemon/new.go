package daemon

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"

	"weir/actors"
	"weir/actors/core"
	"weir/actors/delivery"
	"weir/actors/router"
	"weir/actors/supervise"
	"weir/actors/surveybroker"
	"weir/channels"
	"weir/channels/all"
	"weir/channels/workers"
	"weir/config"
	"weir/internal/outbound"
	"weir/ops"
	"weir/persistence"
	"weir/routing"
	"weir/surveys"
	"weir/web"
	"weir/web/auth"
	"weir/web/jobrouter"
)

// parts are the parts of a daemon.
type parts struct {
	store     *persistence.Store
	router    *router.Router
	directory *channels.Directory
	channels  *actors.System
	surveys   *surveybroker.System
	tokens    surveys.Tokens                      // of respondents
	hearing   atomic.Pointer[surveybroker.System] // surveys, for parts that start before them
	delivery  *delivery.System
	gate      *auth.Gate
	hold      *hold
	trail     *auth.Trail
	deaf      func(context.Context) error // stops the goroutine of listen
}

// listen forwards events of the router to the worker channels, and returns the
// function that stops this.
func (p *parts) listen(hints *workers.Hints) func(context.Context) error {
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); hints.Run(ctx, p.store, p.directory, p.channels) }()
	p.deaf = func(context.Context) error { end(); <-done; return nil }
	return p.deaf
}

// sharing reports whether other processes may use the same store.
func sharing(c config.Config) bool { return !strings.HasPrefix(c.DatabaseURL, "sqlite:") }

// start starts the actors in this order: event delivery, the router, the channels, which may dispatch
// to the router, and the surveys, which feed the channels.
func (p *parts) start(ctx context.Context, o Options, undo *cleanups) (err error) {
	c := o.Config
	held := heldStore{p.store, p.hold}
	calls := heldCalls{outbound.New(policy(c)), p.hold}
	undo.add("calls of configured addresses", func(context.Context) error { calls.Close(); return nil })
	if err := p.tell(ctx, o, calls); err != nil {
		return err
	}
	undo.add("delivery of events", p.delivery.Close)
	shared := sharing(c)
	system := supervise.NewSystem(o.Logger) // one for all actors of the process
	undo.add("actor system", func(context.Context) error { system.Shutdown(); return nil })
	hints := workers.NewHints(o.Logger)
	p.router, err = router.Start(router.Options{
		Store: p.store, Caller: calls, Events: p.store, Logger: o.Logger, Metrics: router.NewMetrics(o.Registry), LeaseTTL: c.LeaseTTL.Duration(), Shared: shared,
		Watch: hints.Hear, Settings: routerSettings(c), Hold: p.hold.wait, System: system,
	})
	if err != nil {
		return err
	}
	undo.add("router", p.router.Drain)
	types := o.Types
	if types == nil {
		types = all.Types(p.router)
	}
	p.directory = channels.NewDirectory(types, c.PublicURL, o.Transport)
	undo.add("connections to providers", func(context.Context) error { p.directory.Close(); return nil })
	p.channels, err = actors.Start(actors.Options{
		Store: held, Queue: held, Minutes: p.store, Directory: p.directory, Core: coreConfig(c), Logger: o.Logger,
		Metrics: actors.NewMetrics(o.Registry), LeaseTTL: c.LeaseTTL.Duration(),
		SendTimeout: c.SendTimeout.Duration(), AskTimeout: c.SendTimeout.Duration(),
		Shared: shared, Middleware: o.Middleware, System: system,
	})
	if err != nil {
		return err
	}
	undo.add("channels", p.channels.Drain)
	p.hold.onEnd = p.changedAll
	undo.add("word of the router", p.listen(hints))
	key, err := p.store.TokenKey(ctx)
	if err != nil {
		return err
	}
	p.tokens = surveys.NewTokens(key)
	p.surveys, err = surveybroker.Start(surveybroker.Options{
		Store: held, Channels: p.channels, Types: p.directory, Roles: p.store, Defaults: surveyDefaults(c), Logger: o.Logger,
		Metrics: surveybroker.NewMetrics(o.Registry), LeaseTTL: c.LeaseTTL.Duration(),
		CheckEvery: c.ChannelCheck.Duration(), CheckTimeout: c.SendTimeout.Duration(), Random: rand.Float64, Tokens: p.tokens, System: system,
	})
	if err != nil {
		return err
	}
	undo.add("surveys", p.surveys.Drain)
	p.hearing.Store(p.surveys)
	return nil
}

// resume continues the work that an earlier process left open.
func (p *parts) resume(ctx context.Context) error {
	return errors.Join(p.channels.Resume(ctx), p.surveys.Resume(ctx))
}

// drain starts nothing new, finishes running dispatches as far as ctx allows, and
// releases leases and roles. It may be called more than once, also without a
// resume before it.
func (p *parts) drain(ctx context.Context) error {
	return errors.Join(p.surveys.Drain(ctx), p.deaf(ctx), p.channels.Drain(ctx), p.router.Drain(ctx), p.delivery.Close(ctx))
}

// bearer admits a request to the router by its token. The router returns its data
// unmasked, phone numbers included, so the token needs both scopes.
func (p *parts) bearer(r *http.Request) error {
	_, err := p.gate.Admit(r, ops.ScopeRouter, ops.ScopePIIRead)
	return err
}

// handler assembles the routes.
func (p *parts) handler(o Options, draining func() bool, refusals *web.RefusalLog) (http.Handler, error) {
	c := o.Config
	jobs, err := jobrouter.New(jobrouter.Options{
		Engine: p.router, Keys: c.RouterKeys, Open: p.gate.Open, Bearer: p.bearer, PublicURL: c.PublicURL, Prefix: c.PathPrefix, Address: policy(c).Check, Logger: o.Logger,
		Failing: p.router.FailingFunctions,
	})
	if err != nil {
		return nil, err
	}
	return withDashboard(o, web.Options{
		Store: p.store, Broker: p.channels, Directory: p.directory, Gate: p.gate, Trail: p.trail, Hold: p.hold, MayCall: policy(c).Check,
		DefaultCapacity: c.DefaultChannelCapacity, Logger: o.Logger, Metrics: web.NewMetrics(o.Registry),
		Gatherer: o.Registry, Version: o.Version, Draining: draining, Refusals: refusals,
		Router:  func() string { return string(p.router.Phase()) },
		Surveys: p.surveys, SurveyStore: p.store, Tokens: p.tokens, Events: p.store, Minutes: p.store, Dead: p.store, Prefix: c.PathPrefix, HSTS: strings.HasPrefix(c.PublicURL, "https://"),
		Mounted: map[string]http.Handler{routingPath: jobs, "GET /routing/openapi.json": jobrouter.Described(c.PathPrefix)},
	})
}

func routerSettings(c config.Config) routing.Settings {
	s := routing.DefaultSettings()
	s.KeepFinished = c.RouterKeep.Duration()
	return s
}

func coreConfig(c config.Config) core.Config {
	return core.Config{
		IdleAfter: c.GCIdle.Duration(), ReconcileEvery: c.GCInterval.Duration(),
		SettleAfter: c.SettleAfter.Duration(), LostAfter: c.LostAfter.Duration(), StopAfter: c.ShutDown.Duration(),
		SendConcurrency: c.SendConcurrency, AskConcurrency: c.CollectConcurrency, Chance: rand.Float64,
	}
}

func surveyDefaults(c config.Config) surveys.Defaults {
	rate := 1.0
	for _, percent := range []int{c.InitialValid, c.InitialEligibility, c.InitialResponse} {
		rate *= float64(percent) / 100
	}
	return surveys.Defaults{Batch: c.BatchSize, LimitPerMinute: c.BatchLimit, InitialSuccessRate: rate}
}
