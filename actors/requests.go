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
	c, running := s.brokers.Load(channel)
	if !running || !c.(*child).state.claimsAtOnce.Load() {
		return false
	}
	s.root.Send(c.(*child).pid, accepting{a})
	return true
}

// onAccepting submits contacts that are to be accepted.
func (b *broker) onAccepting(a *acceptance) {
	if b.core == nil || b.ended != nil {
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
				b.state.recordClaims([]weir.AttemptRef{fresh[i].AttemptRef()}, nil)
				series.wait().Observe(0)
			}
		}
		b.post(gen, acceptedReserved{a.specs[:n], fresh})
		w.failed = before != nil && before.hasFailed() // contacts that are refused fail nothing else
		close(w.done)
		b.state.writes.end()
	}
	b.state.writes.begin()
	if !a.Submit(weir.Claims{By: b.by, First: n, Done: done}) { // it was submitted without them
		b.state.writes.end()
		b.event(func(c *core.Core, now time.Time) { c.AcceptedReserved(a.specs[:n], nil, now) })
		return
	}
	b.lastWrite = w
}

// onAcceptedBefore handles contacts that an earlier incarnation had submitted. The claimed
// ones were loaded with what is in flight: this incarnation began after them.
func (b *broker) onAcceptedBefore(contacts []weir.Contact) {
	waiting := slices.DeleteFunc(contacts, func(c weir.Contact) bool { return c.State == weir.Sending })
	if len(waiting) > 0 {
		b.handle(accepted{waiting})
	}
}

// Report applies a provider's reports durably.
func (s *System) Report(ctx context.Context, channel weir.ChannelID, reports []weir.Report) ([]weir.Verdict, error) {
	waits := make([]chan core.Reply, len(reports))
	for i, r := range reports {
		waits[i] = make(chan core.Reply, 1)
		s.deliver(channel, reported{r, core.Origin{Waiter: waits[i]}})
	}
	verdicts, meter := make([]weir.Verdict, len(reports)), s.minutes.of(channel)
	for i, wait := range waits {
		r, err := s.await(ctx, wait)
		if err != nil {
			return nil, err
		}
		verdicts[i] = r.Verdict
		s.tracing.Reported(ctx, &reports[i], r.Verdict, r.Trace, r.Verdict == weir.Applied)
		meter.verdict(r.Verdict)
	}
	if !s.valid() && slices.ContainsFunc(verdicts, func(v weir.Verdict) bool { return v != weir.Applied }) {
		return nil, errNotOwner()
	}
	return verdicts, nil
}

// Cancel cancels a contact. It returns Done if the contact has ended; any other
// state means that the provider is being asked to cancel it.
func (s *System) Cancel(ctx context.Context, ref weir.Ref) (weir.State, error) {
	wait := make(chan core.Reply, 1)
	s.deliver(ref.Channel, cancelRequest{ref, core.Origin{Waiter: wait}})
	r, err := s.await(ctx, wait)
	return r.State, err
}

// await waits for a broker's reply. After the actors have ended there is none, and
// a request that kept waiting would delay the end of the program.
func (s *System) await(ctx context.Context, wait <-chan core.Reply) (core.Reply, error) {
	late, _ := s.timers.Get().(*time.Timer)
	if late == nil {
		late = time.NewTimer(replyTimeout)
	} else {
		late.Reset(replyTimeout)
	}
	defer func() { late.Stop(); s.timers.Put(late) }()
	select {
	case r := <-wait:
		return r, r.Err
	case <-s.ctx.Done():
		select {
		case r := <-wait: // it arrived in time
			return r, r.Err
		default:
			return core.Reply{}, errDraining()
		}
	case <-late.C:
		return core.Reply{}, errNoReply(context.DeadlineExceeded)
	case <-ctx.Done():
		return core.Reply{}, errNoReply(ctx.Err())
	}
}

// errNotOwner refuses a report about which nothing was written: what this process knows of
// its contact may be out of date, and the provider must not take that for the last word.
func errNotOwner() error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: "this process may have lost the database; try again", RetryAfter: 2 * time.Second}
}

func errNoReply(cause error) error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: "the channel's broker did not answer in time; try again", RetryAfter: 2 * time.Second, Cause: cause}
}

// deliver passes a message to a channel's broker: directly if it runs, otherwise
// through the manager, which starts it.
func (s *System) deliver(channel weir.ChannelID, msg any) {
	if c, running := s.brokers.Load(channel); running {
		s.root.Send(c.(*child).pid, msg)
		return
	}
	s.root.Send(s.manager, deliver{channel, msg})
}
