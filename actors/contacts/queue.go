package contacts

import (
	"time"

	"weir"
)

// Woken handles a hint that the channel's state in the store changed without an
// event.
func (c *Core) Woken(now time.Time) {
	c.reread(now)
	c.Tick(now)
}

// reread causes everything that waits to be read again, regardless of what is known.
func (c *Core) reread(now time.Time) {
	c.window.rescan()
	c.woken = true
	c.sweepAt, c.dueAt, c.overdueAt = now, now, now
}

// PageRead adds a page of a lane.
func (c *Core) PageRead(p Page, contacts []weir.Contact, now time.Time) {
	c.window.merge(p, contacts, c.outdated)
	c.run(now)
}

// LanesRead applies the list of lanes that have contacts, and the number of
// waiting contacts.
func (c *Core) LanesRead(lanes []weir.Lane, queued int64, now time.Time) {
	c.lanesBusy = false
	c.storeEmpty = len(lanes) == 0 && queued == 0
	if !c.deleteAt.IsZero() && !c.storeEmpty {
		c.sweepAt, c.dueAt = now.Add(readRetry), now
	}
	for _, id := range lanes {
		if l := c.window.lane(id); len(l.entries) == 0 && !l.loading && l.blocked == 0 {
			l.horizon, l.more = 0, true
		}
	}
	if c.claims == 0 {
		c.queued = queued
	}
	c.run(now)
}

// DueRead queues delayed contacts that are due; next is when the next one is
// due.
func (c *Core) DueRead(contacts []weir.Contact, next time.Time, now time.Time) {
	c.dueAt = earlier(c.dueAt, next)
	k := Commit{}
	for i := range contacts {
		contact := &contacts[i]
		if c.outdated(contact) {
			continue
		}
		t := weir.Transition{From: contact.Rev, Was: contact.State}
		contact.Progress, _ = contact.Ready()
		t.Contact = *contact
		k.Transitions = append(k.Transitions, t)
		c.revisions.record(contact)
		c.overdueAt = earlier(c.overdueAt, contact.NotAfter)
		c.window.offer(contact)
	}
	c.commit(k)
	c.dueBusy = false
	c.run(now)
}

// OverdueRead expires waiting contacts whose window has closed; next is when the
// next window closes.
func (c *Core) OverdueRead(contacts []weir.Contact, next time.Time, now time.Time) {
	c.overdueAt = earlier(c.overdueAt, next)
	k := Commit{}
	for i := range contacts {
		contact := &contacts[i]
		if newer, ok := c.window.find(contact.ID); ok {
			contact = newer
		} else if c.outdated(contact) {
			continue
		}
		k.Transitions = append(k.Transitions, c.finishWaiting(contact, now, weir.Expired, "its window closed while it waited"))
	}
	c.commit(k)
	c.overdueBusy = false
	c.run(now)
}

// ReadFailed handles a failed read of the store. It is repeated soon.
func (c *Core) ReadFailed(what ReadKind, p Page, now time.Time) {
	switch what {
	case KindPage:
		c.window.failed(p.Lane)
		c.retryAt = now.Add(readRetry)
	case KindLanes:
		c.lanesBusy, c.sweepAt = false, now.Add(readRetry)
	case KindDue:
		c.dueBusy, c.dueAt = false, now.Add(readRetry)
	case KindOverdue:
		c.overdueBusy, c.overdueAt = false, now.Add(readRetry)
	}
	c.checkIdle(now)
}

// LoadFailed handles a failed read of a contact's row.
func (c *Core) LoadFailed(l Load, err error, now time.Time) {
	c.loads--
	if l.Origin.Waiter != nil {
		c.out.Replies = append(c.out.Replies, Reply{Waiter: l.Origin.Waiter, Err: err})
	}
	c.checkIdle(now)
}

// RemoveFailed handles that the channel's row could not be deleted yet.
func (c *Core) RemoveFailed(now time.Time) {
	c.removing, c.storeEmpty = false, false
	c.sweepAt = now.Add(readRetry)
	c.checkIdle(now)
}
