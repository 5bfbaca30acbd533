package actors

import (
	"context"
	"slices"

	"weir"
	"weir/actors/core"
	"weir/channels"
	"weir/internal/failpoint"
	"weir/ops"
)

// execute carries out what the core decided.
func (b *broker) execute(e core.Effects) {
	// A local attempt is forgotten once its outcome is durable. The writer keeps
	// the order, so the event's last change covers those before it.
	if len(e.Commits) == 0 {
		b.state.drop(e.Forget)
	}
	for i, k := range e.Commits {
		if i < len(e.Commits)-1 {
			b.commit(k, nil)
		} else {
			b.commit(k, e.Forget)
		}
	}
	b.count(e)
	b.state.meter.gauge(b.core.Load())
	for _, r := range e.Replies {
		b.afterWrites(func(err error) {
			if err != nil {
				r.Err = err
			}
			b.reply(r)
		})
	}
	for _, a := range e.Sends {
		b.state.recordSend(a.ID, nil)
		go b.send(b.driver, b.series, a)
	}
	for _, a := range e.Asks {
		go b.ask(b.driver, b.series, b.gen, a)
	}
	for _, a := range e.Cancels {
		go b.cancel(b.lifetime, b.driver, b.series, b.gen, a)
	}
	if len(e.Pages) > 0 || len(e.Loads) > 0 || e.Lanes || e.Due != nil || e.Overdue != nil {
		b.reads(e)
	}
	if e.Prepare {
		go b.prepare(b.driver, b.series, b.gen)
	}
	if e.Status {
		go b.status(b.driver, b.series, b.gen)
	}
	switch {
	case e.Remove:
		go b.remove(b.lifetime, b.gen)
	case e.Drained:
		b.reportQuiet()
	case e.Passivate:
		b.post(b.gen, passivate{})
	}
}

// count updates the metrics.
func (b *broker) count(e core.Effects) {
	name := b.ch.Name
	for _, f := range e.Finished {
		b.series.finish(f.Outcome).Inc()
		if c, ok := ops.OutcomeCounter(f.Outcome); ok {
			b.state.meter.count(c, 1)
		}
		if f.Active > 0 {
			b.series.active().Observe(f.Active.Seconds())
		}
		if f.Outcome == weir.DeadLetter {
			b.metrics.deadLetters.WithLabelValues(name).Inc()
		}
	}
	if e.ReconcileBegun {
		b.metrics.gcRuns.Inc()
		b.state.meter.count(ops.CountReconciliations, 1)
		if e.ReconcileClean {
			b.metrics.gcLast.WithLabelValues(name).SetToCurrentTime()
		}
	}
	for _, k := range e.Reconciled {
		if k != channels.AskFailed {
			b.state.meter.count(ops.CountReconciled, 1)
		}
		b.metrics.gcReconciled.WithLabelValues(name, knowledgeLabel(k)).Inc()
	}
}

// commit submits a change to the writer. Waiters are answered by the writer's
// goroutine, so that a crash of this actor loses no reply. The attempts in forget
// are dropped when the change is durable.
func (b *broker) commit(k core.Commit, forget []weir.AttemptRef) {
	for i := range k.Transitions {
		if t := &k.Transitions[i]; t.Was == weir.Queued && t.Contact.State == weir.Sending {
			b.series.wait().Observe(t.Contact.ClaimedAt.Sub(t.Contact.QueuedAt).Seconds())
		}
	}
	hitFailpoint(k, "before")
	gen, series := b.gen, b.series
	w := &write{done: make(chan struct{})}
	b.lastWrite = w
	b.state.writes.begin()
	b.queue.Commit(weir.Change{By: b.by, Transitions: k.Transitions}, func(r weir.CommitResult) {
		hitFailpoint(k, "committed")
		if r.Err == nil {
			b.state.drop(forget)
			b.state.recordClaims(k.Claimed, r.Stale)
			b.traceDone(series, k.Transitions, r.Stale)
		}
		if len(k.Claimed) > 0 || r.Err != nil || len(r.Stale) > 0 {
			b.post(gen, written{k.Claimed, r})
		}
		for _, reply := range k.Replies {
			if r.Err != nil || len(r.Stale) > 0 {
				reply.Err = errRestarted()
			}
			b.reply(reply)
		}
		w.failed = r.Err != nil || len(r.Stale) > 0
		close(w.done)
		b.state.writes.end()
	})
}

// traceDone exports the contacts that transitions ended, without the stale ones.
func (b *broker) traceDone(f *channelSeries, list []weir.Transition, stale []weir.ContactID) {
	if b.tracing == nil {
		return
	}
	for i := range list {
		if t := &list[i]; t.Contact.State == weir.Done && t.Was != weir.Done && !slices.Contains(stale, t.Contact.ID) {
			b.tracing.Done(&t.Contact, f.name, f.typ)
		}
	}
}

// reads starts the reads of the store, each after the changes issued before it. A
// read runs even if its change failed: its incarnation is over, so the result is
// dropped.
func (b *broker) reads(e core.Effects) {
	gen, lifetime, id := b.gen, b.lifetime, b.state.channel
	read := func(do func(ctx context.Context) any) {
		b.afterWrites(func(error) {
			go func() {
				ctx, cancel := background(lifetime, ioTimeout)
				defer cancel()
				b.post(gen, do(ctx))
			}()
		})
	}
	for _, p := range e.Pages {
		read(func(ctx context.Context) any {
			list, err := b.queue.Head(ctx, id, p.Lane, p.After, p.Limit)
			return pageRead{p, list, err}
		})
	}
	if e.Lanes {
		read(func(ctx context.Context) any {
			m := lanesRead{}
			if m.lanes, m.err = b.queue.Lanes(ctx, id); m.err == nil {
				m.queued, m.err = b.queue.QueuedCount(ctx, id)
			}
			return m
		})
	}
	if e.Due != nil {
		read(func(ctx context.Context) any {
			list, next, err := b.queue.Due(ctx, id, e.Due.Until, e.Due.Limit)
			return instantRead{core.KindDue, list, next, err}
		})
	}
	if e.Overdue != nil {
		read(func(ctx context.Context) any {
			list, next, err := b.queue.Overdue(ctx, id, e.Overdue.Until, e.Overdue.Limit)
			return instantRead{core.KindOverdue, list, next, err}
		})
	}
	for _, l := range e.Loads {
		read(func(ctx context.Context) any {
			contact, _, err := b.store.Contact(ctx, l.Ref)
			if weir.CodeOf(err) == weir.CodeNotFound {
				return contactRead{load: l}
			}
			return contactRead{l, contact, true, err}
		})
	}
}

// write is a change that was submitted to the writer.
type write struct {
	done   chan struct{}
	failed bool // read it only after done is closed
}

// afterWrites runs do once the changes issued so far are written, at once if they are.
// An earlier read would find contacts in their old state; an earlier reply could
// confirm something that a crash may still undo.
func (b *broker) afterWrites(do func(error)) {
	w, life := b.lastWrite, b.lifetime
	if w == nil {
		do(nil)
		return
	}
	select {
	case <-w.done:
		do(w.err())
		return
	default:
	}
	go func() {
		select {
		case <-w.done:
			do(w.err())
		case <-life.Done():
			do(errRestarted())
		}
	}()
}

// hasFailed reports whether a write that comes before one that is written has failed.
func (w *write) hasFailed() bool {
	select {
	case <-w.done:
		return w.failed
	default:
		return true
	}
}

func (w *write) err() error {
	if w.failed {
		return errRestarted()
	}
	return nil
}

// hitFailpoint names the durable boundaries for the crash tests.
func hitFailpoint(k core.Commit, when string) {
	switch {
	case len(k.Claimed) > 0:
		failpoint.Hit("claim." + when)
	case len(k.Replies) > 0 && k.Replies[0].Verdict != "":
		failpoint.Hit("report." + when)
	case len(k.Replies) > 0:
		failpoint.Hit("cancel." + when)
	case len(k.Transitions) > 0 && k.Transitions[0].Contact.State == weir.Active:
		failpoint.Hit("ref." + when)
	}
}

func (b *broker) remove(ctx context.Context, gen int64) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	b.state.writes.wait()
	b.post(gen, removeDone{b.queue.DeleteChannel(io, b.state.channel)})
}
