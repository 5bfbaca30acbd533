package contacts

import (
	"slices"
	"time"

	"weir"
	"weir/channels"
	"weir/internal/segments"
	"weir/operators"
	"weir/people"
)

// Accepted adds contacts that were accepted, after their commit and in their
// order.
func (c *Core) Accepted(contacts []weir.Contact, now time.Time) {
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
	if !c.outdated(contact) { // a page may have returned it before this event arrived
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
	n, room := 0, c.ClaimsAtOnce(now)
	for n < min(room, len(specs)) {
		s := &specs[n]
		if s.NotBefore.After(now) || windowOver(s, now) || !c.mayContact(s) || !c.ledger.Fits(s.Priority, s.Size()) {
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
// that were accepted, those in state sending are claimed; a rule may have ended or delayed others.
func (c *Core) AcceptedReserved(reserved []weir.Spec, contacts []weir.Contact, now time.Time) {
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
		switch contact.State {
		case weir.Sending:
		default:
			if contact.Receipt.Rule != "" { // a rule ended or delays it
				c.claimDenied(contact)
			} else {
				c.enqueue(contact)
			}
			continue
		}
		f := c.addFlight(*contact)
		f.claiming, f.units = true, c.units(&contact.Spec)
		c.pace.claimed += f.units
		c.recordClaim(now)
		claimed = append(claimed, contact.AttemptRef())
	}
	c.ClaimsCommitted(claimed, nil, nil, now)
}

// recordClaim counts a claim that was issued.
func (c *Core) recordClaim(now time.Time) {
	c.claims++
	c.breaker.recordDispatch()
	c.retryBudget.recordDispatch(now)
}

// units returns what a contact counts: the segments of its texts, otherwise 1.
func (c *Core) units(s *weir.Spec) int {
	if c.pace.set == 0 {
		return 0
	}
	return max(1, segments.Total(s.Messages))
}

// run does whatever is possible now: claims contacts, requests pages, starts
// status requests.
func (c *Core) run(now time.Time) {
	if c.deleteAt.IsZero() {
		if c.brake.acts(now) {
			c.out.Brake = c.brake.acted
		}
		c.claimContacts(now)
	} else {
		c.cancelEverything(now)
	}
	if !now.Before(c.retryAt) {
		c.retryAt = time.Time{}
		c.out.Pages = append(c.out.Pages, c.window.pagesToRead()...)
	}
	c.startAsks()
	c.checkIdle(now)
}

// claimContacts claims contacts as far as capacity, breaker, concurrency and pace
// allow.
func (c *Core) claimContacts(now time.Time) {
	c.probeWithAnother(now)
	k := Commit{}
	for room, _ := c.gate(now); room > 0; {
		next := c.nextToClaim()
		if next == nil {
			break
		}
		if windowOver(&next.Spec, now) {
			k.Transitions = append(k.Transitions, c.finishWaiting(next, now, weir.Expired, "its window closed while it waited"))
			continue
		}
		if !c.mayContact(&next.Spec) {
			t := c.finishWaiting(next, now, weir.Suppressed, "the channel contacts only the addresses of only_to")
			t.Contact.Receipt = weir.Receipt{Rule: string(people.RuleOnlyTo)}
			c.out.Skipped = append(c.out.Skipped, Skipped{t.Contact.Receipt.Rule, EffectSuppressed})
			k.Transitions = append(k.Transitions, t)
			continue
		}
		units := c.units(&next.Spec)
		if !c.pace.claim(units, now) {
			break
		}
		k.Transitions = append(k.Transitions, c.claim(next, units, now))
		k.Claimed = append(k.Claimed, c.flights[next.ID].c.AttemptRef())
		room--
	}
	c.commit(k)
}

// mayContact reports whether the channel may contact the address: all, unless it is limited
// to some.
func (c *Core) mayContact(s *weir.Spec) bool {
	return c.onlyTo == nil || slices.Contains(c.onlyTo, people.Canonical(s.To))
}

// claim takes a contact from the window and its slots from the ledger.
func (c *Core) claim(next *weir.Contact, units int, now time.Time) weir.Transition {
	c.window.take(next)
	t := weir.Transition{From: next.Rev, Was: next.State}
	contact := *next
	contact.Progress, _ = next.Claim(now)
	f := c.addFlight(contact)
	f.claiming, f.units = true, units
	c.queued--
	c.recordClaim(now)
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

// gate returns how many contacts may be claimed now, whichever they are, and if
// none, the code of the reason; whyGate returns its sentence.
func (c *Core) gate(now time.Time) (room int, shut operators.WhyCode) {
	if shut := c.blockedBy(); shut != "" {
		return 0, shut
	}
	if now.Before(c.limitedUntil) {
		return 0, operators.WhyLimit
	}
	limit := c.sendLimit()
	if room, shut = c.breaker.allows(now, limit); room == 0 {
		return 0, shut
	}
	if room = min(room, limit-len(c.sends)-c.claims); room <= 0 {
		return 0, operators.WhySendConcurrency
	}
	if c.pace.shut(now) {
		return 0, operators.WhyRate
	}
	return min(room, max(1, c.pace.room(now))), ""
}

// maxSends bounds the concurrent dispatches of a channel without a limit of its
// own: each has a goroutine and a connection.
const maxSends = 4096

// sendLimit returns the max number of concurrent claims and provider calls: the
// configured number, or as many as the channel has slots.
func (c *Core) sendLimit() int {
	if c.cfg.SendConcurrency > 0 {
		return c.cfg.SendConcurrency
	}
	return min(max(c.ch.Capacity, 1), maxSends)
}

// blockedBy returns the code of the reason that keeps the channel from calling its
// provider, regardless of the provider's health; empty if there is none.
func (c *Core) blockedBy() operators.WhyCode {
	switch {
	case operators.BlockedBy(&c.ch) != "":
		return operators.BlockedBy(&c.ch)
	case c.brake.acted != nil:
		return operators.WhyBraked
	case c.draining:
		return operators.WhyStopping
	case c.prepared:
		return ""
	case c.prepareFails > 0:
		return operators.WhyError
	default:
		return operators.WhyPreparing
	}
}

// cancelEverything ends waiting contacts, and contacts in flight once the grace period is
// over. The slots of a channel that is being deleted need no protection any more.
func (c *Core) cancelEverything(now time.Time) {
	var ts []weir.Transition
	for _, l := range c.window.lanes {
		for len(l.entries) > 0 {
			ts = append(ts, c.finishWaiting(l.entries[0], now, weir.Canceled, "its channel was deleted"))
		}
	}
	if !now.Before(c.deleteAt) {
		for _, f := range c.inOrder() {
			if _, sending := c.sends[f.c.AttemptRef()]; !sending && !f.claiming {
				ts = append(ts, c.finish(f, now, weir.Canceled, "its channel was deleted"))
			}
		}
	}
	c.commit(Commit{Transitions: ts})
	if c.storeEmpty && !c.removing && len(c.flights) == 0 && len(c.sends) == 0 && c.claims == 0 && c.window.empty() {
		c.removing, c.out.Remove = true, true
	}
}

// askUnknown schedules the status request for an attempt whose dispatch was
// unclear.
func (c *Core) askUnknown(f *flight, at time.Time) {
	f.askAt = at
	c.unknownAt = earlier(c.unknownAt, at)
}

// startAsks starts queued status requests up to the concurrency limit.
func (c *Core) startAsks() {
	for len(c.askQueue) > 0 && len(c.asks) < c.cfg.AskConcurrency && !c.draining {
		f := c.flights[c.askQueue[0]]
		c.askQueue = c.askQueue[1:]
		if f == nil || !f.askQueued {
			continue
		}
		f.askQueued = false
		if f.c.State != weir.Active && f.c.State != weir.Unknown {
			continue
		}
		c.asks[f.c.AttemptRef()] = struct{}{}
		c.out.Asks = append(c.out.Asks, attemptOf(&f.c))
	}
}

// checkIdle detects that nothing is left to do.
func (c *Core) checkIdle(now time.Time) {
	if c.draining && !c.drained && len(c.sends) == 0 && c.claims == 0 && c.loads == 0 {
		c.drained, c.out.Drained = true, true
	}
	if !c.idle() {
		c.idleSince = time.Time{}
		return
	}
	if c.idleSince.IsZero() {
		c.idleSince = now
	}
	if !c.unhealthy() && now.Sub(c.idleSince) >= c.cfg.StopAfter {
		c.idleSince, c.out.Passivate = now, true // again after as long, if a message kept the broker running
	}
}

// idle reports whether the broker could stop without any work being delayed.
func (c *Core) idle() bool {
	return len(c.flights) == 0 && len(c.sends) == 0 && c.claims == 0 && c.loads == 0 && !c.woken && c.deleteAt.IsZero() &&
		c.window.empty() && c.dueAt.IsZero() && !c.dueBusy && !c.overdueBusy && !c.lanesBusy
}

// unhealthy reports whether the provider's last status was not up. The broker then
// keeps running and asks until it is: a channel whose broker has stopped would
// show its last status forever.
func (c *Core) unhealthy() bool { return c.prepared && c.status.Health != weir.Up }

func attemptOf(c *weir.Contact) channels.Attempt {
	until := c.NotAfter
	if limit := c.Receipt.Until; !limit.IsZero() && (until.IsZero() || limit.Before(until)) {
		until = limit // a provider may hold it back, and the person's hours end
	}
	return channels.Attempt{
		ID: c.AttemptRef(), To: c.To, Priority: c.Priority, Survey: c.Survey, Labels: c.Labels, Messages: c.Messages, Call: c.Call,
		NotBefore: c.NotBefore, NotAfter: until, ProviderRef: c.ProviderRef, ClaimedAt: c.ClaimedAt, Trace: c.Trace,
	}
}
