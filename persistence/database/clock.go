package database

import (
	"context"
	"sync"
	"time"
)

const (
	skewEvery = time.Minute
	skewWarn  = time.Second
)

// watchClock compares the database's clock with ours, now and every minute, until it is
// stopped: leases live by that of the database.
func watchClock(c *Client) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for {
			measureSkew(ctx, c)
			if !Pause(ctx, skewEvery) {
				return
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

func measureSkew(ctx context.Context, c *Client) {
	before := time.Now()
	var clock int64
	if err := c.Read.GetContext(ctx, &clock, "SELECT "+c.Database.Now()); err != nil {
		return // the writer reports a store that is down
	}
	after := time.Now()
	middle := before.Add(after.Sub(before) / 2)
	skew := time.UnixMicro(clock).Sub(middle)
	c.Metrics.Skew.Set(skew.Seconds())
	if skew.Abs() > skewWarn+after.Sub(before) {
		c.Logger.Warn("clock skew detected", "seconds", skew.Seconds())
	}
}

// Pause waits; false when ctx ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
