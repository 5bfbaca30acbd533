package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/actors/core"
	"weir/channels"
	"weir/internal/backoff"
	"weir/ops"
)

// broker is the actor of one channel: it turns messages into events of the core
// and carries out the core's effects.
type broker struct {
	*System
	state *channelState
	log   *slog.Logger

	self        *actor.PID
	parent      *actor.PID
	gen         int64
	lifetime    context.Context // of this incarnation's reads
	endLifetime context.CancelFunc
	timer       *time.Timer
	wakeAt      time.Time
	lastWrite   *write // the latest change of this incarnation; nil before the first

	core              *core.Core // nil until it is loaded, and while it rests
	ch                weir.Channel
	driver            channels.Driver
	series            *channelSeries
	by                weir.Incarnation
	failures          int // consecutive failed loads
	rejectedWrites    int // consecutive changes that the store refused
	stash             []any
	acceptedMeanwhile bool  // contacts were accepted while it was loading
	quiet             bool  // nothing is claimed any more
	resting           bool  // idle: without a core until a message comes
	ended             error // why it ends and refuses all messages; nil while it does not
}

// Receive implements actor.Actor.
func (b *broker) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		b.self, b.parent = ctx.Self(), ctx.Parent()
		b.state.actor.Store(b.self)
		b.start()
	case *actor.Stopping, *actor.Restarting:
		b.halt()
	case *actor.Stopped:
	case result:
		if m.gen == b.gen {
			b.onResult(m.msg)
		} else {
			b.onStale(m.msg)
		}
	default:
		b.handle(m)
	}
}

// start starts an incarnation.
func (b *broker) start() {
	b.newIncarnation()
	b.state.setAwake(true, b.metrics.brokers)
	go b.load(b.lifetime, b.gen)
}

// rest drops the core of an idle channel. The next message that needs it brings it back.
func (b *broker) rest() {
	if b.core.Busy() || b.quiet || b.ended != nil { // something came in between
		return
	}
	b.newIncarnation()
	b.resting = true
	b.state.setAwake(false, b.metrics.brokers)
}

// newIncarnation ends the incarnation and begins the next one with a new number.
func (b *broker) newIncarnation() {
	b.halt()
	b.gen = b.generations.Add(1)
	b.lifetime, b.endLifetime = context.WithCancel(b.ctx)
	b.core, b.lastWrite, b.resting = nil, nil, false
	b.quiet = b.System.quiet.Load()
}

// restartLater starts an incarnation after a growing delay: otherwise a change that
// the store refuses permanently would be decided again at once.
func (b *broker) restartLater() {
	b.newIncarnation()
	b.rejectedWrites++
	now := time.Now()
	b.armAt(now, now.Add(backoff.Delay(b.rejectedWrites+1, minReloadDelay, maxReloadDelay)))
}

// halt ends an incarnation: its timer and its reads.
func (b *broker) halt() {
	b.gen = -1
	b.state.claimsAtOnce.Store(false)
	b.state.meter.gauged.Store(false)
	if b.timer != nil {
		b.timer.Stop()
	}
	b.wakeAt = time.Time{}
	if b.endLifetime != nil {
		b.endLifetime()
	}
}

func (b *broker) handle(msg any) {
	if b.ended != nil && b.refuse(msg, b.ended) {
		return
	}
	switch m := msg.(type) {
	case accepting:
		b.onAccepting(m.acceptance)
	case sweepHint:
		if b.resting {
			b.start()
		} else if b.core != nil && !b.core.Busy() {
			b.event(func(c *core.Core, now time.Time) { c.Woken(now) })
		}
	case quieten:
		b.onQuieten()
	case changed:
		if b.core == nil {
			b.onWithoutCore(msg)
			return
		}
		go b.readChannel(b.lifetime, b.gen, m.done)
	case figuresRequest:
		b.onFigures(m)
	case whyRequest:
		b.onWaitReasons(m)
	case observed:
		if b.core != nil && !b.quiet {
			b.event(func(c *core.Core, now time.Time) { c.Observed(m.status, now) })
		}
	default:
		if b.core == nil {
			b.onWithoutCore(msg)
			return
		}
		b.onEvent(msg)
	}
}

// event passes an event to the core and carries out the effects.
func (b *broker) event(apply func(*core.Core, time.Time)) {
	now := time.Now()
	apply(b.core, now)
	b.execute(b.core.Take())
	b.arm(now)
	b.state.claimsAtOnce.Store(b.core.ClaimsAtOnce(now) > 0)
}

// onEvent passes on events from outside, and what became of attempts to send: they
// count whichever incarnation began them.
func (b *broker) onEvent(msg any) {
	switch m := msg.(type) {
	case accepted:
		b.event(func(c *core.Core, now time.Time) { c.Accepted(m.contacts, now) })
	case reported:
		b.event(func(c *core.Core, now time.Time) { c.Report(m.report, m.from, now) })
	case cancelRequest:
		b.event(func(c *core.Core, now time.Time) { c.Cancel(m.ref, m.from, now) })
	case sendDone:
		b.event(func(c *core.Core, now time.Time) { c.SendDone(m.attempt, m.sent, now) })
	default:
		b.log.Error("unknown message dropped", "type", fmt.Sprintf("%T", msg))
	}
}

// onResult passes on the outcome of work that this incarnation started.
func (b *broker) onResult(msg any) {
	switch m := msg.(type) {
	case written:
		b.onWritten(m)
	case acceptedReserved:
		b.event(func(c *core.Core, now time.Time) { c.AcceptedReserved(m.reserved, m.contacts, now) })
	case askDone:
		b.event(func(c *core.Core, now time.Time) { c.AskDone(m.attempt, m.answer, now) })
	case cancelDone:
		b.event(func(c *core.Core, now time.Time) { c.CancelDone(m.attempt, m.done, now) })
	case tick:
		b.onTick()
	case passivate:
		b.rest()
	case loaded:
		b.onLoaded(m)
	case channelRead:
		b.onChannelRead(m)
	case prepareDone:
		b.onPrepared(m)
	case statusDone:
		b.healths.Store(b.state.channel, health{b.ch.Name, m.status})
		b.event(func(c *core.Core, now time.Time) { c.StatusDone(m.status, now) })
	case removeDone:
		b.onRemoved(m)
	default:
		b.onRead(msg)
	}
}

// onRead passes on the result of a read of the queue.
func (b *broker) onRead(msg any) {
	switch m := msg.(type) {
	case pageRead:
		b.read(m.err, core.KindPage, m.page, func(c *core.Core, now time.Time) { c.PageRead(m.page, m.contacts, now) })
	case lanesRead:
		b.read(m.err, core.KindLanes, core.Page{}, func(c *core.Core, now time.Time) { c.LanesRead(m.lanes, m.queued, now) })
	case instantRead:
		b.read(m.err, m.kind, core.Page{}, func(c *core.Core, now time.Time) {
			if m.kind == core.KindDue {
				c.DueRead(m.contacts, m.next, now)
			} else {
				c.OverdueRead(m.contacts, m.next, now)
			}
		})
	case contactRead:
		if m.err != nil {
			b.event(func(c *core.Core, now time.Time) { c.LoadFailed(m.load, m.err, now) })
			return
		}
		b.event(func(c *core.Core, now time.Time) { c.Loaded(m.load, m.contact, m.found, now) })
	}
}

// onStale answers callers that wait for the result of an earlier incarnation. The
// result is dropped.
func (b *broker) onStale(msg any) {
	switch m := msg.(type) {
	case contactRead:
		b.reply(core.Reply{Waiter: m.load.Origin.Waiter, Err: errRestarted()})
	case channelRead:
		changed{m.done}.answer(m.err)
	case acceptedReserved:
		b.onAcceptedBefore(m.contacts)
	}
}

func (b *broker) read(err error, kind core.ReadKind, page core.Page, apply func(*core.Core, time.Time)) {
	if err != nil {
		b.log.Warn("queue read failed; retrying", "error", err)
		apply = func(c *core.Core, now time.Time) { c.ReadFailed(kind, page, now) }
	}
	b.event(apply)
}

func (b *broker) onTick() {
	b.wakeAt = time.Time{}
	if b.core == nil {
		b.start() // a load that failed: try again
		return
	}
	b.event(func(c *core.Core, now time.Time) { c.Tick(now) })
}

// arm sets the actor's only timer to the core's next instant.
func (b *broker) arm(now time.Time) {
	at := b.core.NextWake(now)
	if at.Equal(b.wakeAt) && !at.IsZero() {
		return
	}
	b.armAt(now, at)
}

func (b *broker) armAt(now, at time.Time) {
	if b.timer != nil {
		b.timer.Stop()
	}
	b.wakeAt = at
	if at.IsZero() {
		return
	}
	gen := b.gen
	b.timer = time.AfterFunc(max(at.Sub(now), time.Millisecond), func() { b.post(gen, tick{}) })
}

// onWritten handles a change that failed or that the core waits for.
func (b *broker) onWritten(m written) {
	switch {
	case errors.Is(m.result.Err, weir.ErrSuperseded): // another process owns the database, and this one ends
		b.restartLater()
	case m.result.Err != nil:
		b.log.Error("commit failed; broker reloads its state", "error", m.result.Err)
		b.metrics.reloads.Inc()
		b.restartLater()
	case len(m.claimed) > 0:
		b.rejectedWrites = 0
		b.event(func(c *core.Core, now time.Time) { c.ClaimsCommitted(m.claimed, m.result.Stale, now) })
	case len(m.result.Stale) > 0:
		b.log.Error("contacts stale; broker reloads its state", "contacts", len(m.result.Stale))
		b.metrics.reloads.Inc()
		b.start()
	}
}

// post sends the broker a result of the incarnation gen.
func (b *broker) post(gen int64, msg any) { b.root.Send(b.self, result{gen, msg}) }

// reply answers the waiter, if any, and never blocks.
func (b *broker) reply(r core.Reply) {
	if w, ok := r.Waiter.(chan core.Reply); ok {
		select {
		case w <- r:
		default:
		}
	}
}

func errRestarted() error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: "the channel's broker was restarted; try again", RetryAfter: time.Second}
}

// onWaitReasons explains why contacts wait.
func (b *broker) onWaitReasons(m whyRequest) {
	if b.core == nil || b.ended != nil {
		m.absent()
		return
	}
	now, list := time.Now(), make([]ops.Why, len(m.contacts))
	for i := range m.contacts {
		list[i] = b.core.Why(&m.contacts[i], now)
	}
	m.answer(list)
}
