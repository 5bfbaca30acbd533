package channels

import (
	"context"
	"slices"
	"sync"
	"time"

	"weir"
	core "weir/actors/contacts"
	"weir/internal/failpoint"
	"weir/operators"
	"weir/people"
)

// requests passes the requests of clients and providers to the brokers. Its methods are
// safe for concurrent use.
type requests struct {
	shared *shared
	mail   *mail
	timers sync.Pool // of *time.Timer, for callers that wait for a broker's reply
}

// Accept stores contacts. If the channel's broker has free slots it submits them, so
// that they are claimed in the transaction that accepts them; otherwise it receives them
// afterwards.
func (s *requests) Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	failpoint.Hit("accept.before")
	stored, err := s.shared.store.NewAcceptance(ctx, ch.ID, specs)
	if err != nil {
		return nil, err
	}
	answers, n, err := s.store(ch.ID, specs, stored)
	if n > 0 {
		s.shared.metrics.accepted.WithLabelValues(ch.Name).Add(float64(n))
	}
	return answers, err
}

// AcceptWith is Accept for contacts that are part of other work, whose acceptance has been made.
func (s *requests) AcceptWith(channel weir.ChannelID, specs []weir.Spec, stored weir.Acceptance) error {
	_, _, err := s.store(channel, specs, stored)
	return err
}

// store completes an acceptance. fresh is how many of the contacts there were not before.
func (s *requests) store(channel weir.ChannelID, specs []weir.Spec, stored weir.Acceptance) (answers []weir.Accepted, fresh int, _ error) {
	a := &acceptance{Acceptance: stored, specs: specs}
	if !s.mail.submit(channel, a) {
		a.Submit(weir.Claims{})
	}
	answers, err := a.Wait()
	if err != nil {
		return nil, 0, err
	}
	failpoint.Hit("accept.committed")
	for i := range answers {
		if !answers[i].Duplicate {
			fresh++
		}
	}
	if fresh > 0 {
		s.shared.minutes.of(channel).count(operators.CountAccepted, fresh)
	}
	if fresh > 0 && !a.announced {
		s.mail.deliver(channel, accepted{freshOf(answers)})
	}
	return answers, fresh, nil
}

// OptedOut reports a person who opted out on a channel, for the channel's brake. It is a
// hint: a broker that does not run has nothing to count.
func (s *requests) OptedOut(channel weir.ChannelID, address string) {
	s.mail.ifRunning(channel, optedOut{address}, func() {})
}

// Report applies a provider's reports durably.
func (s *requests) Report(ctx context.Context, channel weir.ChannelID, reports []weir.Report) ([]weir.Verdict, error) {
	waits := make([]chan core.Reply, len(reports))
	for i, r := range reports {
		waits[i] = make(chan core.Reply, 1)
		s.mail.deliver(channel, reported{r, core.Origin{Waiter: waits[i]}})
	}
	verdicts, meter := make([]weir.Verdict, len(reports)), s.shared.minutes.of(channel)
	for i, wait := range waits {
		r, err := s.await(ctx, wait)
		if err != nil {
			return nil, err
		}
		verdicts[i] = r.Verdict
		s.shared.tracing.Reported(ctx, &reports[i], r.Verdict, r.Trace, r.Verdict == weir.Applied)
		meter.verdict(r.Verdict)
	}
	if !s.shared.providers.valid() && slices.ContainsFunc(verdicts, func(v weir.Verdict) bool { return v != weir.Applied }) {
		return nil, errNotOwner()
	}
	return verdicts, nil
}

// Cancel cancels a contact. It returns Done if the contact has ended; any other
// state means that the provider is being asked to cancel it.
func (s *requests) Cancel(ctx context.Context, ref weir.Ref) (weir.State, error) {
	wait := make(chan core.Reply, 1)
	s.mail.deliver(ref.Channel, cancelRequest{ref, core.Origin{Waiter: wait}})
	r, err := s.await(ctx, wait)
	return r.State, err
}

// CallOff asks the providers to cancel what is in flight and was withdrawn, and returns how many
// contacts that is. Those of a broker that does not answer in time are not among them.
func (s *requests) CallOff(ctx context.Context, w *people.Withdrawal) (n int) {
	if w.Empty() {
		return 0
	}
	ctx, cancel := background(ctx, figuresTimeout)
	defer cancel()
	count, answers := make(chan int, 1), make(chan int, changesAtOnce)
	s.shared.root.Send(s.mail.manager, broadcast{callOff{w.Covers, func(n int) {
		select {
		case answers <- n:
		case <-ctx.Done():
		}
	}}, count})
	select {
	case brokers := <-count:
		for range brokers {
			select {
			case some := <-answers:
				n += some
			case <-ctx.Done():
				return n
			}
		}
	case <-ctx.Done():
	}
	return n
}

// await waits for a broker's reply. After the actors have ended there is none, and
// a request that kept waiting would delay the end of the program.
func (s *requests) await(ctx context.Context, wait <-chan core.Reply) (core.Reply, error) {
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
	case <-s.shared.ctx.Done():
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

// Announce passes contacts that were stored elsewhere to the channel's broker.
// The sweep finds contacts that it misses.
func (s *requests) Announce(channel weir.ChannelID, fresh []weir.Contact) {
	s.shared.minutes.of(channel).count(operators.CountAccepted, len(fresh))
	s.mail.deliver(channel, accepted{fresh})
}

// Changed notifies the channel's broker that the channel's row was created or
// changed. It returns when the broker has applied the change, or after one second.
func (s *requests) Changed(ctx context.Context, channel weir.ChannelID) {
	done := make(chan core.Reply, 1)
	s.mail.deliver(channel, changed{done})
	ctx, cancel := background(ctx, time.Second)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Requeue creates new contacts from dead letters of a channel and passes them to
// its broker. If the process ends between the two, the sweep finds the contacts.
func (s *requests) Requeue(ctx context.Context, channel weir.ChannelID, contacts []weir.ContactID, token string) (operators.Requeued, error) {
	failpoint.Hit("requeue.before")
	made, err := s.shared.store.Requeue(ctx, channel, contacts, token)
	failpoint.Hit("requeue.committed")
	if err == nil && len(made.Contacts) > 0 {
		s.Announce(channel, made.Contacts)
	}
	return made, err
}

func errDraining() error {
	return &weir.Error{Code: weir.CodeDraining, Message: "the program is shutting down", RetryAfter: 5 * time.Second}
}
