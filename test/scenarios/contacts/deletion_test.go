package contacts_test

import (
	"strings"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// A deleted channel leaves no metric series behind, whether its broker runs or
// has stopped, and the deletion does not wait.
func TestDeletion_LeavesNoMetricSeries(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		for _, name := range []string{"runs", "stopped"} {
			w.Channel(name, 5)
			id := w.Accept(name, world.SMS(name))[name]
			w.Speaks(name)
			w.Finish(name)
			w.Done(id)
			if name == "stopped" {
				w.Pass(w.Core.StopAfter + time.Minute)
			}
			begun := time.Now()
			w.Want(204, "DELETE", "/v1/channels/"+name, nil)
			if took := time.Since(begun); took > 500*time.Millisecond {
				t.Errorf("%s: the deletion took %v", name, took)
			}
			w.WaitIdle()
			for line := range strings.Lines(w.Want(200, "GET", "/metrics", nil).Text) {
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
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 5)
		id := w.Accept("ch", world.SMS("a"))["a"]
		w.Speaks("a")
		w.Finish("a")
		w.Done(id)
		w.Crash()
		markDeleting(w, "ch")
		w.Begin()
		w.Until("the channel is gone", func() bool { return w.Call("GET", "/v1/channels/ch", nil).Status == 404 })
		w.Channel("ch", 5) // the name is free
	})
}

// markDeleting sets the mark of a deletion in a channel's row, as a process does that
// dies right after it.
func markDeleting(w *world.World, name string) {
	w.Helper()
	ch, err := w.Store.Channel(w.Context(), name)
	if err != nil {
		w.Fatal(err)
	}
	ch.Deleting = true
	if _, err := w.Store.UpdateChannel(w.Context(), ch); err != nil {
		w.Fatal(err)
	}
}
