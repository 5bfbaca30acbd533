package scenarios_test

import (
	"testing"
	"time"
)

// Scenario 231: a channel with a rate limit dispatches no more than that, explains
// the wait, and has the limit in its figures. Another channel is not delayed.
func TestPace_RateLimitHoldsAndIsExplained(t *testing.T) {
	onStores(t, func(w *world) {
		const rate, burst, n = 20, 2, 22
		w.channel("limited", 100)
		w.channel("free", 100)
		w.patch("limited", fields{"settings": fields{"rate_per_second": rate, "burst": burst}})
		w.accept("limited", many("l", n)...)
		w.accept("free", many("f", n)...)
		w.until("the limit is explained", func() bool {
			a := w.want(200, "GET", "/v1/channels/limited", nil)
			return a.Body["why_code"] == "rate_limit" && a.Body["rate_per_second"] == float64(rate)
		})
		if a := w.want(200, "GET", "/v1/channels/free", nil); a.Body["rate_per_second"] != nil {
			t.Errorf("a channel without a limit shows %v", a.Body["rate_per_second"])
		}
		w.sent(2 * n)
		var first, last time.Time
		w.lab.behave(func(l *lab) {
			for _, s := range l.sends {
				switch {
				case s.channel != "limited":
				case first.IsZero():
					first, last = s.at, s.at
				default:
					last = s.at
				}
			}
		})
		least := (n - burst) * time.Second / rate
		if !w.virtual {
			least -= 100 * time.Millisecond // dispatches reach the lab with a jitter
		}
		if took := last.Sub(first); took < least {
			t.Errorf("%d contacts were dispatched in %v, want %v at least", n, took, least)
		}
		w.finish(w.lab.outKeys()...)
	})
}
