package router

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"weir"
	"weir/actors/care"
	"weir/routing"
)

// load takes the role and builds the state, beside the actor.
func (d *desk) load() {
	if d.Router.draining.Load() {
		d.finishDrain()
		return
	}
	d.mode = loading
	d.gen = d.generations.Add(1)
	gen, row, h := d.gen, d.row, d.heard
	ctx, stop := context.WithCancel(d.ctx)
	d.stop = stop
	d.task(func(context.Context) {
		select {
		case <-d.spawned:
			d.recover(ctx, gen, row, h)
		case <-ctx.Done():
		}
	})
}

// recover tries until it has the role and a state. Taking the role anew raises
// its epoch: whatever an earlier state left in the writer is refused from then on.
func (r *Router) recover(ctx context.Context, gen int64, row int, h heard) {
	for wait := standbyFirst; ; wait = min(2*wait, standbyEvery) {
		if row > 0 && !sleep(ctx, care.BackOff(row, care.RestartBase, care.RestartMost)) {
			return
		}
		row = 0
		asked := time.Now()
		l, ok, err := r.acquire(ctx)
		if ok {
			found := loaded{gen: gen, lease: l, until: asked.Add(r.o.LeaseTTL - r.margin())}
			if found.state, found.missed, err = r.restore(ctx, l, h); err == nil {
				r.metrics.recovery.Observe(time.Since(asked).Seconds())
				r.tell(found)
				return
			}
		}
		if ok && ctx.Err() != nil {
			r.releaseRole(l)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.log.Warn("the router cannot start; trying again", "error", err)
		default:
			r.tell(stoodBy{gen})
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

func (r *Router) acquire(ctx context.Context) (weir.Lease, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	return r.o.Store.AcquireRole(ctx, weir.Router)
}

// restore builds the state from the snapshot and the events after it. There is
// always a snapshot, so that the settings under which events came to be are
// known; other settings begin with a snapshot of their own. missed is what the
// watchers do not know of what this process wrote.
func (r *Router) restore(ctx context.Context, l weir.Lease, h heard) (s *routing.State, missed []routing.Event, err error) {
	var renew sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer renew.Wait()
	defer cancel()
	renew.Go(func() { r.renew(ctx, l, func(ok bool, _ time.Time) { r.stopUnless(ok, cancel) }) })
	saved, err := r.o.Store.LoadSnapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	if s, err = unpack(saved, r.o.Settings); err != nil {
		return nil, nil, err
	}
	if missed, err = r.replay(ctx, s, h); err != nil {
		return nil, nil, err
	}
	if s.Seq() != saved.Last {
		return nil, nil, fmt.Errorf("the router's journal ends with event %d, not %d", s.Seq(), saved.Last)
	}
	if len(saved.Data) > 0 && s.Settings() == r.o.Settings {
		return s, missed, nil
	}
	if s, err = s.With(r.o.Settings); err != nil {
		return nil, nil, err
	}
	data, err := s.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	return s, missed, r.o.Store.SaveSnapshot(ctx, l, s.Seq(), data)
}

// unpack gives the state of a snapshot, or an empty one if there is none yet.
func unpack(saved routing.Saved, settings routing.Settings) (*routing.State, error) {
	s := routing.New(settings)
	if len(saved.Data) > 0 {
		var err error
		if s, err = routing.Restore(saved.Data); err != nil {
			return nil, fmt.Errorf("the router's snapshot: %w", err)
		}
	}
	if s.Seq() != saved.Seq {
		return nil, fmt.Errorf("the router's snapshot is of event %d, not %d", s.Seq(), saved.Seq)
	}
	return s, nil
}

func (r *Router) stopUnless(ok bool, cancel context.CancelFunc) {
	if !ok {
		cancel()
	}
}

func (r *Router) replay(ctx context.Context, s *routing.State, h heard) (missed []routing.Event, err error) {
	decoder := routing.NewDecoder()
	for {
		list, err := r.o.Store.Segments(ctx, s.Seq(), segmentsRead)
		if err != nil || len(list) == 0 {
			return missed, err
		}
		for i := range list {
			found, err := decoder.DecodeEvents(list[i].Data)
			if err != nil {
				return nil, fmt.Errorf("the router's journal from event %d: %w", list[i].First, err)
			}
			if err := s.Fold(found...); err != nil {
				return nil, fmt.Errorf("the router's journal: %w", err)
			}
			for _, e := range found {
				if seq := e.Head().Seq; seq > h.told && seq <= h.most {
					missed = append(missed, e)
				}
			}
			r.metrics.replayed.Add(float64(len(found)))
		}
	}
}

// serve begins to work with a state.
func (d *desk) serve(l loaded) {
	if d.stop != nil {
		d.stop()
	}
	d.mode, d.state, d.lease, d.until = serving, l.state, l.lease, l.until
	ctx, stop := context.WithCancel(d.ctx)
	d.stop = stop
	in := make(chan group, groupsAhead)
	d.pipe = pipe{durable: l.state.Seq(), scribe: in}
	d.snapshot = snapshots{seq: l.state.Seq(), at: time.Now()}
	gen := d.gen
	d.task(func(context.Context) { d.scribe(ctx, gen, in, l.lease) })
	d.task(func(context.Context) {
		d.renew(ctx, l.lease, func(ok bool, until time.Time) {
			if ok {
				d.tell(renewed{gen, until})
			} else {
				d.tell(leaseGone{gen})
			}
		})
	})
	if len(l.missed) > 0 {
		d.watchers.tell(l.missed)
	}
	d.heard.told = max(d.heard.told, l.state.Seq())
	d.metrics.serving.Set(1)
	d.log.Info("the router runs", "events", l.state.Seq())
	d.functions.resume(gen, d.state)
	stash := d.stash
	d.stash = nil
	d.advance(time.Now())
	for _, c := range stash {
		d.take(c)
	}
	if d.state != nil {
		d.settle()
	}
}

// renew extends the lease again and again until it is lost or ctx ends.
func (r *Router) renew(ctx context.Context, l weir.Lease, say func(ok bool, until time.Time)) {
	wait := care.Beat(time.Now(), r.o.LeaseTTL/3)
	for sleep(ctx, wait) {
		asked := time.Now()
		io, cancel := context.WithTimeout(ctx, r.o.LeaseTTL/3)
		ok, err := r.o.Store.RenewRole(io, weir.Router, l)
		cancel()
		switch {
		case err != nil && ctx.Err() == nil:
			wait = renewRetry
			r.log.Debug("the router's lease could not be renewed; trying again", "error", err)
			continue
		case err != nil:
			return
		}
		say(ok, asked.Add(r.o.LeaseTTL-r.margin()))
		if !ok {
			return
		}
		wait = care.Beat(time.Now(), r.o.LeaseTTL/3)
	}
}

func (r *Router) releaseRole(l weir.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), ioTimeout)
	defer cancel()
	if err := r.o.Store.ReleaseRole(ctx, weir.Router, l); err != nil && !errors.Is(err, context.Canceled) {
		r.log.Warn("the router's role could not be given back; it ends by itself", "error", err)
	}
}

// sleep is false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
