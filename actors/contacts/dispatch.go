package contacts

import (
	"slices"
	"time"

	"weir"
	"weir/channels"
)

// ClaimsCommitted starts the dispatch of claims that are durable, unless something
// came in between. The claims in stale were not written: these contacts had been
// changed, and must not be dispatched. Those in judged have ended instead, or wait, or have
// a receipt.
func (c *Core) ClaimsCommitted(claimed []weir.AttemptRef, stale []weir.ContactID, judged []weir.Contact, now time.Time) {
	var ts []weir.Transition
	var judgedByID map[weir.ContactID]*weir.Contact
	if len(judged) > 0 {
		judgedByID = make(map[weir.ContactID]*weir.Contact, len(judged))
	}
	for i := range judged {
		judgedByID[judged[i].ID] = &judged[i]
	}
	for _, ref := range claimed {
		c.claims--
		f := c.flights[ref.ID]
		if f == nil || f.c.Attempt != ref.Number {
			continue
		}
		f.claiming = false
		c.pace.release(f.units)
		claim := judgedByID[ref.ID]
		if claim != nil && claim.State.InFlight() {
			f.c.Receipt = claim.Receipt
		}
		switch {
		case claim != nil && claim.State == weir.Queued:
			c.drop(f, ref)
			c.held(claim, now)
		case claim != nil && !claim.State.InFlight():
			c.drop(f, ref)
			c.claimDenied(claim)
		case slices.Contains(stale, ref.ID):
			c.drop(f, ref)
			c.reread(now)
		case f.c.CancelRequested:
			c.out.Forget = append(c.out.Forget, ref)
			c.breaker.probeAborted()
			ts = append(ts, c.finish(f, now, weir.Canceled, "canceled before it was sent"))
		case windowOver(&f.c.Spec, now):
			c.out.Forget = append(c.out.Forget, ref)
			c.breaker.probeAborted()
			ts = append(ts, c.finish(f, now, weir.Expired, "its window closed before it was sent"))
		case c.mayNotSend(now), reached(f.c.Receipt.Until, now): // the commit took long, and the person's hours are over
			c.breaker.probeAborted()
			ts = append(ts, c.unclaim(f))
		default:
			c.sends[ref] = struct{}{}
			c.out.Sends = append(c.out.Sends, attemptOf(&f.c))
			c.pace.dispatch(f.units, now)
		}
	}
	c.commit(Commit{Transitions: ts})
	c.run(now)
}

// drop forgets a flight whose claim was not committed.
func (c *Core) drop(f *flight, ref weir.AttemptRef) {
	c.ledger.Give(f.c.Priority, f.slots)
	c.counts[f.c.State]--
	delete(c.flights, ref.ID)
	c.out.Forget = append(c.out.Forget, ref)
	c.breaker.probeAborted()
}

// held puts a contact back whose claim is undone because the channel shares a limit that has
// no room, and waits.
func (c *Core) held(claim *weir.Contact, now time.Time) {
	if now.Sub(c.limitedUntil) > limitedAgain { // it begins to wait
		c.out.Skipped = append(c.out.Skipped, Skipped{claim.Receipt.Rule, EffectHeld})
	}
	c.limitedUntil, c.limitedBy, c.limitedRule = claim.Receipt.Until, claim.Reason, claim.Receipt.Rule
	contact := *claim
	contact.Receipt, contact.Reason = weir.Receipt{}, ""
	c.queued++
	c.window.putBack(&contact)
	c.overdueAt = earlier(c.overdueAt, contact.NotAfter)
}

// limitedAgain is the longest time between two waits for a shared limit that are one.
const limitedAgain = time.Second

// claimDenied records a contact that ended, or waits, instead of being claimed.
func (c *Core) claimDenied(contact *weir.Contact) {
	c.revisions.record(contact)
	if contact.State == weir.Done {
		c.out.Skipped = append(c.out.Skipped, Skipped{contact.Receipt.Rule, EffectSuppressed})
		c.out.Finished = append(c.out.Finished, Finished{Outcome: contact.Outcome})
		return
	}
	c.out.Skipped = append(c.out.Skipped, Skipped{contact.Receipt.Rule, EffectDelayed})
	c.queued++
	c.dueAt = earlier(c.dueAt, contact.DueAt)
	c.overdueAt = earlier(c.overdueAt, contact.NotAfter)
}

// SendDone applies the result of a provider call.
func (c *Core) SendDone(ref weir.AttemptRef, s channels.SendResult, now time.Time) {
	delete(c.sends, ref)
	c.out.Forget = append(c.out.Forget, ref)
	c.recordResult(ref.ID, s, now)
	c.recordPace(s, now)
	if f := c.flights[ref.ID]; f != nil && f.c.Attempt == ref.Number {
		c.applyResult(f, s, now)
	}
	c.run(now)
}

// recordResult passes on to the breaker what the result implies about the provider.
func (c *Core) recordResult(id weir.ContactID, s channels.SendResult, now time.Time) {
	switch {
	case s.Status == channels.Unclear && !s.ChannelFault:
		c.breaker.probeAborted() // the driver failed on this contact; that implies nothing about the provider
	case s.Status == channels.Unclear || s.Status == channels.NotSent && s.ChannelFault && !s.Later:
		c.yields.failed(id, c.breaker.streak == 0)
		c.breaker.failure(now, s.RetryAfter, s.Reason, c.cfg.Chance())
		if !c.breaker.closed() {
			c.statusAt = c.breaker.until
		}
	default:
		if !c.breaker.closed() {
			c.statusAt = now // the known status is out of date
		}
		c.breaker.success(now)
		c.yields.succeeded()
	}
}

// recordPace passes on to the pace what a result implies about it.
func (c *Core) recordPace(s channels.SendResult, now time.Time) {
	switch {
	case s.Status == channels.NotSent && s.ChannelFault && !s.Later && s.Reason == channels.RateLimited:
		c.pace.lower(now)
	case s.Status == channels.Accepted:
		c.pace.raise(now)
	}
}

func (c *Core) applyResult(f *flight, s channels.SendResult, now time.Time) {
	if f.c.State == weir.Active {
		// A callback arrived first. The answer can only add the provider's reference.
		if s.ProviderRef != "" && f.c.ProviderRef == "" {
			p, _ := f.c.Accept(now, s.ProviderRef)
			c.commit(Commit{Transitions: []weir.Transition{c.apply(f, p)}})
		}
		if f.c.CancelRequested {
			c.cancelAtProvider(f)
		}
		return
	}
	var t weir.Transition
	switch s.Status {
	case channels.Accepted:
		if s.Outcome == weir.Completed {
			f.c.ProviderRef = s.ProviderRef
			t = c.finish(f, now, weir.Completed, "")
			break
		}
		p, _ := f.c.Accept(now, s.ProviderRef)
		t = c.apply(f, p)
		if f.c.CancelRequested {
			c.cancelAtProvider(f)
		}
	case channels.Refused:
		o := s.Outcome
		if o == "" {
			o = weir.Failed
		}
		t = c.finish(f, now, o, s.Reason)
	case channels.NotSent:
		t = c.notSent(f, s, now)
	default:
		p, err := f.c.MarkUnknown(s.Reason)
		if err != nil {
			return
		}
		if !s.ChannelFault || s.Answered && c.breaker.workedRecently() {
			p.Failures++ // counts in case the provider turns out not to have it
		}
		t = c.apply(f, p)
		at := now.Add(c.unclearDelay())
		if s.Answered {
			at = now.Add(c.backoff(1))
		}
		c.askUnknown(f, at)
	}
	c.commit(Commit{Transitions: []weir.Transition{t}})
}

// notSent decides about a contact that the provider certainly does not have. A
// channel fault is bounded by the breaker: the contact keeps its place, but others are the
// next probes, and it lets them pass if the provider works for them. A
// failure caused by the contact itself delays it and is counted. One that is
// not taken now only delays it.
func (c *Core) notSent(f *flight, s channels.SendResult, now time.Time) weir.Transition {
	switch {
	case f.c.CancelRequested:
		return c.finish(f, now, weir.Canceled, "canceled before it was sent")
	case windowOver(&f.c.Spec, now):
		return c.finish(f, now, weir.Expired, s.Reason)
	case s.Later:
		wait := max(min(s.RetryAfter, maxRetryAfter), c.backoff(f.c.Attempt))
		return c.requeue(f, now, latest(now.Add(wait), c.behindProbe(f)), s.Reason)
	case s.ChannelFault:
		return c.requeue(f, now, latest(c.retryBudget.reserve(now), c.behindOthers(f, now)), s.Reason)
	}
	f.c.Failures++
	return c.retry(f, now, now.Add(min(s.RetryAfter, maxRetryAfter)), s.Reason)
}

// retry requeues a contact that the provider does not have. One that failed by
// itself waits, longer each time, and finally becomes a dead letter.
func (c *Core) retry(f *flight, now, due time.Time, reason string) weir.Transition {
	if f.c.Failures >= deadLetterAfter {
		return c.finish(f, now, weir.DeadLetter, reason)
	}
	if f.c.Failures > 0 {
		wait := c.backoff(f.c.Failures)
		due = latest(due, latest(c.retryBudget.reserve(now), now.Add(wait)))
	}
	return c.requeue(f, now, latest(due, c.behindProbe(f)), reason)
}

// behindProbe returns the earliest instant at which a contact may be tried again
// whose dispatch failed in a way that may be its own fault: after the next probe,
// and later with each attempt, so that other contacts are the probes. Otherwise
// one poison contact would be the probe each time and keep the breaker open. Zero
// while the breaker is closed.
func (c *Core) behindProbe(f *flight) time.Time {
	if c.breaker.closed() {
		return time.Time{}
	}
	wait := probeTime
	for i := 1; i < f.c.Attempt && wait < maxProbeWait; i++ {
		wait *= 4
	}
	return c.breaker.until.Add(min(wait, maxProbeWait))
}

// requeue returns a contact to its place in the queue, now or when it is due.
func (c *Core) requeue(f *flight, now, due time.Time, reason string) weir.Transition {
	p, ended, _ := f.c.Requeue(now, due, reason)
	t := c.apply(f, p)
	t.Ended = &ended
	c.queued++
	contact := f.c
	c.overdueAt = earlier(c.overdueAt, contact.NotAfter)
	if p.State == weir.Queued {
		c.window.putBack(&contact)
	} else {
		c.dueAt = earlier(c.dueAt, p.DueAt)
	}
	return t
}
