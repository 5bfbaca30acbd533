// Package backoff computes the delay before the next try of something that
// failed, and waits for it.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Delay returns the delay after the nth consecutive failure: low after the first,
// doubled by each further one, at most high.
func Delay(n int, low, high time.Duration) time.Duration {
	d := low
	for i := 1; i < n && d < high; i++ {
		d *= 2
	}
	return min(d, high)
}

// Jitter spreads a delay over its upper half, so that many retries do not coincide
// and none is immediate. chance is in [0,1).
func Jitter(d time.Duration, chance float64) time.Duration {
	return d/2 + time.Duration(chance*float64(d/2))
}

// Random returns a jittered [Delay].
func Random(n int, low, high time.Duration) time.Duration {
	return Jitter(Delay(n, low, high), rand.Float64())
}

// Wait waits for d. It returns false if ctx ended first.
func Wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
