package member

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
func (m *Member) watchClock() {
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for {
			m.measureSkew(ctx)
			if !Pause(ctx, skewEvery) {
				return
			}
		}
	})
	m.stopSkew = func() {
		stop()
		done.Wait()
	}
}

func (m *Member) measureSkew(ctx context.Context) {
	before := time.Now()
	var clock int64
	if err := m.Read.GetContext(ctx, &clock, "SELECT "+m.Database.Now()); err != nil {
		return // the writer reports a store that is down
	}
	after := time.Now()
	middle := before.Add(after.Sub(before) / 2)
	skew := time.UnixMicro(clock).Sub(middle)
	m.Metrics.Skew.Set(skew.Seconds())
	if skew.Abs() > skewWarn+after.Sub(before) {
		m.Logger.Warn("the clocks of the database and of this process differ", "seconds", skew.Seconds())
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
