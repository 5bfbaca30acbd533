package scenarios_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"weir/channels"
)

// Scenario 134: no dispatch begins before the end of the pause that the provider
// asked for: not when a dispatch that began earlier succeeds meanwhile, and not
// when a setting is changed.
func TestRetryAfter_NoDispatchBeginsBeforeItsEnd(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		const pause = 10 * time.Second
		var asked time.Time
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
				switch a.key {
				case "slow":
					time.Sleep(300 * time.Millisecond)
				case "slower":
					time.Sleep(6 * time.Second)
				case "limited":
					if asked.IsZero() {
						time.Sleep(100 * time.Millisecond)
						asked = time.Now()
						return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "rate limited", RetryAfter: pause}
					}
				}
				return l.take(a)
			}
		})
		w.channel("ch", 4)
		w.accept("ch", sms("slow"), sms("slower"), sms("limited"))
		w.pass(time.Second)
		w.accept("ch", many("c", 5)...)
		w.finish("slow")
		w.pass(time.Second)
		w.patch("ch", fields{"settings": fields{"note": "new"}})
		w.pass(7 * time.Second)
		w.lab.behave(func(l *lab) {
			for _, s := range l.sends[3:] {
				t.Errorf("%s began %v after the provider had asked for %v", s.key, s.at.Sub(asked), pause)
			}
		})
		if a := w.want(200, "GET", "/v1/channels/ch", nil); a.Body["state"] != "error" || a.Body["breaker"].(map[string]any)["state"] != "open" {
			t.Errorf("while the pause lasts the channel is %v, its breaker %v", a.Body["state"], a.Body["breaker"])
		}
		w.pass(3 * time.Second)
		w.finish("slower")
		w.until("the limited one goes", func() bool { return slices.Contains(w.lab.takenKeys(), "limited") })
		if s := w.state("ch"); s != "up" {
			t.Errorf("after the pause the channel is %s", s)
		}
		w.finish(w.lab.outKeys()...)
	})
}
