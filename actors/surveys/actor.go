package surveys

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/internal/backoff"
)

// mailbox is the way to the broker, which may be restarted.
type mailbox struct {
	system      *actor.ActorSystem
	broker      *actor.PID
	generations atomic.Int64
	hinted      atomic.Bool // a hint is in the mailbox
	resumed     atomic.Bool
	ctx         context.Context // ends when all work must end
}

// post sends the broker a message. After Close it does nothing, because no
// actor reads the mailbox.
func (m *mailbox) post(message any) {
	if m.ctx.Err() == nil {
		m.system.Root.Send(m.broker, message)
	}
}

// hint requests a round. Hints that arrive before the round begins are merged
// into one.
func (m *mailbox) hint() {
	if m.hinted.CompareAndSwap(false, true) {
		m.post(hint{})
	}
}

// Messages to the broker. A message with a generation is the result of work
// that an incarnation of the actor started; results of other incarnations are
// dropped.
type (
	hint         struct{} // a change was committed or found; a round should follow
	resumeRounds struct{} // the surveys may run
	roundDue     struct{ generation int64 }
	checkDue     struct{ generation int64 }
	roundDone    struct {
		generation int64
		roundResult
	}
	checksDone struct {
		generation int64
		checked    []weir.Channel
		observed   map[weir.ChannelID]observation
	}
	drain struct{ done chan<- struct{} }
)

// scheduler is the actor. It only decides when rounds and checks begin.
type scheduler struct {
	io      *access
	box     *mailbox
	tasks   *sync.WaitGroup // holds the work outside the mailbox
	checker *checker

	generation    int64
	generationCtx context.Context
	endGeneration context.CancelFunc

	memory            *memory // owned by the running round, if there is one
	resuming          bool    // rounds may run
	running           bool
	hintedDuringRound bool // a hint arrived during the round
	hinted            bool // the next round has a cause other than the regular interval
	failures          int
	notBefore         time.Time // of the next round that a hint causes
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
func (b *scheduler) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		if b.box.resumed.Load() {
			b.startGeneration()
		}
	case *actor.Stopping, *actor.Restarting:
		b.stopGeneration()
	case resumeRounds:
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
			b.onRoundDone(m.roundResult)
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
func (b *scheduler) startGeneration() {
	b.stopGeneration()
	b.generation = b.box.generations.Add(1)
	b.generationCtx, b.endGeneration = context.WithCancel(b.box.ctx)
	// The first round counts as hinted: an earlier process may have left work of any kind.
	b.memory, b.resuming, b.failures, b.hinted = newMemory(), true, 0, true
	b.observed, b.checkStates, b.channelsInUse = map[weir.ChannelID]observation{}, map[weir.ChannelID]checkState{}, nil
	b.startRound()
}

// stopGeneration ends an incarnation and cancels the work that it started.
func (b *scheduler) stopGeneration() {
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

func (b *scheduler) onHint() {
	// Before the round reads: a hint from now on causes another one.
	b.box.hinted.Store(false)
	b.hinted = true
	if b.running {
		b.hintedDuringRound = true
		return
	}
	// While rounds fail, hints must not shorten the back-off.
	if b.failures == 0 {
		b.scheduleHinted(time.Now())
	}
}

// onChecksDone keeps the results for the next round, because a running round owns
// the memory.
func (b *scheduler) onChecksDone(checked []weir.Channel, found map[weir.ChannelID]observation) {
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
func (b *scheduler) startRound() {
	if !b.resuming || b.running || len(b.draining) > 0 || b.box.ctx.Err() != nil {
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
		b.box.post(roundDone{gen, runRound(life, b.io, mem, hinted)})
	})
}

// onRoundDone schedules the round after r.
func (b *scheduler) onRoundDone(r roundResult) {
	b.running = false
	b.channelsInUse = r.channelsInUse
	b.finishDrain()
	now := time.Now()
	if r.err != nil {
		b.retryRound(now, r.err)
		return
	}
	b.failures = 0
	if b.notBefore = (time.Time{}); r.patient {
		b.notBefore = r.began.Add(patientDelay)
	}
	switch {
	case r.moreWork:
		b.hinted = true
		b.startRound()
	case b.hintedDuringRound:
		b.scheduleHinted(now)
	default:
		b.hinted = b.hinted || !r.nextWork.IsZero() && r.nextWork.Before(now.Add(b.io.RoundInterval))
		b.scheduleRound(earliest(now.Add(b.io.RoundInterval), notBefore(r.nextWork, now.Add(batchDelay))))
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
func (b *scheduler) retryRound(now time.Time, err error) {
	if errors.Is(err, weir.ErrSuperseded) || b.generationCtx.Err() != nil {
		b.scheduleRound(now.Add(b.io.RoundInterval))
		return
	}
	b.io.Metrics.roundsFailed.Inc()
	if b.failures == 0 {
		b.io.Logger.Warn("survey round failed; retrying", "error", err)
	}
	b.failures++
	wait := backoff.Delay(b.failures, retryFirst, retryMax)
	b.hinted = true
	// hinted is set because the memory may be ahead of what was written.
	b.scheduleRound(now.Add(backoff.Jitter(wait, b.io.Random())))
}

// notBefore returns t, or from if t is earlier. A zero t stays zero.
func notBefore(t, from time.Time) time.Time {
	if !t.IsZero() && t.Before(from) {
		return from
	}
	return t
}

// scheduleRound schedules a round at an instant, unless one is scheduled before it.
func (b *scheduler) scheduleRound(at time.Time) {
	if !b.resuming || !b.nextRound.IsZero() && !at.Before(b.nextRound) {
		return
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.nextRound = at
	gen := b.generation
	b.timer = time.AfterFunc(max(0, time.Until(at)), func() { b.box.post(roundDue{gen}) })
}

// scheduleHinted schedules the round that follows a hint.
func (b *scheduler) scheduleHinted(now time.Time) {
	b.scheduleRound(notBefore(now.Add(batchDelay), b.notBefore))
}

// finishDrain releases the callers of Drain when no round is running.
func (b *scheduler) finishDrain() {
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

// scheduleChecks checks the channels in use that are due, or schedules the next
// check. A new channel is checked at once, then at the regular interval. One
// that does not work is checked after a pause that grows; one that a change
// concerns is checked soon.
func (b *scheduler) scheduleChecks(now time.Time) {
	if b.checking || !b.resuming || b.box.ctx.Err() != nil {
		return
	}
	var list []weir.Channel
	var next time.Time
	for _, ch := range b.channelsInUse {
		if at := b.checkStates[ch.ID].next(b.io.CheckEvery); at.After(now) {
			next = earliest(next, at)
		} else {
			list = append(list, ch)
		}
	}
	if b.checkTimer != nil {
		b.checkTimer.Stop()
	}
	gen := b.generation
	switch {
	case len(list) > 0:
		b.startChecks(now, list)
	case !next.IsZero():
		b.checkTimer = time.AfterFunc(next.Sub(now), func() { b.box.post(checkDue{gen}) })
	}
}

// startChecks checks channels, outside the mailbox.
func (b *scheduler) startChecks(now time.Time, list []weir.Channel) {
	b.checking = true
	for _, ch := range list {
		b.checkStates[ch.ID] = checkState{at: now, failures: b.checkStates[ch.ID].failures}
	}
	gen, life := b.generation, b.generationCtx
	b.tasks.Go(func() {
		b.box.post(checksDone{gen, list, b.checker.checkAll(life, list)})
	})
}
