package scenarios_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"weir/channels"
)

// Scenario 230: a recipient that the provider does not take now is tried again when
// the provider says, more often than a contact may fail, and delays no other.
func TestNotNow_RecipientIsTriedLaterAndDelaysNoOther(t *testing.T) {
	onStores(t, func(w *world) {
		const pause = 100 * time.Millisecond
		refusals := 3
		if w.virtual {
			refusals = 6 // a dead letter has 5 failures
		}
		tries := func() (at []time.Time) {
			w.lab.behave(func(l *lab) {
				for _, s := range l.sends {
					if s.key == "busy" {
						at = append(at, s.at)
					}
				}
			})
			return at
		}
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
				if a.key == "busy" && len(tries()) <= refusals {
					return channels.SendResult{Status: channels.NotSent, Later: true, Reason: "rate limited", RetryAfter: pause}
				}
				return l.take(a)
			}
		})
		w.channel("ch", 1)
		id := w.accept("ch", sms("busy"), sms("other"))["busy"]
		w.until("the other goes", func() bool { return slices.Contains(w.lab.takenKeys(), "other") })
		if s := w.state("ch"); s != "up" {
			t.Errorf("the channel is %s", s)
		}
		w.finish("other")
		w.until("the busy one goes", func() bool { return slices.Contains(w.lab.takenKeys(), "busy") })
		at := tries()
		for i := 1; i < len(at); i++ {
			if wait := at[i].Sub(at[i-1]); wait < pause {
				t.Errorf("try %d came after %v", i+1, wait)
			}
		}
		w.finish("busy")
		if outcome := w.done(id); outcome != "completed" || len(at) != refusals+1 {
			t.Errorf("%s after %d tries", outcome, len(at))
		}
	})
}
