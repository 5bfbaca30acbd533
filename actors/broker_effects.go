package actors

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"weir"
	"weir/actors/core"
	"weir/channels"
	"weir/internal/failpoint"
)

// execute carries out what the core decided.
func (b *broker) execute(e core.Effects) {
	// A hand is forgotten once it is durable what became of the attempt. The
	// writer keeps the order, so the last change of the event tells.
	forget := b.seat.claims(e.Forget)
	if len(e.Commits) == 0 {
		b.seat.drop(forget)
	}
	for i, k := range e.Commits {
		if i < len(e.Commits)-1 {
			b.commit(k, nil)
		} else {
			b.commit(k, forget)
		}
	}
	b.count(e)
	for _, r := range e.Replies {
		b.behind(func(err error) {
			if err != nil {
				r.Err = err
			}
			b.reply(r)
		})
	}
	for _, a := range e.Sends {
		b.seat.sending(a.ID, nil)
		go b.send(b.driver, b.ch.Name, a)
	}
	for _, a := range e.Asks {
		go b.ask(b.driver, b.ch.Name, b.gen, a)
	}
	for _, a := range e.Cancels {
		go b.cancel(b.life, b.driver, b.ch.Name, b.gen, a)
	}
	b.reads(e)
	if e.Prepare {
		go b.prepare(b.driver, b.ch.Name, b.gen)
	}
	if e.Status {
		go b.status(b.driver, b.ch.Name, b.gen)
	}
	switch {
	case e.Remove:
		go b.remove(b.life, b.gen)
	case e.Drained:
		b.stopSelf()
	case e.Rest:
		b.root.Send(b.parent, passivate{b.seat.channel, b.seat.seen})
	}
}

// count keeps the figures.
func (b *broker) count(e core.Effects) {
	name := b.ch.Name
	for _, f := range e.Finished {
		b.metrics.finished.WithLabelValues(name, string(f.Outcome)).Inc()
		if f.Active > 0 {
			b.metrics.active.WithLabelValues(name).Observe(f.Active.Seconds())
		}
		if f.Outcome == weir.DeadLetter {
			b.metrics.deadLetters.WithLabelValues(name).Inc()
		}
	}
	if e.Collected {
		b.metrics.gcRuns.WithLabelValues(name).Inc()
		if e.CollectedWell {
			b.metrics.gcLast.WithLabelValues(name).SetToCurrentTime()
		}
	}
	for _, k := range e.Reconciled {
		b.metrics.gcReconciled.WithLabelValues(name, knowledgeWord(k)).Inc()
	}
}

// commit hands a change to the writer. Whoever waits for it is answered by the
// writer's goroutine, so that a crash of this actor costs no answer. The
// claims to forget are dropped when it is durable.
func (b *broker) commit(k core.Commit, forget []*claim) {
	for _, ref := range k.Claimed {
		b.seat.claimed(ref)
	}
	for i := range k.Transitions {
		if t := &k.Transitions[i]; t.Was == weir.Queued && t.Contact.State == weir.Sending {
			b.metrics.wait.WithLabelValues(b.ch.Name).Observe(t.Contact.ClaimedAt.Sub(t.Contact.QueuedAt).Seconds())
		}
	}
	mark(k, "before")
	gen, self := b.gen, b.self
	w := &write{done: make(chan struct{})}
	b.last = w
	b.seat.writes.begin()
	b.store.Commit(weir.Change{Lease: b.lease, Transitions: k.Transitions, InboxDone: k.InboxDone}, func(r weir.CommitResult) {
		mark(k, "committed")
		if r.Err == nil {
			b.seat.drop(forget)
		}
		if len(k.Claimed) > 0 || k.Then != 0 || r.Err != nil || len(r.Stale) > 0 {
			b.root.Send(self, written{gen, k.Claimed, k.Then, r})
		}
		for _, reply := range k.Replies {
			if r.Err != nil || len(r.Stale) > 0 {
				reply.Err = errRestarted()
			}
			b.reply(reply)
		}
		w.failed = r.Err != nil || len(r.Stale) > 0
		close(w.done)
		b.seat.writes.end()
	})
}

// write is a change that was handed to the writer.
type write struct {
	done   chan struct{}
	failed bool // read it when done is closed
}

// behind does something when the changes handed out so far are written, at
// once if they are. A read that came before them would find contacts where
// they were; a reply could say that something is known which a crash may still
// take.
func (b *broker) behind(do func(error)) {
	w, life := b.last, b.life
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

func (w *write) err() error {
	if w.failed {
		return errRestarted()
	}
	return nil
}

// mark names the durable boundaries for the crash tests.
func mark(k core.Commit, when string) {
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

// call bounds one call of the provider and counts it.
func (b *broker) call(name, operation string, timeout time.Duration, do func(context.Context) string) {
	ctx, cancel := background(b.ctx, timeout)
	defer cancel()
	begun := time.Now()
	result := do(ctx)
	b.metrics.requests.WithLabelValues(name, operation, result).Inc()
	b.metrics.requestSeconds.WithLabelValues(name, operation, result).Observe(time.Since(begun).Seconds())
}

// panicked turns a driver's panic, which only the deferred function itself can
// recover, into a log line; the caller reports a result that is true whatever
// the driver had done.
func (b *broker) panicked(r any, name, operation string) {
	if r == nil {
		return
	}
	b.metrics.panics.Inc()
	b.logger.Error("a driver panicked", "channel", name, "operation", operation, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
}

func (b *broker) send(d channels.Driver, name string, a channels.Attempt) {
	result := channels.Sent{Fate: channels.Unclear, Reason: "the driver failed while sending", Answered: true}
	defer func() {
		b.panicked(recover(), name, "send")
		b.seat.sending(a.ID, &result)
		b.root.Send(b.seat.actor.Load(), sendDone{a.ID, result}) // which may be another by now
	}()
	if !b.leased() {
		result = channels.Sent{Fate: channels.NotSent, ChannelFault: true, Reason: "the lease ran out before it was sent"}
		return
	}
	failpoint.Hit("send.before")
	b.call(name, "send", b.sendTimeout, func(ctx context.Context) string {
		result = d.Send(ctx, a)
		return fateWord(result.Fate)
	})
	failpoint.Hit("send.answered")
}

// leased tells whether we may act for the channel. A lease that ran out while
// the store was down is renewed soon after its return and worth a wait: that
// the claim was stored says that nobody had taken it by then.
func (b *broker) leased() bool {
	limit := time.Now().Add(b.sendTimeout)
	for !b.seat.leased(time.Now()) {
		if b.seat.until.Load() == nil || time.Now().After(limit) {
			return false
		}
		select {
		case <-b.ctx.Done():
			return false
		case <-time.After(leasePoll):
		}
	}
	return true
}

func fateWord(f channels.Fate) string {
	switch f {
	case channels.Accepted:
		return "accepted"
	case channels.Refused:
		return "refused"
	case channels.NotSent:
		return "not_sent"
	default:
		return "unclear"
	}
}

func (b *broker) ask(d channels.Driver, name string, gen int64, a channels.Attempt) {
	answer := channels.Answer{Knowledge: channels.AskFailed, Reason: "the driver failed while asking"}
	defer func() {
		b.panicked(recover(), name, "ask")
		b.root.Send(b.self, askDone{gen, a.ID, answer})
	}()
	b.call(name, "ask", b.askTimeout, func(ctx context.Context) string {
		answer = d.Ask(ctx, a)
		return knowledgeWord(answer.Knowledge)
	})
	failpoint.Hit("ask.answered")
}

// knowledgeWords lists what a provider can say when it is asked.
func knowledgeWords() []string {
	var words []string
	for k := channels.Underway; k <= channels.AskFailed; k++ {
		words = append(words, knowledgeWord(k))
	}
	return words
}

func knowledgeWord(k channels.Knowledge) string {
	switch k {
	case channels.Underway:
		return "underway"
	case channels.Over:
		return "over"
	case channels.Absent:
		return "absent"
	case channels.CannotTell:
		return "cannot_tell"
	default:
		return "failed"
	}
}

// cancel waits for its turn: a channel that is deleted may have very many
// contacts to take back.
func (b *broker) cancel(life context.Context, d channels.Driver, name string, gen int64, a channels.Attempt) {
	done := channels.Cancellation{Failed: true, Reason: "the driver failed while canceling"}
	defer func() {
		b.panicked(recover(), name, "cancel")
		b.root.Send(b.self, cancelDone{gen, a.ID, done})
	}()
	select {
	case b.seat.cancels <- struct{}{}:
		defer func() { <-b.seat.cancels }()
	case <-life.Done():
		return
	}
	failpoint.Hit("take.before")
	b.call(name, "cancel", b.askTimeout, func(ctx context.Context) string {
		done = d.Cancel(ctx, a)
		switch {
		case done.Failed:
			return "failed"
		case done.Gone:
			return "gone"
		default:
			return "too_late"
		}
	})
	failpoint.Hit("take.answered")
}

func (b *broker) prepare(d channels.Driver, name string, gen int64) {
	err := fmt.Errorf("the driver failed while preparing")
	defer func() {
		b.panicked(recover(), name, "prepare")
		b.root.Send(b.self, prepareDone{gen, err})
	}()
	b.call(name, "prepare", b.askTimeout, func(ctx context.Context) string {
		if err = d.Prepare(ctx); err != nil {
			return "failed"
		}
		return "ok"
	})
}

func (b *broker) status(d channels.Driver, name string, gen int64) {
	status := channels.Status{Health: weir.Erring, Reason: "the driver failed while asking for the status"}
	defer func() {
		b.panicked(recover(), name, "status")
		b.root.Send(b.self, statusDone{gen, status})
	}()
	b.call(name, "status", b.askTimeout, func(ctx context.Context) string {
		status = d.Status(ctx)
		return string(status.Health)
	})
}

// reads starts the reads of the store, each behind what was handed out before
// it. One whose change failed is done all the same: its incarnation is over.
func (b *broker) reads(e core.Effects) {
	life, gen := b.life, b.gen
	read := func(do func()) { b.behind(func(error) { go do() }) }
	for _, p := range e.Pages {
		read(func() { b.readPage(life, gen, p) })
	}
	if e.Lanes {
		read(func() { b.readLanes(life, gen) })
	}
	if e.Due != nil {
		read(func() { b.readInstant(life, gen, core.WhatDue, *e.Due) })
	}
	if e.Overdue != nil {
		read(func() { b.readInstant(life, gen, core.WhatOverdue, *e.Overdue) })
	}
	for _, l := range e.Loads {
		read(func() { b.readContact(life, gen, l) })
	}
}

func (b *broker) readPage(ctx context.Context, gen int64, p core.Page) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	m := pageRead{gen: gen, page: p}
	m.contacts, m.err = b.store.Head(io, b.seat.channel, p.Lane, p.After, p.Limit)
	b.root.Send(b.self, m)
}

func (b *broker) readLanes(ctx context.Context, gen int64) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	m := lanesRead{gen: gen}
	if m.lanes, m.err = b.store.Lanes(io, b.seat.channel); m.err == nil {
		m.queued, m.err = b.store.QueuedCount(io, b.seat.channel)
	}
	b.root.Send(b.self, m)
}

func (b *broker) readInstant(ctx context.Context, gen int64, what core.What, r core.Read) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	m := instantRead{gen: gen, what: what}
	read := b.store.Due
	if what == core.WhatOverdue {
		read = b.store.Overdue
	}
	m.contacts, m.next, m.err = read(io, b.seat.channel, r.Until, r.Limit)
	b.root.Send(b.self, m)
}

func (b *broker) readContact(ctx context.Context, gen int64, l core.Load) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	m := contactRead{gen: gen, load: l, found: true}
	m.contact, _, m.err = b.store.Contact(io, l.Ref)
	if weir.CodeOf(m.err) == weir.CodeNotFound {
		m.found, m.err = false, nil
	}
	b.root.Send(b.self, m)
}

func (b *broker) remove(ctx context.Context, gen int64) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	b.seat.writes.wait()
	b.root.Send(b.self, removeDone{gen, b.store.DeleteChannel(io, b.seat.channel)})
}
