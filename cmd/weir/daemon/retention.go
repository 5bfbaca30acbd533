package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"weir/persistence"
)

// Figures of the retention.
const (
	purgeEvery = 5 * time.Minute
	purgeBatch = 1000
	purgePause = 50 * time.Millisecond // between batches, so that the queue goes first
)

// keepFor removes what finished longer ago than the retention, in small
// batches, until the returned function is called.
func keepFor(retention time.Duration, store *persistence.Store, log *slog.Logger) (stop func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		pause := purgePause
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			n, err := store.Purge(ctx, time.Now().Add(-retention), purgeBatch)
			if err != nil && ctx.Err() == nil {
				log.Warn("old contacts could not be removed", "error", err)
			}
			pause = purgeEvery
			if n >= purgeBatch {
				pause = purgePause
			}
		}
	})
	return func(context.Context) error {
		cancel()
		done.Wait()
		return nil
	}
}
