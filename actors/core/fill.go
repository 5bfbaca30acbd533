package core

import (
	"time"

	"weir"
)

// run does whatever is possible now: claims contacts, requests pages, starts
// status requests.
func (c *Core) run(now time.Time) {
	if c.deleteAt.IsZero() {
		c.claimContacts(now)
	} else {
		c.cancelEverything(now)
	}
	if !now.Before(c.retryAt) {
		c.retryAt = time.Time{}
		for _, p := range c.window.pagesToRead() {
			c.out.Pages = append(c.out.Pages, Page{p.lane, p.after, p.limit})
		}
	}
	c.startAsks()
	c.checkIdle(now)
}

// claimContacts claims contacts as far as capacity, breaker and concurrency allow.
func (c *Core) claimContacts(now time.Time) {
	k := Commit{}
	for room, _ := c.gate(now); room > 0; {
		next := c.window.next(&c.ledger)
		if next == nil {
			break
		}
		if windowOver(&next.Spec, now) {
			if t, ok := c.finishWaiting(next, now, weir.Expired, "its window closed while it waited"); ok {
				k.Transitions = append(k.Transitions, t)
			}
			continue
		}
		k.Transitions = append(k.Transitions, c.claim(next, now))
		k.Claimed = append(k.Claimed, c.flights[next.ID].c.AttemptRef())
		room--
	}
	c.commit(k)
}

// claim takes a contact from the window and its slots from the ledger.
func (c *Core) claim(next *weir.Contact, now time.Time) weir.Transition {
	c.window.take(next)
	t := weir.Transition{From: next.Rev, Was: next.State}
	contact := *next
	contact.Progress, _ = next.Claim(now)
	f := c.addFlight(contact)
	f.claiming = true
	c.claims++
	c.queued--
	c.breaker.recordDispatch()
	c.retryBudget.recordDispatch(now)
	t.Contact = contact
	return t
}

// unclaim returns a contact to its place whose provider was certainly not
// called.
func (c *Core) unclaim(f *flight) weir.Transition {
	p, _ := f.c.Unclaim()
	c.out.Forget = append(c.out.Forget, f.c.AttemptRef())
	t := c.apply(f, p)
	c.queued++
	contact := f.c
	c.window.putBack(&contact)
	c.overdueAt = earlier(c.overdueAt, contact.NotAfter)
	return t
}

// mayNotSend reports whether something came between a claim and its dispatch that
// forbids the dispatch; the claim is then undone.
func (c *Core) mayNotSend(now time.Time) bool {
	return c.blockedBy() != "" || c.ledger.InUse() > c.ledger.Capacity || now.Before(c.breaker.until)
}

// ClaimsCommitted starts the dispatch of claims that are durable, unless something
// came in between. The claims in stale were not written: another process changed
// these contacts, and this one must not dispatch them.
func (c *Core) ClaimsCommitted(claimed []weir.AttemptRef, stale []weir.ContactID, now time.Time) {
	lost := map[weir.ContactID]struct{}{}
	for _, id := range stale {
		lost[id] = struct{}{}
	}
	var ts []weir.Transition
	for _, ref := range claimed {
		c.claims--
		f := c.flights[ref.ID]
		if f == nil || f.c.Attempt != ref.Number {
			continue
		}
		f.claiming = false
		_, gone := lost[ref.ID]
		switch {
		case gone:
			c.ledger.Give(f.c.Priority, f.slots)
			c.counts[f.c.State]--
			delete(c.flights, ref.ID)
			c.out.Forget = append(c.out.Forget, ref)
			c.breaker.probeAborted()
			c.sweepAt = now
		case f.c.CancelRequested:
			c.out.Forget = append(c.out.Forget, ref)
			c.breaker.probeAborted()
			ts = append(ts, c.finish(f, now, weir.Canceled, "canceled before it was sent"))
		case windowOver(&f.c.Spec, now):
			c.out.Forget = append(c.out.Forget, ref)
			c.breaker.probeAborted()
			ts = append(ts, c.finish(f, now, weir.Expired, "its window closed before it was sent"))
		case c.mayNotSend(now):
			c.breaker.probeAborted()
			ts = append(ts, c.unclaim(f))
		default:
			c.sends[ref] = struct{}{}
			c.out.Sends = append(c.out.Sends, attemptOf(&f.c))
		}
	}
	c.commit(Commit{Transitions: ts})
	c.run(now)
}
