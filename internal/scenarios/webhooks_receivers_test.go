package scenarios_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/events"
	"weir/internal/polling"
)

// receivers are the receivers of webhooks, which all processes share. Each address is one.
type receivers struct {
	mu    sync.Mutex
	calls []hookCall
	lists []hookList
	judge func(c hookCall) int // returns the status of the answer; nil: 204

	// dieAt is the number of calls that a process survives; 0: any. From then on nothing
	// of it reaches the store, and 10 calls later none is answered.
	dieAt int
	dying *deliverer
	hung  int // calls that are not answered

	// A stalled process believes that it owns the database. Its calls are not answered, and what
	// it writes is on its way to the store, until it goes on.
	stalled *deliverer
	goesOn  chan struct{}
	stuck   int // calls of it
	late    []lateWrite
	writing int // writes on their way
}

// hookCall is a request that arrived at a receiver.
type hookCall struct {
	by            *deliverer
	url, id       string
	contact, text string
	status        int
}

// hookList is the list of webhooks as a process read it.
type hookList struct {
	by   *deliverer
	list []events.Webhook
}

// lateWrite is a write of a process that had stalled.
type lateWrite struct {
	err         error
	wrote, left int64 // the cursor as it wanted it, and as it was then
}

// receive receives a call, and returns what is answered when.
func (r *receivers) receive(c hookCall) (status int, answered <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	made := 0
	for _, other := range r.calls {
		if other.by == c.by {
			made++
		}
	}
	if r.dieAt > 0 && made >= r.dieAt && r.dying == nil {
		r.dying = c.by
	}
	hangs := r.dieAt > 0 && r.dying == c.by && made >= r.dieAt+10
	if hangs {
		if r.hung++; r.hung%2 == 0 {
			return 0, nil // the receiver never gets it
		}
	}
	if c.status = http.StatusNoContent; r.judge != nil {
		c.status = r.judge(c)
	}
	r.calls = append(r.calls, c)
	switch {
	case hangs:
		return 0, nil
	case r.stalled == c.by:
		r.stuck++
		return c.status, r.goesOn
	}
	at := make(chan struct{})
	close(at)
	return c.status, at
}

// change changes the receivers under their lock.
func (r *receivers) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// stall stalls a process.
func (r *receivers) stall(d *deliverer) {
	r.change(func() { r.stalled, r.goesOn = d, make(chan struct{}) })
}

// goOn ends the stall of a process.
func (r *receivers) goOn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stalled != nil {
		r.stalled = nil
		close(r.goesOn)
	}
}

func (r *receivers) reads() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.lists)
}

// learns waits until a process that delivers has read the webhooks twice from now on, and
// found a condition to hold: by the second time it acts on the first.
func (r *receivers) learns(w *world, what string, holds func([]events.Webhook) bool) {
	w.Helper()
	from := r.reads()
	w.inTime(what, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i := from + 1; i < len(r.lists); i++ {
			if x, y := r.lists[i-1], r.lists[i]; x.by == y.by && holds(x.list) && holds(y.list) {
				return true
			}
		}
		return false
	})
}

// tried returns the calls to a receiver.
func (r *receivers) tried(name string) []hookCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.calls), func(c hookCall) bool { return c.url != hookURL(name) })
}

// got returns the events of each contact that a receiver got, in the order in which they
// came first, and how many came again. An event that comes again must have the id that it had.
func (r *receivers) got(t *testing.T, name string) (of map[string][]string, again int) {
	t.Helper()
	of = map[string][]string{}
	events, ids := map[string]string{}, map[string]string{}
	for _, c := range r.tried(name) {
		event := c.contact + " " + c.text
		if known, ok := events[c.id]; ok && known != event {
			t.Fatalf("the id %s is of %q and of %q", c.id, known, event)
		}
		if known, ok := ids[event]; ok && known != c.id {
			t.Fatalf("%q had the id %s, and has %s", event, known, c.id)
		}
		_, known := ids[event]
		events[c.id] = event
		switch {
		case c.status >= 300:
		case known:
			again++
		default:
			ids[event] = c.id
			of[c.contact] = append(of[c.contact], c.text)
		}
	}
	return of, again
}

// expect waits until a receiver has every event of every contact, each contact's in order.
func (r *receivers) expect(w *world, name string, want map[string][]string) {
	w.Helper()
	var diff string
	if !polling.Until(time.Minute, 20*time.Millisecond, func() bool {
		got, _ := r.got(w.T, name)
		diff = cmp.Diff(want, got)
		return diff == ""
	}) {
		w.Fatalf("%s got the wrong events (-want +got): %s", name, diff)
	}
}
