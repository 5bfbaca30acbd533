package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/internal/backoff"
	"weir/router"
	"weir/router/journal"
)

// recover retries until it has a state. It begins a new incarnation, so that from then on
// anything that an earlier state left in the writer is refused.
func (r *Router) recover(ctx context.Context, gen generation, row int, h published) {
	if row > 0 && !backoff.Wait(ctx, supervise.RestartDelay(row)) {
		return
	}
	for try := 1; ; try++ {
		begun := time.Now()
		found, err := r.begin(ctx, h)
		if err == nil {
			r.metrics.recovery.Observe(time.Since(begun).Seconds())
			found.generation = gen
			r.post(found)
			return
		}
		if ctx.Err() != nil {
			return
		}
		r.log.Warn("router recovery failed; retrying", "error", err)
		if !backoff.Wait(ctx, backoff.Delay(try, minRecoveryDelay, maxRecoveryDelay)) {
			return
		}
	}
}

func (r *Router) begin(ctx context.Context, h published) (found loaded, err error) {
	if found.by, err = r.o.Store.Incarnate(ctx, 0); err != nil {
		return found, err
	}
	found.restored, err = r.restore(ctx, found.by, h)
	return found, err
}

// restore builds the state from the snapshot and the events after it. A
// snapshot always exists, so that the settings under which events were made are
// known; changed settings start with a new snapshot. missed holds the events
// that this process wrote and Watch has not received.
func (r *Router) restore(ctx context.Context, by weir.Incarnation, h published) (out restored, err error) {
	saved, err := r.o.Store.LoadSnapshot(ctx)
	if err != nil {
		return out, err
	}
	s, err := unpack(saved, r.o.Settings)
	if err != nil {
		return out, err
	}
	out.seq, out.size = saved.Seq, s.Size()
	if out.missed, err = r.replay(ctx, s, h); err != nil {
		return out, err
	}
	// The journal lacks events that were durable once. A router that began from an older state
	// would repeat what it has done since.
	if s.Seq() != saved.Last {
		return out, fmt.Errorf("the router's journal ends with event %d, not %d", s.Seq(), saved.Last)
	}
	if len(saved.Data) > 0 && s.Settings() == r.o.Settings {
		out.state = s
		return out, nil
	}
	if out.state, err = s.WithSettings(r.o.Settings); err != nil {
		return out, err
	}
	data, err := out.state.Snapshot()
	if err != nil {
		return out, err
	}
	out.seq, out.size = out.state.Seq(), out.state.Size()
	return out, r.o.Store.SaveSnapshot(ctx, by, out.seq, data)
}

// unpack returns the state of a snapshot, or an empty state if there is none
// yet.
func unpack(saved journal.Saved, settings router.Settings) (*router.State, error) {
	s := router.New(settings)
	if len(saved.Data) > 0 {
		var err error
		if s, err = router.Restore(saved.Data); err != nil {
			return nil, fmt.Errorf("the router's snapshot: %w", err)
		}
	}
	if s.Seq() != saved.Seq {
		return nil, fmt.Errorf("the router's snapshot is of event %d, not %d", s.Seq(), saved.Seq)
	}
	return s, nil
}

// replay folds the journal after the state. The next segments are read and
// decoded, which takes most of the time, while earlier ones are folded.
func (r *Router) replay(ctx context.Context, s *router.State, h published) (missed []journal.Event, err error) {
	ctx, cancel := context.WithCancel(ctx)
	chunks := make(chan decoded, 1)
	go r.readAhead(ctx, s.Seq(), chunks)
	defer func() {
		cancel()
		for range chunks { //nolint:revive // until the reader has ended
		}
	}()
	for c := range chunks {
		if c.err != nil {
			return nil, c.err
		}
		for _, found := range c.segments {
			if err := s.Replay(found...); err != nil {
				return nil, fmt.Errorf("the router's journal: %w", err)
			}
			for _, e := range found {
				if seq := e.Head().Seq; seq > h.upTo && seq <= h.written {
					missed = append(missed, e)
				}
			}
			r.metrics.replayed.Add(float64(len(found)))
		}
	}
	return missed, context.Cause(ctx)
}

// decoded holds the events of consecutive segments.
type decoded struct {
	segments [][]journal.Event
	err      error
}

// readAhead sends the journal after an event until its end, the end of ctx or
// an error.
func (r *Router) readAhead(ctx context.Context, after uint64, chunks chan<- decoded) {
	defer close(chunks)
	decoder := journal.NewDecoder()
	for ctx.Err() == nil {
		list, err := r.o.Store.Segments(ctx, after, segmentsRead)
		if err == nil && len(list) == 0 {
			return
		}
		c := decoded{make([][]journal.Event, len(list)), err}
		errs := make([]error, len(list))
		var wait sync.WaitGroup
		for part := range decoders {
			wait.Go(func() {
				for i := part; i < len(list); i += decoders {
					if c.segments[i], errs[i] = decoder.Decode(list[i].Data); errs[i] != nil {
						errs[i] = fmt.Errorf("the router's journal from event %d: %w", list[i].First, errs[i])
					}
				}
			})
		}
		wait.Wait()
		c.err = cmp.Or(err, errors.Join(errs...))
		select {
		case chunks <- c:
		case <-ctx.Done():
		}
		if c.err != nil {
			return
		}
		for _, found := range c.segments {
			after += uint64(len(found))
		}
	}
}
