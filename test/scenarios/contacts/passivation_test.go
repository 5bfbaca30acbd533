package contacts_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir/actors/supervise"
	"weir/test/scenarios/world"
)

// SHUT_DOWN_MINUTES stops an idle broker, and only an idle one; it restarts
// on demand, with all its state.
func TestPassivation_StopsTheIdleOnly(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		running := func() int { return int(w.Metric("weir_brokers_running")) }
		w.Channel("idle", 5)
		w.Channel("busy", 5)
		w.Channel("waits", 5)
		busy := w.Accept("busy", world.SMS("busy"))["busy"]
		w.Accept("waits", world.SMS("waits", world.Fields{"not_before": world.At(90 * time.Minute)}))
		idle := w.Accept("idle", world.SMS("a"))["a"]
		w.Speaks("a")
		w.Finish("a")
		w.Done(idle)
		w.Pass(w.Core.StopAfter - time.Minute)
		if n := running(); n != 3 {
			t.Fatalf("%d brokers run before the time is over, want 3", n)
		}
		w.Pass(2 * time.Minute)
		w.Until("the idle one has stopped", func() bool { return running() <= 2 })
		w.Becomes(busy, "active")
		w.ExpectInFlight("busy", 1)

		w.Accept("idle", world.SMS("b"))
		w.Within(w.Quick(), "its return", func() { w.Speaks("b") })
		w.Until("it runs", func() bool { return running() == 3 })
		w.Finish("b")
		w.Pass(w.Core.StopAfter + time.Minute)
		w.Report("a", "0", "failed") // a callback also starts it again, and is processed
		w.Until("the late word was counted", func() bool { return w.Callbacks("late")+w.Callbacks("duplicate") == 1 })
		w.Pass(time.Hour)
		w.Until("what waited for its instant is sent", func() bool { return w.Sends("waits") == 1 })
		w.Finish("busy", "waits")
		w.Pass(w.Core.StopAfter + 2*time.Minute)
		if n := running(); n != 0 {
			t.Fatalf("%d brokers run though all are idle", n)
		}
		w.ExpectNoDuplicates()
	})
}

// A contact that is accepted at the moment in which the broker decides to stop is
// not lost: the test accepts it just before the broker processes the tick at which
// it finds itself idle.
func TestPassivation_LosesNoWakeUp(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		var armed atomic.Pointer[string]
		w.Core.StopAfter = 30 * time.Millisecond
		w.Wrap = []actor.ReceiverMiddleware{func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
				if supervise.MessageType(env.Message) == "channels.tick" {
					if key := armed.Swap(nil); key != nil {
						a := w.Call("POST", "/v1/channels/ch/contacts", world.Fields{"contacts": []world.Fields{world.SMS(*key)}})
						if a.Status != 202 {
							w.Errorf("answered %d", a.Status)
						}
					}
				}
				next(c, env)
			}
		}}
		w.Restart()
		w.Channel("ch", 100)
		for i := range 20 {
			first, second := fmt.Sprintf("first-%d", i), fmt.Sprintf("second-%d", i)
			w.Accept("ch", world.SMS(first))
			w.Speaks(first)
			armed.Store(&second)
			w.Finish(first)                                                            // from now on it is idle, and its timer runs
			w.Within(5*time.Second, "the second contact", func() { w.Speaks(second) }) // without waiting for the sweep
			w.Finish(second)
			if i%4 == 0 {
				w.Until("the broker has stopped", func() bool { return w.Metric("weir_brokers_running") == 0 })
			}
		}
		w.InFlight("ch", 0)
		w.ExpectNoDuplicates()
		if n := preparations(w.Lab); n < 5 {
			w.Fatalf("the broker started %d times only", n)
		}
	})
}

// Many requests accept contacts while a broker repeatedly starts, and stops as
// soon as it may.
func TestPassivation_LosesNoContactInARace(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Core.StopAfter = time.Nanosecond
		w.Restart()
		const rounds, each = 10, 5
		w.Channel("ch", 100)
		for i := range rounds {
			var wg sync.WaitGroup
			for j := range each {
				wg.Go(func() { w.Accept("ch", world.SMS(fmt.Sprintf("c-%d-%d", i, j))) })
				if i > 0 {
					wg.Go(func() { w.Finish(fmt.Sprintf("c-%d-%d", i-1, j)) })
				}
			}
			wg.Wait()
			w.Within(5*time.Second, "a round", func() { // without waiting for the sweep
				w.Until("all of the round are sent", func() bool { return len(w.Lab.SentKeys()) == each*(i+1) })
			})
			if w.Virtual {
				time.Sleep(time.Duration(i%3) * time.Millisecond)
			}
		}
		w.ExpectNoDuplicates()
	})
}
