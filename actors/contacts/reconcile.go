package contacts

import (
	"cmp"
	"slices"
	"time"

	"weir"
	"weir/channels"
	"weir/operators"
)

// reconcile reconciles contacts that have been silent for too long: it queues one
// status request for each, the longest silent first. It also repeats cancels that
// failed.
func (c *Core) reconcile(now time.Time) {
	c.reconcileAt = now.Add(c.cfg.ReconcileEvery)
	c.out.ReconcileBegun, c.out.ReconcileClean = true, !c.askFailed
	c.askFailed = false
	asked := len(c.askQueue)
	c.queueAsks(func(f *flight) bool {
		return f.c.State == weir.Active && !now.Before(f.askDue(c.cfg.IdleAfter))
	})
	c.reconciled = operators.Reconciliation{At: now, Checked: len(c.askQueue) - asked}
	for _, f := range c.inOrder() {
		if f.c.CancelRequested && f.c.State == weir.Active {
			c.cancelAtProvider(f)
		}
	}
}

// reconcileUnknown queues the status requests for unclear dispatches that are due.
func (c *Core) reconcileUnknown(now time.Time) {
	c.queueAsks(func(f *flight) bool { return f.c.State == weir.Unknown && !now.Before(f.askAt) })
	c.unknownAt = time.Time{}
	for _, f := range c.flights {
		if f.c.State == weir.Unknown && !f.askQueued && !c.isAsked(f) {
			c.unknownAt = earlier(c.unknownAt, f.askAt)
		}
	}
}

func (c *Core) queueAsks(due func(*flight) bool) {
	var found []*flight
	for _, f := range c.flights {
		if !f.askQueued && !c.isAsked(f) && f.canceledAt.IsZero() && due(f) {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b *flight) int {
		return cmp.Or(a.lastHeard().Compare(b.lastHeard()), cmp.Compare(a.c.ID, b.c.ID))
	})
	for _, f := range found {
		f.askQueued = true
		c.askQueue = append(c.askQueue, f.c.ID)
	}
}

func (c *Core) isAsked(f *flight) bool {
	_, asked := c.asks[f.c.AttemptRef()]
	return asked
}

// AskDone applies the provider's answer about an attempt.
func (c *Core) AskDone(ref weir.AttemptRef, a channels.Answer, now time.Time) {
	delete(c.asks, ref)
	f := c.flights[ref.ID]
	if f != nil && f.c.Attempt == ref.Number && (f.c.State == weir.Active || f.c.State == weir.Unknown) {
		c.applyAnswer(f, a, now)
	}
	c.run(now)
}

func (c *Core) applyAnswer(f *flight, a channels.Answer, now time.Time) {
	if a.Status != channels.QueryFailed && f.asks > 0 {
		c.askUnknownNow(now)
	}
	var ts []weir.Transition
	switch a.Status {
	case channels.QueryFailed:
		c.askFailed = true
		c.out.Reconciled = append(c.out.Reconciled, a.Status)
		f.asks++
		if f.asks == 1 {
			f.askFailedAt = now
		}
		if c.silentFor(f, now, maxSilence) && now.Sub(f.askFailedAt) >= c.cfg.LostAfter {
			c.commit(Commit{Transitions: []weir.Transition{c.finish(f, now, weir.Lost, "the provider could not be asked about it for a day")}})
			return
		}
		c.askAgain(f, now.Add(c.backoff(f.asks)))
		return
	case channels.CannotTell:
		ts = c.outcomeUnknown(f, now)
	case channels.Absent:
		ts = c.absent(f, a.Partial, now)
	case channels.Underway:
		ts = c.underway(f, a, now)
	default:
		ts = c.finishedAtProvider(f, a, now)
	}
	f.asks = 0
	if len(ts) > 0 {
		c.out.Reconciled = append(c.out.Reconciled, a.Status)
		c.reconciled.Resolved++
	}
	c.commit(Commit{Transitions: ts})
}

// askAgain schedules the next status request for a contact. An active one is
// asked about by the next reconciliation.
func (c *Core) askAgain(f *flight, at time.Time) {
	if f.c.State == weir.Unknown {
		c.askUnknown(f, at)
		return
	}
	f.askAt = at
}

// askUnknownNow brings forward the status requests that were postponed while the
// provider could not be asked: it answers again.
func (c *Core) askUnknownNow(now time.Time) {
	for _, f := range c.flights {
		if f.asks > 0 && f.c.State == weir.Unknown {
			c.askUnknown(f, now)
		}
	}
}

// underway keeps a contact that the provider is still working on.
func (c *Core) underway(f *flight, a channels.Answer, now time.Time) []weir.Transition {
	ts := c.applyReports(f, a.Reports, now)
	if !f.c.State.InFlight() {
		return ts
	}
	if f.c.State == weir.Unknown || a.ProviderRef != "" && a.ProviderRef != f.c.ProviderRef {
		p, _ := f.c.Accept(now, a.ProviderRef)
		f.askAt = time.Time{}
		ts = append(ts, c.apply(f, p))
		if f.c.CancelRequested {
			c.cancelAtProvider(f)
		}
	}
	switch limit := c.silenceLimit(a); {
	case a.Bounded || !c.silentFor(f, now, limit):
	case a.Silent:
		ts = append(ts, c.finish(f, now, weir.Lost, "the provider has it and reports no progress"))
	default:
		ts = append(ts, c.finish(f, now, weir.Lost, "the provider has not finished it for a day"))
	}
	return ts
}

// silenceLimit returns how long an attempt keeps its slots while the provider only
// confirms that it has it.
func (c *Core) silenceLimit(a channels.Answer) time.Duration {
	if a.Silent {
		return c.cfg.LostAfter
	}
	return maxSilence
}

// silentFor reports whether nothing was heard of an attempt for at least limit,
// and for at least as long as an attempt of unknown outcome is kept.
func (c *Core) silentFor(f *flight, now time.Time, limit time.Duration) bool {
	return now.Sub(f.lastHeard()) >= max(limit, c.cfg.LostAfter)
}

// finishedAtProvider ends a contact that is done at the provider.
func (c *Core) finishedAtProvider(f *flight, a channels.Answer, now time.Time) []weir.Transition {
	ts := c.applyReports(f, a.Reports, now)
	if f.c.State.InFlight() {
		ts = append(ts, c.finish(f, now, weir.Lost, "the provider has finished it and reports no outcome"))
	}
	return ts
}

func (c *Core) applyReports(f *flight, reports []weir.Report, now time.Time) []weir.Transition {
	var ts []weir.Transition
	for _, r := range reports {
		if !f.c.State.InFlight() {
			break
		}
		if t, _ := c.applyReport(f, r, now); t != nil {
			ts = append(ts, *t)
		}
	}
	return ts
}

// absent handles a contact that the provider certainly does not have. If its
// dispatch was unclear, the dispatch did not happen, and the contact returns to
// its place; if it had been accepted, the provider dropped it. partial means that
// the provider has a part of it, which is done, and that another dispatch sends
// only the rest.
func (c *Core) absent(f *flight, partial bool, now time.Time) []weir.Transition {
	switch {
	case !f.canceledAt.IsZero():
		return []weir.Transition{c.finish(f, now, weir.Canceled, "canceled at the provider")}
	case f.c.State == weir.Active && !partial:
		return []weir.Transition{c.finish(f, now, weir.Lost, "the provider no longer knows it")}
	case f.c.CancelRequested:
		return []weir.Transition{c.finish(f, now, weir.Canceled, "the provider never had it")}
	case windowOver(&f.c.Spec, now):
		return []weir.Transition{c.finish(f, now, weir.Expired, "the provider never had it")}
	default:
		return []weir.Transition{c.retry(f, now, now, "the provider never had it")}
	}
}

// outcomeUnknown handles a contact whose outcome the provider cannot determine. It
// keeps its slots until the limit, or is dispatched again if the channel allows
// it.
func (c *Core) outcomeUnknown(f *flight, now time.Time) []weir.Transition {
	switch {
	case f.c.State == weir.Unknown && channels.AtLeastOnce(c.ch.Settings) && !f.c.CancelRequested && !windowOver(&f.c.Spec, now):
		t := c.retry(f, now, now, "sent again: the channel is set to at least once")
		if t.Ended != nil {
			t.Ended.Outcome = weir.Lost // it may have reached the person
		}
		return []weir.Transition{t}
	case now.Sub(f.lastHeard()) >= c.cfg.LostAfter:
		return []weir.Transition{c.finish(f, now, weir.Lost, "its outcome is unknown")}
	}
	again := now.Add(c.cfg.ReconcileEvery)
	if limit := f.lastHeard().Add(c.cfg.LostAfter); limit.Before(again) {
		again = limit
	}
	if f.c.State == weir.Unknown { // an active one is asked about by the next reconciliation
		c.askUnknown(f, again)
	}
	return nil
}
