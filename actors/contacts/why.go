package contacts

import (
	"fmt"
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
		return operators.Why{Code: shut, Text: "the process that runs the channel is shutting down; the next one to run it goes on"}
	case operators.WhyError:
		return operators.Why{Code: shut, Text: fmt.Sprintf("channel %s is in error: %s; next try at %s", c.ch.Name, c.status.Reason, operators.WhyAt(c.prepareAt))}
	case operators.WhyPreparing:
		return operators.Why{Code: shut, Text: fmt.Sprintf("the provider of channel %s is being set up", c.ch.Name)}
	case operators.WhySendConcurrency:
		return operators.Why{Code: shut, Text: fmt.Sprintf("channel %s: %d dispatches to the provider are under way, the limit at one time", c.ch.Name, len(c.sends)+c.claims)}
	case operators.WhyLimit:
		return operators.Why{Code: shut, Text: c.limitedBy}
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
		return c.whyGate(shut, now).And(c.window.position(contact))
	case !own.IsZero():
		return own.And(c.window.position(contact))
	}
	if before := c.window.position(contact); before != "" {
		return operators.Why{Code: operators.WhyTurn, Text: before}
	}
	return operators.Why{Code: operators.WhyTurn, Text: "its turn has come"}
}

// whyOwn explains why a waiting contact would not start even if it were next.
func whyOwn(contact *weir.Contact, led *weir.Ledger, ch *weir.Channel) operators.Why {
	size, p := contact.Size(), contact.Priority
	switch {
	case led.Blocked(p, size):
		return operators.Why{Code: operators.WhyTooLarge, Text: fmt.Sprintf("it takes %d slots and channel %s has %d%s; raise the capacity, or cancel it",
			size, ch.Name, led.Capacity, reserved(led, p))}
	case contact.State == weir.Delayed && contact.Receipt.Rule != "":
		return operators.Why{Code: operators.WhyPerson, Text: fmt.Sprintf("until %s: %s", operators.WhyAt(contact.DueAt), contact.Reason)}
	case contact.State == weir.Delayed && contact.Attempt > 0:
		return operators.Why{Code: operators.WhyRetry, Text: fmt.Sprintf("attempt %d is due at %s", contact.Attempt+1, operators.WhyAt(contact.DueAt))}.And(contact.Reason)
	case contact.State == weir.Delayed:
		return operators.Why{Code: operators.WhyNotBefore, Text: "its window opens at " + operators.WhyAt(contact.DueAt)}
	case led.Fits(p, size):
		return operators.Why{}
	case led.InUse()+size <= led.Capacity:
		return operators.Why{Code: operators.WhyReplyReserve, Text: fmt.Sprintf("channel %s: %d of %d slots in use; the free ones are kept for replies", ch.Name, led.InUse(), led.Capacity)}
	default:
		return whyFull(led, ch.Name, size)
	}
}

func whyFull(led *weir.Ledger, channel string, size int) operators.Why {
	text := fmt.Sprintf("channel %s: %d of %d slots in use", channel, led.InUse(), led.Capacity)
	if size > 1 {
		text += fmt.Sprintf("; it takes %d", size)
	}
	return operators.Why{Code: operators.WhyCapacity, Text: text}
}

func reserved(led *weir.Ledger, p weir.Priority) string {
	if p == weir.Reply || led.Reserve == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them kept for replies", led.Reserve)
}

// whyFlight explains why a contact still holds its slots.
func (c *Core) whyFlight(f *flight) operators.Why {
	switch {
	case f.c.CancelRequested && f.cancelTooLate:
		return operators.Why{Code: operators.WhyReport, Text: "cancellation came too late; awaiting delivery report"}
	case f.c.CancelRequested:
		return operators.Why{Code: operators.WhyCanceling, Text: "cancellation requested; its slots are held until the provider is certainly done with it"}
	case f.c.State == weir.Sending:
		return operators.Why{Code: operators.WhyDispatching, Text: "being dispatched to the provider since " + operators.WhyAt(f.c.ClaimedAt)}
	case f.c.State == weir.Unknown:
		return whyUnknown(&f.c, f.askAt, c.cfg.LostAfter)
	default:
		return whyReport(c.askedAt(f), f.lastHeard().Add(c.cfg.LostAfter))
	}
}

func whyUnknown(contact *weir.Contact, asked time.Time, lostAfter time.Duration) operators.Why {
	text := "the result of its dispatch was lost"
	if contact.Reason != "" {
		text += " (" + contact.Reason + ")"
	}
	if !asked.IsZero() {
		text += "; next check at " + operators.WhyAt(asked)
	}
	return operators.Why{Code: operators.WhyUnknown, Text: text + "; marked lost at " + operators.WhyAt(lastHeard(contact).Add(lostAfter)) + " if still unknown"}
}

func whyReport(asked, lost time.Time) operators.Why {
	return operators.Why{Code: operators.WhyReport, Text: fmt.Sprintf("awaiting delivery report; next check at %s; marked lost at %s if still unknown", operators.WhyAt(asked), operators.WhyAt(lost))}
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
		return operators.Why{Code: operators.WhyTooLarge, Text: fmt.Sprintf("%d contacts are larger than the capacity of channel %s, which is %d%s", n, c.ch.Name, c.ledger.Capacity, reserved(&c.ledger, weir.Normal))}
	}
	if !c.dueAt.IsZero() {
		return operators.Why{Code: operators.WhyNotBefore, Text: "the next contact is due at " + operators.WhyAt(c.dueAt)}
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
		return operators.Why{Code: operators.WhyCanceling, Text: "cancellation requested; its slots are held until the provider is certainly done with it"}
	case contact.State == weir.Sending:
		return operators.Why{Code: operators.WhyDispatching, Text: "being dispatched to the provider since " + operators.WhyAt(contact.ClaimedAt)}
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
		return operators.Why{Code: operators.WhyTurn, Text: "queued; the channel's broker is starting"}
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
