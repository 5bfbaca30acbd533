package surveybroker

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/internal/backoff"
)

// Messages to the broker. A message with a generation is the result of work
// that an incarnation of the actor started; results of other incarnations are
// dropped.
type (
	hint         struct{} // a change was committed or found; a round should follow
	roleAcquired struct{} // this process has acquired the role
	roleLost     struct{} // this process has lost the role
	roundDue     struct{ generation int64 }
	checkDue     struct{ generation int64 }
	roundDone    struct {
		generation int64
		result
	}
	checksDone struct {
		generation int64
		observed   map[weir.ChannelID]observation
	}
	drain struct{ done chan<- struct{} }
)

// broker is the actor. It only decides when rounds and checks begin.
type broker struct {
	*System
	generation    int64
	generationCtx context.Context
	endGeneration context.CancelFunc

	memory            *memory // owned by the running round, if there is one
	hasRole           bool
	running           bool
	hintedDuringRound bool // a hint arrived during the round
	hinted            bool // the next round has a cause other than the regular interval
	failures          int
	timer             *time.Timer
	nextRound         time.Time
	draining          []chan<- struct{}

	channelsInUse []weir.Channel
	checking      bool
	checkTimer    *time.Timer
	checkStates   map[weir.ChannelID]checkState
	observed      map[weir.ChannelID]observation // found since the latest round began
}

// Receive implements actor.Actor.
func (b *broker) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		if b.leading() {
			b.startGeneration()
		}
	case *actor.Stopping, *actor.Restarting:
		b.stopGeneration()
	case roleAcquired:
		b.startGeneration()
	case roleLost:
		b.stopGeneration()
	case hint:
		b.onHint()
	case roundDue:
		if m.generation == b.generation {
			b.nextRound = time.Time{}
			b.startRound()
		}
	case roundDone:
		if m.generation == b.generation {
			b.onRoundDone(m.result)
		}
	case checkDue:
		if m.generation == b.generation {
			b.scheduleChecks(time.Now())
		}
	case checksDone:
		if m.generation == b.generation {
			b.onChecksDone(m.observed)
		}
	case drain:
		b.draining = append(b.draining, m.done)
		b.finishDrain()
	}
}

// startGeneration starts an incarnation, with empty memory.
func (b *broker) startGeneration() {
	b.stopGeneration()
	b.generation = b.generations.Add(1)
	b.generationCtx, b.endGeneration = context.WithCancel(b.ctx)
	b.memory, b.hasRole, b.failures, b.hinted = newMemory(), true, 0, true
	b.observed, b.checkStates, b.channelsInUse = map[weir.ChannelID]observation{}, map[weir.ChannelID]checkState{}, nil
	b.startRound()
}

// stopGeneration ends an incarnation and cancels the work that it started.
func (b *broker) stopGeneration() {
	b.generation, b.hasRole, b.running, b.hintedDuringRound, b.checking = -1, false, false, false, false
	b.nextRound = time.Time{}
	for _, t := range []*time.Timer{b.timer, b.checkTimer} {
		if t != nil {
			t.Stop()
		}
	}
	if b.endGeneration != nil {
		b.endGeneration()
	}
}

func (b *broker) onHint() {
	b.System.hinted.Store(false)
	b.hinted = true
	if b.running {
		b.hintedDuringRound = true
		return
	}
	if b.failures == 0 {
		b.scheduleRound(time.Now().Add(b.batchDelay))
	}
}

// startRound begins a round.
func (b *broker) startRound() {
	if !b.hasRole || b.running || len(b.draining) > 0 || b.ctx.Err() != nil {
		return
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.nextRound, b.running = time.Time{}, true
	maps.Copy(b.memory.states, b.observed)
	clear(b.observed)
	gen, life, mem, hinted := b.generation, b.generationCtx, b.memory, b.hinted
	b.hinted, b.hintedDuringRound = false, false
	b.tasks.Go(func() {
		b.post(roundDone{gen, b.runRound(life, mem, hinted)})
	})
}

// onRoundDone schedules the round after r.
func (b *broker) onRoundDone(r result) {
	b.running = false
	b.channelsInUse = r.channelsInUse
	b.finishDrain()
	now := time.Now()
	if r.err != nil {
		b.retryRound(now, r.err)
		return
	}
	b.failures = 0
	switch {
	case r.moreWork:
		b.hinted = true
		b.startRound()
	case b.hintedDuringRound:
		b.scheduleRound(now.Add(b.batchDelay))
	default:
		b.hinted = b.hinted || !r.nextWork.IsZero() && r.nextWork.Before(now.Add(b.roundInterval))
		b.scheduleRound(earliest(now.Add(b.roundInterval), notBefore(r.nextWork, now.Add(b.batchDelay))))
	}
	for _, id := range r.recheck {
		c := b.checkStates[id]
		c.hurry = true
		b.checkStates[id] = c
	}
	b.scheduleChecks(now)
}

// retryRound schedules a retry of the round, with exponential back-off and jitter.
// After the loss of the role it waits for the regular interval.
func (b *broker) retryRound(now time.Time, err error) {
	if errors.Is(err, errRoleLost) || b.generationCtx.Err() != nil {
		b.scheduleRound(now.Add(b.roundInterval))
		return
	}
	b.metrics.roundsFailed.Inc()
	if b.failures == 0 {
		b.logger.Warn("survey round failed; retrying", "error", err)
	}
	b.failures++
	wait := backoff.Delay(b.failures, retryFirst, retryMax)
	b.hinted = true
	// hinted is set because the memory may be ahead of what was written.
	b.scheduleRound(now.Add(backoff.Jitter(wait, b.random())))
}

// notBefore returns t, or from if t is earlier. A zero t stays zero.
func notBefore(t, from time.Time) time.Time {
	if !t.IsZero() && t.Before(from) {
		return from
	}
	return t
}

// scheduleRound schedules a round at an instant, unless one is scheduled before it.
func (b *broker) scheduleRound(at time.Time) {
	if !b.hasRole || !b.nextRound.IsZero() && !at.Before(b.nextRound) {
		return
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.nextRound = at
	gen := b.generation
	b.timer = time.AfterFunc(max(0, time.Until(at)), func() { b.post(roundDue{gen}) })
}

// finishDrain releases the callers of Drain when no round is running.
func (b *broker) finishDrain() {
	if b.running {
		return
	}
	for _, done := range b.draining {
		close(done)
	}
	if len(b.draining) > 0 {
		b.draining = b.draining[:0]
		b.stopGeneration()
	}
}
