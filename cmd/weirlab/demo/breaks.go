package demo

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// breakage is one thing that a person can break, or mend, on the panel.
type breakage struct {
	Name   string // in the form
	Label  string // of the button
	Effect string
	every  time.Duration // at most once in this time
	run    func(context.Context) error
}

const (
	reportsLost = 30 * time.Second
	slowAnswer  = 3 * time.Second
)

// outage is what is wrong with a provider at present.
type outage struct {
	down, slow bool
	lostUntil  time.Time // its reports are lost until then
}

// rules returns the provider's faults: those of the outage come first, because the first rule
// that applies counts.
func (o outage) rules(usual []string, losses string, now time.Time) []string {
	var out []string
	if o.down {
		out = append(out, "status=503")
	}
	if o.slow {
		out = append(out, rule("late", slowAnswer, "send"))
	}
	if now.Before(o.lostUntil) {
		out = append(out, losses)
	}
	return append(out, usual...)
}

// words describes the outage.
func (o outage) words(now time.Time) string {
	text := "answers"
	switch {
	case o.down:
		text = "down"
	case o.slow:
		text = "slow"
	}
	if left := o.lostUntil.Sub(now); left > 0 {
		text += fmt.Sprintf(", reports lost for another %.0f s", left.Seconds())
	}
	return text
}

// suffer makes an outage real.
func (st *stage) suffer(o outage, now time.Time) error {
	st.outage = o
	return st.provider.faults.Set(o.rules(st.provider.usual, st.provider.losses, now)...)
}

// breakages lists what a person can break. They run on the goroutine that shows the traffic.
func (s *demonstration) breakages() []breakage {
	var out []breakage
	for _, st := range s.stages {
		provider := st.channel.provider
		out = append(out, breakage{
			"down-" + st.name, provider + " down or up", "Answers 503 to every request. " + plural(st.capacity, "slot", "slots") + " stay the limit; what is queued waits.", time.Second,
			func(context.Context) error {
				o := st.outage
				o.down = !o.down
				s.report("%s: %s.", provider, o.words(time.Now()))
				return st.suffer(o, time.Now())
			},
		}, breakage{
			"slow-" + st.name, provider + " slow or not", fmt.Sprintf("Accepts at once, and answers after %.0f s.", slowAnswer.Seconds()), time.Second,
			func(context.Context) error {
				o := st.outage
				o.slow = !o.slow
				s.report("%s is %s.", provider, map[bool]string{true: "slow", false: "slow no more"}[o.slow])
				return st.suffer(o, time.Now())
			},
		})
	}
	return append(out,
		breakage{"lose", "Lose reports for 30 s", "No provider reports how calls and messages ended. Weir asks for them.", time.Second, s.loseReports},
		breakage{"kill", "kill -9 Weir", "The process dies at once, whatever it is doing, and is started again.", 5 * time.Second, s.killServed},
		breakage{"flood", "2,000 contacts at once", "Weir accepts them within a second, and dispatches as the channel has room.", 5 * time.Second, s.floodServed},
		breakage{"stop", "A person writes STOP", "From then on, contacts to this person end as suppressed.", time.Second, s.stopServed},
	)
}

func (s *demonstration) loseReports(context.Context) error {
	now := time.Now()
	s.report("All reports of the providers are lost for %.0f s.", reportsLost.Seconds())
	var errs []error
	for _, st := range s.stages {
		o := st.outage
		o.lostUntil = now.Add(reportsLost)
		errs = append(errs, st.suffer(o, now))
	}
	return errors.Join(errs...)
}

// mend ends the losses whose time is over.
func (s *demonstration) mend(now time.Time) error {
	for _, st := range s.stages {
		if o := st.outage; !o.lostUntil.IsZero() && now.After(o.lostUntil) {
			o.lostUntil = time.Time{}
			if err := st.suffer(o, now); err != nil {
				return err
			}
			s.report("%s reports again.", st.channel.provider)
		}
	}
	return nil
}

func (s *demonstration) killServed(ctx context.Context) error {
	s.panel.note(time.Now(), "kill -9: Weir is dead; it is started again after a second.")
	began := time.Now()
	if err := s.killAndRestart(ctx); err != nil {
		return err
	}
	s.restarts++
	s.panel.note(time.Now(), fmt.Sprintf("Weir is back after %.1f s (process %d), with everything that it had accepted.", time.Since(began).Seconds(), s.broker.Cmd.Process.Pid))
	return nil
}

func (s *demonstration) floodServed(context.Context) error {
	if !s.traffic.flood() {
		s.report("No other flood yet: more than %s contacts would wait.", number(floodBacklog))
		return nil
	}
	s.report("%s contacts are sent to Weir at once.", number(floodContacts))
	return nil
}

// stopServed lets the person write whom a direct message has reached last.
func (s *demonstration) stopServed(context.Context) error {
	for _, st := range s.stages {
		for i := len(s.traffic.reached) - 1; st.provider.receive != nil && i >= 0; i-- {
			number := s.traffic.reached[i]
			if s.refusals.refused(number) {
				continue
			}
			s.report("The person with …%s writes STOP. A contact to this person follows, and has to end as suppressed.", number[len(number)-2:])
			s.traffic.despite = append(s.traffic.despite, number)
			return st.provider.receive(digits(number), stopWord)
		}
	}
	s.report("Nobody can write STOP yet: no message has reached a person who has not refused.")
	return nil
}
