package contacts_test

import (
	"context"
	"testing"
	"time"

	"weir/channels"
	"weir/test/scenarios/world"
)

// Scenario 69: a cancel that fails keeps the slot and is retried.
func TestCancel_FailedCancelKeepsTheSlot(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		fail := true
		w.Lab.Behave(func(l *world.Lab) {
			l.OnCancel = func(_ context.Context, a world.LabAttempt) channels.Cancellation {
				l.Mu.Lock()
				failing := fail
				l.Mu.Unlock()
				if failing {
					return channels.Cancellation{Failed: true, Reason: "provider error"}
				}
				l.End(a, "all", "canceled")
				return channels.Cancellation{Canceled: true}
			}
		})
		w.Channel("ch", 1)
		ids := w.Accept("ch", world.SMS("a"), world.SMS("b"))
		w.Becomes(ids["a"], "active")
		w.Want(202, "DELETE", "/v1/contacts/"+ids["a"], nil)
		w.Pass(10 * time.Minute)
		w.Sent(1)
		w.ExpectInFlight("ch", 1)
		if n := len(w.Lab.CanceledKeys()); n < 3 || n > 12 {
			t.Fatalf("the provider was asked %d times in ten minutes", n)
		}
		w.Lab.Behave(func(*world.Lab) { fail = false })
		w.Pass(w.Core.ReconcileEvery + 3*time.Second)
		if o := w.Done(ids["a"]); o != "canceled" {
			t.Fatalf("ended as %s", o)
		}
		w.Sent(2)
		w.ExpectInFlight("ch", 1)
	})
}

// Scenario 69 where the provider cannot cancel the contact: its real outcome counts.
func TestCancel_ThatComesTooLateKeepsTheRealOutcome(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Lab.Behave(func(l *world.Lab) {
			l.OnCancel = func(context.Context, world.LabAttempt) channels.Cancellation {
				return channels.Cancellation{Reason: "the call is being held"}
			}
		})
		w.Channel("ch", 1)
		ids := w.Accept("ch", world.SMS("a"), world.SMS("b"))
		w.Becomes(ids["a"], "active")
		w.Want(202, "DELETE", "/v1/contacts/"+ids["a"], nil)
		w.Until("the provider was asked", func() bool { return len(w.Lab.CanceledKeys()) == 1 })
		w.Sent(1)
		w.ExpectInFlight("ch", 1)
		w.Finish("a")
		if o := w.Done(ids["a"]); o != "completed" {
			w.Fatalf("ended as %s, want what the provider says", o)
		}
		w.Sent(2)
	})
}
