package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"weir/cmd/weirlab/machine"
)

const (
	downTime    = time.Second // between the kill and the restart
	commitTime  = 8 * time.Millisecond
	resumeLimit = 5 * time.Second
)

// killAndRestart kills the broker, whatever it is doing, and starts it again.
func (s *demonstration) killAndRestart(ctx context.Context) error {
	s.settled += s.broker.api.settled(ctx)
	s.poll(ctx)
	machine.Sleep(ctx, rand.N(commitTime)) // not always at the same point of its work
	pid, inFlight, queued := s.broker.Cmd.Process.Pid, 0, 0
	s.broker.kill()
	s.kills++
	for _, st := range s.stages {
		inFlight += st.figures.InFlight
		queued += st.figures.Queued
	}
	active := 0
	for _, sv := range s.running() {
		active += sv.stats.Statuses["active"]
	}
	s.down = true
	s.say("kill -9 %d: the broker is dead, with %s active, about %d slots in flight and %s queued. "+
		"The providers go on, but their callbacks fail; the application keeps retrying.",
		pid, plural(active, "respondent", "respondents"), inFlight, plural(queued, "contact", "contacts"))
	for up := time.Now().Add(pace{s.options.Speed}.of(downTime)); time.Now().Before(up) && ctx.Err() == nil; {
		s.view.draw(time.Now(), s.gauges())
		machine.Sleep(ctx, min(drawEvery, time.Until(up)))
	}
	return s.restart(ctx)
}

func (s *demonstration) restart(ctx context.Context) error {
	began := time.Now()
	if err := s.broker.Start(ctx, readyLimit); err != nil {
		return err
	}
	open, unknown, err := s.resumed(ctx)
	if err != nil {
		return err
	}
	s.down = false
	s.say("Started again (process %d): resumed after %.2f s, with the %s that its file says are open.%s",
		s.broker.Cmd.Process.Pid, time.Since(began).Seconds(), plural(open, "contact", "contacts"), caught(unknown))
	return nil
}

// resumed waits until every channel with contacts in flight is operated again, and
// counts the open contacts, and the unknown ones, which the provider may or may not
// have.
func (s *demonstration) resumed(ctx context.Context) (open, unknown int, err error) {
	limit := time.Now().Add(resumeLimit)
	for _, st := range s.stages {
		for {
			inFlight, err := s.broker.api.holds(ctx, st.name, "sending,active,unknown")
			if err != nil {
				return 0, 0, err
			}
			c, err := s.broker.api.GetChannel(ctx, st.name)
			if err != nil {
				return 0, 0, err
			}
			if !inFlight || c.InFlight > 0 {
				open += c.Sending + c.Active + c.Unknown + c.Queued
				unknown += c.Unknown
				break
			}
			if time.Now().After(limit) {
				return 0, 0, fmt.Errorf("no process operates the channel %s %s after the start", st.name, resumeLimit)
			}
			machine.Sleep(ctx, 10*time.Millisecond)
		}
	}
	return open, unknown, nil
}

func caught(unknown int) string {
	switch unknown {
	case 0:
		return ""
	case 1:
		return " 1 of them was being dispatched at the kill: it keeps its slots until Weir knows whether the provider has it."
	default:
		return fmt.Sprintf(" %d of them were being dispatched at the kill: they keep their slots until Weir knows whether the provider has them.", unknown)
	}
}
