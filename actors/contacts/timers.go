package contacts

import (
	"time"

	"weir"
	"weir/channels"
	"weir/operators"
)

// Tick handles everything that is due. The shell calls it at the instant that
// NextWake returned; it may be called at any time.
func (c *Core) Tick(now time.Time) {
	if reached(c.reconcileAt, now) && len(c.flights) > 0 {
		c.reconcile(now)
	}
	if reached(c.unknownAt, now) {
		c.reconcileUnknown(now)
	}
	c.confirmCancels(now)
	c.readDue(now)
	if !c.prepared && !c.preparing && !c.ch.Held && reached(c.prepareAt, now) && !c.draining {
		c.preparing, c.out.Prepare = true, true
	}
	if c.wantsStatus() && reached(c.statusAt, now) {
		c.checking, c.statusAsked, c.out.Status = true, true, true
	}
	c.run(now)
}

// readDue requests the reads that are due.
func (c *Core) readDue(now time.Time) {
	if reached(c.dueAt, now) && !c.dueBusy {
		until := now
		if !c.deleteAt.IsZero() {
			until = now.AddDate(100, 0, 0) // a channel that is being deleted waits for nothing
		}
		c.dueBusy, c.dueAt, c.out.Due = true, time.Time{}, &Read{until, pageLimit}
	}
	if reached(c.overdueAt, now) && !c.overdueBusy {
		c.overdueBusy, c.overdueAt, c.out.Overdue = true, time.Time{}, &Read{now, pageLimit}
	}
	if reached(c.sweepAt, now) && !c.lanesBusy && !c.idle() {
		c.lanesBusy, c.woken, c.sweepAt, c.out.Lanes = true, false, now.Add(sweepEvery), true
	}
}

// PrepareDone applies the result of setting the provider up. Nothing is sent
// before that succeeds.
func (c *Core) PrepareDone(err error, now time.Time) {
	c.preparing = false
	if c.reconnect { // it was set up with the old settings
		c.reconnect = false
		c.Tick(now)
		return
	}
	if err == nil {
		c.prepared, c.prepareFails = true, 0
		c.statusAt = now
		c.Tick(now)
		return
	}
	c.prepareFails++
	c.status = channels.Status{Health: weir.Erring, Reason: err.Error()}
	c.prepareAt = now.Add(c.backoff(c.prepareFails))
}

// StatusDone applies the provider's status.
func (c *Core) StatusDone(s channels.Status, now time.Time) {
	c.checking, c.status, c.statusAt = false, s, now.Add(statusEvery)
	if s.Health == weir.Up && c.window.empty() {
		c.breaker.closeIdle(now)
	}
	c.run(now)
}

// Observed applies a provider status that another request has returned.
func (c *Core) Observed(s channels.Status, now time.Time) {
	if c.prepared && !c.checking {
		c.status, c.statusAt = s, now.Add(statusEvery)
		c.run(now)
	}
}

// wantsStatus reports whether the provider's status is worth a request: once, and
// then as long as there is work or the provider is known to fail.
func (c *Core) wantsStatus() bool {
	return c.prepared && !c.checking && !c.draining && (!c.statusAsked || !c.idle() || !c.breaker.closed() || c.unhealthy())
}

// NextWake returns the instant at which Tick has something to do; zero: none.
func (c *Core) NextWake(now time.Time) time.Time {
	var at time.Time
	add := func(enabled bool, t time.Time) {
		if enabled {
			at = earlier(at, t)
		}
	}
	add(len(c.flights) > 0, c.reconcileAt)
	add(true, c.unknownAt)
	add(!c.lanesBusy && !c.idle(), c.sweepAt)
	add(!c.dueBusy, c.dueAt)
	add(!c.overdueBusy, c.overdueAt)
	add(!c.prepared && !c.preparing && !c.draining, c.prepareAt)
	add(c.wantsStatus(), c.statusAt)
	add(!c.breaker.probing && c.breaker.until.After(now), c.breaker.until)
	if opens := c.pace.opensAt(now); opens.After(now) {
		add(!c.window.empty(), opens)
	}
	add(c.limitedUntil.After(now) && !c.window.empty(), c.limitedUntil)
	add(true, c.retryAt)
	add(c.deleteAt.After(now) && len(c.flights) > 0, c.deleteAt)
	if !c.idleSince.IsZero() && !c.unhealthy() {
		add(true, c.idleSince.Add(c.cfg.StopAfter))
	}
	add(true, c.confirmCancelAt)
	return at
}

// Busy reports whether the broker has work and must not be stopped.
func (c *Core) Busy() bool { return !c.idle() }

// Drain stops claiming contacts. Dispatches under way are waited for.
func (c *Core) Drain(now time.Time) {
	c.draining = true
	c.checkIdle(now)
}

// Load returns how full the channel is: slots in flight, waiting contacts as far
// as this broker knows, and the capacity.
func (c *Core) Load() (inFlight int, queued int64, capacity int) {
	return c.ledger.InUse() - c.reserved, max(0, c.queued), c.ledger.Capacity
}

// Figures returns the live numbers. Queued and OldestQueuedAt are estimates; the
// store has the exact values.
func (c *Core) Figures() operators.Figures {
	f := operators.Figures{
		InFlight: c.ledger.InUse() - c.reserved, Queued: max(0, c.queued), Blocked: c.window.blocked(), OldestQueuedAt: c.window.oldest(),
		Sending: c.counts[weir.Sending], Active: c.counts[weir.Active], Unknown: c.counts[weir.Unknown],
	}
	f.Health, f.HealthReason = c.health()
	f.Breaker, f.RetryBudget, f.BreakerUntil = c.breaker.state(), c.retryBudget.left(), c.breaker.until
	f.RatePerSecond, f.Brake = c.pace.rate(), c.brake.window.Figures()
	f.Reconciliation, f.NextDue = c.reconciled, c.dueAt
	return f
}

func (c *Core) health() (weir.Health, string) {
	switch {
	case c.ch.Held:
		return weir.Paused, operators.WhyBlocked(&c.ch).Text()
	case c.blockedBy() == operators.WhyBraked:
		return weir.Paused, c.brake.reason(&c.ch)
	case c.ch.Paused:
		return weir.Paused, ""
	case c.breaker.faulted():
		return weir.Faulted, c.breaker.reason
	case !c.breaker.closed():
		return weir.Erring, c.breaker.reason
	default:
		return c.status.Health, c.status.Reason
	}
}
