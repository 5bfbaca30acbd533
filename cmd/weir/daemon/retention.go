package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"weir/config"
	"weir/persistence"
)

// Intervals and limits of the background jobs.
const (
	purgeEvery = 5 * time.Minute
	purgeBatch = 1000
	// minutesStay is how long the counters per minute are kept, for the charts.
	minutesStay = 48 * time.Hour
	sweepEvery  = 15 * time.Second
	countEvery  = time.Minute
	chorePause  = 50 * time.Millisecond // between steps, so that the queue has priority
)

// chore is a background job that runs in small steps.
type chore struct {
	name  string
	every time.Duration
	step  func(ctx context.Context) (more bool, err error)
	wake  <-chan struct{} // starts a step before every has passed; nil: never
}

// chores returns the background jobs that clean up the store: they remove contacts
// and events that are older than their retention, old counters per minute, deleted
// surveys and abandoned imports. One job counts dead letters for the metrics, because
// only the store has that number.
func chores(c config.Config, store *persistence.Store) []chore {
	return []chore{
		{name: "old contacts are removed", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			n, err := store.Purge(ctx, time.Now().Add(-c.Retention.Duration()), purgeBatch)
			return n >= purgeBatch, err
		}},
		{name: "old events are removed", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			n, err := store.PurgeEvents(ctx, time.Now().Add(-c.EventRetention.Duration()), purgeBatch)
			return n >= purgeBatch, err
		}},
		{name: "old minutes are removed", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			n, err := store.PurgeMinutes(ctx, time.Now().Add(-minutesStay), purgeBatch)
			return n > 0, err
		}},
		{name: "dead letters are counted", every: countEvery, step: func(ctx context.Context) (bool, error) {
			return false, store.GaugeDead(ctx)
		}},
		{name: "surveys are tidied up", every: sweepEvery, step: func(ctx context.Context) (bool, error) {
			return store.Sweep(ctx, purgeBatch)
		}},
	}
}

// run runs background jobs until the returned function is called.
func run(list []chore, log *slog.Logger) (stop func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	for _, c := range list {
		done.Go(func() { c.loop(ctx, log) })
	}
	return func(context.Context) error {
		cancel()
		done.Wait()
		return nil
	}
}

func (c chore) loop(ctx context.Context, log *slog.Logger) {
	pause := chorePause
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		case <-c.wake:
		}
		more, err := c.step(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("a chore failed and is tried again", "chore", c.name, "error", err)
		}
		if pause = c.every; more && err == nil {
			pause = chorePause
		}
	}
}
