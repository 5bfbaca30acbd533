package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	downTime    = time.Second            // between the kill and the new start
	killMoment  = 500 * time.Millisecond // a batch is waited for so long, to kill in the middle of it
	commitTime  = 8 * time.Millisecond   // a batch takes about so long
	resumeLimit = 5 * time.Second
)

// killAndRestart kills the broker, in the middle of a batch if one comes in
// time, and starts it again.
func (s *show) killAndRestart(ctx context.Context) error {
	s.settled += s.broker.api.settled(ctx)
	s.look(ctx)
	select {
	case <-s.posting:
		pause(ctx, rand.N(commitTime))
	case <-time.After(killMoment):
	case <-ctx.Done():
		return ctx.Err()
	}
	pid, inFlight, queued := s.broker.process.Pid, 0, 0
	s.broker.kill()
	for _, st := range s.stages {
		inFlight += st.gauge.inFlight
		queued += st.gauge.queued
		st.gauge.down, st.past = true, nil
	}
	s.say("kill -9 %d: the broker is dead, with about %d slots in flight and %s queued. The providers go on, but their callbacks "+
		"reach nobody. The feeders keep knocking.", pid, inFlight, countContacts(queued))
	for up := time.Now().Add(pace{s.options.Speed}.of(downTime)); time.Now().Before(up) && ctx.Err() == nil; {
		s.view.draw(time.Now(), s.gauges())
		pause(ctx, min(drawEvery, time.Until(up)))
	}
	return s.restart(ctx)
}

func (s *show) restart(ctx context.Context) error {
	began := time.Now()
	if _, err := s.broker.start(ctx); err != nil {
		return err
	}
	open, unknown, err := s.resumed(ctx)
	if err != nil {
		return err
	}
	s.say("Started again (process %d): resumed after %.2f s, with the %s that its file says are open.%s",
		s.broker.process.Pid, time.Since(began).Seconds(), countContacts(open), caught(unknown))
	return nil
}

// resumed waits until every channel that has contacts in flight is looked
// after again, and counts what is open and of what it is not known whether the
// provider has it.
func (s *show) resumed(ctx context.Context) (open, unknown int, err error) {
	limit := time.Now().Add(resumeLimit)
	for _, st := range s.stages {
		for {
			inFlight, err := s.broker.api.holds(ctx, st.name, "sending,active,unknown")
			if err != nil {
				return 0, 0, err
			}
			f, err := s.broker.api.figures(ctx, st.name)
			if err != nil {
				return 0, 0, err
			}
			if !inFlight || f.InFlight > 0 {
				open += f.open()
				unknown += f.Unknown
				break
			}
			if time.Now().After(limit) {
				return 0, 0, fmt.Errorf("the channel %s is not looked after %s after the start", st.name, resumeLimit)
			}
			pause(ctx, 10*time.Millisecond)
		}
	}
	return open, unknown, nil
}

func caught(unknown int) string {
	switch unknown {
	case 0:
		return ""
	case 1:
		return " 1 of them was being handed over when it was killed: it keeps its slots until it is known whether the provider has it."
	default:
		return fmt.Sprintf(" %d of them were being handed over when it was killed: they keep their slots until it is known whether the provider has them.", unknown)
	}
}
