package bench

import (
	"context"
	"errors"
	"strings"
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
	"weir/cmd/weirlab/machine"
)

// subject is the broker under test.
type subject interface {
	// pause closes or opens every channel.
	pause(ctx context.Context, paused bool) error
	load.Enqueuer
	// open returns how many contacts are queued, and how many are in flight.
	open(ctx context.Context) (queued, inFlight int, err error)
	// used returns the resources used so far.
	used(ctx context.Context) (cost, error)
}

// measurement is a run: a workload, the broker that processes it, and the observers of
// both.
type measurement struct {
	w      load.Workload
	s      subject
	p      provider.Client
	store  *reader
	broker *broker  // if it can be killed
	spread []string // processes that get the provider's reports in turn; none: where the broker wants them
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
	seen, err := m.p.Seen(ctx)
	c.provider = time.Duration(seen.CPU)
	return c, err
}

// reset prepares the provider for the run.
func (m measurement) reset(ctx context.Context) error {
	return m.p.Reset(ctx, provider.Run{Expectation: m.w.Expectation(), Delay: m.w.Delay, Answer: m.w.Answer, Spread: m.spread})
}

// parts returns the CPU time of the run's processes without this one.
func (m measurement) parts(spent cost) time.Duration {
	if m.broker == nil { // the broker is in this process
		spent.cpu = 0
	}
	return spent.cpu + spent.server + spent.provider
}

// through puts all contacts through and judges the run.
func (m measurement) through(ctx context.Context) (Figures, error) {
	w, f := m.w, figuresOf(m.w)
	if err := m.reset(ctx); err != nil {
		return f, err
	}
	if w.Closed() {
		if err := m.s.pause(ctx, true); err != nil {
			return f, err
		}
	}
	charge, err := m.meter(ctx)
	if err != nil {
		return f, err
	}
	began := time.Now()
	var opened time.Time
	made, err := w.Enqueue(ctx, m.s, func() error {
		opened = time.Now()
		return m.s.pause(ctx, false)
	})
	if err != nil {
		return f, err
	}
	queued := time.Now()
	seen, err := m.finish(ctx)
	if err != nil {
		return f, err
	}
	if seen.Order, err = m.inOrder(ctx, made); err != nil {
		return f, err
	}
	f.take(w, seen, began, opened, queued)
	f.Error = strings.Join(seen.Faults(w.Expectation(), 0), "; ")
	return f, charge(&f)
}

// meter begins to measure what a run costs. charge ends that and writes it into the figures.
func (m measurement) meter(ctx context.Context) (charge func(f *Figures) error, err error) {
	before, err := m.used(ctx)
	if err != nil {
		return nil, err
	}
	others := machine.WatchOthers()
	return func(f *Figures) error {
		after, err := m.used(ctx)
		if err != nil {
			return err
		}
		spent := after.since(before)
		f.Others = others(m.parts(spent))
		f.charge(spent, m.w.N)
		f.RSSServer = megabytes(m.store.size())
		return nil
	}, nil
}

// inOrder judges the order of a run, if the run has one.
func (m measurement) inOrder(ctx context.Context, made *judge.Calls) (judge.Order, error) {
	if !m.w.Expectation().Order {
		return judge.Order{}, nil
	}
	arrived, err := m.p.Arrived(ctx)
	if err != nil {
		return judge.Order{}, err
	}
	return made.Judge(arrived), nil
}

// Limits of a run.
const (
	stall        = 30 * time.Second // without any progress
	pollInterval = 20 * time.Millisecond
)

// finish waits until the provider has reported every end and the broker reports that
// no contact is open.
func (m measurement) finish(ctx context.Context) (judge.Seen, error) {
	seen, _, err := m.await(ctx, func() (bool, error) {
		queued, inFlight, err := m.s.open(ctx)
		return queued+inFlight == 0, err
	})
	return seen, err // after a stall, the gates report what is missing
}

// await waits until the provider has reported every end and the broker is done as well.
// stalled reports whether nothing moved any more before that.
func (m measurement) await(ctx context.Context, done func() (bool, error)) (seen judge.Seen, stalled bool, err error) {
	best, since := -1, time.Now()
	for {
		if seen, err = m.p.Seen(ctx); err != nil {
			return seen, false, err
		}
		if seen.Reported() >= m.w.N {
			if over, err := done(); err != nil || over {
				return seen, false, err
			}
		}
		if seen.Reported() > best {
			best, since = seen.Reported(), time.Now()
		}
		if time.Since(since) > stall {
			return seen, true, nil
		}
		if !machine.Sleep(ctx, pollInterval) {
			return seen, false, errors.Join(ctx.Err(), errors.New("stopped"))
		}
	}
}
