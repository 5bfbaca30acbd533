package contacts_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"weir/channels"
	"weir/test/scenarios/world"
)

// Scenario 134: no dispatch begins before the end of the pause that the provider
// asked for: not when a dispatch that began earlier succeeds meanwhile, and not
// when a setting is changed.
func TestRetryAfter_NoDispatchBeginsBeforeItsEnd(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		const pause = 10 * time.Second
		var asked time.Time
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
				switch a.Key {
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
				return l.Take(a)
			}
		})
		w.Channel("ch", 4)
		w.Accept("ch", world.SMS("slow"), world.SMS("slower"), world.SMS("limited"))
		w.Pass(time.Second)
		w.Accept("ch", world.Many("c", 5)...)
		w.Finish("slow")
		w.Pass(time.Second)
		w.Patch("ch", world.Fields{"settings": world.Fields{"note": "new"}})
		w.Pass(7 * time.Second)
		w.Lab.Behave(func(l *world.Lab) {
			for _, s := range l.Sends[3:] {
				t.Errorf("%s began %v after the provider had asked for %v", s.Key, s.At.Sub(asked), pause)
			}
		})
		if a := w.Want(200, "GET", "/v1/channels/ch", nil); a.Body["state"] != "error" || a.Body["breaker"].(map[string]any)["state"] != "open" {
			t.Errorf("while the pause lasts the channel is %v, its breaker %v", a.Body["state"], a.Body["breaker"])
		}
		w.Pass(3 * time.Second)
		w.Finish("slower")
		w.Until("the limited one goes", func() bool { return slices.Contains(w.Lab.TakenKeys(), "limited") })
		if s := w.State("ch"); s != "up" {
			t.Errorf("after the pause the channel is %s", s)
		}
		w.Finish(w.Lab.OutKeys()...)
	})
}
