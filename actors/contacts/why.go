package contacts

import (
	"time"

	"weir"
	"weir/channels"
	"weir/operators"
)

// whyGate explains what gate returned.
func (c *Core) whyGate(shut operators.WhyCode, now time.Time) operators.Why {
	switch shut {
	case "":
		return operators.Why{}
	case operators.WhyDeleting, operators.WhyPaused:
		return operators.WhyBlocked(&c.ch)
	case operators.WhyBraked:
		return c.brake.why(c.ch)
	case operators.WhyStopping:
		return operators.NewWhy(shut, operators.TextShuttingDown)
	case operators.WhyError:
		return operators.NewWhy(shut, operators.TextError, "channel", c.ch.Name, "reason", c.status.Reason, "at", c.prepareAt)
	case operators.WhyPreparing:
		return operators.NewWhy(shut, operators.TextPreparing, "channel", c.ch.Name)
	case operators.WhySendConcurrency:
		return operators.NewWhy(shut, operators.TextDispatches, "channel", c.ch.Name, "sends", len(c.sends)+c.claims)
	case operators.WhyLimit:
		return operators.NewWhy(shut, operators.TextReason, "reason", c.limitedBy, "rule", c.limitedRule)
	case operators.WhyRate:
		return c.pace.why(c.ch.Name, now)
	default:
		return c.breaker.why(shut)
	}
}

// Why explains why a contact waits, from the latest row that its reader has seen
// and from the broker's state. It is zero for a contact that is done.
func (c *Core) Why(contact *weir.Contact, now time.Time) operators.Why {
	if f := c.flights[contact.ID]; f != nil {
		return c.whyFlight(f)
	}
	if contact.State.InFlight() { // it is done since the row was read, or queued again
		if queued, ok := c.window.find(contact.ID); ok {
			contact = queued
		}
	}
	if !contact.State.Waiting() {
		return operators.Why{}
	}
	own := whyOwn(contact, &c.ledger, &c.ch)
	_, shut := c.gate(now)
	switch {
	case own.Code == operators.WhyTooLarge, own.Code == operators.WhyNotBefore, own.Code == operators.WhyRetry, own.Code == operators.WhyPerson:
		return own
	case shut != "":
		return c.whyGate(shut, now).And(c.window.position(contact)...)
	case !own.IsZero():
		return own.And(c.window.position(contact)...)
	}
	if before := c.window.position(contact); before != nil {
		return operators.Why{Code: operators.WhyTurn, Clauses: before}
	}
	return operators.NewWhy(operators.WhyTurn, operators.TextTurnHasCome)
}

// whyOwn explains why a waiting contact would not start even if it were next.
func whyOwn(contact *weir.Contact, led *weir.Ledger, ch *weir.Channel) operators.Why {
	size, p := contact.Size(), contact.Priority
	switch {
	case led.Blocked(p, size):
		if n := reserved(led, p); n > 0 {
			return operators.NewWhy(operators.WhyTooLarge, operators.TextTooLargeReserve, "size", size, "channel", ch.Name, "capacity", led.Capacity, "reserve", n)
		}
		return operators.NewWhy(operators.WhyTooLarge, operators.TextTooLarge, "size", size, "channel", ch.Name, "capacity", led.Capacity)
	case contact.State == weir.Delayed && contact.Receipt.Rule != "":
		return operators.NewWhy(operators.WhyPerson, operators.TextPerson, "at", contact.DueAt, "reason", contact.Reason, "rule", contact.Receipt.Rule)
	case contact.State == weir.Delayed && contact.Attempt > 0:
		return operators.NewWhy(operators.WhyRetry, operators.TextAttemptDue, "attempt", contact.Attempt+1, "at", contact.DueAt).And(operators.ReasonClause(contact.Reason)...)
	case contact.State == weir.Delayed:
		return operators.NewWhy(operators.WhyNotBefore, operators.TextNotBefore, "at", contact.DueAt)
	case led.Fits(p, size):
		return operators.Why{}
	case led.InUse()+size <= led.Capacity:
		return operators.NewWhy(operators.WhyReplyReserve, operators.TextReplyReserve, "channel", ch.Name, "used", led.InUse(), "capacity", led.Capacity)
	default:
		return whyFull(led, ch.Name, size)
	}
}

func whyFull(led *weir.Ledger, channel string, size int) operators.Why {
	w := operators.NewWhy(operators.WhyCapacity, operators.TextSlots, "channel", channel, "used", led.InUse(), "capacity", led.Capacity)
	if size > 1 {
		w = w.And(operators.NewClause(operators.TextTakes, "size", size))
	}
	return w
}

// reserved returns how many slots of the channel are kept from a contact, for replies.
func reserved(led *weir.Ledger, p weir.Priority) int {
	if p == weir.Reply {
		return 0
	}
	return led.Reserve
}

// whyFlight explains why a contact still holds its slots.
func (c *Core) whyFlight(f *flight) operators.Why {
	switch {
	case f.c.CancelRequested && f.cancelTooLate:
		return operators.NewWhy(operators.WhyReport, operators.TextCancelTooLate)
	case f.c.CancelRequested:
		return operators.NewWhy(operators.WhyCanceling, operators.TextCanceling)
	case f.c.State == weir.Sending:
		return operators.NewWhy(operators.WhyDispatching, operators.TextDispatching, "at", f.c.ClaimedAt)
	case f.c.State == weir.Unknown:
		return whyUnknown(&f.c, f.askAt, c.cfg.LostAfter)
	default:
		return whyReport(c.askedAt(f), f.lastHeard().Add(c.cfg.LostAfter))
	}
}

func whyUnknown(contact *weir.Contact, asked time.Time, lostAfter time.Duration) operators.Why {
	w := operators.NewWhy(operators.WhyUnknown, operators.TextResultLost)
	if contact.Reason != "" {
		w = operators.NewWhy(operators.WhyUnknown, operators.TextResultLostBy, "reason", contact.Reason)
	}
	if !asked.IsZero() {
		w = w.And(operators.NewClause(operators.TextNextCheck, "at", asked))
	}
	return w.And(operators.NewClause(operators.TextLostAt, "at", lastHeard(contact).Add(lostAfter)))
}

func whyReport(asked, lost time.Time) operators.Why {
	return operators.NewWhy(operators.WhyReport, operators.TextReport, "at", asked, "lost_at", lost)
}

// askedAt returns the instant of the reconciliation that asks about an active contact
// unless a report arrives before.
func (c *Core) askedAt(f *flight) time.Time {
	at, due := c.reconcileAt, f.askDue(c.cfg.IdleAfter)
	if late, every := due.Sub(at), c.cfg.ReconcileEvery; late > 0 && every > 0 {
		at = at.Add((late + every - 1).Truncate(every))
	}
	return at
}

// WhyNext explains why the channel starts nothing although contacts wait; it is
// zero if it does, or if none wait.
func (c *Core) WhyNext(now time.Time) operators.Why {
	if c.queued <= 0 {
		return operators.Why{}
	}
	if _, shut := c.gate(now); shut != "" {
		return c.whyGate(shut, now)
	}
	heads := c.window.heads(&c.ledger)
	if p, ok := c.window.first(heads); ok {
		return whyOwn(heads[p].entries[0], &c.ledger, &c.ch)
	}
	if n := c.window.blocked(); n > 0 {
		if kept := reserved(&c.ledger, weir.Normal); kept > 0 {
			return operators.NewWhy(operators.WhyTooLarge, operators.TextLargerReserve, "count", n, "channel", c.ch.Name, "capacity", c.ledger.Capacity, "reserve", kept)
		}
		return operators.NewWhy(operators.WhyTooLarge, operators.TextLarger, "count", n, "channel", c.ch.Name, "capacity", c.ledger.Capacity)
	}
	if !c.dueAt.IsZero() {
		return operators.NewWhy(operators.WhyNotBefore, operators.TextNextDue, "at", c.dueAt)
	}
	return operators.Why{}
}

// WhyStored explains, from its row and the slots in flight, why a contact waits
// whose channel's broker has no core yet, or none because it rests.
func WhyStored(cfg Config, ch *weir.Channel, inFlight int, contact *weir.Contact) operators.Why {
	led := storedLedger(ch, inFlight)
	switch heard := lastHeard(contact); {
	case contact.State == weir.Done:
		return operators.Why{}
	case contact.State.InFlight() && contact.CancelRequested:
		return operators.NewWhy(operators.WhyCanceling, operators.TextCanceling)
	case contact.State == weir.Sending:
		return operators.NewWhy(operators.WhyDispatching, operators.TextDispatching, "at", contact.ClaimedAt)
	case contact.State == weir.Unknown:
		return whyUnknown(contact, time.Time{}, cfg.LostAfter)
	case contact.State == weir.Active:
		return whyReport(heard.Add(cfg.IdleAfter), heard.Add(cfg.LostAfter))
	}
	own := whyOwn(contact, &led, ch)
	if own.Code == operators.WhyTooLarge || own.Code == operators.WhyNotBefore || own.Code == operators.WhyRetry || own.Code == operators.WhyPerson {
		return own
	}
	if why := operators.WhyBlocked(ch); !why.IsZero() {
		return why
	}
	if own.IsZero() {
		return operators.NewWhy(operators.WhyTurn, operators.TextStarting)
	}
	return own
}

// WhyNextStored explains, from its row and its figures, why a channel whose broker
// runs elsewhere starts nothing although contacts wait.
func WhyNextStored(ch *weir.Channel, f operators.Figures) operators.Why {
	if f.Queued == 0 {
		return operators.Why{}
	}
	if why := operators.WhyBlocked(ch); !why.IsZero() {
		return why
	}
	led := storedLedger(ch, f.InFlight)
	return whyOwn(&weir.Contact{Spec: weir.Spec{Priority: weir.Normal}}, &led, ch) // for the smallest contact
}

func storedLedger(ch *weir.Channel, inFlight int) weir.Ledger {
	led := weir.Ledger{Capacity: ch.Capacity, Reserve: channels.ReplyReserve(ch.Settings)}
	led.Take(weir.Normal, inFlight)
	return led
}
