package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrInterrupted reports that the demo was interrupted before it was finished.
var ErrInterrupted = errors.New("the demo was interrupted; nothing of it is left")

const (
	stallLimit  = time.Minute // without any progress
	rateSpan    = 3 * time.Second
	pollTimeout = 2 * time.Second
)

// Run shows the demo. The error is nil only if every respondent is accounted
// for, no attempt was sent twice and no capacity was exceeded.
func Run(ctx context.Context, o Options) (err error) {
	s := &demonstration{options: o, view: newView(o, time.Now()), surveys: o.campaign()}
	defer func() { err = s.close(ctx, err) }()
	if err := s.setUp(ctx); err != nil {
		return err
	}
	if err := s.play(ctx); err != nil {
		return err
	}
	s.say("Both surveys are done.")
	if err := s.interviews(ctx); err != nil {
		return err
	}
	return s.conclude(ctx)
}

// stage is one channel with everything that belongs to it.
type stage struct {
	*channel
	provider *provider
	figures  figures  // as of the last poll
	past     []moment // for the rate
}

type moment struct {
	at   time.Time
	done int
}

// demonstration is one run of the demo.
type demonstration struct {
	options      Options
	view         *view
	broker       *broker
	app          *application
	participants *participants
	stages       []*stage
	surveys      []*survey
	halt         context.CancelFunc // of the participants
	playing      sync.WaitGroup
	down         bool // there is no broker
	settled      int  // contacts reconciled by processes that have ended

	interviewed string // the result of the interviews
	unasked     string // their faults
}

// setUp starts the providers, the application and the broker, and creates the
// channels.
func (s *demonstration) setUp(ctx context.Context) error {
	for _, c := range s.options.channels() {
		p, err := startProvider(ctx, s.options, c)
		if err != nil {
			return err
		}
		s.stages = append(s.stages, &stage{channel: c, provider: p})
		s.say("Simulated %s on %s: %d %s at a time.", c.provider, p.url, c.capacity, c.unit)
	}
	var err error
	if s.broker, err = newBroker(ctx, s.options); err != nil {
		return err
	}
	if s.app, err = startApplication(ctx, s.broker.api.base, s.broker.api.token); err != nil {
		return err
	}
	s.say("The application that conducts the conversations, on %s.", s.app.url)
	took, err := s.broker.start(ctx)
	if err != nil {
		return err
	}
	s.say("Weir on %s, with a new SQLite file, started in %.2f s (process %d).", s.broker.api.base, took.Seconds(), s.broker.cmd.Process.Pid)
	for _, st := range s.stages {
		if err := s.broker.api.create(ctx, st.channel, st.provider); err != nil {
			return fmt.Errorf("make the channel %s: %w", st.name, err)
		}
	}
	return nil
}

func (s *demonstration) say(format string, args ...any) { s.view.say(time.Now(), format, args...) }

// play runs the surveys to their end, and kills the broker in between.
func (s *demonstration) play(ctx context.Context) error {
	line := s.stages[1].provider
	s.participants = newParticipants(s.options.Seed, pace{s.options.Speed}, line.tally, line.line, line.receive)
	playing, halt := context.WithCancel(ctx)
	s.halt = halt
	s.playing.Go(func() { s.participants.run(playing) })
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.say("Two surveys share two channels. A respondent who does not answer %d calls gets up to %d messages; delays of hours and days are seconds here. "+
		"%s has quotas of %s respondents in all, by region; %s has none.",
		callAttempts, textAttempts, s.surveys[0].title, number(s.surveys[0].cutoff()), s.surveys[1].title)
	for i := range s.options.Kills {
		mark := s.expected() * (i + 1) / (s.options.Kills + 1)
		if err := s.watch(ctx, func() bool { return s.finishedRespondents() >= mark }); err != nil {
			return err
		}
		if err := s.killAndRestart(ctx); err != nil {
			return err
		}
	}
	return s.watch(ctx, func() bool { return s.finished(ctx) })
}

// expected returns about how many respondents become final one by one.
func (s *demonstration) expected() int {
	n := 0
	for _, sv := range s.surveys {
		if w := sv.cutoff(); w > 0 {
			n += w
		} else {
			n += len(sv.people)
		}
	}
	return n
}

// watch polls the broker until a condition holds.
func (s *demonstration) watch(ctx context.Context, until func() bool) error {
	best, moved := -1, time.Now()
	limit := pace{s.options.Speed}.atLeast(stallLimit, stallLimit)
	for {
		s.poll(ctx)
		s.view.draw(time.Now(), s.gauges())
		if until() {
			return nil
		}
		progress := s.finishedRespondents()
		for _, st := range s.stages {
			progress += st.provider.tally.Line(st.provider.line).Finished
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
			return s.broker.endedBy()
		case <-time.After(drawEvery):
		}
	}
}

// poll reads the state of the channels and the surveys from the broker.
func (s *demonstration) poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	for _, st := range s.stages {
		if f, err := s.broker.api.figures(ctx, st.name); err == nil {
			st.figures = f
		}
	}
	for _, sv := range s.surveys {
		if stats, err := s.broker.api.GetSurveyStats(ctx, sv.name); err == nil {
			sv.stats = *stats
		}
	}
}

// speed returns how many calls or messages a second were finished lately, by the
// provider's count.
func (st *stage) speed(now time.Time, done int) float64 {
	st.past = append(st.past, moment{now, done})
	for len(st.past) > 2 && now.Sub(st.past[1].at) > rateSpan {
		st.past = st.past[1:]
	}
	first := st.past[0]
	span := now.Sub(first.at).Seconds()
	if span <= 0 {
		return 0
	}
	return float64(done-first.done) / span
}

func (s *demonstration) gauges() []gauge {
	var out []gauge
	for _, sv := range s.surveys {
		out = append(out, sv.gauge())
	}
	for _, st := range s.stages {
		line := st.provider.tally.Line(st.provider.line)
		g := gauge{name: st.name, n: line.Active, all: st.capacity}
		rate := st.speed(time.Now(), line.Finished)
		if s.down {
			g.text = fmt.Sprintf("no broker; %s goes on with %d", st.channel.provider, line.Active)
		} else {
			g.n = st.figures.InFlight
			g.text = fmt.Sprintf("%d/%d in flight, %s queued, %.0f %s/s", st.figures.InFlight, st.capacity, number(int(st.figures.Queued)), rate, st.unit)
		}
		out = append(out, g)
	}
	return out
}

// finishedRespondents returns how many of a survey's respondents have a final status.
func (s *survey) finishedRespondents() int {
	return s.stats.Respondents - s.stats.ByStatus["pending"] - s.stats.ByStatus["active"]
}

func (s *survey) gauge() gauge {
	return gauge{name: s.name, n: s.finishedRespondents(), all: len(s.people), text: fmt.Sprintf("%s of %s final, %s completed, %s active",
		number(s.finishedRespondents()), number(len(s.people)), number(s.stats.ByStatus["completed"]), number(s.stats.ByStatus["active"]))}
}

func (s *demonstration) finishedRespondents() int {
	n := 0
	for _, sv := range s.surveys {
		n += sv.finishedRespondents()
	}
	return n
}

// finished reports whether both surveys are done and nothing is open, neither in
// the broker's store nor in the application.
func (s *demonstration) finished(ctx context.Context) bool {
	for _, sv := range s.surveys {
		if sv.stats.State != "done" {
			return false
		}
	}
	for _, st := range s.stages {
		if open, err := s.broker.api.holds(ctx, st.name, "queued,sending,active,unknown"); err != nil || open {
			return false
		}
	}
	return s.app.idle()
}

// close takes everything down. What the broker has logged stays if something went wrong.
func (s *demonstration) close(ctx context.Context, err error) error {
	interrupted := ctx.Err() != nil
	if s.halt != nil {
		s.halt()
	}
	if s.broker != nil {
		s.broker.kill() // unless it was stopped before
		s.broker.api.Close()
	}
	s.playing.Wait()
	if s.app != nil {
		s.app.stop()
	}
	for _, st := range s.stages {
		st.provider.stop()
	}
	if interrupted {
		err = ErrInterrupted
	}
	switch {
	case s.broker == nil:
		return err
	case err == nil || interrupted || !s.broker.logged():
		return errors.Join(err, s.broker.remove())
	default:
		return fmt.Errorf("%w\nthe broker's log: %s", err, s.broker.log())
	}
}
