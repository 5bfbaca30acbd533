package contacts_test

import (
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// Scenario 231: a channel with a rate limit dispatches no more than that, explains
// the wait, and has the limit in its figures. Another channel is not delayed.
func TestPace_RateLimitHoldsAndIsExplained(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		const rate, burst, n = 20, 2, 22
		w.Channel("limited", 100)
		w.Channel("free", 100)
		w.Patch("limited", world.Fields{"settings": world.Fields{"rate_per_second": rate, "burst": burst}})
		w.Accept("limited", world.Many("l", n)...)
		w.Accept("free", world.Many("f", n)...)
		w.Until("the limit is explained", func() bool {
			a := w.Want(200, "GET", "/v1/channels/limited", nil)
			return a.Body["why_code"] == "rate_limit" && a.Body["rate_per_second"] == float64(rate)
		})
		if a := w.Want(200, "GET", "/v1/channels/free", nil); a.Body["rate_per_second"] != nil {
			t.Errorf("a channel without a limit shows %v", a.Body["rate_per_second"])
		}
		w.Sent(2 * n)
		var first, last time.Time
		w.Lab.Behave(func(l *world.Lab) {
			for _, s := range l.Sends {
				switch {
				case s.Channel != "limited":
				case first.IsZero():
					first, last = s.At, s.At
				default:
					last = s.At
				}
			}
		})
		least := (n - burst) * time.Second / rate
		if !w.Virtual {
			least -= 100 * time.Millisecond // dispatches reach the lab with a jitter
		}
		if took := last.Sub(first); took < least {
			t.Errorf("%d contacts were dispatched in %v, want %v at least", n, took, least)
		}
		w.Finish(w.Lab.OutKeys()...)
	})
}
