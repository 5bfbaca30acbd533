package router

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/routing"
	"weir/routing/eventlog"
)

// mode is the state of the actor toward callers.
type mode int

const (
	loading  mode = iota // callers wait
	standby              // another process has the role: callers are refused
	serving              // the state is loaded
	draining             // no new calls are accepted
	ended                // the role is released
)

// routerActor is the actor. Only the actor accesses the state.
type routerActor struct {
	*Router
	mode  mode
	gen   int64 // generation of the state; messages of another one are ignored
	stop  func()
	state *routing.State
	lease weir.Lease

	stash    []*call // calls that arrived while loading
	slow     bool    // loading takes long: calls are refused
	waiters  waiterQueue
	journal  journalQueue
	wake     *time.Timer
	wakeAt   time.Time // zero: not set
	snapshot snapshots
	drained  []chan struct{}
	failures int // failures in a row
}

// Messages of the actor to itself and of the tasks that it starts. gen
// identifies messages of an earlier state.
type (
	flush     struct{ gen int64 }
	tick      struct{ gen int64 }
	committed struct {
		gen  int64
		last uint64
		err  error
	}
	loaded struct {
		restored
		gen   int64
		lease weir.Lease
	}
	restored struct {
		state  *routing.State
		missed []eventlog.Event // durable, but not passed to the watchers yet
		seq    uint64           // the last event of the snapshot
		size   int              // entities in the snapshot
	}
	loadIsSlow struct{ gen int64 }
	onStandby  struct{ gen int64 }
	leaseGone  struct{ gen int64 }
	supplied   struct {
		gen     int64
		command routing.Command
	}
	drain        struct{ done chan struct{} }
	roleReleased struct{}
	cutNext      struct{ gen int64 }
)

// Receive implements actor.Actor.
func (d *routerActor) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *call:
		d.serveCall(msg)
	case committed:
		if msg.gen == d.gen {
			d.committed(msg)
		}
	case flush:
		if msg.gen == d.gen {
			d.journal.flushAsked = false
			d.submit()
		}
	case tick:
		if msg.gen == d.gen && d.open() {
			d.wakeAt = time.Time{}
			d.advance(time.Now())
			d.afterEvents()
		}
	case *actor.Started:
		d.load()
	case *actor.Restarting, *actor.Stopping:
		d.discardState(unavailable("the outcome is unknown; try again", time.Second, nil))
	default:
		d.receiveRest(msg)
	}
}

// receiveRest handles the rarer messages.
func (d *routerActor) receiveRest(msg any) {
	switch msg := msg.(type) {
	case loaded:
		if msg.gen == d.gen {
			d.serve(msg)
		} else {
			d.task(func(context.Context) { d.releaseRole(msg.lease) })
		}
	case onStandby:
		if msg.gen == d.gen && d.mode == loading {
			d.mode = standby
			d.refuseStash(errElsewhere())
		}
	case loadIsSlow:
		if msg.gen == d.gen && d.mode == loading {
			d.slow = true
			d.refuseStash(errReplaying())
		}
	case leaseGone:
		if msg.gen == d.gen {
			d.fail(weir.ErrLeaseLost)
		}
	case supplied:
		if msg.gen == d.gen && d.open() {
			d.supply(msg.command)
		}
	case cutNext:
		if msg.gen == d.gen {
			d.continueCut()
		}
	case saved:
		if msg.gen == d.gen {
			d.saved(msg)
		}
	case figuresQuery:
		msg.answer <- d.figures()
	case drain:
		d.drain(msg.done)
	case roleReleased:
		d.finishDrain()
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
			d.stash = slices.DeleteFunc(d.stash, (*call).abandoned)
		}
		d.stash = append(d.stash, c)
		return
	case standby:
		c.answer <- d.phase.Load().refusal()
		return
	case draining, ended:
		c.answer <- errDraining()
		return
	case serving:
	}
	now := time.Now()
	switch {
	case d.o.Shared && !d.role.Valid():
		c.answer <- unavailable("the router's lease could not be renewed", time.Second, nil)
		return
	case c.view == nil && d.journal.events >= maxPending:
		d.metrics.refused.Inc()
		c.answer <- unavailable("too many events wait for the store; try again", time.Second, nil)
		return
	}
	if !d.advance(now) && c.view == nil {
		c.answer <- unavailable("the router is catching up with overdue events; try again", time.Second, nil)
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
func (d *routerActor) supply(c routing.Command) {
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

// fail discards the state, which is ahead of the journal, and rebuilds it.
func (d *routerActor) fail(err error) {
	d.log.Warn("router commit failed; state rebuilt", "error", err)
	d.metrics.rebuilds.Inc()
	d.failures++
	d.discardState(unavailable("the outcome is unknown; try again", time.Second, err))
	d.load()
}

// discardState discards the state and everything that belongs to it.
func (d *routerActor) discardState(err error) {
	d.gen = d.generations.Add(1)
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
		d.published.written = max(d.published.written, d.state.Seq())
	}
	d.state, d.journal, d.snapshot = nil, journalQueue{}, snapshots{}
	if d.mode == serving || d.mode == standby {
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
	d.continueDrain()
}

// continueDrain continues a drain once everything is durable, with the last
// snapshot.
func (d *routerActor) continueDrain() {
	if d.mode == draining && d.state != nil && d.journal.events == 0 && d.snapshot.cut == nil {
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

// figuresQuery asks the actor for its figures.
type figuresQuery struct{ answer chan figures }

func (d *routerActor) figures() figures {
	if d.state == nil {
		return figures{}
	}
	return figures{d.state.Figures(), d.journal.events}
}
