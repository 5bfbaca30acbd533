package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// ErrInterrupted reports that the demo was interrupted before it was finished.
var ErrInterrupted = errors.New("the demo was interrupted; nothing of it is left")

// Run shows the demo. The error is nil only if every respondent is accounted
// for, no attempt was sent twice and no capacity was exceeded.
func Run(ctx context.Context, o Options) (err error) {
	s := newDemonstration(o)
	s.surveys = o.campaign()
	defer func() { err = s.close(ctx, err) }()
	if err := s.setUp(ctx); err != nil {
		return err
	}
	if err := s.play(ctx); err != nil {
		return err
	}
	s.say("Both surveys are done.")
	if s.cluster != nil {
		return s.conclude(ctx)
	}
	if err := s.questions(ctx); err != nil {
		return err
	}
	if err := s.courteous(ctx); err != nil {
		return err
	}
	if err := s.brake(ctx); err != nil {
		return err
	}
	if err := s.interviews(ctx); err != nil {
		return err
	}
	return s.conclude(ctx)
}

func newDemonstration(o Options) *demonstration {
	return &demonstration{options: o, view: newView(o, time.Now()), refusals: newRefusals(), talks: newTalks(o.Seed)}
}

// setUp starts the providers, the application and the broker, and creates the
// channels.
func (s *demonstration) setUp(ctx context.Context) error {
	for _, c := range s.options.channels() {
		p, err := startProvider(ctx, s.options, c, s.talks.taken)
		if err != nil {
			return err
		}
		p.heard = s.refusals.heard
		s.stages = append(s.stages, &stage{channel: c, provider: p})
		s.say("Simulated %s on %s: %d %s at a time.", c.provider, p.url, c.capacity, c.unit)
	}
	if s.options.several() {
		s.say("A private database server, a balancer and %d processes of Weir are started.", s.options.Processes)
	}
	var err error
	if s.broker, err = newBroker(ctx, s.options); err != nil {
		return err
	}
	if s.app, err = startApplication(ctx, s.broker.URL, s.broker.api.token); err != nil {
		return err
	}
	s.say("The application that conducts the conversations, on %s.", s.app.url)
	if err := s.start(ctx); err != nil {
		return err
	}
	for _, st := range s.stages {
		if err := s.broker.api.create(ctx, st.channel, st.provider); err != nil {
			return fmt.Errorf("make the channel %s: %w", st.name, err)
		}
	}
	return nil
}

// start starts the broker.
func (s *demonstration) start(ctx context.Context) error {
	began := time.Now()
	if s.broker.cluster == nil {
		if err := s.broker.Start(ctx, readyLimit); err != nil {
			return err
		}
		s.say("Weir on %s, with a new SQLite file, started in %.2f s (process %d).", s.broker.URL, time.Since(began).Seconds(), s.broker.Cmd.Process.Pid)
		return nil
	}
	s.cluster = s.broker.cluster
	for range s.options.Processes {
		began = time.Now()
		m, err := s.cluster.add(ctx)
		if err != nil {
			return err
		}
		owner, err := s.cluster.awaitOwner(ctx)
		if err != nil {
			return err
		}
		role := "a standby"
		if owner == m {
			role = "the owner of the database"
		}
		s.say("Process %d on %s, %s after %.2f s (process id %d).", m.number, m.URL, role, time.Since(began).Seconds(), m.Cmd.Process.Pid)
	}
	s.say("The balancer on %s gives each request and callback to the next process. It does not know which one is the owner.", s.broker.URL)
	return nil
}

// play runs the surveys to their end, and what happens to the broker in between.
func (s *demonstration) play(ctx context.Context) error {
	s.participate(ctx)
	if err := s.begin(ctx); err != nil {
		return err
	}
	if s.cluster != nil {
		s.explain("run over four channels")
		return s.playSteps(ctx, s.troubles())
	}
	s.explain("share two channels")
	return s.playSteps(ctx, slices.Repeat([]func(context.Context) error{s.killAndRestart}, s.options.Kills))
}

// participate lets the people write until the context ends or they are halted.
func (s *demonstration) participate(ctx context.Context) {
	playing, halt := context.WithCancel(ctx)
	s.halt = halt
	for _, st := range s.stages {
		if line := st.provider; line.receive != nil {
			p := newParticipants(s.options.Seed, s.options.pace(), line.tally, line.line, line.receive)
			p.talks = s.talks
			s.participants = append(s.participants, p)
			s.playing.Go(func() { p.run(playing) })
		}
	}
}

// explain describes the surveys.
func (s *demonstration) explain(how string) {
	s.say("Two surveys %s. A respondent who does not answer %d calls gets up to %d messages; delays of hours and days are seconds here. "+
		"%s has quotas of %s respondents in all, by region; %s has none.",
		how, callAttempts, textAttempts, s.surveys[0].title, number(s.surveys[0].cutoff()), s.surveys[1].title)
}

// playSteps takes the steps, evenly spread over the surveys, and waits for the end of these.
func (s *demonstration) playSteps(ctx context.Context, steps []func(context.Context) error) error {
	for i, step := range steps {
		mark := s.expected() * (i + 1) / (len(steps) + 1)
		if err := s.watch(ctx, func() bool { return s.finishedRespondents() >= mark }); err != nil {
			return err
		}
		if err := step(ctx); err != nil {
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
	limit := s.options.pace().atLeast(stallLimit, stallLimit)
	for {
		if s.cluster != nil {
			if err := s.tend(ctx); err != nil {
				return err
			}
		}
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
		case <-s.broker.Ended:
			return s.broker.EndedBy()
		case <-time.After(drawEvery):
		}
	}
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
		return errors.Join(err, os.RemoveAll(s.broker.Folder))
	default:
		return fmt.Errorf("%w\nthe broker's log: %s", err, s.broker.logs())
	}
}
