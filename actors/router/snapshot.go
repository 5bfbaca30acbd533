package router

import (
	"context"
	"time"

	"weir/internal/failpoint"
)

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
	// Not before its events are durable: after a crash, a snapshot must not be ahead of the
	// journal.
	if s.cut == nil || !s.whole || s.busy || d.journal.durable < s.upTo {
		return
	}
	s.busy = true
	cut, seq, gen, by := s.cut, s.upTo, d.gen, d.by
	d.task(func(ctx context.Context) {
		data, err := cut.Encode()
		if err == nil {
			failpoint.Hit("snapshot.before")
			err = d.o.Store.SaveSnapshot(ctx, by, seq, data)
			failpoint.Hit("snapshot.committed")
		}
		d.post(saved{gen, seq, cut.Len(), err})
	})
}
