package surveybroker

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
)

// Messages to the broker. A message with a generation is the result of work
// that an incarnation of the actor started; results of other incarnations are
// dropped.
type (
	hint      struct{} // a change was committed or found; a round should follow
	led       struct{} // this process has acquired the role
	unled     struct{} // this process has lost the role
	tick      struct{ gen int64 }
	checkTick struct{ gen int64 }
	roundDone struct {
		gen int64
		result
	}
	checked struct {
		gen   int64
		found map[weir.ChannelID]sight
	}
	drain struct{ done chan<- struct{} }
)

// broker is the actor. It only decides when rounds and checks begin.
type broker struct {
	*System
	gen  int64
	life context.Context
	end  context.CancelFunc

	mem      *memory // owned by the running round, if there is one
	leads    bool
	running  bool
	missed   bool // a hint arrived during the round
	hinted   bool // the next round has a cause other than the regular interval
	failures int
	timer    *time.Timer
	wakeAt   time.Time
	draining []chan<- struct{}

	using    []weir.Channel
	checking bool
	checks   *time.Timer
	checkups map[weir.ChannelID]checkup
	states   map[weir.ChannelID]sight // found since the latest round began
}

// Receive implements actor.Actor.
func (b *broker) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		if b.leading() {
			b.begin()
		}
	case *actor.Stopping, *actor.Restarting:
		b.stop()
	case led:
		b.begin()
	case unled:
		b.stop()
	case hint:
		b.onHint()
	case tick:
		if m.gen == b.gen {
			b.wakeAt = time.Time{}
			b.start()
		}
	case roundDone:
		if m.gen == b.gen {
			b.onRound(m.result)
		}
	case checkTick:
		if m.gen == b.gen {
			b.planCheck(time.Now())
		}
	case checked:
		if m.gen == b.gen {
			b.onChecked(m.found)
		}
	case drain:
		b.draining = append(b.draining, m.done)
		b.drained()
	}
}

// begin starts an incarnation, with empty memory.
func (b *broker) begin() {
	b.stop()
	b.gen = b.gens.Add(1)
	b.life, b.end = context.WithCancel(b.ctx)
	b.mem, b.leads, b.failures, b.hinted = newMemory(), true, 0, true
	b.states, b.checkups, b.using = map[weir.ChannelID]sight{}, map[weir.ChannelID]checkup{}, nil
	b.start()
}

// stop ends an incarnation and cancels the work that it started.
func (b *broker) stop() {
	b.gen, b.leads, b.running, b.missed, b.checking = -1, false, false, false, false
	b.wakeAt = time.Time{}
	for _, t := range []*time.Timer{b.timer, b.checks} {
		if t != nil {
			t.Stop()
		}
	}
	if b.end != nil {
		b.end()
	}
}

func (b *broker) onHint() {
	b.System.hinted.Store(false)
	b.hinted = true
	if b.running {
		b.missed = true
		return
	}
	if b.failures == 0 {
		b.arm(time.Now().Add(b.gather))
	}
}

// start begins a round.
func (b *broker) start() {
	if !b.leads || b.running || len(b.draining) > 0 || b.ctx.Err() != nil {
		return
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.wakeAt, b.running = time.Time{}, true
	maps.Copy(b.mem.states, b.states)
	clear(b.states)
	gen, life, mem, hinted := b.gen, b.life, b.mem, b.hinted
	b.hinted, b.missed = false, false
	b.work.Go(func() {
		b.post(roundDone{gen, b.runRound(life, mem, hinted)})
	})
}

// onRound schedules the round after r.
func (b *broker) onRound(r result) {
	b.running = false
	b.using = r.using
	b.drained()
	now := time.Now()
	if r.err != nil {
		b.failed(now, r.err)
		return
	}
	b.failures = 0
	switch {
	case r.again:
		b.hinted = true
		b.start()
	case b.missed:
		b.arm(now.Add(b.gather))
	default:
		b.hinted = b.hinted || !r.next.IsZero() && r.next.Before(now.Add(b.every))
		b.arm(soonest(now.Add(b.every), later(r.next, now.Add(b.gather))))
	}
	for _, id := range r.recheck {
		c := b.checkups[id]
		c.soon = true
		b.checkups[id] = c
	}
	b.planCheck(now)
}

// failed schedules a retry of the round, with exponential back-off and jitter.
// After the loss of the role it waits for the regular interval.
func (b *broker) failed(now time.Time, err error) {
	if errors.Is(err, errRoleLost) || b.life.Err() != nil {
		b.arm(now.Add(b.every))
		return
	}
	b.metrics.failed.Inc()
	if b.failures == 0 {
		b.logger.Warn("a round of the survey broker failed; it is tried again", "error", err)
	}
	wait := min(retryFirst<<min(b.failures, 10), retryMost)
	b.failures++
	b.hinted = true
	// hinted is set because the memory may be ahead of what was written.
	b.arm(now.Add(wait/2 + time.Duration(b.chance()*float64(wait/2))))
}

// later returns t, or least if t is earlier. A zero t stays zero.
func later(t, least time.Time) time.Time {
	if !t.IsZero() && t.Before(least) {
		return least
	}
	return t
}

// arm schedules a round at an instant, unless one is scheduled before it.
func (b *broker) arm(at time.Time) {
	if !b.leads || !b.wakeAt.IsZero() && !at.Before(b.wakeAt) {
		return
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.wakeAt = at
	gen := b.gen
	b.timer = time.AfterFunc(max(0, time.Until(at)), func() { b.post(tick{gen}) })
}

// drained releases the callers of Drain when no round is running.
func (b *broker) drained() {
	if b.running {
		return
	}
	for _, done := range b.draining {
		close(done)
	}
	if len(b.draining) > 0 {
		b.draining = b.draining[:0]
		b.stop()
	}
}
