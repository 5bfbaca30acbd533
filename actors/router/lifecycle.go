package router

import (
	"context"
	"time"
)

// load starts a task that builds the state.
func (d *routerActor) load() {
	if d.Router.draining.Load() {
		d.finishDrain()
		return
	}
	d.mode = loading
	d.phase.Store(Replaying)
	d.gen = generation(d.generations.Add(1))
	gen, row, h := d.gen, d.failures, d.published
	// Callers wait while the state is loading, so that few notice another owner of the database.
	// A state that takes longer than that is not worth to wait for: they can retry.
	d.slow = false
	time.AfterFunc(loadPatience, func() { d.post(loadIsSlow{gen}) })
	ctx, stop := context.WithCancel(d.ctx)
	d.stop = stop
	d.task(func(context.Context) { d.recover(ctx, gen, row, h) })
}

// fail discards the state, which is ahead of the journal, and rebuilds it.
func (d *routerActor) fail(err error) {
	d.log.Warn("router commit failed; state rebuilt", "error", err)
	d.metrics.rebuilds.Inc()
	d.failures++
	d.discardState(unavailable("the outcome is unknown; try again", err))
	d.load()
}

// discardState discards the state and everything that belongs to it.
func (d *routerActor) discardState(err error) {
	d.gen = generation(d.generations.Add(1))
	if d.stop != nil {
		d.stop()
		d.stop = nil
	}
	if d.wake != nil {
		d.wake.Stop()
	}
	d.wake, d.wakeAt = nil, time.Time{}
	d.waiters.fail(err)
	d.refuseStash(err)
	if d.state != nil {
		// What was applied may be in the journal, although that was not confirmed: recovery
		// passes it to Watch.
		d.published.written = max(d.published.written, d.state.Seq())
	}
	d.state, d.journal, d.snapshot = nil, journalQueue{}, snapshots{}
	if d.mode == serving {
		d.mode = loading
	}
	d.metrics.serving.Set(0)
}

func (d *routerActor) refuseStash(err error) {
	for _, c := range d.stash {
		c.answer <- err
	}
	d.stash = nil
}

// drain begins the orderly end of the actor.
func (d *routerActor) drain(done chan struct{}) {
	d.drained = append(d.drained, done)
	if d.mode == ended {
		d.finishDrain()
		return
	}
	d.mode = draining
	d.phase.Store(Stopping)
	d.refuseStash(errDraining())
	if d.state == nil {
		d.discardState(errDraining())
		d.finishDrain()
		return
	}
	d.submit()
	// Goes on at once if everything is durable; otherwise the end of a commit continues it.
	d.continueDrain()
}

// snapshotPatience is how long a drain waits for the last snapshot, which saves the next
// start the replay of some events. Callers wait meanwhile.
const snapshotPatience = 300 * time.Millisecond

// continueDrain continues a drain once everything is durable, with the last
// snapshot, unless that takes too long.
func (d *routerActor) continueDrain() {
	if d.mode != draining || d.state == nil || d.journal.events > 0 {
		return
	}
	s := &d.snapshot
	if !s.awaited {
		s.awaited = true
		gen := d.gen
		time.AfterFunc(snapshotPatience, func() { d.post(snapshotIsLate{gen}) })
	}
	if s.cut == nil {
		d.lastSnapshot()
	}
}

func (d *routerActor) finishDrain() {
	d.mode = ended
	for _, done := range d.drained {
		close(done)
	}
	d.drained = nil
}

// lastSnapshot saves the state of a router that accepts no more calls.
func (d *routerActor) lastSnapshot() {
	s := &d.snapshot
	s.last = true
	if s.seq == d.journal.durable {
		d.end()
		return
	}
	d.beginCut(d.journal.durable)
}

// end discards the state and ends the drain.
func (d *routerActor) end() {
	d.discardState(errDraining())
	d.finishDrain()
}
