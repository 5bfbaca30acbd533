package daemon

import (
	"context"
	"math/rand/v2"
	"strings"

	"weir/actors"
	"weir/actors/core"
	"weir/channels/all"
	"weir/config"
)

// New sets a daemon up with everything it has. It listens already when it
// returns, and serves once Run is called.
func New(ctx context.Context, o Options) (*Daemon, error) {
	if o.Types == nil {
		o.Types = all.Types()
	}
	return build(ctx, o, startActors)
}

func startActors(_ context.Context, o Options, p parts) (broker, error) {
	c := o.Config
	system, err := actors.Start(actors.Options{
		Store: p.store, Directory: p.directory, Core: coreConfig(c), Logger: o.Logger,
		Metrics: actors.NewMetrics(o.Registry), LeaseTTL: c.LeaseTTL.Duration(),
		SendTimeout: c.SendTimeout.Duration(), AskTimeout: c.SendTimeout.Duration(),
		Shared:     !strings.HasPrefix(c.DatabaseURL, "sqlite:"),
		Middleware: o.Middleware,
	})
	if err != nil {
		return nil, err
	}
	return system, nil
}

func coreConfig(c config.Config) core.Config {
	return core.Config{
		IdleAfter: c.GCIdle.Duration(), CollectEvery: c.GCInterval.Duration(),
		SettleAfter: c.SettleAfter.Duration(), LostAfter: c.LostAfter.Duration(), StopAfter: c.ShutDown.Duration(),
		SendConcurrency: c.SendConcurrency, AskConcurrency: c.CollectConcurrency, Chance: rand.Float64,
	}
}
