package core

import (
	"time"

	"weir"
)

// Accepted adds contacts that were accepted, after their commit and in their
// order.
func (c *Core) Accepted(contacts []weir.Contact, now time.Time) {
	c.touch(now)
	for i := range contacts {
		c.enqueue(&contacts[i])
	}
	c.run(now)
}

func (c *Core) enqueue(contact *weir.Contact) {
	c.queued++
	c.overdueAt = earlier(c.overdueAt, contact.NotAfter)
	if contact.State == weir.Delayed {
		c.dueAt = earlier(c.dueAt, contact.DueAt)
		return
	}
	// A page may have returned it before this event arrived.
	if !c.inFlight(contact.ID) && !c.window.changes.recently(contact.ID) {
		c.window.offer(contact)
	}
}

// ClaimsAtOnce returns how many contacts that are accepted now would be claimed right
// after their commit, as far as slots are free for them: none unless nothing waits
// before them.
func (c *Core) ClaimsAtOnce(now time.Time) int {
	if !c.breaker.closed() || !c.deleteAt.IsZero() || c.ledger.InUse() >= c.ledger.Capacity || !c.window.empty() {
		return 0
	}
	room, _ := c.gate(now)
	return room
}

// Reserve takes slots for contacts that are about to be accepted, and returns for how
// many, from the first on. They are claimed in the transaction that accepts them, so
// that they never wait in the queue; then comes AcceptedReserved.
func (c *Core) Reserve(specs []weir.Spec, now time.Time) int {
	c.touch(now)
	n, room := 0, c.ClaimsAtOnce(now)
	for n < min(room, len(specs)) {
		s := &specs[n]
		if s.NotBefore.After(now) || windowOver(s, now) || !c.ledger.Fits(s.Priority, s.Size()) {
			break
		}
		if !c.pace.claim(c.units(s), now) {
			break
		}
		c.ledger.Take(s.Priority, s.Size())
		c.reserved += s.Size()
		n++
	}
	c.claims += n
	return n
}

// AcceptedReserved ends a reservation, whatever became of it. Of the contacts
// that were accepted, those in state sending are claimed.
func (c *Core) AcceptedReserved(reserved []weir.Spec, contacts []weir.Contact, now time.Time) {
	c.touch(now)
	for i := range reserved {
		s := &reserved[i]
		c.ledger.Give(s.Priority, s.Size())
		c.reserved -= s.Size()
		c.pace.release(c.units(s))
	}
	c.claims -= len(reserved)
	var claimed []weir.AttemptRef
	for i := range contacts {
		contact := &contacts[i]
		if contact.State != weir.Sending {
			c.enqueue(contact)
			continue
		}
		f := c.addFlight(*contact)
		f.claiming, f.units = true, c.units(&contact.Spec)
		c.pace.claimed += f.units
		c.recordClaim(now)
		claimed = append(claimed, contact.AttemptRef())
	}
	c.ClaimsCommitted(claimed, nil, now)
}

// recordClaim counts a claim that was issued.
func (c *Core) recordClaim(now time.Time) {
	c.claims++
	c.breaker.recordDispatch()
	c.retryBudget.recordDispatch(now)
}
