package world

import (
	"net/http"
	"sync"

	"weir/events"
)

// Receivers are the receivers of webhooks, which all processes share. Each address is one.
type Receivers struct {
	Mu    sync.Mutex
	Calls []HookCall
	Lists []hookList
	Judge func(c HookCall) int // returns the status of the answer; nil: 204

	// dieAt is the number of calls that a process survives; 0: any. From then on nothing
	// of it reaches the store, and 10 calls later none is answered.
	DieAt int
	dying *Deliverer
	Hung  int // calls that are not answered

	// A stalled process believes that it owns the database. Its calls are not answered, and what
	// it writes is on its way to the store, until it goes on.
	Stalled *Deliverer
	GoesOn  chan struct{}
	Stuck   int // calls of it
	Late    []lateWrite
	Writing int // writes on their way
}

// HookCall is a request that arrived at a receiver.
type HookCall struct {
	by            *Deliverer
	URL, ID       string
	Contact, Text string
	Status        int
}

// hookList is the list of webhooks as a process read it.
type hookList struct {
	By   *Deliverer
	List []events.Webhook
}

// lateWrite is a write of a process that had stalled.
type lateWrite struct {
	Err         error
	Wrote, Left int64 // the cursor as it wanted it, and as it was then
}

// receive receives a call, and returns what is answered when.
func (r *Receivers) receive(c HookCall) (status int, answered <-chan struct{}) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	made := 0
	for _, other := range r.Calls {
		if other.by == c.by {
			made++
		}
	}
	if r.DieAt > 0 && made >= r.DieAt && r.dying == nil {
		r.dying = c.by
	}
	hangs := r.DieAt > 0 && r.dying == c.by && made >= r.DieAt+10
	if hangs {
		if r.Hung++; r.Hung%2 == 0 {
			return 0, nil // the receiver never gets it
		}
	}
	if c.Status = http.StatusNoContent; r.Judge != nil {
		c.Status = r.Judge(c)
	}
	r.Calls = append(r.Calls, c)
	switch {
	case hangs:
		return 0, nil
	case r.Stalled == c.by:
		r.Stuck++
		return c.Status, r.GoesOn
	}
	at := make(chan struct{})
	close(at)
	return c.Status, at
}

// GoOn ends the stall of a process.
func (r *Receivers) GoOn() {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.Stalled != nil {
		r.Stalled = nil
		close(r.GoesOn)
	}
}
