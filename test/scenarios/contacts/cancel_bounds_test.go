package contacts_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"weir/channels"
	"weir/test/scenarios/world"
)

// However many contacts are canceled at once, the provider receives at most
// SendConcurrency cancels at a time.
func TestCancel_CallsToTheProviderAreBounded(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		const contacts = 200
		w.Core.SendConcurrency = 5
		w.Restart()
		var now, most atomic.Int32
		w.Lab.OnCancel = func(_ context.Context, a world.LabAttempt) channels.Cancellation {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(10 * time.Millisecond)
			now.Add(-1)
			w.Lab.End(a, "all", "canceled")
			return channels.Cancellation{Canceled: true}
		}
		w.Channel("ch", contacts)
		w.Accept("ch", world.Many("c", contacts)...)
		w.Sent(contacts)
		w.Until("all are out", func() bool { return w.Figure("ch", "active") == contacts })
		w.Call("DELETE", "/v1/channels/ch?cancel=true", nil)
		w.Until("the channel is gone", func() bool { return w.Call("GET", "/v1/channels/ch", nil).Status == 404 })
		if n := len(w.Lab.CanceledKeys()); n != contacts {
			t.Errorf("%d were canceled, want %d", n, contacts)
		}
		if most.Load() > 5 {
			t.Errorf("%d cancels at once, want at most 5", most.Load())
		}
	})
}
