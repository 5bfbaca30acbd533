package machine

import (
	"context"
	"time"
)

// WatchOthers begins to measure the machine. The function that it returns reports how
// many cores programs outside of the run have used since. parts is the CPU time of the
// run's processes, without this one.
func WatchOthers() func(parts time.Duration) float64 {
	begin, all, self := time.Now(), busy(), Own().CPU
	return func(parts time.Duration) float64 {
		used := busy() - all - parts - (Own().CPU - self)
		return max(0, used.Seconds()/time.Since(begin).Seconds())
	}
}

// Quiet waits until other programs use less than a fifth of a core, for at most the
// given time, and returns how long it waited.
func Quiet(ctx context.Context, limit time.Duration) time.Duration {
	const enough, interval = 0.2, time.Second
	began := time.Now()
	for time.Since(began)+interval <= limit {
		others := WatchOthers()
		if !Sleep(ctx, interval) || others(0) < enough {
			break
		}
	}
	return time.Since(began)
}

// Sleep waits; false: ctx ended before.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
