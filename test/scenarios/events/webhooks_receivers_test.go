package events_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/events"
	"weir/internal/polling"
	"weir/test/scenarios/world"
)

// change changes the receivers under their lock.
func change(r *world.Receivers, f func()) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	f()
}

// stall stalls a process.
func stall(r *world.Receivers, d *world.Deliverer) {
	change(r, func() { r.Stalled, r.GoesOn = d, make(chan struct{}) })
}

func reads(r *world.Receivers) int {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return len(r.Lists)
}

// learns waits until a process that delivers has read the webhooks twice from now on, and
// found a condition to hold: by the second time it acts on the first.
func learns(r *world.Receivers, w *world.World, what string, holds func([]events.Webhook) bool) {
	w.Helper()
	from := reads(r)
	inTime(w, what, func() bool {
		r.Mu.Lock()
		defer r.Mu.Unlock()
		for i := from + 1; i < len(r.Lists); i++ {
			if x, y := r.Lists[i-1], r.Lists[i]; x.By == y.By && holds(x.List) && holds(y.List) {
				return true
			}
		}
		return false
	})
}

// tried returns the calls to a receiver.
func tried(r *world.Receivers, name string) []world.HookCall {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.Calls), func(c world.HookCall) bool { return c.URL != hookURL(name) })
}

// got returns the events of each contact that a receiver got, in the order in which they
// came first, and how many came again. An event that comes again must have the id that it had.
func got(r *world.Receivers, t *testing.T, name string) (of map[string][]string, again int) {
	t.Helper()
	of = map[string][]string{}
	events, ids := map[string]string{}, map[string]string{}
	for _, c := range tried(r, name) {
		event := c.Contact + " " + c.Text
		if known, ok := events[c.ID]; ok && known != event {
			t.Fatalf("the id %s is of %q and of %q", c.ID, known, event)
		}
		if known, ok := ids[event]; ok && known != c.ID {
			t.Fatalf("%q had the id %s, and has %s", event, known, c.ID)
		}
		_, known := ids[event]
		events[c.ID] = event
		switch {
		case c.Status >= 300:
		case known:
			again++
		default:
			ids[event] = c.ID
			of[c.Contact] = append(of[c.Contact], c.Text)
		}
	}
	return of, again
}

// expect waits until a receiver has every event of every contact, each contact's in order.
func expect(r *world.Receivers, w *world.World, name string, want map[string][]string) {
	w.Helper()
	var diff string
	if !polling.Until(time.Minute, 20*time.Millisecond, func() bool {
		got, _ := got(r, w.T, name)
		diff = cmp.Diff(want, got)
		return diff == ""
	}) {
		w.Fatalf("%s got the wrong events (-want +got): %s", name, diff)
	}
}
