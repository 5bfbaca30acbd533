package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrInterrupted says that the demo was told to end before it was over.
var ErrInterrupted = errors.New("the demo was interrupted; nothing of it is left")

const (
	stallLimit  = time.Minute // without any progress
	rateSpan    = 3 * time.Second
	lookTimeout = 2 * time.Second
)

// Run shows the demo. The error is nil only if everything that the broker
// acknowledged is accounted for, nothing was sent twice and no capacity was
// exceeded.
func Run(ctx context.Context, o Options) (err error) {
	all, err := o.channels()
	if err != nil {
		return err
	}
	s := &show{options: o, view: newView(o, time.Now())}
	defer func() { err = s.close(ctx, err) }()
	if err := s.setUp(ctx, all); err != nil {
		return err
	}
	if err := s.play(ctx); err != nil {
		return err
	}
	return s.conclude(ctx)
}

// stage is one channel with everything that belongs to it.
type stage struct {
	*channel
	provider *provider
	feeder   *feeder
	gauge    gauge
	past     []moment // for the rate
}

type moment struct {
	at   time.Time
	done int
}

// show is one run of the demo.
type show struct {
	options Options
	view    *view
	broker  *broker
	stages  []*stage
	posting chan struct{}
	halt    context.CancelFunc // of the feeders
	feeding sync.WaitGroup
	settled int // contacts, by the collectors of processes that are gone
	total   int
}

// setUp starts the providers and the broker and makes the channels.
func (s *show) setUp(ctx context.Context, all []*channel) error {
	s.posting = make(chan struct{})
	for _, c := range all {
		if len(c.contacts) == 0 {
			continue
		}
		p, err := s.startProvider(ctx, c)
		if err != nil {
			return err
		}
		s.total += len(c.contacts)
		s.stages = append(s.stages, &stage{
			channel: c, provider: p, feeder: newFeeder(c, pace{s.options.Speed}.of(feedEvery), s.posting),
			gauge: gauge{name: c.name, provider: c.provider, capacity: c.capacity, total: len(c.contacts)},
		})
		s.say("Simulated %s on %s: %s, %d at a time.", c.provider, p.url, countContacts(len(c.contacts)), c.capacity)
	}
	var err error
	if s.broker, err = newBroker(ctx, s.options); err != nil {
		return err
	}
	took, err := s.broker.start(ctx)
	if err != nil {
		return err
	}
	s.say("Weir on %s, with a new SQLite file, started in %.2f s (process %d).", s.broker.api.base, took.Seconds(), s.broker.process.Pid)
	for _, st := range s.stages {
		if err := s.broker.api.create(ctx, st.channel, st.provider); err != nil {
			return fmt.Errorf("make the channel %s: %w", st.name, err)
		}
	}
	return nil
}

func (s *show) startProvider(ctx context.Context, c *channel) (*provider, error) {
	if c.name == calls {
		return startVerboice(ctx, s.options, c.capacity)
	}
	return startNuntium(ctx, s.options)
}

func (s *show) say(format string, args ...any) { s.view.say(time.Now(), format, args...) }

// play feeds the contacts and kills the broker on the way.
func (s *show) play(ctx context.Context) error {
	s.say("Feeding %s over HTTP, %d at a time. Weir lets through only as many as each channel can take; "+
		"some people are busy, some callbacks get lost.", countContacts(s.total), batchSize)
	feeding, halt := context.WithCancel(ctx)
	s.halt = halt
	for _, st := range s.stages {
		s.feeding.Go(func() { st.feeder.run(feeding, s.broker.api) })
	}
	for i := range s.options.Kills {
		mark := s.total * (i + 1) / (s.options.Kills + 1)
		if err := s.watch(ctx, func() bool { return s.done() >= mark }); err != nil {
			return err
		}
		if err := s.killAndRestart(ctx); err != nil {
			return err
		}
	}
	return s.watch(ctx, func() bool { return s.finished(ctx) })
}

// watch looks at the broker until something is so.
func (s *show) watch(ctx context.Context, until func() bool) error {
	best, moved := -1, time.Now()
	limit := pace{s.options.Speed}.atLeast(stallLimit, stallLimit)
	for {
		s.look(ctx)
		s.view.draw(time.Now(), s.gauges())
		if until() {
			return nil
		}
		progress := s.done()
		for _, st := range s.stages {
			f := st.feeder.state()
			if f.err != nil {
				return fmt.Errorf("feed %s: %w", st.name, f.err)
			}
			progress += f.acked
		}
		if progress > best {
			best, moved = progress, time.Now()
		}
		if time.Since(moved) > limit {
			return fmt.Errorf("nothing has moved for %s", limit)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.broker.ended:
			return fmt.Errorf("the broker has ended by itself: %w", s.broker.endedBy)
		case <-time.After(drawEvery):
		}
	}
}

// look asks the broker how the channels are doing.
func (s *show) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	for _, st := range s.stages {
		acked := st.feeder.state().acked // before the question: what comes in between counts the next time
		f, err := s.broker.api.figures(ctx, st.name)
		if err != nil {
			continue
		}
		g := &st.gauge
		g.down, g.queued, g.inFlight = false, int(f.Queued), f.InFlight
		g.done = max(g.done, acked-f.open())
		st.feeder.note(func() { st.feeder.done = g.done })
		g.rate = st.speed(time.Now())
	}
}

// speed is how many contacts a second were done lately.
func (st *stage) speed(now time.Time) float64 {
	st.past = append(st.past, moment{now, st.gauge.done})
	for len(st.past) > 2 && now.Sub(st.past[1].at) > rateSpan {
		st.past = st.past[1:]
	}
	first := st.past[0]
	span := now.Sub(first.at).Seconds()
	if span <= 0 {
		return 0
	}
	return float64(st.gauge.done-first.done) / span
}

func (s *show) gauges() []gauge {
	var out []gauge
	for _, st := range s.stages {
		st.gauge.atProvider = st.provider.tally.Line(st.provider.line).Active
		out = append(out, st.gauge)
	}
	return out
}

func (s *show) done() int {
	n := 0
	for _, st := range s.stages {
		n += st.gauge.done
	}
	return n
}

// finished tells whether everything was acknowledged and nothing is open, in
// the broker's store too.
func (s *show) finished(ctx context.Context) bool {
	for _, st := range s.stages {
		if !st.feeder.state().complete || st.gauge.done < st.gauge.total {
			return false
		}
	}
	for _, st := range s.stages {
		if open, err := s.broker.api.holds(ctx, st.name, "queued,sending,active,unknown"); err != nil || open {
			return false
		}
	}
	return true
}

// close takes everything down. The log stays if something went wrong.
func (s *show) close(ctx context.Context, err error) error {
	interrupted := ctx.Err() != nil
	if s.halt != nil {
		s.halt()
	}
	if s.broker != nil {
		s.broker.kill() // unless it was stopped in order
	}
	s.feeding.Wait()
	for _, st := range s.stages {
		st.provider.stop()
	}
	if interrupted {
		err = ErrInterrupted
	}
	switch {
	case s.broker == nil:
		return err
	case err == nil || interrupted:
		return errors.Join(err, s.broker.remove())
	default:
		return fmt.Errorf("%w\nwhat the broker said is in %s", err, s.broker.log())
	}
}
