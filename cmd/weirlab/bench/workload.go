package bench

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Workload describes the contacts of a run and how they are enqueued.
type Workload struct {
	Mode     string
	N        int
	Channels int
	Capacity int
	Batch    int           // contacts in each call
	Rate     int           // of latency: contacts per second
	Queued   int           // of backlog and growth: existing queued contacts
	Finished int           // of growth: existing finished contacts
	Lasting  time.Duration // of idle: how long it observes
	Floor    bool          // the baseline processes it
}

// The modes.
const (
	Drain      = "drain"      // everything is queued, then the channels are opened
	Live       = "live"       // everything is queued while the channels are open
	Latency    = "latency"    // one after the other, at a fixed rate
	Turnaround = "turnaround" // one channel of capacity 1
	Backlog    = "backlog"    // live, beside many contacts of a paused channel
	Restart    = "restart"    // a start with many queued contacts
	Crash      = "crash"      // live, killed twice
	Idle       = "idle"       // nothing to do
	Bulk       = "bulk"       // enqueuing alone, in batches of a thousand
	Growth     = "growth"     // live, beside more and more queued and finished contacts
)

func modes() []string {
	return []string{Live, Drain, Latency, Turnaround, Backlog, Restart, Crash, Idle, Bulk, Growth}
}

// prepared reports whether the channels are closed while contacts are queued.
func (w Workload) prepared() bool {
	return w.Mode == Drain || w.Mode == Turnaround || w.Mode == Restart || w.Mode == Bulk
}

// expectation returns the description of the run for the provider.
func (w Workload) expectation() expectation {
	return expectation{N: w.N, Channels: w.Channels, Capacity: w.Capacity, Order: w.prepared(), Strict: w.strict()}
}

// strict reports whether every contact must arrive within as many places of its turn
// as there are slots. Not for the baseline, whose goroutines race for connections; nor
// for trial runs with few slots, all of which go to other contacts when the program is
// delayed for a moment.
func (w Workload) strict() bool {
	return !w.Floor && (w.Mode == Drain && w.N >= patient || w.Mode == Turnaround)
}

// callersOf returns the number of concurrent callers.
func (w Workload) callersOf() int {
	switch {
	case w.Mode == Turnaround: // with one slot, order is judged to the contact
		return 1
	case w.Batch > 1:
		return 8
	}
	return 64
}

// enqueueAll enqueues everything: as fast as the callers can, or at a rate. It returns
// the calls of runs whose order is judged.
func (w Workload) enqueueAll(ctx context.Context, s subject) (*calls, error) {
	if w.Mode == Latency {
		return nil, w.enqueueAtRate(ctx, s)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	turns, made := newTurns(w), newCalls(w)
	for range w.callersOf() {
		all.Go(func() {
			for k := int(next.Add(1)); k <= len(made.spans) && ctx.Err() == nil; k = int(next.Add(1)) {
				turns.wait(k - 1)
				err := w.call(ctx, s, k-1, made)
				turns.done(k - 1)
				if err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return made, context.Cause(ctx)
}

// call makes the k-th call: one contact, or a batch of one channel.
func (w Workload) call(ctx context.Context, s subject, k int, made *calls) error {
	channel := k % w.Channels
	var list []contact
	for _, id := range w.contactsOf(k) {
		list = append(list, contact{id, channel})
	}
	if len(list) == 0 {
		return nil
	}
	made.begin(k, len(list))
	defer made.end(k)
	return s.enqueue(ctx, channel, list, time.Now())
}

// contactsOf returns the numbers of the contacts of the k-th call. Contact i, from 1,
// has channel (i − 1) mod Channels.
func (w Workload) contactsOf(k int) []int {
	var ids []int
	first := k/w.Channels*w.Batch*w.Channels + k%w.Channels
	for i := range w.Batch {
		if id := first + i*w.Channels; id < w.N {
			ids = append(ids, id+1)
		}
	}
	return ids
}

// turns keeps the batches of a channel in order where order is judged: two batches in
// transit at the same time may be accepted in either order, which moves contacts by
// more than the capacity if the batches are large.
type turns struct {
	mu       sync.Mutex
	changed  *sync.Cond
	channels int
	next     []int // by channel; nil: no order is kept
}

func newTurns(w Workload) *turns {
	t := &turns{channels: w.Channels}
	t.changed = sync.NewCond(&t.mu)
	if w.prepared() && w.Batch > 1 && w.Channels > 1 {
		t.next = make([]int, w.Channels)
	}
	return t
}

// wait returns when all earlier calls of the k-th call's channel are done.
func (t *turns) wait(k int) {
	if t.next == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.next[k%t.channels] != k/t.channels {
		t.changed.Wait()
	}
}

func (t *turns) done(k int) {
	if t.next == nil {
		return
	}
	t.mu.Lock()
	t.next[k%t.channels]++
	t.mu.Unlock()
	t.changed.Broadcast()
}

// enqueueAtRate is an open loop: a slow call delays no other.
func (w Workload) enqueueAtRate(ctx context.Context, s subject) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range w.N {
		if !sleep(ctx, time.Until(begin.Add(time.Duration(i)*time.Second/time.Duration(w.Rate)))) {
			break
		}
		began := time.Now()
		all.Go(func() {
			if err := s.enqueue(ctx, i%w.Channels, []contact{{i + 1, i % w.Channels}}, began); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
