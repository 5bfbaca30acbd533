package scenarios_test

import (
	"context"
	"testing"
	"time"

	"weir/channels"
)

// Scenario 69: a cancel that fails keeps the slot and is retried.
func TestCancel_FailedCancelKeepsTheSlot(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		fail := true
		w.lab.behave(func(l *lab) {
			l.onCancel = func(_ context.Context, a labAttempt) channels.Cancellation {
				l.mu.Lock()
				failing := fail
				l.mu.Unlock()
				if failing {
					return channels.Cancellation{Failed: true, Reason: "provider error"}
				}
				l.end(a, "all", "canceled")
				return channels.Cancellation{Canceled: true}
			}
		})
		w.channel("ch", 1)
		ids := w.accept("ch", sms("a"), sms("b"))
		w.becomes(ids["a"], "active")
		w.want(202, "DELETE", "/v1/contacts/"+ids["a"], nil)
		w.pass(10 * time.Minute)
		w.sent(1)
		w.expectInFlight("ch", 1)
		if n := len(w.lab.canceledKeys()); n < 3 || n > 12 {
			t.Fatalf("the provider was asked %d times in ten minutes", n)
		}
		w.lab.behave(func(*lab) { fail = false })
		w.pass(w.core.ReconcileEvery + 3*time.Second)
		if o := w.done(ids["a"]); o != "canceled" {
			t.Fatalf("ended as %s", o)
		}
		w.sent(2)
		w.expectInFlight("ch", 1)
	})
}

// Scenario 69 where the provider cannot cancel the contact: its real outcome counts.
func TestCancel_ThatComesTooLateKeepsTheRealOutcome(t *testing.T) {
	onStores(t, func(w *world) {
		w.lab.behave(func(l *lab) {
			l.onCancel = func(context.Context, labAttempt) channels.Cancellation {
				return channels.Cancellation{Reason: "the call is being held"}
			}
		})
		w.channel("ch", 1)
		ids := w.accept("ch", sms("a"), sms("b"))
		w.becomes(ids["a"], "active")
		w.want(202, "DELETE", "/v1/contacts/"+ids["a"], nil)
		w.until("the provider was asked", func() bool { return len(w.lab.canceledKeys()) == 1 })
		w.sent(1)
		w.expectInFlight("ch", 1)
		w.finish("a")
		if o := w.done(ids["a"]); o != "completed" {
			w.Fatalf("ended as %s, want what the provider says", o)
		}
		w.sent(2)
	})
}

// canceledKeys lists the contacts that the lab was asked to cancel.
func (l *lab) canceledKeys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.canceled...)
}
