package contacts_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir/actors/supervise"
	"weir/channels"
	"weir/test/scenarios/world"
)

// Scenario 65: twenty contacts in a row that cannot be dispatched.
func TestSupervision_PoisonContactsEndInTheDeadLetters(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
				switch {
				case strings.HasPrefix(a.Key, "panics"):
					panic("a driver that chokes on " + a.Key)
				case strings.HasPrefix(a.Key, "own"):
					return channels.SendResult{Status: channels.NotSent, Reason: "refused for an unknown reason"}
				}
				return l.Take(a)
			}
		})
		w.Channel("ch", 5)
		w.Channel("other", 5)
		poison := w.Accept("ch", append(world.Many("panics", 10), world.Many("own", 10)...)...)
		good := w.Accept("ch", world.Many("good", 10)...)
		w.Accept("other", world.Many("o", 5)...)
		w.Within(w.Quick(), "the other channel", func() {
			w.Until("it sends", func() bool { return w.Figure("other", "active") == 5 })
		})
		begun := time.Now()
		for i := range 10 {
			key := fmt.Sprintf("good-%04d", i+1)
			w.Speaks(key)
			w.Finish(key)
			if o := w.Done(good[key]); o != "completed" {
				t.Fatalf("%s ended as %s", key, o)
			}
		}
		if took := time.Since(begun); took > time.Minute {
			t.Fatalf("the good contacts took %v", took)
		}
		for key, id := range poison {
			if o := w.Done(id); o != "dead_letter" {
				t.Fatalf("%s ended as %s", key, o)
			}
			if n := w.Sends(key); n > 5 {
				t.Fatalf("%s was tried %d times", key, n)
			}
		}
		if took := time.Since(begun); took > 5*time.Minute {
			t.Fatalf("the poison took %v", took)
		}
		if n := w.Metric("weir_dead_letters_total", "channel", "ch"); n != 20 {
			t.Fatalf("%v dead letters were counted, want 20", n)
		}
		if n := w.Metric("weir_actor_restarts_total"); n != 0 {
			t.Fatalf("%v restarts: a driver's panic is no crash of the broker", n)
		}
		if s := w.State("ch"); s != "up" {
			t.Fatalf("the channel is %s", s)
		}
		w.InFlight("ch", 0)
	})
}

// Scenario 67: fifty concurrent requests use a channel for the first time.
func TestSupervision_ConcurrentFirstUsesShareOneBroker(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 100)
		w.Restart() // so that no broker runs
		if n := w.Metric("weir_brokers_running"); n != 0 {
			w.Fatalf("%v brokers run before the first use", n)
		}
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				a := w.Call("POST", "/v1/channels/ch/contacts", world.Fields{"contacts": []world.Fields{world.SMS(fmt.Sprintf("c-%d", i))}})
				if a.Status != 202 {
					w.Errorf("contact %d was answered %d: %s", i, a.Status, a.Text)
				}
			})
		}
		wg.Wait()
		w.Sent(50)
		w.ExpectNoDuplicates()
		if n := w.Metric("weir_brokers_running"); n != 1 {
			w.Fatalf("%v brokers run, want 1", n)
		}
		if n := preparations(w.Lab); n != 2 { // one before the restart
			w.Fatalf("the channel was set up %d times, want 2", n)
		}
	})
}

// preparations returns how often channels were prepared.
func preparations(l *world.Lab) int {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	n := 0
	for _, times := range l.Prepared {
		n += times
	}
	return n
}

// saboteur is a broker middleware that panics in every nth message to the actors
// of one channel, which it finds by a part of their id. It also counts the ticks that
// the broker sends itself, whether it panics or not.
type saboteur struct {
	target  atomic.Pointer[string]
	every   int64
	seen    atomic.Int64
	panics  atomic.Int64
	ticks   atomic.Int64
	silence atomic.Bool
}

func (s *saboteur) middleware(next actor.ReceiverFunc) actor.ReceiverFunc {
	return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
		next(c, env)
		target := s.target.Load()
		if target == nil || !strings.Contains(c.Self().Id, *target) {
			return
		}
		if supervise.MessageType(env.Message) == "channels.tick" {
			s.ticks.Add(1)
		}
		if s.silence.Load() {
			return
		}
		if _, user := env.Message.(actor.SystemMessage); user {
			return
		}
		if s.seen.Add(1)%s.every == 0 {
			s.panics.Add(1)
			panic("sabotage")
		}
	}
}

// aim directs the saboteur at a channel.
func (s *saboteur) aim(w *world.World, channel string) {
	w.Helper()
	ch, err := w.Store.Channel(w.Context(), channel)
	if err != nil {
		w.Fatal(err)
	}
	prefix := fmt.Sprintf("channel-%d-", ch.ID)
	s.target.Store(&prefix)
}

// Panics in one of a hundred messages of one channel's broker do not affect the
// other channels, and the channel still does its own work.
func TestSupervision_PanicsOfOneChannelHurtNoOther(t *testing.T) {
	throughput := func(t *testing.T, sabotage bool) (others int, panics int64) {
		onVirtualTimeHere(t, func(w *world.World) {
			s := &saboteur{every: 100}
			w.Wrap, w.Quiet = []actor.ReceiverMiddleware{s.middleware}, true
			w.Restart()
			// Each contact takes a second at the provider.
			w.Lab.Behave(func(l *world.Lab) {
				l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
					result := l.Take(a)
					go func() {
						time.Sleep(time.Second)
						for w.ReportAttempt(a, "all", "completed") != 200 {
							time.Sleep(time.Second) // providers repeat a callback until it is answered 200
						}
					}()
					return result
				}
			})
			for _, ch := range []string{"sick", "one", "two"} {
				w.Channel(ch, 10)
			}
			if sabotage {
				s.aim(w, "sick")
			}
			for _, ch := range []string{"sick", "one", "two"} {
				w.Accept(ch, world.Many(ch, 250)...)
			}
			w.Pass(20 * time.Second)
			for _, ch := range []string{"one", "two"} {
				others += w.Outcomes(ch)["completed"]
			}
			s.silence.Store(true)
			w.Until("all is done", func() bool {
				return w.Metric("weir_contacts_finished_total", "outcome", "completed") >= 750
			})
			if got := w.Outcomes("sick")["completed"]; got != 250 {
				t.Errorf("the sick channel has %d completed, want 250", got)
			}
			w.ExpectNoDuplicates()
			panics = s.panics.Load()
		})
		return others, panics
	}
	t.Parallel()
	healthy, _ := throughput(t, false)
	beside, panics := throughput(t, true)
	if panics < 5 {
		t.Errorf("only %d panics: the sabotage does not work", panics)
	}
	if healthy == 0 || beside*100 < healthy*95 {
		t.Errorf("the other channels completed %d contacts in the span, %d beside a channel that panics", healthy, beside)
	}
}

// After a thousand restarts a broker still has one timer: it ticks, and reconciles,
// as often as a broker that was never restarted.
func TestSupervision_OneTimerAfterAThousandRestarts(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		s := &saboteur{every: 1}
		s.silence.Store(true)
		w.Wrap, w.Quiet = []actor.ReceiverMiddleware{s.middleware}, true
		w.Restart()
		w.Channel("ch", 5)
		s.aim(w, "ch")
		id := w.Accept("ch", world.SMS("a"))["a"]
		w.Becomes(id, "active")
		in := func(span time.Duration) (ticks int64, collections float64) {
			before, runs := s.ticks.Load(), w.Metric("weir_reconciler_runs_total")
			w.Pass(span)
			return s.ticks.Load() - before, w.Metric("weir_reconciler_runs_total") - runs
		}
		w.Pass(10 * time.Minute)
		ticks, collections := in(20 * time.Minute)
		if ticks == 0 {
			t.Fatal("no wake-up was seen: a broker's timer no longer sends what is counted here")
		}

		for w.Metric("weir_actor_restarts_total") < 1000 {
			s.silence.Store(false) // a panic in each message, until the back-off is long
			w.Pass(15 * time.Second)
			s.silence.Store(true) // then quiet for long enough that the back-off is short again
			w.Pass(2*time.Minute + time.Minute)
		}
		w.Pass(10 * time.Minute)
		ticksAfter, collectionsAfter := in(20 * time.Minute)
		if collections != 10 || collectionsAfter != collections {
			t.Errorf("%v collections in 20 minutes, %v after the restarts; want 10", collections, collectionsAfter)
		}
		if diff := ticksAfter - ticks; diff > 2 || diff < -2 { // one tick more or less at either end
			t.Errorf("%d wake-ups in 20 minutes, %d after the restarts", ticks, ticksAfter)
		}
		w.ExpectInFlight("ch", 1)
	})
}

// onVirtualTimeHere is [world.OnVirtualTime] without t.Parallel.
func onVirtualTimeHere(t *testing.T, play func(*world.World)) {
	t.Helper()
	world.InBubble(t, play)
}

// Scenario 65 with a provider that answers 500 to one contact each time: that
// contact does not keep the breaker open for the contacts behind it.
func TestSupervision_OneBadContactKeepsNoBreakerOpen(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
				if strings.HasPrefix(a.Key, "chokes") {
					return channels.SendResult{Status: channels.Unclear, Reason: "provider error", ChannelFault: true, Answered: true}
				}
				return l.Take(a)
			}
		})
		w.Channel("ch", 1)
		poison := w.Accept("ch", world.Many("chokes", 3)...)
		good := w.Accept("ch", world.Many("good", 20)...)
		for i := range 20 {
			key := fmt.Sprintf("good-%04d", i+1)
			w.Within(10*time.Minute, key, func() {
				w.Speaks(key)
				w.Finish(key)
				if o := w.Done(good[key]); o != "completed" {
					t.Fatalf("%s ended as %s", key, o)
				}
			})
		}
		for key, id := range poison { // given up only while the provider is known to accept others
			if c := w.Contact(id); c["state"] == "done" && c["outcome"] != "dead_letter" {
				t.Fatalf("%s is %v", key, c)
			}
			if n := w.Sends(key); n > 30 {
				t.Fatalf("%s was tried %d times", key, n)
			}
		}
		w.InFlight("ch", 0)
	})
}
