package contacts_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir/actors/supervise"
	"weir/test/scenarios/world"
)

// A broker that crashes as it comes to rest, or as it wakes, rests the next time, and gets
// everything that arrived meanwhile.
func TestStopping_CrashMeanwhileStrandsNothing(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"channels.passivate", "channels.accepted"} {
		t.Run(message, func(t *testing.T) {
			world.OnVirtualTime(t, func(w *world.World) {
				var crashes atomic.Int32
				w.Wrap = []actor.ReceiverMiddleware{func(next actor.ReceiverFunc) actor.ReceiverFunc {
					return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
						if supervise.MessageType(env.Message) == message && crashes.Add(1) == 1 {
							panic("a fault in the test")
						}
						next(c, env)
					}
				}}
				w.Restart()
				w.Channel("ch", 5)
				w.Accept("ch", world.SMS("a"))
				w.Speaks("a")
				w.Finish("a")
				w.Pass(w.Core.StopAfter + time.Minute)
				w.Accept("ch", world.SMS("b"))
				w.Within(time.Minute, "the second contact", func() { w.Speaks("b") })
				w.Finish("b")
				w.Pass(w.Core.StopAfter + time.Minute)
				if n := w.Metric("weir_brokers_running"); n != 0 {
					t.Errorf("%v brokers run, want none", n)
				}
				w.Accept("ch", world.SMS("c"))
				w.Speaks("c")
				w.ExpectNoDuplicates()
				if crashes.Load() == 0 {
					t.Error("nothing crashed")
				}
			})
		})
	}
}

// A broker that crashed after the last external event still stops when it is idle.
func TestStopping_CrashedBrokerStillStops(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		var armed atomic.Bool
		w.Wrap = []actor.ReceiverMiddleware{func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
				if supervise.MessageType(env.Message) == "channels.tick" && armed.Swap(false) {
					panic("a fault in the test")
				}
				next(c, env)
			}
		}}
		w.Restart()
		w.Channel("ch", 5)
		id := w.Accept("ch", world.SMS("a"))["a"]
		w.Speaks("a")
		w.Finish("a")
		w.Done(id)
		armed.Store(true)
		w.Pass(2*w.Core.StopAfter + 2*time.Minute)
		if armed.Load() {
			t.Fatal("nothing crashed")
		}
		if n := w.Metric("weir_brokers_running"); n != 0 {
			t.Errorf("%v brokers run, want none", n)
		}
	})
}
