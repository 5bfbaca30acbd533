package events_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"weir/events"
)

// A process that no longer delivers reports no age: the delivering process does.
func TestMetrics_ShowNoAgeWhereNothingIsDelivered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.judge = func(events.Event, int) error { return errNo }
		g.start()
		g.emit(0, 1, "a")
		after(50 * time.Second)
		g.emit(0, 1, "b", "c", "d", "e", "f", "g", "h")
		after(10 * time.Second)
		if age, deferred := g.gauge("weir_event_oldest_undelivered_seconds"), g.gauge("weir_event_deliveries_aside"); age < 50 || deferred < 1 {
			t.Errorf("age %v, deferred %v while nothing is taken", age, deferred)
		}
		g.stop()
		if age, deferred := g.gauge("weir_event_oldest_undelivered_seconds"), g.gauge("weir_event_deliveries_aside"); age+deferred != 0 {
			t.Errorf("age %v, deferred %v after the end", age, deferred)
		}
	})
}

func (g *rig) gauge(name string) float64 {
	g.t.Helper()
	families, err := g.reg.Gather()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	g.t.Errorf("there is no %s", name)
	return 0
}

// A receiver that never answers is not waited for at the end, and gets the event again.
func TestClose_DoesNotWaitForAReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		deliver := g.o.Receivers[0].Deliver
		g.o.Receivers[0].Deliver = func(ctx context.Context, e events.Event) error {
			if e.Subject == "hangs" {
				<-ctx.Done()
				return ctx.Err()
			}
			return deliver(ctx, e)
		}
		g.start()
		g.emit(0, 1, "hangs")
		g.emit(0, 3, "works")
		after(time.Second)
		begun := time.Now()
		g.stop()
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("the end took %v", took)
		}
		g.o.Receivers[0].Deliver = deliver
		g.start()
		defer g.stop()
		after(time.Minute)
		g.wantAll("hangs", 1)
		g.wantAll("works", 3)
		if n := g.count("failed"); n != 0 {
			t.Errorf("%d deliveries that were cut off count as failed", n)
		}
	})
}
