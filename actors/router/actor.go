package router

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/internal/failpoint"
	"weir/router"
)

// Receive implements actor.Actor.
func (d *routerActor) Receive(ctx actor.Context) {
	message := ctx.Message()
	if m, ok := message.(interface{ of() generation }); ok && m.of() != d.gen {
		return // of an earlier state: what it committed is in the journal, from which the present one was read
	}
	switch msg := message.(type) {
	case *call:
		d.serveCall(msg)
	case committed:
		d.committed(msg)
	case flush:
		d.journal.flushAsked = false
		d.submit()
	case tick:
		if d.open() {
			d.wakeAt = time.Time{}
			d.advance(time.Now())
			d.afterEvents()
		}
	case *actor.Started:
		d.load()
	case *actor.Restarting, *actor.Stopping:
		// Whether the store has the events that callers wait for shows only at the next load.
		d.discardState(unavailable("the outcome is unknown; try again", nil))
	default:
		d.receiveRest(msg)
	}
}

// receiveRest handles the rarer messages.
func (d *routerActor) receiveRest(msg any) {
	switch msg := msg.(type) {
	case loaded:
		d.serve(msg)
	case loadIsSlow:
		if d.mode == loading {
			d.slow = true
			d.refuseStash(errReplaying())
		}
	case supplied:
		if d.open() {
			d.supply(msg.command)
		}
	case cutNext:
		d.continueCut()
	case saved:
		d.saved(msg)
	case figuresQuery:
		msg.answer <- d.figures()
	case snapshotIsLate:
		d.log.Info("last router snapshot skipped; the next start replays the journal")
		d.end()
	case drain:
		d.drain(msg.done)
	}
}

// open reports whether the state may be changed.
func (d *routerActor) open() bool { return d.mode == serving || d.mode == draining && d.state != nil }

// serveCall serves a call, or stashes it until that is possible.
func (d *routerActor) serveCall(c *call) {
	switch d.mode {
	case loading:
		if d.slow {
			c.answer <- errReplaying()
			return
		}
		if len(d.stash) >= 2*maxCallers {
			// Only when the stash is long, so that walking it is worth the while.
			d.stash = slices.DeleteFunc(d.stash, (*call).abandoned)
		}
		d.stash = append(d.stash, c)
		return
	case draining, ended:
		c.answer <- errDraining()
		return
	case serving:
	}
	now := time.Now()
	switch {
	// Another process may serve by now, so that reads would be outdated, too.
	case !d.o.Valid():
		c.answer <- unavailable("the lease of the database could not be renewed", nil)
		return
	// Reads are still served: they add nothing to what the store has to catch up with.
	case c.view == nil && d.journal.events >= maxPending:
		d.metrics.refused.Inc()
		c.answer <- unavailable("too many events wait for the store; try again", nil)
		return
	}
	// A command must not overtake what was due before it; a read may see a state that lags.
	if !d.advance(now) && c.view == nil {
		c.answer <- unavailable("the router is catching up with overdue events; try again", nil)
		d.afterEvents()
		return
	}
	events, gone, broken, err := c.run(d.state, now)
	if broken {
		c.answer <- err
		d.log.Error("command failed; router state rebuilt", "error", err)
		d.fail(err)
		return
	}
	d.addEvents(events)
	if !gone {
		d.waiters.add(waiter{d.state.Seq(), c, err})
	}
	d.afterEvents()
}

// serve starts to work with a state.
func (d *routerActor) serve(l loaded) {
	if d.stop != nil {
		d.stop()
	}
	d.mode, d.state, d.by = serving, l.state, l.by
	ctx, stop := context.WithCancel(d.ctx)
	d.stop = stop
	in := make(chan group, maxSubmitted)
	d.journal = journalQueue{durable: l.state.Seq(), encoder: in}
	d.snapshot = snapshots{seq: l.seq, at: time.Now(), size: l.size}
	gen := d.gen
	d.task(func(context.Context) { d.encodeGroups(ctx, gen, in, l.by) })
	if len(l.missed) > 0 {
		d.o.Watch(l.missed)
	}
	d.published.upTo = max(d.published.upTo, l.state.Seq())
	d.metrics.serving.Set(1)
	d.phase.Store(Serving)
	d.log.Info("router started", "events", l.state.Seq())
	// The journal has the questions to functions, not the calls: what was not answered is asked
	// again, so that a function may be called twice for one job.
	d.functions.resume(gen, d.state)
	if l.state.Seq()-l.seq >= maxReplay {
		d.beginCut(l.state.Seq()) // so that the next start replays less
	}
	stash := d.stash
	d.stash = nil
	// What came due while no process served happens before the calls that waited.
	d.advance(time.Now())
	for _, c := range stash {
		d.serveCall(c)
	}
	if d.state != nil {
		d.afterEvents()
	}
}

// advance fires what has come due by now, but only a bounded number of events
// per call: after a long downtime most of the state may be due. caughtUp
// reports that nothing is left.
func (d *routerActor) advance(now time.Time) (caughtUp bool) {
	for n := 0; ; {
		at, ok := d.state.NextWake()
		if !ok || at.After(now) {
			return true
		}
		if n >= groupEvents || d.journal.events >= maxPending {
			return false
		}
		events, _ := d.state.Execute(nil, at)
		d.addEvents(events)
		n += len(events)
	}
}

// supply applies the result of a function. The engine refuses it if the job no
// longer waits for it.
func (d *routerActor) supply(c router.Command) {
	now := time.Now()
	if !d.advance(now) {
		now = time.Time{} // at the state's own time
	}
	events, err := d.state.Execute(c, now)
	if err != nil {
		d.log.Debug("function answer arrived too late", "error", err)
	}
	d.addEvents(events)
	d.afterEvents()
}

// committed handles the result of a group.
func (d *routerActor) committed(c committed) {
	if c.err != nil {
		d.metrics.commits.WithLabelValues(resultFailed).Inc()
		d.fail(c.err)
		return
	}
	failpoint.Hit("route.committed")
	p := &d.journal
	g := p.submitted[0]
	p.submitted[0] = group{}
	p.submitted = p.submitted[1:]
	p.durable = c.last
	p.events -= len(g.events)
	d.failures = 0
	d.metrics.committed(&g)
	d.submitNext(&g)
	d.published.upTo = c.last
	// Watch and functions get an event only now: no crash can undo it any more.
	d.o.Watch(g.events)
	for _, e := range g.events {
		d.functions.issue(d.gen, d.state, e)
	}
	d.save()
	d.afterEvents()
	d.continueDrain()
}

// saved handles the result of a snapshot. A failed one is retried when the next
// is due; the journal still holds everything.
func (d *routerActor) saved(m saved) {
	s := &d.snapshot
	s.cut, s.busy, s.at = nil, false, time.Now()
	switch {
	case errors.Is(m.err, weir.ErrSuperseded) && !s.last:
		d.fail(m.err)
		return
	case m.err != nil:
		d.log.Warn("router snapshot failed", "error", m.err)
		d.metrics.snapshots.WithLabelValues(resultFailed).Inc()
	default:
		s.seq, s.size = m.seq, m.size
		d.metrics.snapshots.WithLabelValues(resultCommitted).Inc()
	}
	if s.last {
		d.end()
		return
	}
	d.continueDrain()
}

// afterEvents answers the callers whose events are durable and schedules the next
// flush and the next timer.
func (d *routerActor) afterEvents() {
	d.metrics.replies.Add(float64(d.waiters.release(d.journal.durable)))
	d.scheduleFlush()
	d.arm()
}

// arm sets the timer to the next due instant. A timer that fires too early is
// set again.
func (d *routerActor) arm() {
	at, ok := d.state.NextWake()
	if !ok || !d.wakeAt.IsZero() && !at.Before(d.wakeAt) || d.journal.events >= maxPending {
		return
	}
	if len(d.journal.current) >= groupEvents && len(d.journal.submitted) >= maxSubmitted {
		return // the end of a commit calls afterEvents again
	}
	d.wakeAt = at
	wait := max(0, time.Until(at))
	if d.wake != nil {
		d.wake.Stop()
	}
	gen := d.gen
	d.wake = time.AfterFunc(wait, func() { d.post(tick{gen}) })
}

func (d *routerActor) figures() figures {
	if d.state == nil {
		return figures{}
	}
	return figures{d.state.Figures(), d.journal.events}
}
