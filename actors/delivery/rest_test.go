package delivery_test

import (
	"testing"
	"testing/synctest"
	"time"

	"weir/events"
)

// A process that no longer delivers reports no age: the one that delivers does.
func TestWhoDeliversNoMoreShowsNothingOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.judge = func(events.Event, int) error { return errNo }
		g.start()
		g.emit(0, 3, "a")
		after(time.Minute)
		if age, aside := g.gauge("weir_event_oldest_undelivered_seconds"), g.gauge("weir_event_deliveries_aside"); age < 50 || aside < 1 {
			t.Errorf("age %v, aside %v while nothing is taken", age, aside)
		}
		g.stop()
		if age, aside := g.gauge("weir_event_oldest_undelivered_seconds"), g.gauge("weir_event_deliveries_aside"); age+aside != 0 {
			t.Errorf("age %v, aside %v after the end", age, aside)
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
