package scenarios_test

import (
	"strings"
	"testing"
	"time"
)

// A deleted channel leaves no metric series behind, whether its broker runs or
// has stopped, and the deletion does not wait.
func TestDeletion_LeavesNoMetricSeries(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		for _, name := range []string{"runs", "stopped"} {
			w.channel(name, 5)
			id := w.accept(name, sms(name))[name]
			w.speaks(name)
			w.finish(name)
			w.done(id)
			if name == "stopped" {
				w.pass(w.core.StopAfter + time.Minute)
			}
			begun := time.Now()
			w.want(204, "DELETE", "/v1/channels/"+name, nil)
			if took := time.Since(begun); took > 500*time.Millisecond {
				t.Errorf("%s: the deletion took %v", name, took)
			}
			w.waitIdle()
			for line := range strings.Lines(w.want(200, "GET", "/metrics", nil).Text) {
				if strings.Contains(line, `channel="`+name+`"`) {
					t.Errorf("%s: there is still %s", name, line)
				}
			}
		}
	})
}

// The process dies after a deletion has begun, with no contact left open: the
// deletion continues by itself after the restart.
func TestDeletion_GoesOnAfterACrash(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 5)
		id := w.accept("ch", sms("a"))["a"]
		w.speaks("a")
		w.finish("a")
		w.done(id)
		w.crash()
		w.markDeleting("ch")
		w.start()
		w.until("the channel is gone", func() bool { return w.call("GET", "/v1/channels/ch", nil).Status == 404 })
		w.channel("ch", 5) // the name is free
	})
}

// markDeleting sets the mark of a deletion in a channel's row, as a process does that
// dies right after it.
func (w *world) markDeleting(name string) {
	w.Helper()
	ch, err := w.store.Channel(w.Context(), name)
	if err != nil {
		w.Fatal(err)
	}
	ch.Deleting = true
	if _, err := w.store.UpdateChannel(w.Context(), ch); err != nil {
		w.Fatal(err)
	}
}
