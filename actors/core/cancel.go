package core

import (
	"time"

	"weir"
	"weir/channels"
)

// Cancel applies a client's request to cancel a contact.
func (c *Core) Cancel(ref weir.Ref, from Origin, now time.Time) {
	if f := c.flights[ref.ID]; f != nil {
		c.cancelFlight(f, from)
	} else if contact, ok := c.window.find(ref.ID); ok {
		c.cancelWaiting(*contact, from, now)
	} else {
		c.load(Load{Ref: ref, Origin: from})
	}
	c.run(now)
}

// cancelFlight records the request durably and asks the provider to cancel. The
// contact keeps its slots until the provider is certainly done with it.
func (c *Core) cancelFlight(f *flight, from Origin) {
	var ts []weir.Transition
	if !f.c.CancelRequested {
		p, _ := f.c.RequestCancel()
		ts = append(ts, c.apply(f, p))
	}
	if f.c.State == weir.Active {
		c.cancelAtProvider(f)
	}
	c.reply(from, Reply{State: f.c.State}, ts...)
}

func (c *Core) cancelWaiting(contact weir.Contact, from Origin, now time.Time) {
	if contact.State == weir.Done {
		if contact.Outcome == weir.Canceled {
			c.reply(from, Reply{State: weir.Done})
			return
		}
		c.reply(from, Reply{State: weir.Done, Err: weir.Errorf(weir.CodeConflict, "the contact is done: %s", contact.Outcome)})
		return
	}
	c.reply(from, Reply{State: weir.Done}, c.finishWaiting(&contact, now, weir.Canceled, "canceled before it was sent"))
}

// cancelAtProvider asks the provider to cancel an attempt.
func (c *Core) cancelAtProvider(f *flight) {
	if f.canceling || f.cancelTooLate || !f.canceledAt.IsZero() {
		return
	}
	f.canceling = true
	c.out.Cancels = append(c.out.Cancels, attemptOf(&f.c))
}

// CancelDone applies the provider's answer to a cancel. The next reconciliation
// repeats a failed one; after one that came too late, the contact runs to its
// end.
func (c *Core) CancelDone(ref weir.AttemptRef, done channels.Cancellation, now time.Time) {
	f := c.flights[ref.ID]
	if f != nil && f.c.Attempt == ref.Number {
		f.canceling, f.cancelTooLate = false, !done.Canceled && !done.Failed
		if done.Canceled {
			f.canceledAt = now.Add(cancelGrace)
			c.confirmCancelAt = earlier(c.confirmCancelAt, f.canceledAt)
		}
	}
	c.run(now)
}

// confirmCancels ends the contacts whose cancel is confirmed: the provider stayed silent,
// so the attempt did not begin at the moment of the cancel.
func (c *Core) confirmCancels(now time.Time) {
	if !reached(c.confirmCancelAt, now) {
		return
	}
	c.confirmCancelAt = time.Time{}
	var ts []weir.Transition
	for _, f := range c.inOrder() {
		if reached(f.canceledAt, now) {
			ts = append(ts, c.finish(f, now, weir.Canceled, "canceled at the provider"))
		} else {
			c.confirmCancelAt = earlier(c.confirmCancelAt, f.canceledAt)
		}
	}
	c.commit(Commit{Transitions: ts})
}

// beginDelete starts to end everything that the channel has open.
func (c *Core) beginDelete(now time.Time) {
	c.deleteAt = now.Add(deleteGrace)
	var ts []weir.Transition
	for _, f := range c.inOrder() {
		if !f.c.CancelRequested {
			p, _ := f.c.RequestCancel()
			ts = append(ts, c.apply(f, p))
		}
		if f.c.State == weir.Active {
			c.cancelAtProvider(f)
		}
	}
	c.commit(Commit{Transitions: ts})
	c.dueAt, c.sweepAt = now, now
}
