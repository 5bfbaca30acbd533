package scenarios_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// SHUT_DOWN_MINUTES stops an idle broker, and only an idle one; it comes back
// on demand, with everything that it had.
func TestPassivationStopsTheIdleOnly(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		running := func() int { return int(w.metric("weir_brokers_running")) }
		w.channel("idle", 5)
		w.channel("busy", 5)
		w.channel("waits", 5)
		busy := w.accept("busy", sms("busy"))["busy"]
		w.accept("waits", sms("waits", fields{"not_before": at(90 * time.Minute)}))
		idle := w.accept("idle", sms("a"))["a"]
		w.speaks("a")
		w.finish("a")
		w.done(idle)
		w.pass(w.core.StopAfter - time.Minute)
		if n := running(); n != 3 {
			t.Fatalf("%d brokers run before the time is over, want 3", n)
		}
		w.pass(2 * time.Minute)
		w.until("the idle one has stopped", func() bool { return running() <= 2 })
		w.becomes(busy, "active")
		w.use("busy", 1)

		w.accept("idle", sms("b"))
		w.within(w.quick(), "its return", func() { w.speaks("b") })
		w.until("it runs", func() bool { return running() == 3 })
		w.finish("b")
		w.pass(w.core.StopAfter + time.Minute)
		w.report("a", "0", "failed") // a callback brings it back too, and is judged
		w.until("the late word was counted", func() bool { return w.callbacks("late")+w.callbacks("duplicate") == 1 })
		w.pass(time.Hour)
		w.until("what waited for its instant is sent", func() bool { return w.sends("waits") == 1 })
		w.finish("busy", "waits")
		w.pass(w.core.StopAfter + 2*time.Minute)
		if n := running(); n != 0 {
			t.Fatalf("%d brokers run though all are idle", n)
		}
		w.once()
	})
}

// A contact that is accepted in the very moment in which the broker stops is
// not lost. The broker stops as soon as it is idle, so the moment is met often.
func TestPassivationLosesNoWakeUp(t *testing.T) {
	onStores(t, func(w *world) {
		w.core.StopAfter = time.Nanosecond
		w.restart()
		const rounds, at = 15, 5
		w.channel("ch", 100)
		stops := 0
		for i := range rounds {
			if w.virtual { // meet the moment in which its timer goes off
				time.Sleep(time.Duration(i%4) * time.Millisecond)
			}
			var wg sync.WaitGroup
			for j := range at {
				wg.Go(func() { w.accept("ch", sms(fmt.Sprintf("c-%d-%d", i, j))) })
			}
			wg.Wait()
			w.within(5*time.Second, "a round", func() { // not by the sweep, which comes every 30 s
				w.until("all of the round are sent", func() bool { return len(w.lab.sentKeys()) == at*(i+1) })
			})
			for j := range at {
				w.finish(fmt.Sprintf("c-%d-%d", i, j))
			}
			if w.metric("weir_brokers_running") == 0 {
				stops++
			}
		}
		w.inFlight("ch", 0)
		w.until("it has stopped", func() bool { return w.metric("weir_brokers_running") == 0 })
		w.once()
		if n := w.lab.preparations(); n < 3 {
			w.Fatalf("the broker started %d times only; stopped after a round %d times", n, stops)
		}
	})
}
