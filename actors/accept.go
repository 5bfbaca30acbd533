package actors

import (
	"context"
	"slices"
	"time"

	"weir"
	"weir/actors/core"
	"weir/internal/failpoint"
	"weir/ops"
)

// acceptance is contacts on their way into the store.
type acceptance struct {
	weir.Acceptance
	specs     []weir.Spec
	announced bool // the broker gets the result; read it only after Wait
}

// Accept stores contacts. If the channel's broker has free slots it submits them, so
// that they are claimed in the transaction that accepts them; otherwise it receives them
// afterwards.
func (s *System) Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	failpoint.Hit("accept.before")
	stored, err := s.store.NewAcceptance(ctx, ch.ID, specs)
	if err != nil {
		return nil, err
	}
	a := &acceptance{Acceptance: stored, specs: specs}
	if !s.submitByBroker(ch.ID, a) {
		a.Submit(weir.Claims{})
	}
	answers, err := a.Wait()
	if err != nil {
		return nil, err
	}
	failpoint.Hit("accept.committed")
	n := 0
	for i := range answers {
		if !answers[i].Duplicate {
			n++
		}
	}
	if n > 0 {
		s.metrics.accepted.WithLabelValues(ch.Name).Add(float64(n))
		s.minutes.of(ch.ID).count(ops.CountAccepted, n)
	}
	if n > 0 && !a.announced {
		s.deliver(ch.ID, accepted{freshOf(answers)})
	}
	return answers, nil
}

// freshOf returns the contacts that did not exist before.
func freshOf(answers []weir.Accepted) []weir.Contact {
	fresh := make([]weir.Contact, 0, len(answers))
	for i := range answers {
		if !answers[i].Duplicate {
			fresh = append(fresh, answers[i].Contact)
		}
	}
	return fresh
}

// submitByBroker leaves an acceptance to the channel's broker, if it seems to have free
// slots. If the message is lost, [weir.Acceptance.Wait] submits it.
func (s *System) submitByBroker(channel weir.ChannelID, a *acceptance) bool {
	w, running := s.mailboxes.m.Load(channel)
	if !running {
		return false
	}
	to := w.(*mailboxRef)
	return to.state.claimsAtOnce.Load() && to.send(s.root, accepting{a})
}

// onAccepting submits contacts that are to be accepted.
func (b *broker) onAccepting(a *acceptance) {
	if b.core == nil {
		a.Submit(weir.Claims{})
		return
	}
	n := 0
	b.event(func(c *core.Core, now time.Time) { n = c.Reserve(a.specs, now) })
	if n == 0 {
		a.Submit(weir.Claims{})
		return
	}
	failpoint.Hit("accept.claiming")
	gen, series := b.gen, b.series
	before, w := b.lastWrite, &write{done: make(chan struct{})}
	done := func(answers []weir.Accepted, _ error) {
		failpoint.Hit("accept.claimed")
		a.announced = true
		fresh := freshOf(answers)
		for i := range fresh {
			if fresh[i].State == weir.Sending {
				b.state.recordClaim(fresh[i].AttemptRef())
				series.wait().Observe(0)
			}
		}
		b.post(gen, acceptedReserved{a.specs[:n], fresh})
		w.failed = before != nil && before.hasFailed() // contacts that are refused fail nothing else
		close(w.done)
		b.state.writes.end()
	}
	b.state.writes.begin()
	if !a.Submit(weir.Claims{Lease: b.lease, First: n, Done: done}) { // it was submitted without them
		b.state.writes.end()
		b.event(func(c *core.Core, now time.Time) { c.AcceptedReserved(a.specs[:n], nil, now) })
		return
	}
	b.lastWrite = w
}

// onAcceptedBefore handles contacts that an earlier incarnation had submitted. The claimed
// ones were loaded with what is in flight: the lease was taken anew after them.
func (b *broker) onAcceptedBefore(contacts []weir.Contact) {
	waiting := slices.DeleteFunc(contacts, func(c weir.Contact) bool { return c.State == weir.Sending })
	if len(waiting) > 0 {
		b.handle(accepted{waiting})
	}
}
