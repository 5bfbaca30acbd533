package commit

import (
	"context"
	"sync"
	"time"
)

const (
	skewEvery = time.Minute
	skewWarn  = time.Second
)

// watchClock compares the database's clock with ours, now and every minute:
// leases live by that of the database.
func (s *DB) watchClock() {
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for {
			s.measureSkew(ctx)
			if !Pause(ctx, skewEvery) {
				return
			}
		}
	})
	s.stopSkew = func() {
		stop()
		done.Wait()
	}
}

func (s *DB) measureSkew(ctx context.Context) {
	before := time.Now()
	var clock int64
	if err := s.Read.GetContext(ctx, &clock, "SELECT "+s.Database.Now()); err != nil {
		return // the writer reports a store that is down
	}
	after := time.Now()
	middle := before.Add(after.Sub(before) / 2)
	skew := time.UnixMicro(clock).Sub(middle)
	s.metrics.skew.Set(skew.Seconds())
	if skew.Abs() > skewWarn+after.Sub(before) {
		s.Logger.Warn("the clocks of the database and of this process differ", "seconds", skew.Seconds())
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
