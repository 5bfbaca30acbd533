package scenarios_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"weir/channels"
)

// However many contacts are canceled at once, the provider receives at most
// SendConcurrency cancels at a time.
func TestCancel_CallsToTheProviderAreBounded(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		const contacts = 200
		w.core.SendConcurrency = 5
		w.restart()
		var now, most atomic.Int32
		w.lab.onCancel = func(_ context.Context, a labAttempt) channels.Cancellation {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(10 * time.Millisecond)
			now.Add(-1)
			w.lab.end(a, "all", "canceled")
			return channels.Cancellation{Canceled: true}
		}
		w.channel("ch", contacts)
		w.accept("ch", many("c", contacts)...)
		w.sent(contacts)
		w.until("all are out", func() bool { return w.figure("ch", "active") == contacts })
		w.call("DELETE", "/v1/channels/ch?cancel=true", nil)
		w.until("the channel is gone", func() bool { return w.call("GET", "/v1/channels/ch", nil).Status == 404 })
		if n := len(w.lab.canceledKeys()); n != contacts {
			t.Errorf("%d were canceled, want %d", n, contacts)
		}
		if most.Load() > 5 {
			t.Errorf("%d cancels at once, want at most 5", most.Load())
		}
	})
}
