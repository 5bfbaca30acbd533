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

// mode is the state of the desk toward callers.
type mode int

const (
	loading  mode = iota // callers wait
	standby              // another process has the role: callers are refused
	serving              // the state is loaded
	draining             // no new calls are accepted
	ended                // the role is released
)

// desk is the actor. Only the desk accesses the state.
type desk struct {
	*Router
	mode  mode
	gen   int64 // generation of the state; messages of another one are ignored
	stop  func()
	state *routing.State
	lease weir.Lease

	stash    []*call // calls that arrived while loading
	slow     bool    // loading takes long: calls are refused
	waiters  line
	pipe     pipe
	wake     *time.Timer
	wakeAt   time.Time // zero: not set
	snapshot snapshots
	drained  []chan struct{}
	row      int // failures in a row
}

// Messages of the desk to itself and of the tasks that it starts. gen
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
	impatient struct{ gen int64 }
	stoodBy   struct{ gen int64 }
	leaseGone struct{ gen int64 }
	supplied  struct {
		gen     int64
		command routing.Command
	}
	drain      struct{ done chan struct{} }
	gaveBack   struct{}
	cutFurther struct{ gen int64 }
)

// Receive implements actor.Actor.
func (d *desk) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *call:
		d.take(msg)
	case committed:
		if msg.gen == d.gen {
			d.committed(msg)
		}
	case flush:
		if msg.gen == d.gen {
			d.pipe.asked = false
			d.handOver()
		}
	case tick:
		if msg.gen == d.gen && d.open() {
			d.wakeAt = time.Time{}
			d.advance(time.Now())
			d.settle()
		}
	case *actor.Started:
		d.load()
	case *actor.Restarting, *actor.Stopping:
		d.leave(unavailable("the outcome is unknown; try again", time.Second, nil))
	default:
		d.receiveRest(msg)
	}
}

// receiveRest handles the rarer messages.
func (d *desk) receiveRest(msg any) {
	switch msg := msg.(type) {
	case loaded:
		if msg.gen == d.gen {
			d.serve(msg)
		} else {
			d.task(func(context.Context) { d.releaseRole(msg.lease) })
		}
	case stoodBy:
		if msg.gen == d.gen && d.mode == loading {
			d.mode = standby
			d.refuseStash(errElsewhere())
		}
	case impatient:
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
	case cutFurther:
		if msg.gen == d.gen {
			d.cutFurther()
		}
	case saved:
		if msg.gen == d.gen {
			d.saved(msg)
		}
	case look:
		msg.answer <- d.figures()
	case drain:
		d.drain(msg.done)
	case gaveBack:
		d.finishDrain()
	}
}

// open reports whether the state may be changed.
func (d *desk) open() bool { return d.mode == serving || d.mode == draining && d.state != nil }

// take serves a call, or stashes it until that is possible.
func (d *desk) take(c *call) {
	switch d.mode {
	case loading:
		if d.slow {
			c.answer <- errReplaying()
			return
		}
		if len(d.stash) >= 2*callersMost {
			d.stash = slices.DeleteFunc(d.stash, (*call).left)
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
	case c.look == nil && d.pipe.events >= pendingMost:
		d.metrics.refused.Inc()
		c.answer <- unavailable("too many events wait for the store; try again", time.Second, nil)
		return
	}
	if !d.advance(now) && c.look == nil {
		c.answer <- unavailable("the router is catching up with overdue events; try again", time.Second, nil)
		d.settle()
		return
	}
	events, gone, broken, err := c.run(d.state, now)
	if broken {
		c.answer <- err
		d.log.Error("command failed; router state rebuilt", "error", err)
		d.fail(err)
		return
	}
	d.collect(events)
	if !gone {
		d.waiters.add(waiter{d.state.Seq(), c, err})
	}
	d.settle()
}

// advance fires what has come due by now, but only a bounded number of events
// per call: after a long downtime most of the state may be due. caughtUp
// reports that nothing is left.
func (d *desk) advance(now time.Time) (caughtUp bool) {
	for n := 0; ; {
		at, ok := d.state.NextWake()
		if !ok || at.After(now) {
			return true
		}
		if n >= groupEvents || d.pipe.events >= pendingMost {
			return false
		}
		events, _ := d.state.Apply(nil, at)
		d.collect(events)
		n += len(events)
	}
}

// supply applies the result of a function. The engine refuses it if the job no
// longer waits for it.
func (d *desk) supply(c routing.Command) {
	now := time.Now()
	if !d.advance(now) {
		now = time.Time{} // at the state's own time
	}
	events, err := d.state.Apply(c, now)
	if err != nil {
		d.log.Debug("function answer arrived too late", "error", err)
	}
	d.collect(events)
	d.settle()
}

// settle answers the callers whose events are durable and schedules the next
// flush and the next timer.
func (d *desk) settle() {
	d.metrics.replies.Add(float64(d.waiters.release(d.pipe.durable)))
	d.askFlush()
	d.arm()
}

// arm sets the timer to the next due instant. A timer that fires too early is
// set again.
func (d *desk) arm() {
	at, ok := d.state.NextWake()
	if !ok || !d.wakeAt.IsZero() && !at.Before(d.wakeAt) || d.pipe.events >= pendingMost {
		return
	}
	if len(d.pipe.current) >= groupEvents && len(d.pipe.ahead) >= groupsAhead {
		return // the end of a commit calls settle again
	}
	d.wakeAt = at
	wait := max(0, time.Until(at))
	if d.wake != nil {
		d.wake.Stop()
	}
	gen := d.gen
	d.wake = time.AfterFunc(wait, func() { d.tell(tick{gen}) })
}

// fail discards the state, which is ahead of the journal, and rebuilds it.
func (d *desk) fail(err error) {
	d.log.Warn("router commit failed; state rebuilt", "error", err)
	d.metrics.rebuilds.Inc()
	d.row++
	d.leave(unavailable("the outcome is unknown; try again", time.Second, err))
	d.load()
}

// leave discards the state and everything that belongs to it.
func (d *desk) leave(err error) {
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
		d.heard.most = max(d.heard.most, d.state.Seq())
	}
	d.state, d.pipe, d.snapshot = nil, pipe{}, snapshots{}
	if d.mode == serving || d.mode == standby {
		d.mode = loading
	}
	d.metrics.serving.Set(0)
}

func (d *desk) refuseStash(err error) {
	for _, c := range d.stash {
		c.answer <- err
	}
	d.stash = nil
}

// drain begins the orderly end of the desk.
func (d *desk) drain(done chan struct{}) {
	d.drained = append(d.drained, done)
	if d.mode == ended {
		d.finishDrain()
		return
	}
	d.mode = draining
	d.phase.Store(Stopping)
	d.refuseStash(errDraining())
	if d.state == nil {
		d.leave(errDraining())
		d.finishDrain()
		return
	}
	d.handOver()
	d.drainFurther()
}

// drainFurther continues a drain once everything is durable, with the last
// snapshot.
func (d *desk) drainFurther() {
	if d.mode == draining && d.state != nil && d.pipe.events == 0 && d.snapshot.cut == nil {
		d.lastSnapshot()
	}
}

func (d *desk) finishDrain() {
	d.mode = ended
	for _, done := range d.drained {
		close(done)
	}
	d.drained = nil
}
