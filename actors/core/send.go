package core

import (
	"time"

	"weir"
	"weir/channels"
)

// SendDone is told how a call of the provider ended.
func (c *Core) SendDone(ref weir.AttemptRef, s channels.Sent, now time.Time) {
	delete(c.sends, ref)
	c.out.Forget = append(c.out.Forget, ref)
	c.weigh(s, now)
	if f := c.flights[ref.ID]; f != nil && f.c.Attempt == ref.Number {
		c.sent(f, s, now)
	}
	c.run(now)
}

// weigh tells the breaker what the result says of the provider.
func (c *Core) weigh(s channels.Sent, now time.Time) {
	switch {
	case s.Fate == channels.Unclear || s.Fate == channels.NotSent && s.ChannelFault:
		c.brk.failure(now, s.RetryAfter, s.Reason, c.cfg.Chance())
		if !c.brk.closed() {
			c.statusAt = c.brk.until
		}
	default:
		if !c.brk.closed() {
			c.statusAt = now // what the provider was thought to be is out of date
		}
		c.brk.success(now)
	}
}

func (c *Core) sent(f *flight, s channels.Sent, now time.Time) {
	if f.c.State == weir.Active {
		// A callback was faster. All that the answer can add is the name.
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
		t = c.step(f, p)
		at := now.Add(c.settle())
		if s.Answered {
			at = now.Add(jitter(backoff(1), c.cfg.Chance()))
		}
		c.askUnknown(f, at)
	}
	c.commit(Commit{Transitions: []weir.Transition{t}})
}

// notSent decides about a contact that the provider certainly does not have.
// Trouble of the channel is the breaker's to bound: the contact keeps its
// place. A contact's own trouble delays it and is counted.
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
	if f.c.Failures >= poisonAfter {
		return c.finish(f, now, weir.DeadLetter, s.Reason)
	}
	wait := max(jitter(backoff(f.c.Failures), c.cfg.Chance()), min(s.RetryAfter, retryAfterLimit))
	return c.requeue(f, now, latest(c.retries.reserve(now), now.Add(wait)), s.Reason)
}

// requeue gives a contact its place in the queue back, now or later.
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
