package scenarios_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir/channels"

	"weir/actors/supervise"
)

// Scenario 65: twenty contacts in a row that cannot be dispatched.
func TestSupervision_PoisonContactsEndInTheDeadLetters(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
				switch {
				case strings.HasPrefix(a.key, "panics"):
					panic("a driver that chokes on " + a.key)
				case strings.HasPrefix(a.key, "own"):
					return channels.SendResult{Status: channels.NotSent, Reason: "refused for an unknown reason"}
				}
				return l.take(a)
			}
		})
		w.channel("ch", 5)
		w.channel("other", 5)
		poison := w.accept("ch", append(many("panics", 10), many("own", 10)...)...)
		good := w.accept("ch", many("good", 10)...)
		w.accept("other", many("o", 5)...)
		w.within(w.quick(), "the other channel", func() {
			w.until("it sends", func() bool { return w.figure("other", "active") == 5 })
		})
		begun := time.Now()
		for i := range 10 {
			key := fmt.Sprintf("good-%04d", i+1)
			w.speaks(key)
			w.finish(key)
			if o := w.done(good[key]); o != "completed" {
				t.Fatalf("%s ended as %s", key, o)
			}
		}
		if took := time.Since(begun); took > time.Minute {
			t.Fatalf("the good contacts took %v", took)
		}
		for key, id := range poison {
			if o := w.done(id); o != "dead_letter" {
				t.Fatalf("%s ended as %s", key, o)
			}
			if n := w.sends(key); n > 5 {
				t.Fatalf("%s was tried %d times", key, n)
			}
		}
		if took := time.Since(begun); took > 5*time.Minute {
			t.Fatalf("the poison took %v", took)
		}
		if n := w.metric("weir_dead_letters_total", "channel", "ch"); n != 20 {
			t.Fatalf("%v dead letters were counted, want 20", n)
		}
		if n := w.metric("weir_actor_restarts_total"); n != 0 {
			t.Fatalf("%v restarts: a driver's panic is no crash of the broker", n)
		}
		if s := w.state("ch"); s != "up" {
			t.Fatalf("the channel is %s", s)
		}
		w.inFlight("ch", 0)
	})
}

// Scenario 67: fifty concurrent requests use a channel for the first time.
func TestSupervision_ConcurrentFirstUsesShareOneBroker(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 100)
		w.restart() // so that no broker runs
		if n := w.metric("weir_brokers_running"); n != 0 {
			w.Fatalf("%v brokers run before the first use", n)
		}
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				a := w.call("POST", "/v1/channels/ch/contacts", fields{"contacts": []fields{sms(fmt.Sprintf("c-%d", i))}})
				if a.Status != 202 {
					w.Errorf("contact %d was answered %d: %s", i, a.Status, a.Text)
				}
			})
		}
		wg.Wait()
		w.sent(50)
		w.expectNoDuplicates()
		if n := w.metric("weir_brokers_running"); n != 1 {
			w.Fatalf("%v brokers run, want 1", n)
		}
		if n := w.lab.preparations(); n != 2 { // one before the restart
			w.Fatalf("the channel was set up %d times, want 2", n)
		}
	})
}

// preparations returns how often channels were prepared.
func (l *lab) preparations() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, times := range l.prepared {
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
		if supervise.MessageType(env.Message) == "actors.tick" {
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
func (s *saboteur) aim(w *world, channel string) {
	w.Helper()
	ch, err := w.store.Channel(w.Context(), channel)
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
		onVirtualTimeHere(t, func(w *world) {
			s := &saboteur{every: 100}
			w.wrap, w.quiet = []actor.ReceiverMiddleware{s.middleware}, true
			w.restart()
			// Each contact takes a second at the provider.
			w.lab.behave(func(l *lab) {
				l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
					result := l.take(a)
					go func() {
						time.Sleep(time.Second)
						for w.reportAttempt(a, "all", "completed") != 200 {
							time.Sleep(time.Second) // providers repeat a callback until it is answered 200
						}
					}()
					return result
				}
			})
			for _, ch := range []string{"sick", "one", "two"} {
				w.channel(ch, 10)
			}
			if sabotage {
				s.aim(w, "sick")
			}
			for _, ch := range []string{"sick", "one", "two"} {
				w.accept(ch, many(ch, 250)...)
			}
			w.pass(20 * time.Second)
			for _, ch := range []string{"one", "two"} {
				others += w.outcomes(ch)["completed"]
			}
			s.silence.Store(true)
			w.until("all is done", func() bool {
				return w.metric("weir_contacts_finished_total", "outcome", "completed") >= 750
			})
			if got := w.outcomes("sick")["completed"]; got != 250 {
				t.Errorf("the sick channel has %d completed, want 250", got)
			}
			w.expectNoDuplicates()
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
	onVirtualTime(t, func(w *world) {
		s := &saboteur{every: 1}
		s.silence.Store(true)
		w.wrap, w.quiet = []actor.ReceiverMiddleware{s.middleware}, true
		w.restart()
		w.channel("ch", 5)
		s.aim(w, "ch")
		id := w.accept("ch", sms("a"))["a"]
		w.becomes(id, "active")
		in := func(span time.Duration) (ticks int64, collections float64) {
			before, runs := s.ticks.Load(), w.metric("weir_reconciler_runs_total")
			w.pass(span)
			return s.ticks.Load() - before, w.metric("weir_reconciler_runs_total") - runs
		}
		w.pass(10 * time.Minute)
		ticks, collections := in(20 * time.Minute)
		if ticks == 0 {
			t.Fatal("no wake-up was seen: a broker's timer no longer sends what is counted here")
		}

		for w.metric("weir_actor_restarts_total") < 1000 {
			s.silence.Store(false) // a panic in each message, until the back-off is long
			w.pass(15 * time.Second)
			s.silence.Store(true) // then quiet for long enough that the back-off is short again
			w.pass(2*time.Minute + time.Minute)
		}
		w.pass(10 * time.Minute)
		ticksAfter, collectionsAfter := in(20 * time.Minute)
		if collections != 10 || collectionsAfter != collections {
			t.Errorf("%v collections in 20 minutes, %v after the restarts; want 10", collections, collectionsAfter)
		}
		if diff := ticksAfter - ticks; diff > 2 || diff < -2 { // one tick more or less at either end
			t.Errorf("%d wake-ups in 20 minutes, %d after the restarts", ticks, ticksAfter)
		}
		w.expectInFlight("ch", 1)
	})
}

// onVirtualTimeHere is onVirtualTime without t.Parallel.
func onVirtualTimeHere(t *testing.T, play func(*world)) {
	t.Helper()
	inBubble(t, play)
}

// Scenario 65 with a provider that answers 500 to one contact each time: that
// contact does not keep the breaker open for the contacts behind it.
func TestSupervision_OneBadContactKeepsNoBreakerOpen(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
				if strings.HasPrefix(a.key, "chokes") {
					return channels.SendResult{Status: channels.Unclear, Reason: "provider error", ChannelFault: true, Answered: true}
				}
				return l.take(a)
			}
		})
		w.channel("ch", 1)
		poison := w.accept("ch", many("chokes", 3)...)
		good := w.accept("ch", many("good", 20)...)
		for i := range 20 {
			key := fmt.Sprintf("good-%04d", i+1)
			w.within(10*time.Minute, key, func() {
				w.speaks(key)
				w.finish(key)
				if o := w.done(good[key]); o != "completed" {
					t.Fatalf("%s ended as %s", key, o)
				}
			})
		}
		for key, id := range poison { // given up only while the provider is known to accept others
			if c := w.contact(id); c["state"] == "done" && c["outcome"] != "dead_letter" {
				t.Fatalf("%s is %v", key, c)
			}
			if n := w.sends(key); n > 30 {
				t.Fatalf("%s was tried %d times", key, n)
			}
		}
		w.inFlight("ch", 0)
	})
}
