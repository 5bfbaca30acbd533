package surveys

import (
	"errors"
	"time"

	"weir"
)

// Errors of steps that a respondent's state does not allow.
var (
	// ErrNotPending is returned for a respondent that was started before.
	ErrNotPending = errors.New("the respondent was started before")
	// ErrFinal is returned for a respondent whose status is final.
	ErrFinal = errors.New("the respondent's status is final")
	// ErrNoWindow is returned if the schedule never opens again.
	ErrNoWindow = errors.New("the schedule never opens again")
	// ErrDisposition is returned for a disposition that an application may not
	// report, or that cannot follow the present one.
	ErrDisposition = errors.New("this disposition cannot be reported here")
)

// early is the delay of a contact that expired before its window closed for the second
// time in a row or more: a provider's clock may differ from ours, and must not cause a
// retry loop. After the first time it is enqueued again at once.
const early = 15 * time.Minute

// Mode returns the mode in which a respondent is being contacted.
func (pl *Plan) Mode(p Progress) Mode { return pl.Arms[p.Arm].Modes[p.Step] }

// Made returns the number of attempts that are known to have been made, as shown in
// reports.
func (pl *Plan) Made(p Progress) Counts {
	if p.Unproven {
		return p.Attempts.Add(pl.Mode(p), -1)
	}
	return p.Attempts
}

// Start starts a pending respondent.
func (pl *Plan) Start(p Progress, now time.Time, arm int) (Progress, Effects, error) {
	if p.Status != Pending {
		return p, Effects{}, ErrNotPending
	}
	if _, ok := pl.Schedule.NextOpen(now); !ok {
		return p, Effects{}, ErrNoWindow
	}
	p.Status, p.Disposition, p.Arm = Active, p.Disposition.Toward(Queued), arm
	p.AsideTill = time.Time{}
	p, e := pl.attempt(p, now)
	return p, e, nil
}

// HandedOver records that the provider accepted a contact. The delay to the next
// step counts from the instant at.
func (pl *Plan) HandedOver(p Progress, at time.Time, serial int) (Progress, Effects) {
	if serial != p.Serial || p.Contact == Idle {
		return p, Effects{}
	}
	stage := p.Contact
	p = pl.wentOut(p)
	p.Contact = Out
	// An answer in the meantime may have postponed the next step.
	if due := pl.wait(p, at); p.Status == Active && (stage == Waiting || due.After(p.DueAt)) {
		p.DueAt = due
	}
	return p, Effects{}
}

// Answered records that the person answered the call: whatever the outcome of the
// call, the person was reached.
func (pl *Plan) Answered(p Progress, serial int) (Progress, Effects) {
	p = pl.proved(p, serial)
	if p.Status == Active {
		p.Disposition = p.Disposition.Toward(Contacted)
	}
	return p, Effects{}
}

// Ended records the outcome of a contact. The outcome of an older contact can at
// most prove that the respondent was reached.
func (pl *Plan) Ended(p Progress, now time.Time, serial int, outcome weir.Outcome) (Progress, Effects) {
	if serial != p.Serial || p.Contact == Idle {
		if outcome == weir.Completed && p.Status == Active {
			p.Disposition = p.Disposition.Toward(Contacted)
		}
		return p, Effects{}
	}
	stage := p.Contact
	if outcome == weir.Expired || outcome == weir.Canceled {
		return pl.neverMade(p, now, stage, outcome)
	}
	p = pl.wentOut(p)
	p.Contact, p.Unproven, p.Early = Idle, false, 0
	if p.Status != Active {
		return p, Effects{}
	}
	if outcome == weir.Completed {
		p.Disposition = p.Disposition.Toward(Contacted)
	} else if stage != Leaving && !pl.more(p) && !pl.conversing(p) {
		return pl.giveUp(p)
	}
	if stage == Waiting {
		p.DueAt = pl.wait(p, now)
	}
	return p, Effects{}
}

// neverMade handles a contact that ended without reaching the respondent: it counts
// as no attempt. An expired contact is enqueued again in the window that is open or
// opens next. After a contact that others canceled, the next step follows after the
// delay.
func (pl *Plan) neverMade(p Progress, now time.Time, stage Stage, outcome weir.Outcome) (Progress, Effects) {
	p.Contact = Idle
	if stage == Leaving {
		return p, Effects{}
	}
	if outcome == weir.Expired && p.Status == Active {
		if p.Early++; !now.Before(p.Closes) {
			p.Early = 0
		} else if p.Early > 1 {
			now = now.Add(min(early, p.Closes.Sub(now)))
		}
		p.Unproven = true // also if a provider had accepted it for a while
		return pl.enqueue(p, now)
	}
	if p.Unproven {
		p.Attempts, p.Unproven = p.Attempts.Add(pl.Mode(p), -1), false
	}
	if p.Status == Active {
		p.DueAt = pl.wait(p, now)
	}
	return p, Effects{}
}

// Timeout takes the next step of a respondent that is due: the next attempt, the
// next mode, or giving up. While a contact is open it consumes no attempt, but
// inquires about the contact. Outside the schedule it postpones the step, or gives
// up if the schedule never opens again.
func (pl *Plan) Timeout(p Progress, now time.Time) (Progress, Effects) {
	if !p.Due(now) {
		return p, Effects{}
	}
	open, ok := pl.Schedule.NextOpen(now)
	switch {
	case p.Contact != Idle:
		p.DueAt = pl.wait(p, now)
		return p, Effects{Inquire: p.Serial}
	case !ok:
		return pl.giveUp(p)
	case open.After(now):
		p.DueAt = open
		return p, Effects{}
	case pl.ladder(p).Retry(p.Tries):
		return pl.attempt(p, now)
	case p.Step+1 < len(pl.Arms[p.Arm].Modes):
		p.Step, p.Tries = p.Step+1, 0
		return pl.attempt(p, now)
	default:
		return pl.giveUp(p)
	}
}

// attempt begins the next attempt of the present mode.
func (pl *Plan) attempt(p Progress, now time.Time) (Progress, Effects) {
	p.Tries++
	p.Attempts, p.Unproven = p.Attempts.Add(pl.Mode(p), 1), true
	return pl.enqueue(p, now)
}

// enqueue requests a contact in the window that is open at t or opens next.
func (pl *Plan) enqueue(p Progress, t time.Time) (Progress, Effects) {
	w, ok := pl.Schedule.Window(t)
	if !ok {
		p.Tries--
		p.Attempts, p.Unproven = p.Attempts.Add(pl.Mode(p), -1), false
		return pl.giveUp(p)
	}
	p.Serial++
	p.Contact, p.Closes, p.Stumbles = Waiting, w.Close, 0
	// The outcome of the contact arrives earlier, unless it is lost.
	p.DueAt = pl.wait(p, w.Close)
	return p, Effects{Enqueue: &Outreach{
		Serial: p.Serial, Mode: pl.Mode(p), Attempt: p.Tries, Priority: p.Priority(),
		NotBefore: later(t, w.Open), NotAfter: w.Close,
	}}
}

// giveUp ends a respondent that has no attempt left.
func (pl *Plan) giveUp(p Progress) (Progress, Effects) {
	return pl.finish(p, Failed, p.Disposition.GivenUp())
}

// finish sets a final status. A contact that was not dispatched is canceled.
func (pl *Plan) finish(p Progress, s Status, d Disposition) (Progress, Effects) {
	p, e := pl.withdraw(p)
	p.Status, p.Disposition, p.DueAt, p.AsideTill = s, d, time.Time{}, time.Time{}
	e.Finished = true
	return pl.count(p, e)
}

// count records when a respondent first counts.
func (pl *Plan) count(p Progress, e Effects) (Progress, Effects) {
	if !p.Counted && p.Disposition.Counts(pl.CountPartial) {
		p.Counted, e.Count = true, true
	}
	return p, e
}

// withdraw cancels a waiting contact. It was no attempt, unless it turns out to
// have been dispatched in the meantime.
func (pl *Plan) withdraw(p Progress) (Progress, Effects) {
	if p.Contact != Waiting {
		return p, Effects{}
	}
	p.Contact, p.Unproven = Leaving, false
	p.Tries--
	p.Attempts = p.Attempts.Add(pl.Mode(p), -1)
	return p, Effects{Withdraw: p.Serial}
}

// wentOut records that the present contact was accepted by the provider. A call is an
// attempt only once something is known of it, because it may expire at the provider.
func (pl *Plan) wentOut(p Progress) Progress {
	if p.Contact == Leaving {
		p.Tries++
		p.Attempts, p.Unproven = p.Attempts.Add(pl.Mode(p), 1), true
	}
	if !pl.Mode(p).Voice() {
		p.Unproven = false
	}
	return p
}

// wait returns the instant of the next step if the present attempt was made at t,
// moved into the schedule.
func (pl *Plan) wait(p Progress, t time.Time) time.Time {
	another := p.Step+1 < len(pl.Arms[p.Arm].Modes)
	due := t.Add(pl.ladder(p).Delay(p.Tries, another, pl.FallbackDelay))
	if open, ok := pl.Schedule.NextOpen(due); ok {
		return open
	}
	return due
}

func (pl *Plan) ladder(p Progress) Ladder { return pl.Ladders[pl.Mode(p)] }

// more reports whether a retry or another mode is left.
func (pl *Plan) more(p Progress) bool {
	return pl.ladder(p).Retry(p.Tries) || p.Step+1 < len(pl.Arms[p.Arm].Modes)
}

// conversing reports whether the respondent is answering by text; then a message
// that could not be delivered does not end the conversation.
func (pl *Plan) conversing(p Progress) bool {
	return !pl.Mode(p).Voice() && (p.Disposition == Started || p.Disposition == InterimPartial)
}
