package scenarios_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir/actors/supervise"
)

// A broker that crashes as it comes to rest, or as it wakes, rests the next time, and gets
// everything that arrived meanwhile.
func TestStopping_CrashMeanwhileStrandsNothing(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"actors.passivate", "actors.accepted"} {
		t.Run(message, func(t *testing.T) {
			onVirtualTime(t, func(w *world) {
				var crashes atomic.Int32
				w.wrap = []actor.ReceiverMiddleware{func(next actor.ReceiverFunc) actor.ReceiverFunc {
					return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
						if supervise.MessageType(env.Message) == message && crashes.Add(1) == 1 {
							panic("a fault in the test")
						}
						next(c, env)
					}
				}}
				w.restart()
				w.channel("ch", 5)
				w.accept("ch", sms("a"))
				w.speaks("a")
				w.finish("a")
				w.pass(w.core.StopAfter + time.Minute)
				w.accept("ch", sms("b"))
				w.within(time.Minute, "the second contact", func() { w.speaks("b") })
				w.finish("b")
				w.pass(w.core.StopAfter + time.Minute)
				if n := w.metric("weir_brokers_running"); n != 0 {
					t.Errorf("%v brokers run, want none", n)
				}
				w.accept("ch", sms("c"))
				w.speaks("c")
				w.expectNoDuplicates()
				if crashes.Load() == 0 {
					t.Error("nothing crashed")
				}
			})
		})
	}
}

// A broker that crashed after the last external event still stops when it is idle.
func TestStopping_CrashedBrokerStillStops(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		var armed atomic.Bool
		w.wrap = []actor.ReceiverMiddleware{func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
				if supervise.MessageType(env.Message) == "actors.tick" && armed.Swap(false) {
					panic("a fault in the test")
				}
				next(c, env)
			}
		}}
		w.restart()
		w.channel("ch", 5)
		id := w.accept("ch", sms("a"))["a"]
		w.speaks("a")
		w.finish("a")
		w.done(id)
		armed.Store(true)
		w.pass(2*w.core.StopAfter + 2*time.Minute)
		if armed.Load() {
			t.Fatal("nothing crashed")
		}
		if n := w.metric("weir_brokers_running"); n != 0 {
			t.Errorf("%v brokers run, want none", n)
		}
	})
}
