package contacts_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/test/scenarios/world"
)

// Scenario 58: the program ends after contacts are accepted and before any is
// dispatched.
func TestCrash_AfterAcceptanceLosesNoContact(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Lab.Behave(func(l *world.Lab) { l.OnPrepare = func() error { return fmt.Errorf("not yet") } })
		w.Channel("ch", 5)
		ids := w.Accept("ch", world.Many("c", 10)...)
		w.WaitIdle()
		w.Crash()
		if n := len(w.Lab.SentKeys()); n != 0 {
			w.Fatalf("%d were sent before the crash", n)
		}
		w.Lab.Behave(func(l *world.Lab) { l.OnPrepare = nil })
		w.Begin()
		w.Sent(5)
		for i := range 10 {
			w.Speaks(fmt.Sprintf("c-%04d", i+1))
			w.Finish(fmt.Sprintf("c-%04d", i+1))
		}
		for _, id := range ids {
			w.Done(id)
		}
		w.ExpectNoDuplicates()
		if again := w.Accept("ch", world.SMS("c-0001")); again["c-0001"] != ids["c-0001"] {
			w.Fatal("the client that asks again got another contact")
		}
		w.Sent(10)
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
			world.OnVirtualTime(t, func(w *world.World) {
				w.Lab.Behave(func(l *world.Lab) {
					l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
						if tc.reached {
							l.Take(a)
						}
						<-l.Crashed()
						return world.Lost()
					}
					if !tc.asks {
						l.OnAsk = func(context.Context, world.LabAttempt) channels.Answer {
							return channels.Answer{Status: channels.CannotTell}
						}
					}
				})
				w.Channel("ch", 2)
				ids := w.Accept("ch", world.Many("c", 4)...)
				w.Sent(2)
				w.Lab.Behave(func(l *world.Lab) { l.OnSend = nil })
				w.Restart()
				w.WaitIdle()
				if n := w.Figure("ch", "in_flight"); n != 2 {
					t.Fatalf("after the start %d slots are in flight, want 2", n)
				}
				w.Sent(2)
				w.Pass(2 * time.Minute) // the reconciler asks about them
				switch {
				case tc.reached: // not dispatched again; the callback resolves it
					w.Sent(2)
					w.Finish("c-0001", "c-0002")
				case tc.asks: // dispatched again, because the provider reports that it has nothing
					w.Sent(4)
					w.Finish("c-0001", "c-0002")
				default: // ends as lost
					w.Sent(2)
					w.Pass(w.Core.LostAfter + w.Core.ReconcileEvery)
				}
				want := "completed"
				if !tc.reached && !tc.asks {
					want = "lost"
				}
				for _, key := range []string{"c-0001", "c-0002"} {
					if o := w.Done(ids[key]); o != want {
						t.Fatalf("%s ended as %s, want %s", key, o, want)
					}
				}
				w.Until("the others follow", func() bool { return w.Sends("c-0004") == 1 })
				w.Finish("c-0003", "c-0004")
				w.Done(ids["c-0004"])
				w.InFlight("ch", 0)
				if _, most := w.Lab.Use("ch"); most > 2 {
					t.Fatalf("the provider had %d in flight", most)
				}
			})
		})
	}
}

// Scenario 61: contacts stay in flight across a restart.
func TestCrash_CallbackAfterTheRestartFreesItsSlot(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 2)
		ids := w.Accept("ch", world.SMS("a", world.Texts("a", 2)), world.SMS("b"))
		w.Becomes(ids["a"], "active")
		w.Report("a", "1", "completed") // one of its two messages
		w.Until("one slot is free", func() bool { return w.Sends("b") == 1 })
		w.Becomes(ids["b"], "active")
		w.Restart()
		w.InFlight("ch", 2)
		w.Report("a", "0", "completed")
		w.Finish("b")
		if a, b := w.Done(ids["a"]), w.Done(ids["b"]); a != "completed" || b != "completed" {
			w.Fatalf("ended as %s and %s", a, b)
		}
		w.InFlight("ch", 0)
		w.ExpectNoDuplicates()
	})
}

// Scenario 62: a callback that was answered with 2xx counts, whatever happens
// at that instant.
func TestCrash_KeepsAnAcknowledgedCallback(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 30)
		ids := w.Accept("ch", world.Many("c", 30)...)
		w.Until("all are active", func() bool { return w.Figure("ch", "active") == 30 })
		for i := range 30 {
			key := fmt.Sprintf("c-%04d", i+1)
			if status := w.Report(key, "all", "busy"); status != 200 {
				w.Fatalf("answered %d", status)
			}
			if i%10 == 9 {
				w.Restart() // at once, without waiting for the broker to process the reports
			}
		}
		for key, id := range ids {
			if c := w.Contact(id); c["outcome"] != "busy" {
				w.Fatalf("%s is %v", key, c)
			}
		}
		w.InFlight("ch", 0)
	})
}

// Scenario 63: crashes while the provider is asked, while a contact is canceled,
// and when windows close.
func TestCrash_MayHappenWhileQueryingCancelingOrExpiring(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		var crashing atomic.Bool
		crashing.Store(true)
		hold := func(l *world.Lab) {
			if crashing.Load() {
				<-l.Crashed()
			}
		}
		w.Lab.Behave(func(l *world.Lab) {
			l.OnAsk = func(_ context.Context, a world.LabAttempt) channels.Answer {
				l.End(a, "all", "busy")
				hold(l)
				return channels.Answer{Status: channels.Finished, Reports: []weir.Report{{Attempt: a.Ref, Part: weir.WholeContact, Outcome: weir.Busy}}}
			}
			l.OnCancel = func(_ context.Context, a world.LabAttempt) channels.Cancellation {
				l.End(a, "all", "canceled")
				hold(l)
				return channels.Cancellation{Canceled: true}
			}
		})
		w.Channel("asked", 1)
		w.Channel("canceled", 1)
		w.Channel("expires", 1)
		asked := w.Accept("asked", world.SMS("a"))["a"]
		canceled := w.Accept("canceled", world.SMS("c"))["c"]
		w.Becomes(canceled, "active")
		w.Want(202, "DELETE", "/v1/contacts/"+canceled, nil)
		window := world.Fields{"not_after": world.At(3 * time.Minute)}
		expires := w.Accept("expires", append([]world.Fields{world.SMS("holds")}, world.Many("e", 20, window)...)...)
		for range 5 {
			w.Pass(time.Minute) // past the reconciler run and the end of the windows
			w.Restart()
		}
		crashing.Store(false)
		if a, c := w.Done(asked), w.Done(canceled); a != "busy" || c != "canceled" {
			t.Fatalf("ended as %s and %s", a, c)
		}
		for key, id := range expires {
			want := "expired"
			if key == "holds" {
				want = "busy"
			}
			if o := w.Done(id); o != want {
				t.Fatalf("%s ended as %s, want %s", key, o, want)
			}
		}
		w.ExpectNoDuplicates()
		for _, ch := range []string{"asked", "canceled", "expires"} {
			w.InFlight(ch, 0)
		}
	})
}

// Scenario 64: ten thousand queued and a hundred active contacts across a restart.
func TestCrash_ResumesByItself(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		const queued = 10_000
		w.Channel("ch", 100)
		w.Accept("ch", world.Many("c", queued+100)...)
		w.Until("a hundred are active", func() bool { return w.Figure("ch", "active") == 100 })
		w.Restart()
		w.Within(w.Quick(), "the start", func() {
			w.Until("it counts right", func() bool { return w.Figure("ch", "in_flight") == 100 && w.Figure("ch", "queued") == queued })
		})
		w.Sent(100)
		w.Crash()
		for _, key := range w.Lab.SentKeys() { // they end while no process runs
			w.Lab.End(w.Lab.Attempt(key), "all", "completed")
		}
		w.Lab.Behave(func(l *world.Lab) {
			l.OnAsk = func(_ context.Context, a world.LabAttempt) channels.Answer {
				return channels.Answer{Status: channels.Finished, Reports: []weir.Report{{Attempt: a.Ref, Part: weir.WholeContact, Outcome: weir.Completed}}}
			}
		})
		w.Core.IdleAfter, w.Core.ReconcileEvery = 200*time.Millisecond, 200*time.Millisecond
		w.Begin()
		w.Within(w.Core.IdleAfter+w.Core.ReconcileEvery+w.Quick(), "the first new contact", func() {
			w.Until("sending resumes", func() bool { return len(w.Lab.SentKeys()) > 100 })
		})
		w.ExpectNoDuplicates()
	})
}
