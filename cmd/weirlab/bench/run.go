package bench

import (
	"context"
	"errors"
	"strings"
	"time"
)

// contact is a contact of a workload.
type contact struct {
	id      int
	channel int
}

// subject is the broker under test.
type subject interface {
	// pause closes or opens every channel.
	pause(ctx context.Context, paused bool) error
	// enqueue returns when the contacts are durable. began is when the call
	// began; the contacts carry it.
	enqueue(ctx context.Context, channel int, list []contact, began time.Time) error
	// open returns how many contacts are queued, and how many are in flight.
	open(ctx context.Context) (queued, inFlight int, err error)
	// used returns the resources used so far.
	used(ctx context.Context) (cost, error)
}

// measurement is a run: a workload, the broker that processes it, and the observers of
// both.
type measurement struct {
	w      Workload
	s      subject
	p      provider
	store  *reader
	broker *broker // if it can be killed
}

// run runs the mode.
func (m measurement) run(ctx context.Context) (Figures, error) {
	switch m.w.Mode {
	case Restart:
		return m.restart(ctx)
	case Crash:
		return m.crash(ctx)
	case Idle:
		return m.idle(ctx)
	case Bulk:
		return m.bulk(ctx)
	}
	return m.through(ctx)
}

// used returns the resources that broker, store and provider have used so far.
func (m measurement) used(ctx context.Context) (cost, error) {
	c, err := m.s.used(ctx)
	if err != nil {
		return c, err
	}
	if c, err = m.store.add(ctx, c); err != nil {
		return c, err
	}
	seen, err := m.p.figures(ctx)
	c.stub = time.Duration(seen.CPU)
	return c, err
}

// through puts all contacts through and judges the run.
func (m measurement) through(ctx context.Context) (Figures, error) {
	w, f := m.w, m.w.figures()
	if err := m.p.reset(ctx, w.expectation()); err != nil {
		return f, err
	}
	if w.prepared() {
		if err := m.s.pause(ctx, true); err != nil {
			return f, err
		}
	}
	before, err := m.used(ctx)
	if err != nil {
		return f, err
	}
	others := watchOthers()
	began := time.Now()
	made, err := w.enqueueAll(ctx, m.s)
	if err != nil {
		return f, err
	}
	queued := time.Now()
	if w.prepared() {
		if err := m.s.pause(ctx, false); err != nil {
			return f, err
		}
	}
	seen, err := m.finish(ctx)
	if err != nil {
		return f, err
	}
	if seen.order, err = m.inOrder(ctx, made); err != nil {
		return f, err
	}
	after, err := m.used(ctx)
	if err != nil {
		return f, err
	}
	spent := after.since(before)
	f.Others = others(m.parts(spent))
	f.take(w, seen, began, queued)
	f.charge(spent, w.N)
	f.RSSServer = megabytes(m.store.size())
	f.Error = strings.Join(seen.faults(w.expectation(), 0), "; ")
	return f, nil
}

// inOrder judges the order of a run, if the run has one.
func (m measurement) inOrder(ctx context.Context, made *calls) (order, error) {
	if !m.w.expectation().Order {
		return order{}, nil
	}
	arrived, err := m.p.arrived(ctx)
	if err != nil {
		return order{}, err
	}
	return made.judge(arrived), nil
}

// Limits of a run.
const (
	stall   = 30 * time.Second // without any progress
	lookFor = 20 * time.Millisecond
)

// finish waits until the provider has reported every end and the broker reports that
// no contact is open.
func (m measurement) finish(ctx context.Context) (seenByProvider, error) {
	best, since := -1, time.Now()
	for {
		seen, err := m.p.figures(ctx)
		if err != nil {
			return seen, err
		}
		reported := seen.Ended + seen.Unheard
		if reported >= m.w.N {
			queued, inFlight, err := m.s.open(ctx)
			if err != nil || queued+inFlight == 0 {
				return seen, err
			}
		}
		if reported > best {
			best, since = reported, time.Now()
		}
		if time.Since(since) > stall {
			return seen, nil // the gates report what is missing
		}
		if !sleep(ctx, lookFor) {
			return seen, errors.Join(ctx.Err(), errors.New("stopped"))
		}
	}
}
