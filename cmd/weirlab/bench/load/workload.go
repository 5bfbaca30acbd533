// Package load generates the contacts of a benchmark.
package load

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/machine"
)

// Workload describes the contacts of a run and how they are enqueued.
type Workload struct {
	Mode     string
	N        int
	Channels int
	Capacity int
	Batch    int           // contacts in each call
	Rate     int           // of latency: contacts per second
	Share    float64       // of loaded: the rate, as a share of that of live
	Delay    time.Duration // from the provider's answer to its report
	Answer   time.Duration // until the provider answers
	Workers  int           // of matching
	Blocked  int           // of matching: waiting jobs that no worker can take
	Streams  int           // clients that read the events
	Rules    bool          // a rule of each kind holds for the people who are contacted, and a limit for the channels
	Calls    bool          // phone calls through Verboice instead of messages through Nuntium
	Queued   int           // of backlog: existing queued contacts
	Lasting  time.Duration // of idle: how long it observes
	Baseline bool          // the baseline processes it
	// Processes is the number of processes of Weir; 0: one. At is the one that gets
	// requests and reports; empty: each in turn.
	Processes int
	At        string
	// ContactEvents is the setting of WEIR_CONTACT_EVENTS, or webhook: a webhook gets the
	// end of each contact; empty: the default.
	ContactEvents string
}

// Questions is how many questions an interview has. Each is a contact of the workload.
const Questions = 5

// Enqueuer is the broker under test, as its callers see it.
type Enqueuer interface {
	// Enqueue returns when the contacts of these numbers are durable. began is when the
	// call began; the contacts carry it.
	Enqueue(ctx context.Context, channel int, ids []int, began time.Time) error
}

// The modes.
const (
	Drain      = "drain"      // everything is queued, then the channels are opened
	Live       = "live"       // everything is queued while the channels are open
	Latency    = "latency"    // one after the other, at a fixed rate
	Loaded     = "loaded"     // the same, at a share of the rate of live: nothing waits
	Standing   = "standing"   // live, behind a queue of as many contacts
	Turnaround = "turnaround" // one channel of capacity 1
	Backlog    = "backlog"    // live, beside many contacts of a paused channel
	Restart    = "restart"    // a start with many queued contacts
	Crash      = "crash"      // live, killed twice
	Survey     = "survey"     // a survey, from its launch until it is done
	Interviews = "interviews" // a survey that asks questions, which are answered at once
	Answers    = "answers"    // the same, with as many people at a time as give a rate of answers
	Matching   = "matching"   // the router's engine finds workers for jobs
	Idle       = "idle"       // nothing to do
	Bulk       = "bulk"       // enqueuing alone, in batches of a thousand
	Router     = "router"     // jobs are created through the router's API, one after the other
)

// Which of several processes gets requests.
const (
	Owner   = "the owner" // of the database
	Standby = "a standby"
)

// Modes lists the modes.
func Modes() []string {
	return []string{Live, Standing, Drain, Latency, Loaded, Turnaround, Backlog, Restart, Crash, Survey, Interviews, Answers, Matching, Router, Idle, Bulk}
}

// StandardDelay is the delay of the standard workload.
const StandardDelay = 10 * time.Millisecond

// Variant names how contacts and provider differ from the standard workload; empty: in
// nothing.
func (w Workload) Variant() string {
	var list []string
	if w.Calls {
		list = append(list, "calls")
	}
	if w.Delay != StandardDelay {
		list = append(list, "delay "+w.Delay.String())
	}
	if w.Answer != 0 {
		list = append(list, "answer "+w.Answer.String())
	}
	if w.Mode == Matching {
		list = append(list, fmt.Sprintf("%d workers, %d waiting", w.Workers, w.Blocked))
	}
	if w.Rules {
		list = append(list, "rules")
	}
	if w.Streams > 0 {
		list = append(list, strconv.Itoa(w.Streams)+" streams")
	}
	if w.Processes > 1 {
		list = append(list, strconv.Itoa(w.Processes)+" processes")
	}
	if w.At != "" {
		list = append(list, "at "+w.At)
	}
	return strings.Join(list, ", ")
}

// ByOne returns the same workload for one process.
func (w Workload) ByOne() Workload {
	w.Processes, w.At = 0, ""
	return w
}

// Prepared reports whether the channels are closed while contacts are queued.
func (w Workload) Prepared() bool {
	return w.Mode == Drain || w.Mode == Turnaround || w.Mode == Restart || w.Mode == Bulk
}

// before returns how many of the calls come before the channels are opened.
func (w Workload) before(calls int) int {
	switch {
	case w.Prepared():
		return calls
	case w.Mode == Standing:
		return calls / 2
	}
	return 0
}

// Closed reports whether the channels are closed when the first contacts are queued.
func (w Workload) Closed() bool { return w.Prepared() || w.Mode == Standing }

// Expectation returns the description of the run for the provider.
func (w Workload) Expectation() judge.Expectation {
	return judge.Expectation{N: w.N, Channels: w.Channels, Capacity: w.Capacity, Order: w.Prepared(), Strict: w.strict()}
}

// strict reports whether every contact must arrive within as many places of its turn
// as there are slots. Not for the baseline, whose goroutines race for connections; nor
// for trial runs with few slots: other contacts take them all when the program is
// delayed for a moment.
func (w Workload) strict() bool {
	return !w.Baseline && (w.Mode == Drain && w.N >= Measured || w.Mode == Turnaround)
}

// Measured is the min number of contacts of a measurement: smaller runs are trials.
const Measured = 1000

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

// Enqueue enqueues everything: as fast as the callers can, or at a rate. Channels that are
// closed are opened as soon as what has to wait for that is queued. It returns the calls of
// runs whose order is judged.
func (w Workload) Enqueue(ctx context.Context, s Enqueuer, open func() error) (*judge.Calls, error) {
	if w.Mode == Latency || w.Mode == Loaded {
		return nil, w.enqueueAtRate(ctx, s)
	}
	turns, made := newTurns(w), judge.NewCalls(w.Expectation(), w.Batch)
	first := w.before(made.Len())
	if err := w.enqueue(ctx, s, turns, made, 0, first); err != nil {
		return made, err
	}
	if w.Closed() {
		if err := open(); err != nil {
			return made, err
		}
	}
	return made, w.enqueue(ctx, s, turns, made, first, made.Len())
}

// enqueue makes the calls from one to before another.
func (w Workload) enqueue(ctx context.Context, s Enqueuer, turns *turns, made *judge.Calls, from, to int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	next.Store(int64(from))
	var all sync.WaitGroup
	for range w.callersOf() {
		all.Go(func() {
			for k := int(next.Add(1)); k <= to && ctx.Err() == nil; k = int(next.Add(1)) {
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
	return context.Cause(ctx)
}

// call makes the k-th call: one contact, or a batch of one channel.
func (w Workload) call(ctx context.Context, s Enqueuer, k int, made *judge.Calls) error {
	ids := made.Contacts(k)
	if len(ids) == 0 {
		return nil
	}
	made.Begin(k, len(ids))
	defer made.End(k)
	return s.Enqueue(ctx, k%w.Channels, ids, time.Now())
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
	if w.Prepared() && w.Batch > 1 && w.Channels > 1 {
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
func (w Workload) enqueueAtRate(ctx context.Context, s Enqueuer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	begin := time.Now()
	calls := judge.NewCalls(w.Expectation(), w.Batch)
	for k := range calls.Len() {
		ids := calls.Contacts(k)
		if len(ids) == 0 {
			continue
		}
		if !machine.Sleep(ctx, time.Until(begin.Add(time.Duration(k*w.Batch)*time.Second/time.Duration(w.Rate)))) {
			break
		}
		began := time.Now()
		all.Go(func() {
			if err := s.Enqueue(ctx, k%w.Channels, ids, began); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
