package contacts_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"weir/channels"
	"weir/test/scenarios/world"
)

// Scenario 230: a recipient that the provider does not take now is tried again when
// the provider says, more often than a contact may fail, and delays no other.
func TestNotNow_RecipientIsTriedLaterAndDelaysNoOther(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		const pause = 100 * time.Millisecond
		refusals := 3
		if w.Virtual {
			refusals = 6 // a dead letter has 5 failures
		}
		tries := func() (at []time.Time) {
			w.Lab.Behave(func(l *world.Lab) {
				for _, s := range l.Sends {
					if s.Key == "busy" {
						at = append(at, s.At)
					}
				}
			})
			return at
		}
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
				if a.Key == "busy" && len(tries()) <= refusals {
					return channels.SendResult{Status: channels.NotSent, Later: true, Reason: "rate limited", RetryAfter: pause}
				}
				return l.Take(a)
			}
		})
		w.Channel("ch", 1)
		id := w.Accept("ch", world.SMS("busy"), world.SMS("other"))["busy"]
		w.Until("the other goes", func() bool { return slices.Contains(w.Lab.TakenKeys(), "other") })
		if s := w.State("ch"); s != "up" {
			t.Errorf("the channel is %s", s)
		}
		w.Finish("other")
		w.Until("the busy one goes", func() bool { return slices.Contains(w.Lab.TakenKeys(), "busy") })
		at := tries()
		for i := 1; i < len(at); i++ {
			if wait := at[i].Sub(at[i-1]); wait < pause {
				t.Errorf("try %d came after %v", i+1, wait)
			}
		}
		w.Finish("busy")
		if outcome := w.Done(id); outcome != "completed" || len(at) != refusals+1 {
			t.Errorf("%s after %d tries", outcome, len(at))
		}
	})
}
