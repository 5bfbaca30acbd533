package router

import (
	"context"
	"errors"
	"time"

	"weir"
	"weir/internal/failpoint"
	"weir/routing"
)

// snapshots is the progress of saving the state.
type snapshots struct {
	seq   uint64    // the last event in the latest snapshot
	at    time.Time // when the last attempt ended, or the state was loaded
	size  int       // records in it
	cut   *routing.Snapshot
	upTo  uint64 // the last event in the cut
	whole bool   // the cut is complete
	busy  bool   // the cut is being written
	last  bool   // it is the last one of a drain
}

type saved struct {
	gen  int64
	seq  uint64
	size int
	err  error
}

// maybeCut starts to copy the state if a snapshot is due. It is called when a group
// was closed, so that the snapshot ends where a segment ends.
func (d *routerActor) maybeCut(seq uint64) {
	s := &d.snapshot
	n := int(seq - s.seq)
	if s.cut == nil && d.mode == serving && (d.o.snapshotDue(n, s.size) || n > 0 && time.Since(s.at) >= d.o.SnapshotEvery) {
		d.beginCut(seq)
	}
}

// snapshotDue reports whether a snapshot is due, given the events since the last one
// and its entities. It bounds the events that a start must replay.
func (o *Options) snapshotDue(events, size int) bool {
	return events >= max(o.SnapshotEvents, size/snapshotShare)
}

func (d *routerActor) beginCut(seq uint64) {
	begin := time.Now()
	d.snapshot.cut, d.snapshot.upTo, d.snapshot.whole = d.state.BeginSnapshot(), seq, false
	d.metrics.pause.Observe(time.Since(begin).Seconds())
	d.post(cutNext{d.gen})
}

// continueCut copies some more jobs and lets other messages run in between.
func (d *routerActor) continueCut() {
	begin := time.Now()
	d.snapshot.whole = d.snapshot.cut.Step(cutJobs)
	d.metrics.pause.Observe(time.Since(begin).Seconds())
	if d.snapshot.whole {
		d.save()
		return
	}
	d.post(cutNext{d.gen})
}

// save writes a cut once its events are durable.
func (d *routerActor) save() {
	s := &d.snapshot
	if s.cut == nil || !s.whole || s.busy || d.journal.durable < s.upTo {
		return
	}
	s.busy = true
	cut, seq, gen, l := s.cut, s.upTo, d.gen, d.lease
	d.task(func(ctx context.Context) {
		data, err := cut.Encode()
		if err == nil {
			failpoint.Hit("snapshot.before")
			err = d.o.Store.SaveSnapshot(ctx, l, seq, data)
			failpoint.Hit("snapshot.committed")
		}
		d.post(saved{gen, seq, cut.Len(), err})
	})
}

// saved handles the result of a snapshot. A failed one is retried when the next
// is due; the journal still holds everything.
func (d *routerActor) saved(m saved) {
	s := &d.snapshot
	s.cut, s.busy, s.at = nil, false, time.Now()
	switch {
	case errors.Is(m.err, weir.ErrLeaseLost) && !s.last:
		d.fail(m.err)
		return
	case m.err != nil:
		d.log.Warn("router snapshot failed", "error", m.err)
		d.metrics.snapshots.WithLabelValues(resultFailed).Inc()
	default:
		s.seq, s.size = m.seq, m.size
		d.metrics.snapshots.WithLabelValues(resultCommitted).Inc()
	}
	if s.last {
		d.releaseAndEnd()
		return
	}
	d.continueDrain()
}

// lastSnapshot saves the state of a router that accepts no more calls.
func (d *routerActor) lastSnapshot() {
	s := &d.snapshot
	s.last = true
	if s.seq == d.journal.durable {
		d.releaseAndEnd()
		return
	}
	d.beginCut(d.journal.durable)
}

// releaseAndEnd discards the state and releases the role, so that a waiting process
// can acquire it.
func (d *routerActor) releaseAndEnd() {
	l := d.lease
	d.discardState(errDraining())
	d.task(func(context.Context) {
		d.releaseRole(l)
		d.post(roleReleased{})
	})
}
