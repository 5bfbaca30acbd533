package events

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"time"

	"weir/actors/supervise"
	"weir/events"
	"weir/internal/backoff"
)

const (
	flushEvery = 50 * time.Millisecond
	// idleCursorEvery is the interval for writing a cursor that only passes events which
	// the receiver does not want: after a crash they are read again.
	idleCursorEvery = time.Second
	// quietFor is how long the log is not read after a poll that returned only events
	// which the receiver does not want. There may be thousands of commits a second.
	quietFor  = 50 * time.Millisecond
	readChunk = 256
	// maxReads is how many chunks are read before results are handled.
	maxReads = 4
	// drainGrace limits how long a runner that ends waits for deliveries in flight. The next
	// runner repeats those that are cut off.
	drainGrace = 300 * time.Millisecond
)

var (
	errPurged   = errors.New("the event was purged")
	errUnwanted = errors.New("the webhook wants the event no more")
)

// runner delivers to one receiver. One goroutine owns the schedule.
type runner struct {
	o    *Options
	r    *Receiver
	wake <-chan struct{}

	schedule   *schedule
	results    chan result
	written    chan bool // whether the step that was being written is written; false once ctx has ended
	writing    bool
	lastStep   time.Time // start of the last step
	finished   bool      // a delivery finished since then
	more       bool      // the log may have more than was read
	quietUntil time.Time // until then a wake-up triggers no read
	failed     bool      // the latest read failed
	shownAt    time.Time
	full       bool // no further delivery may start before one has ended
	extra      int  // slots of the pool in use, for a webhook
}

// result is the outcome of one delivery.
type result struct {
	e      *entry
	event  *events.Event // as it was read; nil: it was not read
	status int           // of the answer of a webhook; 0: there was none
	err    error
	at     time.Time // when it began
}

// run delivers until ctx ends, then waits a little for the deliveries in flight and writes
// the progress, as long as last allows.
func (x *runner) run(ctx, last context.Context) {
	x.results, x.written = make(chan result, x.concurrency()), make(chan bool, 1)
	defer x.meter().reset()
	defer x.returnSlots(0)
	if !x.restore(ctx) {
		return
	}
	calls, hangUp := context.WithCancel(last)
	defer hangUp()
	x.more = true
	for ctx.Err() == nil {
		now := time.Now()
		x.fill(ctx, now)
		x.start(calls, now)
		x.flush(last, now)
		x.wait(ctx, now)
	}
	grace := time.AfterFunc(drainGrace, hangUp)
	defer grace.Stop()
	x.drain(last, calls)
}

// start starts the deliveries that may start.
func (x *runner) start(calls context.Context, now time.Time) {
	x.full = true
	for x.schedule.inFlight < x.concurrency() && x.takeSlot() {
		e := x.schedule.start(now)
		if e == nil {
			x.full = false
			break
		}
		event := e.event
		go func() { x.results <- x.attempt(calls, e, event) }()
	}
	x.returnSlots(x.schedule.inFlight - 1)
}

func (x *runner) concurrency() int { return cmp.Or(x.r.concurrency, x.o.Concurrency) }

func (x *runner) meter() meter {
	if x.r.hook != nil {
		return x.r.hook
	}
	return receiverMeter{x.o.Metrics, x.r.Name}
}

// restore reads the receiver's progress.
func (x *runner) restore(ctx context.Context) bool {
	for {
		p, err := x.o.Store.Progress(ctx, x.r.Name)
		if err == nil {
			if x.r.hook != nil {
				x.r.hook.restored(&p, time.Now())
			}
			x.schedule = newSchedule(p, time.Now(), x.r, x.o)
			if len(p.Deferred) > 0 { // for the gauge of the oldest event
				if list, _ := x.o.Store.EventsSince(ctx, p.Deferred[0].Event-1, 1); len(list) == 1 && list[0].ID == p.Deferred[0].Event {
					x.schedule.deferred[list[0].ID].at = list[0].At
				}
			}
			return true
		}
		x.o.Logger.Warn("receiver progress read failed; retrying", "receiver", x.r.Name, "error", err)
		if !backoff.Wait(ctx, time.Second) {
			return false
		}
	}
}

// reading reports whether the log may have more and the window has room.
func (x *runner) reading() bool {
	return x.more && len(x.schedule.window) < cmp.Or(x.r.window, x.o.Window)
}

// fill reads the log while there is room, but not for long: unwanted events may be
// written faster than they are read.
func (x *runner) fill(ctx context.Context, now time.Time) {
	seen, matched := false, false
	for n := 0; n < maxReads && x.reading() && ctx.Err() == nil; n++ {
		part, err := x.read(ctx)
		if x.failed = err != nil; x.failed {
			x.more = false // until the next poll
			x.o.Logger.Debug("event read failed; retrying", "receiver", x.r.Name, "error", err)
			return
		}
		if x.more = part.Last > 0; !x.more {
			break
		}
		if lost := part.First - x.schedule.read - 1; lost > 0 {
			x.meter().count(resultLost, int(lost))
			x.o.Logger.Error("events purged before delivery", "receiver", x.r.Name, "events", lost)
		}
		for i := range part.Events {
			if x.r.wants(part.Events[i]) {
				matched = true
				x.schedule.addNew(part.Events[i], x.r.order(part.Events[i]), now)
			}
		}
		x.schedule.read, seen = part.Last, true
	}
	if seen && !matched && !x.more {
		x.quietUntil = now.Add(quietFor)
	}
}

// read returns the next chunk of the log.
func (x *runner) read(ctx context.Context) (events.Chunk, error) {
	after := x.schedule.read
	if x.r.hook != nil {
		return x.r.hook.read(ctx, after)
	}
	if x.r.Types != nil {
		return x.o.Store.EventsOf(ctx, after, readChunk, x.r.Types...)
	}
	list, err := x.o.Store.EventsSince(ctx, after, readChunk)
	if err != nil || len(list) == 0 {
		return events.Chunk{}, err
	}
	return events.Chunk{First: list[0].ID, Last: list[len(list)-1].ID, Events: list}, nil
}

// attempt delivers one event, on a goroutine of its own.
func (x *runner) attempt(ctx context.Context, e *entry, event *events.Event) result {
	out := result{e: e, event: event, at: time.Now()}
	// Deferred events are not kept in memory: the log has them.
	if event == nil {
		list, err := x.o.Store.EventsSince(ctx, e.id-1, 1)
		switch {
		case err != nil:
			out.err = err
		case len(list) == 0 || list[0].ID != e.id:
			out.err = errPurged
		case x.r.hook != nil && !x.r.hook.sub.wants(&fed{Event: list[0]}): // its filters were others
			out.err = errUnwanted
		default:
			out.event = &list[0]
		}
	}
	if out.err == nil {
		out.status, out.err = x.deliver(ctx, *out.event)
	}
	return out
}

// deliver converts a panic of a receiver's code into an error.
func (x *runner) deliver(ctx context.Context, e events.Event) (status int, err error) {
	defer func() {
		if v := recover(); v != nil {
			x.o.Logger.Error("event delivery panicked", "receiver", x.r.Name, "event", e.ID,
				"panic", supervise.PanicText(v), "stack", string(debug.Stack()))
			err = errors.New("panic")
		}
	}()
	address := ""
	if x.r.hook != nil {
		address = x.r.hook.w.URL
	}
	ctx, span := x.o.Tracing.Delivery(ctx, x.r.Name, e.Type, e.Subject, address)
	defer func() { span.End(status, err) }()
	if h := x.r.hook; h != nil {
		return h.o.post(ctx, &h.w, e)
	}
	return 0, x.r.Deliver(ctx, e)
}

// apply applies the result of a delivery.
func (x *runner) apply(r result, now time.Time) {
	x.finished = true
	if r.event != nil {
		r.e.at = r.event.At
	}
	label := resultDelivered
	switch {
	case errors.Is(r.err, errUnwanted):
		x.schedule.finish(r.e, now)
		return
	case r.err == nil:
		x.schedule.worked(r.e)
		x.schedule.finish(r.e, now)
	case errors.Is(r.err, errPurged):
		label = resultDead
		x.schedule.finish(r.e, now)
	case r.event == nil: // the log could not be read: not the receiver's fault
		label = resultFailed
		r.e.at = now
		x.schedule.fail(r.e, now, time.Second)
		r.e.at = time.Time{}
	default:
		label = resultFailed
		demanded := demandedPause(r.err)
		x.schedule.refused(now, demanded, x.pause)
		if x.schedule.fail(r.e, now, max(demanded, x.pause(r.e.tries+1))) {
			label = resultDead
		}
	}
	x.meter().count(label, 1)
	if x.r.hook != nil && r.event != nil {
		x.r.hook.tried(r, now, label == resultDead, x.schedule.streak)
	}
	if label == resultDead {
		x.o.Logger.Error("event delivery abandoned", "receiver", x.r.Name, "event", r.e.id, "tries", r.e.tries+1)
	}
}

// pause returns the pause after the nth failure in a row.
func (x *runner) pause(n int) time.Duration {
	return backoff.Random(n, x.o.FirstPause, x.o.LastPause)
}

// flushAt returns the earliest instant of the next step.
func (x *runner) flushAt() time.Time {
	if x.finished || len(x.schedule.window) > 0 || x.schedule.inFlight > 0 {
		return x.lastStep.Add(flushEvery)
	}
	return x.lastStep.Add(idleCursorEvery)
}

// flush writes the changed progress, one step at a time.
func (x *runner) flush(ctx context.Context, now time.Time) {
	if x.writing || now.Before(x.flushAt()) {
		return
	}
	step, ok := x.schedule.step(now)
	if !ok {
		return
	}
	step.Receiver = x.r.Name
	x.writing, x.lastStep, x.finished = true, now, false
	go func() { x.written <- persist(ctx, func() error { return x.o.Store.Advance(ctx, step) }) == nil }()
}

// persist repeats a write until it succeeds, because what follows builds on it, or ctx ends.
func persist(ctx context.Context, write func() error) error {
	for {
		err := write()
		if err == nil || !backoff.Wait(ctx, time.Second) {
			return err
		}
	}
}

// wait sleeps until there is something to do.
func (x *runner) wait(ctx context.Context, now time.Time) {
	x.show(now)
	until := now.Add(x.o.PollEvery)
	if x.failed {
		until = now.Add(min(x.o.PollEvery, time.Second))
	}
	if x.reading() {
		until = now
	}
	if at := x.schedule.nextAt(); !at.IsZero() && at.Before(until) && !x.full {
		until = at
	}
	if at := x.flushAt(); at.After(now) && at.Before(until) {
		until = at
	}
	wake := x.wake
	if now.Before(x.quietUntil) { // leave the token in the channel
		wake = nil
		if x.quietUntil.Before(until) {
			until = x.quietUntil
		}
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
		x.more = true
	case <-wake:
		x.more = true
	case r := <-x.results:
		x.apply(r, time.Now())
	case <-x.written:
		x.writing = false
	}
	for {
		select {
		case r := <-x.results:
			x.apply(r, time.Now())
		default:
			return
		}
	}
}

// show sets the gauges, at most once a second.
func (x *runner) show(now time.Time) {
	if now.Sub(x.shownAt) < time.Second {
		return
	}
	x.shownAt = now
	age := 0.0
	if at := x.schedule.oldest(); !at.IsZero() {
		age = max(0, now.Sub(at).Seconds())
	}
	x.meter().gauge(age, len(x.schedule.deferred))
}

// drain waits for the deliveries in flight, as long as calls allows, and writes the
// remaining progress.
func (x *runner) drain(ctx, calls context.Context) {
	for x.schedule.inFlight > 0 {
		r := <-x.results
		if r.err != nil && calls.Err() != nil {
			x.schedule.landed(r.e) // interrupted, which is no failure
			continue
		}
		x.apply(r, time.Now())
	}
	if x.writing && !<-x.written {
		return // the next step builds on it
	}
	if step, ok := x.schedule.step(time.Now()); ok && ctx.Err() == nil {
		step.Receiver = x.r.Name
		if err := x.o.Store.Advance(ctx, step); err != nil {
			x.o.Logger.Warn("receiver progress write failed; some events will be delivered twice", "receiver", x.r.Name, "error", err)
		}
	}
}
