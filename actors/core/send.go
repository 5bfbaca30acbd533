package core

import (
	"time"

	"weir"
	"weir/channels"
)

// SendDone applies the result of a provider call.
func (c *Core) SendDone(ref weir.AttemptRef, s channels.Sent, now time.Time) {
	delete(c.sends, ref)
	c.out.Forget = append(c.out.Forget, ref)
	c.weigh(s, now)
	if f := c.flights[ref.ID]; f != nil && f.c.Attempt == ref.Number {
		c.sent(f, s, now)
	}
	c.run(now)
}

// weigh passes on to the breaker what the result implies about the provider.
func (c *Core) weigh(s channels.Sent, now time.Time) {
	switch {
	case s.Fate == channels.Unclear && !s.ChannelFault:
		c.brk.released() // the driver failed on this contact; that implies nothing about the provider
	case s.Fate == channels.Unclear || s.Fate == channels.NotSent && s.ChannelFault:
		c.brk.failure(now, s.RetryAfter, s.Reason, c.cfg.Chance())
		if !c.brk.closed() {
			c.statusAt = c.brk.until
		}
	default:
		if !c.brk.closed() {
			c.statusAt = now // the known status is out of date
		}
		c.brk.success(now)
	}
}

func (c *Core) sent(f *flight, s channels.Sent, now time.Time) {
	if f.c.State == weir.Active {
		// A callback arrived first. The answer can only add the provider's reference.
		if s.ProviderRef != "" && f.c.ProviderRef == "" {
			p, _ := f.c.Accept(now, s.ProviderRef)
			c.commit(Commit{Transitions: []weir.Transition{c.step(f, p)}})
		}
		if f.c.CancelAsked {
			c.takeBack(f)
		}
		return
	}
	var t weir.Transition
	switch s.Fate {
	case channels.Accepted:
		p, _ := f.c.Accept(now, s.ProviderRef)
		t = c.step(f, p)
		if f.c.CancelAsked {
			c.takeBack(f)
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
		p, err := f.c.LoseSight(s.Reason)
		if err != nil {
			return
		}
		if !s.ChannelFault || s.Answered && c.brk.works() {
			p.Failures++ // counts in case the provider turns out not to have it
		}
		t = c.step(f, p)
		at := now.Add(c.settle())
		if s.Answered {
			at = now.Add(jitter(backoff(1), c.cfg.Chance()))
		}
		c.askUnknown(f, at)
	}
	c.commit(Commit{Transitions: []weir.Transition{t}})
}

// notSent decides about a contact that the provider certainly does not have. A
// channel fault is bounded by the breaker: the contact keeps its place. A
// failure caused by the contact itself delays it and is counted.
func (c *Core) notSent(f *flight, s channels.Sent, now time.Time) weir.Transition {
	switch {
	case f.c.CancelAsked:
		return c.finish(f, now, weir.Canceled, "canceled before it was sent")
	case windowOver(&f.c.Spec, now):
		return c.finish(f, now, weir.Expired, s.Reason)
	case s.ChannelFault:
		return c.requeue(f, now, c.retries.reserve(now), s.Reason)
	}
	f.c.Failures++
	return c.again(f, now, now.Add(min(s.RetryAfter, retryAfterLimit)), s.Reason)
}

// again requeues a contact that the provider does not have. One that failed by
// itself waits, longer each time, and finally becomes a dead letter.
func (c *Core) again(f *flight, now, due time.Time, reason string) weir.Transition {
	if f.c.Failures >= poisonAfter {
		return c.finish(f, now, weir.DeadLetter, reason)
	}
	if f.c.Failures > 0 {
		wait := jitter(backoff(f.c.Failures), c.cfg.Chance())
		due = latest(due, latest(c.retries.reserve(now), now.Add(wait)))
	}
	return c.requeue(f, now, latest(due, c.behindProbe(f)), reason)
}

// behindProbe returns the earliest instant at which a contact may be tried again
// whose dispatch failed in a way that may be its own fault: after the next probe,
// and later with each attempt, so that other contacts are the probes. Otherwise
// one poison contact would be the probe each time and keep the breaker open. Zero
// while the breaker is closed.
func (c *Core) behindProbe(f *flight) time.Time {
	if c.brk.closed() {
		return time.Time{}
	}
	wait := probeTime
	for i := 1; i < f.c.Attempt && wait < probeWaitMost; i++ {
		wait *= 4
	}
	return c.brk.until.Add(min(wait, probeWaitMost))
}

// requeue returns a contact to its place in the queue, now or when it is due.
func (c *Core) requeue(f *flight, now, due time.Time, reason string) weir.Transition {
	p, ended, _ := f.c.Requeue(now, due, reason)
	t := c.step(f, p)
	t.Ended = &ended
	c.queued++
	contact := f.c
	c.overdueAt = earlier(c.overdueAt, contact.NotAfter)
	if p.State == weir.Queued {
		c.win.putBack(&contact)
	} else {
		c.dueAt = earlier(c.dueAt, p.DueAt)
	}
	return t
}
