package contacts

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/channels"
)

// Report applies a provider's callback about an attempt. If the contact is not in
// flight, its row is loaded first.
func (c *Core) Report(r weir.Report, from Origin, now time.Time) {
	f := c.flights[r.Attempt.ID]
	if f == nil || f.claiming {
		c.load(Load{Ref: r.Attempt.Ref, Report: &r, Origin: from})
		return
	}
	t, verdict := c.applyReport(f, r, now)
	c.answer(t, verdict, from)
	c.run(now)
}

// applyReport applies a report to a contact in flight.
func (c *Core) applyReport(f *flight, r weir.Report, now time.Time) (*weir.Transition, weir.Verdict) {
	switch {
	case r.Attempt.Number > f.c.Attempt:
		return nil, weir.UnknownAttempt
	case r.Attempt.Number != 0 && r.Attempt.Number != f.c.Attempt:
		return nil, weir.Late
	}
	if r.Part != weir.WholeContact {
		return c.applyPartReport(f, r, now)
	}
	pickedUp := false
	if r.Answered && f.c.Size() == 1 {
		f.c.Progress, pickedUp = f.c.MarkAnswered()
	}
	if r.Outcome != "" {
		f.c.ProviderRef = cmp.Or(f.c.ProviderRef, r.ProviderRef)
		if f.c.SentAt.IsZero() { // before the provider's answer; it may have reached the person
			f.c.HeardAt = now
		}
		t := c.finish(f, now, r.Outcome, r.Reason)
		t.Result = r.Result
		t.Answered = pickedUp
		return &t, weir.Applied
	}
	p, err := f.c.Accept(now, r.ProviderRef)
	if err != nil {
		return nil, weir.Late
	}
	t := c.apply(f, p)
	t.Answered = pickedUp
	c.confirmed(f)
	return &t, weir.Applied
}

// confirmed records that the provider has the contact. A cancel that had seemed to
// work came too late. A cancel that had to wait for this is sent now, or once the
// dispatch under way has returned the provider's reference.
func (c *Core) confirmed(f *flight) {
	f.asks, f.askAt, f.canceledAt = 0, time.Time{}, time.Time{}
	if _, sending := c.sends[f.c.AttemptRef()]; f.c.CancelRequested && !sending {
		c.cancelAtProvider(f)
	}
}

func (c *Core) applyPartReport(f *flight, r weir.Report, now time.Time) (*weir.Transition, weir.Verdict) {
	if r.Outcome == "" {
		p, err := f.c.Accept(now, r.ProviderRef)
		if err != nil {
			return nil, weir.Late
		}
		t := c.apply(f, p)
		c.confirmed(f)
		return &t, weir.Applied
	}
	p, changed, err := f.c.ReportPart(now, f.c.Size(), r.Part, partState(r.Outcome))
	switch {
	case err != nil:
		return nil, weir.UnknownAttempt
	case !changed:
		return nil, weir.Duplicate
	}
	p.ProviderRef = cmp.Or(p.ProviderRef, r.ProviderRef) // the report may arrive before the provider's answer
	was := weir.Transition{From: f.c.Rev, Was: f.c.State}
	t := c.apply(f, p)
	if o, over := p.PartsOutcome(); over {
		t = c.finish(f, now, o, partsReason(o, r.Reason))
		t.From, t.Was = was.From, was.Was
	} else {
		c.confirmed(f)
	}
	return &t, weir.Applied
}

// partsReason returns why a contact of several messages failed, also if the last
// report was a delivery.
func partsReason(o weir.Outcome, last string) string {
	if o == weir.Completed {
		return ""
	}
	return cmp.Or(last, "a message failed at the provider")
}

func partState(o weir.Outcome) byte {
	if o == weir.Completed {
		return weir.PartDelivered
	}
	return weir.PartFailed
}

// Loaded handles the row of a contact that was read for a report or a cancel.
// found is false if there is no such row.
func (c *Core) Loaded(l Load, contact weir.Contact, found bool, now time.Time) {
	c.loads--
	switch {
	case !found && l.Report == nil:
		c.reply(l.Origin, Reply{Err: weir.Errorf(weir.CodeNotFound, "no such contact")})
	case !found:
		c.answer(nil, weir.UnknownAttempt, l.Origin)
	case c.flights[contact.ID] != nil && l.Report == nil:
		c.cancelFlight(c.flights[contact.ID], l.Origin)
	case c.flights[contact.ID] != nil && !c.flights[contact.ID].claiming:
		t, v := c.applyReport(c.flights[contact.ID], *l.Report, now)
		c.answer(t, v, l.Origin)
	case c.revisions.outdated(&contact):
		c.load(l)
	case contact.State.InFlight() && c.reserved > 0:
		c.load(l) // it was claimed as it was accepted, which has not been reported yet
	case l.Report == nil:
		c.cancelWaiting(contact, l.Origin, now)
	default:
		c.applyLateReport(contact, *l.Report, l.Origin)
	}
	c.run(now)
}

// applyLateReport judges a report about a contact that is not in flight. It changes
// something only if a message was delivered after all.
func (c *Core) applyLateReport(contact weir.Contact, r weir.Report, from Origin) {
	switch {
	case r.Attempt.Number > contact.Attempt || contact.Attempt == 0:
		c.answer(nil, weir.UnknownAttempt, from)
		return
	case contact.State == weir.Done && r.Outcome == weir.Completed && r.Part != weir.WholeContact:
		if p, changed := contact.CorrectPart(r.Part); changed {
			t := weir.Transition{From: contact.Rev, Was: contact.State}
			t.Contact = contact
			t.Contact.Progress = p
			c.revisions.record(&t.Contact)
			c.answer(&t, weir.Applied, from)
			return
		}
	}
	c.answer(nil, lateVerdict(contact, r), from)
}

// lateVerdict distinguishes a repeated report from a late one.
func lateVerdict(contact weir.Contact, r weir.Report) weir.Verdict {
	if contact.State != weir.Done || r.Attempt.Number != 0 && r.Attempt.Number != contact.Attempt {
		return weir.Late
	}
	if r.Part == weir.WholeContact && r.Outcome == contact.Outcome {
		return weir.Duplicate
	}
	if r.Part >= 0 && r.Part < len(contact.Parts) && r.Outcome != "" && contact.Parts[r.Part] == partState(r.Outcome) {
		return weir.Duplicate
	}
	return weir.Late
}

// OptedOut counts a person who opted out on this channel, for its brake.
func (c *Core) OptedOut(address string, now time.Time) {
	c.brake.optedOut(address)
	c.run(now)
}

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

// CallOff cancels the contacts in flight that people do not want any more, and returns how many
// they are: some may reach the person all the same.
func (c *Core) CallOff(unwanted func(*weir.Contact) bool, now time.Time) int {
	n := 0
	for _, id := range slices.Sorted(maps.Keys(c.flights)) {
		if f := c.flights[id]; unwanted(&f.c) {
			n++
			c.cancelFlight(f, Origin{})
		}
	}
	c.run(now)
	return n
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
