package scenarios_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"weir"
	"weir/channels"
)

// Scenario 58: the program ends after contacts are accepted and before any is
// dispatched.
func TestCrash_AfterAcceptanceLosesNoContact(t *testing.T) {
	onStores(t, func(w *world) {
		w.lab.behave(func(l *lab) { l.onPrepare = func() error { return fmt.Errorf("not yet") } })
		w.channel("ch", 5)
		ids := w.accept("ch", many("c", 10)...)
		w.waitIdle()
		w.crash()
		if n := len(w.lab.sentKeys()); n != 0 {
			w.Fatalf("%d were sent before the crash", n)
		}
		w.lab.behave(func(l *lab) { l.onPrepare = nil })
		w.start()
		w.sent(5)
		for i := range 10 {
			w.speaks(fmt.Sprintf("c-%04d", i+1))
			w.finish(fmt.Sprintf("c-%04d", i+1))
		}
		for _, id := range ids {
			w.done(id)
		}
		w.expectNoDuplicates()
		if again := w.accept("ch", sms("c-0001")); again["c-0001"] != ids["c-0001"] {
			w.Fatal("the client that asks again got another contact")
		}
		w.sent(10)
	})
}

// Scenario 59: claimed, and the request never reached the provider. Scenario 60:
// the provider accepted the contact, and its answer was never stored.
func TestCrash_AroundTheProvidersAnswerDispatchesOnce(t *testing.T) {
	for name, tc := range map[string]struct{ reached, asks bool }{
		"59, a provider that can be asked":    {reached: false, asks: true},
		"59, a provider that cannot be asked": {reached: false, asks: false},
		"60, a provider that can be asked":    {reached: true, asks: true},
		"60, a provider that cannot be asked": {reached: true, asks: false},
	} {
		t.Run(name, func(t *testing.T) {
			onVirtualTime(t, func(w *world) {
				w.lab.behave(func(l *lab) {
					l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
						if tc.reached {
							l.take(a)
						}
						<-l.crashed()
						return lost()
					}
					if !tc.asks {
						l.onAsk = func(context.Context, labAttempt) channels.Answer {
							return channels.Answer{Status: channels.CannotTell}
						}
					}
				})
				w.channel("ch", 2)
				ids := w.accept("ch", many("c", 4)...)
				w.sent(2)
				w.lab.behave(func(l *lab) { l.onSend = nil })
				w.restart()
				w.waitIdle()
				if n := w.figure("ch", "in_flight"); n != 2 {
					t.Fatalf("after the start %d slots are in flight, want 2", n)
				}
				w.sent(2)
				w.pass(2 * time.Minute) // the reconciler asks about them
				switch {
				case tc.reached: // not dispatched again; the callback resolves it
					w.sent(2)
					w.finish("c-0001", "c-0002")
				case tc.asks: // dispatched again, because the provider reports that it has nothing
					w.sent(4)
					w.finish("c-0001", "c-0002")
				default: // ends as lost
					w.sent(2)
					w.pass(w.core.LostAfter + w.core.ReconcileEvery)
				}
				want := "completed"
				if !tc.reached && !tc.asks {
					want = "lost"
				}
				for _, key := range []string{"c-0001", "c-0002"} {
					if o := w.done(ids[key]); o != want {
						t.Fatalf("%s ended as %s, want %s", key, o, want)
					}
				}
				w.until("the others follow", func() bool { return w.sends("c-0004") == 1 })
				w.finish("c-0003", "c-0004")
				w.done(ids["c-0004"])
				w.inFlight("ch", 0)
				if _, most := w.lab.use("ch"); most > 2 {
					t.Fatalf("the provider had %d in flight", most)
				}
			})
		})
	}
}

// Scenario 61: contacts stay in flight across a restart.
func TestCrash_CallbackAfterTheRestartFreesItsSlot(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 2)
		ids := w.accept("ch", sms("a", texts("a", 2)), sms("b"))
		w.becomes(ids["a"], "active")
		w.report("a", "1", "completed") // one of its two messages
		w.until("one slot is free", func() bool { return w.sends("b") == 1 })
		w.becomes(ids["b"], "active")
		w.restart()
		w.inFlight("ch", 2)
		w.report("a", "0", "completed")
		w.finish("b")
		if a, b := w.done(ids["a"]), w.done(ids["b"]); a != "completed" || b != "completed" {
			w.Fatalf("ended as %s and %s", a, b)
		}
		w.inFlight("ch", 0)
		w.expectNoDuplicates()
	})
}

// Scenario 62: a callback that was answered with 2xx counts, whatever happens
// at that instant.
func TestCrash_KeepsAnAcknowledgedCallback(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 30)
		ids := w.accept("ch", many("c", 30)...)
		w.until("all are active", func() bool { return w.figure("ch", "active") == 30 })
		for i := range 30 {
			key := fmt.Sprintf("c-%04d", i+1)
			if status := w.report(key, "all", "busy"); status != 200 {
				w.Fatalf("answered %d", status)
			}
			if i%10 == 9 {
				w.restart() // at once, without waiting for the broker to process the reports
			}
		}
		for key, id := range ids {
			if c := w.contact(id); c["outcome"] != "busy" {
				w.Fatalf("%s is %v", key, c)
			}
		}
		w.inFlight("ch", 0)
	})
}

// Scenario 63: crashes while the provider is asked, while a contact is canceled,
// and when windows close.
func TestCrash_MayHappenWhileQueryingCancelingOrExpiring(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		var crashing atomic.Bool
		crashing.Store(true)
		hold := func(l *lab) {
			if crashing.Load() {
				<-l.crashed()
			}
		}
		w.lab.behave(func(l *lab) {
			l.onAsk = func(_ context.Context, a labAttempt) channels.Answer {
				l.end(a, "all", "busy")
				hold(l)
				return channels.Answer{Status: channels.Finished, Reports: []weir.Report{{Attempt: a.ref, Part: weir.WholeContact, Outcome: weir.Busy}}}
			}
			l.onCancel = func(_ context.Context, a labAttempt) channels.Cancellation {
				l.end(a, "all", "canceled")
				hold(l)
				return channels.Cancellation{Canceled: true}
			}
		})
		w.channel("asked", 1)
		w.channel("canceled", 1)
		w.channel("expires", 1)
		asked := w.accept("asked", sms("a"))["a"]
		canceled := w.accept("canceled", sms("c"))["c"]
		w.becomes(canceled, "active")
		w.want(202, "DELETE", "/v1/contacts/"+canceled, nil)
		window := fields{"not_after": at(3 * time.Minute)}
		expires := w.accept("expires", append([]fields{sms("holds")}, many("e", 20, window)...)...)
		for range 5 {
			w.pass(time.Minute) // past the reconciler run and the end of the windows
			w.restart()
		}
		crashing.Store(false)
		if a, c := w.done(asked), w.done(canceled); a != "busy" || c != "canceled" {
			t.Fatalf("ended as %s and %s", a, c)
		}
		for key, id := range expires {
			want := "expired"
			if key == "holds" {
				want = "busy"
			}
			if o := w.done(id); o != want {
				t.Fatalf("%s ended as %s, want %s", key, o, want)
			}
		}
		w.expectNoDuplicates()
		for _, ch := range []string{"asked", "canceled", "expires"} {
			w.inFlight(ch, 0)
		}
	})
}

// Scenario 64: ten thousand queued and a hundred active contacts across a restart.
func TestCrash_ResumesByItself(t *testing.T) {
	onStores(t, func(w *world) {
		const queued = 10_000
		w.channel("ch", 100)
		w.accept("ch", many("c", queued+100)...)
		w.until("a hundred are active", func() bool { return w.figure("ch", "active") == 100 })
		w.restart()
		w.within(w.quick(), "the start", func() {
			w.until("it counts right", func() bool { return w.figure("ch", "in_flight") == 100 && w.figure("ch", "queued") == queued })
		})
		w.sent(100)
		w.crash()
		for _, key := range w.lab.sentKeys() { // they end while no process runs
			w.lab.end(w.lab.attempt(key), "all", "completed")
		}
		w.lab.behave(func(l *lab) {
			l.onAsk = func(_ context.Context, a labAttempt) channels.Answer {
				return channels.Answer{Status: channels.Finished, Reports: []weir.Report{{Attempt: a.ref, Part: weir.WholeContact, Outcome: weir.Completed}}}
			}
		})
		w.core.IdleAfter, w.core.ReconcileEvery = 200*time.Millisecond, 200*time.Millisecond
		w.start()
		w.within(w.core.IdleAfter+w.core.ReconcileEvery+w.quick(), "the first new contact", func() {
			w.until("sending resumes", func() bool { return len(w.lab.sentKeys()) > 100 })
		})
		w.expectNoDuplicates()
	})
}
