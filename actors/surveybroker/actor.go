package surveybroker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/actors/supervise"
	"weir/internal/backoff"
)

// Receive implements actor.Actor.
func (b *broker) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		if b.resumed.Load() {
			b.startGeneration()
		}
	case *actor.Stopping, *actor.Restarting:
		b.stopGeneration()
	case resume:
		b.startGeneration()
	case hint:
		b.onHint()
	case roundDue:
		// Messages of an earlier generation are about a memory that was dropped.
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
			b.onChecksDone(m.checked, m.observed)
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
	// The first round counts as hinted: an earlier process may have left work of any kind.
	b.memory, b.resuming, b.failures, b.hinted = newMemory(), true, 0, true
	b.observed, b.checkStates, b.channelsInUse = map[weir.ChannelID]observation{}, map[weir.ChannelID]checkState{}, nil
	b.startRound()
}

// stopGeneration ends an incarnation and cancels the work that it started.
func (b *broker) stopGeneration() {
	b.generation, b.resuming, b.running, b.hintedDuringRound, b.checking = -1, false, false, false, false
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
	// Before the round reads: a hint from now on causes another one.
	b.System.hinted.Store(false)
	b.hinted = true
	if b.running {
		b.hintedDuringRound = true
		return
	}
	// While rounds fail, hints must not shorten the back-off.
	if b.failures == 0 {
		b.scheduleRound(time.Now().Add(batchDelay))
	}
}

// onChecksDone keeps the results for the next round, because a running round owns
// the memory.
func (b *broker) onChecksDone(checked []weir.Channel, found map[weir.ChannelID]observation) {
	b.checking = false
	maps.Copy(b.observed, found)
	for _, ch := range checked {
		c := b.checkStates[ch.ID]
		switch s, ok := found[ch.ID]; {
		case !ok:
			c.hurry = true // the check had no result
		case usable(s.Health):
			c.failures = 0
		default:
			c.failures++
		}
		b.checkStates[ch.ID] = c
	}
	b.onHint()
	b.scheduleChecks(time.Now())
}

// startRound begins a round.
func (b *broker) startRound() {
	if !b.resuming || b.running || len(b.draining) > 0 || b.ctx.Err() != nil {
		return
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.nextRound, b.running = time.Time{}, true
	maps.Copy(b.memory.states, b.observed)
	clear(b.observed)
	// The round owns the memory until roundDone. The actor collects what arrives meanwhile.
	gen, life, mem, hinted := b.generation, b.generationCtx, b.memory, b.hinted
	b.hinted, b.hintedDuringRound = false, false
	b.tasks.Go(func() {
		b.post(roundDone{gen, b.runRound(life, mem, hinted)})
	})
}

// runRound runs one round. hinted reports that the round has a cause other than
// the regular interval.
func (s *System) runRound(ctx context.Context, mem *memory, hinted bool) (out result) {
	r := s.newRound(mem)
	defer func() {
		if p := recover(); p != nil {
			supervise.LogPanic(s.o.Logger, s.o.Metrics.panics, "survey round panicked", p)
			out.err = fmt.Errorf("the round panicked: %s", supervise.PanicText(p))
		}
		s.o.Metrics.roundDuration.Observe(time.Since(r.now).Seconds())
	}()
	err := r.run(ctx, hinted)
	return result{moreWork: r.moreWork, nextWork: r.nextWork, recheck: r.recheck, channelsInUse: r.channelsInUse(), err: err}
}

func (r *round) run(ctx context.Context, hinted bool) error {
	if err := r.loadChannelStates(ctx); err != nil {
		return err
	}
	// With no survey to run, one statement per interval is enough.
	outbox, poll := true, true
	r.hinted = hinted
	if !hinted && !r.memory.hasActive {
		poll = !r.memory.polledSurveys
		outbox = !poll
		r.memory.polledSurveys = poll
	}
	if poll {
		if err := r.pollSurveys(ctx); err != nil {
			return err
		}
	}
	if outbox {
		if err := r.processOutbox(ctx); err != nil {
			return err
		}
	}
	if !poll {
		r.moreWork = r.moreWork || r.hadEntries
		return nil
	}
	var bidders []*surveyState
	for _, sv := range r.memory.surveys {
		sv.backlog = 0
		open, err := r.advanceSurvey(ctx, sv)
		if err != nil {
			return err
		}
		if open {
			bidders = append(bidders, sv)
		}
	}
	err := r.feed(ctx, bidders)
	for _, sv := range r.memory.surveys {
		r.o.Metrics.backlog.WithLabelValues(sv.survey.Name).Set(float64(sv.backlog))
	}
	return err
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
		b.scheduleRound(now.Add(batchDelay))
	default:
		b.hinted = b.hinted || !r.nextWork.IsZero() && r.nextWork.Before(now.Add(b.o.RoundInterval))
		b.scheduleRound(earliest(now.Add(b.o.RoundInterval), notBefore(r.nextWork, now.Add(batchDelay))))
	}
	for _, id := range r.recheck {
		c := b.checkStates[id]
		c.hurry = true
		b.checkStates[id] = c
	}
	b.scheduleChecks(now)
}

// retryRound schedules a retry of the round, with exponential back-off and jitter.
// An incarnation that was superseded waits for the regular interval.
func (b *broker) retryRound(now time.Time, err error) {
	if errors.Is(err, weir.ErrSuperseded) || b.generationCtx.Err() != nil {
		b.scheduleRound(now.Add(b.o.RoundInterval))
		return
	}
	b.o.Metrics.roundsFailed.Inc()
	if b.failures == 0 {
		b.o.Logger.Warn("survey round failed; retrying", "error", err)
	}
	b.failures++
	wait := backoff.Delay(b.failures, retryFirst, retryMax)
	b.hinted = true
	// hinted is set because the memory may be ahead of what was written.
	b.scheduleRound(now.Add(backoff.Jitter(wait, b.o.Random())))
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
	if !b.resuming || !b.nextRound.IsZero() && !at.Before(b.nextRound) {
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
