package scenarios_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir/actors/supervise"
)

// SHUT_DOWN_MINUTES stops an idle broker, and only an idle one; it restarts
// on demand, with all its state.
func TestPassivation_StopsTheIdleOnly(t *testing.T) {
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
		w.expectInFlight("busy", 1)

		w.accept("idle", sms("b"))
		w.within(w.quick(), "its return", func() { w.speaks("b") })
		w.until("it runs", func() bool { return running() == 3 })
		w.finish("b")
		w.pass(w.core.StopAfter + time.Minute)
		w.report("a", "0", "failed") // a callback also starts it again, and is processed
		w.until("the late word was counted", func() bool { return w.callbacks("late")+w.callbacks("duplicate") == 1 })
		w.pass(time.Hour)
		w.until("what waited for its instant is sent", func() bool { return w.sends("waits") == 1 })
		w.finish("busy", "waits")
		w.pass(w.core.StopAfter + 2*time.Minute)
		if n := running(); n != 0 {
			t.Fatalf("%d brokers run though all are idle", n)
		}
		w.expectNoDuplicates()
	})
}

// A contact that is accepted at the moment in which the broker decides to stop is
// not lost: the test accepts it just before the broker processes the tick at which
// it finds itself idle.
func TestPassivation_LosesNoWakeUp(t *testing.T) {
	onStores(t, func(w *world) {
		var armed atomic.Pointer[string]
		w.core.StopAfter = 30 * time.Millisecond
		w.wrap = []actor.ReceiverMiddleware{func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
				if supervise.MessageType(env.Message) == "actors.tick" {
					if key := armed.Swap(nil); key != nil {
						a := w.call("POST", "/v1/channels/ch/contacts", fields{"contacts": []fields{sms(*key)}})
						if a.Status != 202 {
							w.Errorf("answered %d", a.Status)
						}
					}
				}
				next(c, env)
			}
		}}
		w.restart()
		w.channel("ch", 100)
		for i := range 20 {
			first, second := fmt.Sprintf("first-%d", i), fmt.Sprintf("second-%d", i)
			w.accept("ch", sms(first))
			w.speaks(first)
			armed.Store(&second)
			w.finish(first)                                                            // from now on it is idle, and its timer runs
			w.within(5*time.Second, "the second contact", func() { w.speaks(second) }) // without waiting for the sweep
			w.finish(second)
			if i%4 == 0 {
				w.until("the broker has stopped", func() bool { return w.metric("weir_brokers_running") == 0 })
			}
		}
		w.inFlight("ch", 0)
		w.expectNoDuplicates()
		if n := w.lab.preparations(); n < 5 {
			w.Fatalf("the broker started %d times only", n)
		}
	})
}

// Many requests accept contacts while a broker repeatedly starts, and stops as
// soon as it may.
func TestPassivation_LosesNoContactInARace(t *testing.T) {
	onStores(t, func(w *world) {
		w.core.StopAfter = time.Nanosecond
		w.restart()
		const rounds, each = 10, 5
		w.channel("ch", 100)
		for i := range rounds {
			var wg sync.WaitGroup
			for j := range each {
				wg.Go(func() { w.accept("ch", sms(fmt.Sprintf("c-%d-%d", i, j))) })
				if i > 0 {
					wg.Go(func() { w.finish(fmt.Sprintf("c-%d-%d", i-1, j)) })
				}
			}
			wg.Wait()
			w.within(5*time.Second, "a round", func() { // without waiting for the sweep
				w.until("all of the round are sent", func() bool { return len(w.lab.sentKeys()) == each*(i+1) })
			})
			if w.virtual {
				time.Sleep(time.Duration(i%3) * time.Millisecond)
			}
		}
		w.expectNoDuplicates()
	})
}
