package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"weir/config"
	"weir/operators"
	"weir/persistence"
)

// Intervals and limits of the background jobs.
const (
	purgeEvery = 5 * time.Minute
	purgeBatch = 1000
	indexEvery = time.Minute
	// segmentSize is how many contacts the index of addresses takes at a time. As many of the newest
	// ones are not in it, and a search reads all of them.
	segmentSize = 50_000
	// oldContacts is how many contacts from before the index by channel it takes at a time.
	oldContacts = 4000
	// minutesRetention is how long the counters per minute are kept, for the charts.
	minutesRetention = 48 * time.Hour
	peopleEvery      = time.Minute
	peoplePage       = 10_000
	sweepEvery       = 15 * time.Second
	countEvery       = time.Minute
	jobStepDelay     = 50 * time.Millisecond // between steps, so that the queue has priority
)

// job is a background job that runs in small steps.
type job struct {
	name  string
	every time.Duration
	step  func(ctx context.Context) (more bool, err error)
	wake  <-chan struct{} // starts a step before every has passed; nil: never
}

// storeJobs returns the background jobs that clean up the store: they remove contacts
// and events that are older than their retention, old counters per minute, deleted
// surveys and abandoned imports. Others index contacts by address, read whom the rules
// know, and count dead letters for the metrics, because only the store has that number.
func storeJobs(c config.Config, store *persistence.Store) []job {
	return []job{
		{name: "check file of the database", every: time.Second, step: func(context.Context) (bool, error) {
			_ = store.CheckPresent() // logs it, and ends the process
			return false, nil
		}},
		{name: "purge contacts", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			n, err := store.Purge(ctx, time.Now().Add(-c.Retention.Duration()), purgeBatch)
			return n >= purgeBatch, err
		}},
		{name: "index addresses", every: indexEvery, step: func(ctx context.Context) (bool, error) {
			return store.IndexAddresses(ctx, segmentSize)
		}},
		{name: "index old contacts", every: indexEvery, step: func(ctx context.Context) (bool, error) {
			return store.IndexOldContacts(ctx, oldContacts)
		}},
		{name: "purge index of addresses", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			return store.PurgeAddresses(ctx, purgeBatch)
		}},
		{name: "purge events", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			n, err := store.PurgeEvents(ctx, time.Now().Add(-c.EventRetention.Duration()), purgeBatch)
			return n > 0, err
		}},
		{name: "purge deliveries to webhooks", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			now := time.Now()
			return false, store.PurgeWebhooks(ctx, now.Add(-c.EventRetention.Duration()), now)
		}},
		{name: "purge minute counters", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			n, err := store.PurgeMinutes(ctx, time.Now().Add(-minutesRetention), purgeBatch)
			return n > 0, err
		}},
		{name: "purge hours of channels", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			n, err := store.PurgeHours(ctx, time.Now().Add(-operators.HoursKept), purgeBatch)
			return n > 0, err
		}},
		{name: "purge when people were contacted", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			n, err := store.PurgeHistory(ctx, time.Now(), purgeBatch)
			return n > 0, err
		}},
		{name: "read whom the rules know", every: peopleEvery, step: func(ctx context.Context) (bool, error) {
			return store.ReadPeople(ctx, peoplePage)
		}},
		{name: "purge sums of days", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			return store.PurgeDaily(ctx, time.Now(), purgeBatch)
		}},
		{name: "purge undecided messages", every: purgeEvery, step: func(ctx context.Context) (bool, error) {
			n, err := store.PurgeUndecided(ctx, time.Now().Add(-c.Retention.Duration()), purgeBatch)
			return n > 0, err
		}},
		{name: "count dead letters", every: countEvery, step: func(ctx context.Context) (bool, error) {
			return false, store.GaugeDead(ctx)
		}},
		{name: "purge deleted surveys", every: sweepEvery, step: func(ctx context.Context) (bool, error) {
			return store.Sweep(ctx, purgeBatch)
		}},
	}
}

// startJobs runs background jobs until the returned function is called.
func startJobs(list []job, log *slog.Logger) (stop func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	for _, j := range list {
		done.Go(func() { j.loop(ctx, log) })
	}
	return func(context.Context) error {
		cancel()
		done.Wait()
		return nil
	}
}

func (j job) loop(ctx context.Context, log *slog.Logger) {
	pause := jobStepDelay
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		case <-j.wake:
		}
		more, err := j.step(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("background job failed", "job", j.name, "error", err)
		}
		if pause = j.every; more && err == nil {
			pause = jobStepDelay
		}
	}
}
