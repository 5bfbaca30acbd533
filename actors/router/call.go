package router

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/router"
	"weir/router/journal"
)

// call is one request of a caller. Its functions belong to the caller. They run
// in the actor, but never after the caller has left.
type call struct {
	build  func(*router.State, time.Time) (router.Command, error)
	see    func(*router.State, []journal.Event)
	view   func(*router.State, time.Time)
	answer chan error
	late   *time.Timer // fires when the caller has waited too long

	mu   sync.Mutex
	gone bool
}

// abandon returns once none of the call's functions runs or will ever run.
func (c *call) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
}

// abandoned reports whether the caller has left.
func (c *call) abandoned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// run executes the call unless its caller has left. broken reports that the
// state may be half changed.
func (c *call) run(s *router.State, now time.Time) (events []journal.Event, gone, broken bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return nil, true, false, nil
	}
	applying := false
	defer func() {
		if p := recover(); p != nil {
			broken = applying
			err = &weir.Error{Code: weir.CodeInternal, Message: "the router failed on this request", Cause: fmt.Errorf("panic: %v", p)}
		}
	}()
	if c.view != nil {
		c.view(s, now)
		return nil, false, false, nil
	}
	command, err := c.build(s, now)
	if err != nil {
		return nil, false, false, err
	}
	applying = true
	events, err = s.Execute(command, now)
	applying = false
	if err == nil && c.see != nil {
		c.see(s, events)
	}
	return events, false, false, err
}

// waiterQueue is the queue of callers that wait for events to become durable, in the
// order of the events.
type waiterQueue struct {
	list  []waiter
	sweep int // length at which callers that have left are removed
}

type waiter struct {
	after uint64 // the last event that the answer may depend on
	c     *call
	err   error
}

// add appends a caller. While the store is down no caller is answered; callers
// that have left meanwhile are removed, so that the queue stays proportional to
// the callers that wait.
func (l *waiterQueue) add(w waiter) {
	if len(l.list) >= max(l.sweep, 2*maxCallers) {
		l.list = slices.DeleteFunc(l.list, func(w waiter) bool { return w.c.abandoned() })
		l.sweep = 2 * len(l.list)
	}
	l.list = append(l.list, w)
}

// release answers the callers that waited for events up to durable.
func (l *waiterQueue) release(durable uint64) (n int) {
	for n < len(l.list) && l.list[n].after <= durable {
		l.list[n].c.answer <- l.list[n].err
		n++
	}
	l.list = slices.Delete(l.list, 0, n)
	return n
}

// fail answers all callers with an error.
func (l *waiterQueue) fail(err error) {
	for _, w := range l.list {
		w.c.answer <- err
	}
	*l = waiterQueue{}
}

// figuresQuery asks the actor for its figures.
type figuresQuery struct{ answer chan figures }
