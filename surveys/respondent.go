package surveys

import (
	"errors"
	"time"

	"weir"
	"weir/internal/validation"
	"weir/limits"
	"weir/operators"
	"weir/people"
	"weir/surveys/calendar"
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
	ErrDisposition = errors.New("the disposition cannot follow the present one")
	// ErrMissingValue is returned for a contact whose text uses an attribute that the
	// respondent does not have. A repetition fails as well.
	ErrMissingValue = errors.New("no value for a field of the text")
)

// earlyExpiryDelay is the delay of a contact that expired before its window closed for the second
// time in a row or more: a provider's clock may differ from ours, and must not cause a
// retry loop. After the first time it is enqueued again at once.
const earlyExpiryDelay = 15 * time.Minute

// Mode returns the mode in which a respondent is being contacted.
func (pl *Plan) Mode(p Progress) Mode { return pl.Arms[p.Arm].Modes[p.Step] }

// Covers reports whether the plan has the mode of a progress, which may belong to an
// earlier definition.
func (pl *Plan) Covers(p Progress) bool {
	return p.Arm < len(pl.Arms) && p.Step < len(pl.Arms[p.Arm].Modes)
}

// AttemptsMade returns the number of attempts that are known to have been made, as shown in
// reports. The plan need not cover the progress.
func (pl *Plan) AttemptsMade(p Progress) Counts {
	if p.Unconfirmed && pl.Covers(p) {
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
	p.Status, p.Disposition, p.Arm = Active, p.Disposition.Advance(Queued), arm
	p.DelayedUntil = time.Time{}
	p, e := pl.attempt(p, now)
	return p, e, nil
}

// ContactAccepted records that the provider accepted a contact. The delay to the next
// step counts from the instant at.
func (pl *Plan) ContactAccepted(p Progress, at time.Time, serial int) (Progress, Effects) {
	if serial != p.Serial || p.Contact == Idle {
		return p, Effects{}
	}
	stage := p.Contact
	p = pl.dispatched(p)
	p.Contact = Dispatched
	return pl.delayFrom(p, stage, at), Effects{}
}

// delayFrom counts the delay to the next step from the instant at, at which a contact of
// the given stage turned out to have been made. A step that is due later stays: an answer
// in the meantime may have postponed it.
func (pl *Plan) delayFrom(p Progress, stage Stage, at time.Time) Progress {
	if due := pl.nextStepAt(p, at); p.Status == Active && (stage == Waiting || due.After(p.DueAt)) {
		p.DueAt = due
	}
	return p
}

// CallAnswered records that the person answered the call: whatever the outcome of the
// call, the person was reached. If it is the first report of the contact, the delay to
// the next step counts from the instant at.
func (pl *Plan) CallAnswered(p Progress, at time.Time, serial int) (Progress, Effects) {
	stage := p.Contact
	p = pl.provenBy(p, serial)
	if p.Status != Active {
		return p, Effects{}
	}
	p.Disposition = p.Disposition.Advance(Contacted)
	if stage != Dispatched && p.Contact == Dispatched {
		p = pl.delayFrom(p, stage, at)
	}
	return p, Effects{}
}

// provenBy records that a contact certainly took place, because of an answer in it.
func (pl *Plan) provenBy(p Progress, serial int) Progress {
	if serial != p.Serial || p.Contact == Idle {
		return p
	}
	p = pl.dispatched(p)
	p.Contact, p.Unconfirmed = Dispatched, false
	return p
}

// ApplyOutcome records the outcome of a contact. The outcome of an older contact can at
// most prove that the respondent was reached.
func (pl *Plan) ApplyOutcome(p Progress, now time.Time, serial int, outcome weir.Outcome) (Progress, Effects) {
	if serial != p.Serial || p.Contact == Idle {
		if outcome == weir.Completed && p.Status == Active {
			p.Disposition = p.Disposition.Advance(Contacted)
		}
		return p, Effects{}
	}
	stage := p.Contact
	if outcome == weir.Expired || outcome == weir.Canceled {
		return pl.notMade(p, now, stage, outcome)
	}
	p = pl.dispatched(p)
	p.Contact, p.Unconfirmed, p.EarlyExpiries = Idle, false, 0
	if p.Status != Active {
		return p, Effects{}
	}
	if outcome == weir.Completed {
		p.Disposition = p.Disposition.Advance(Contacted)
	} else if stage != Canceling && !pl.hasNextAttempt(p) && !pl.inConversation(p) {
		return pl.giveUp(p)
	}
	if stage != Dispatched { // the end is the first report
		p = pl.delayFrom(p, stage, now)
	}
	return p, Effects{}
}

// notMade handles a contact that ended without reaching the respondent: it counts
// as no attempt. An expired contact is enqueued again in the window that is open or
// opens next. After a contact that others canceled, the next step follows after the
// delay.
func (pl *Plan) notMade(p Progress, now time.Time, stage Stage, outcome weir.Outcome) (Progress, Effects) {
	p.Contact = Idle
	if stage == Canceling {
		return p, Effects{}
	}
	if outcome == weir.Expired && p.Status == Active {
		if p.EarlyExpiries++; !now.Before(p.WindowEnd) {
			p.EarlyExpiries = 0
		} else if p.EarlyExpiries > 1 {
			now = now.Add(min(earlyExpiryDelay, p.WindowEnd.Sub(now)))
		}
		p.Unconfirmed = true // also if a provider had accepted it for a while
		return pl.enqueue(p, now)
	}
	if p.Unconfirmed {
		p.Attempts, p.Unconfirmed = p.Attempts.Add(pl.Mode(p), -1), false
	}
	if p.Status == Active {
		p.DueAt = pl.nextStepAt(p, now)
	}
	return p, Effects{}
}

// Timeout takes the next step of a respondent that is due: the next attempt, the
// next mode, or giving up. While a contact is open it consumes no attempt, but
// reports the contact as overdue. Outside the schedule it postpones the step, or gives
// up if the schedule never opens again.
func (pl *Plan) Timeout(p Progress, now time.Time) (Progress, Effects) {
	if !p.Due(now) {
		return p, Effects{}
	}
	open, ok := pl.Schedule.NextOpen(now)
	switch {
	case p.Contact != Idle:
		p.DueAt = pl.nextStepAt(p, now)
		return p, Effects{Overdue: p.Serial}
	case !ok:
		return pl.giveUp(p)
	case open.After(now):
		p.DueAt = open
		return p, Effects{}
	case !pl.hasNextAttempt(p):
		return pl.giveUp(p)
	case !pl.retries(p).Retry(p.Tries):
		p.Step, p.Tries = p.Step+1, 0
	}
	return pl.attempt(p, now)
}

// Claimed records when a contact was claimed that says a turn of a conversation of questions. The delay of
// the next step counts from when the person may have seen the question.
func (pl *Plan) Claimed(p Progress, turn int, at time.Time) Progress {
	first := p.Talk.Asked == 0
	p.Talk = p.Talk.Claimed(turn, at)
	if first && p.Talk.Asked != 0 && p.Status == Active && p.Contact == Idle && !p.DueAt.IsZero() {
		p.DueAt = calendar.LaterOf(p.DueAt, pl.nextStepAt(p, time.UnixMicro(p.Talk.Asked)))
	}
	return p
}

// Unsaid postpones the step of a respondent that is due while the present question waits to be sent. ok is
// false if there is nothing to postpone.
func (pl *Plan) Unsaid(p Progress, now time.Time) (_ Progress, ok bool) {
	if _, opens := pl.Schedule.NextOpen(now); !opens || !p.Due(now) || p.Contact != Idle {
		return p, false
	}
	p.DueAt = pl.nextStepAt(p, now)
	return p, true
}

// attempt begins the next attempt of the present mode.
func (pl *Plan) attempt(p Progress, now time.Time) (Progress, Effects) {
	p.Tries++
	p.Attempts, p.Unconfirmed = p.Attempts.Add(pl.Mode(p), 1), true
	return pl.enqueue(p, now)
}

// enqueue requests a contact in the window that is open at t or opens next.
func (pl *Plan) enqueue(p Progress, t time.Time) (Progress, Effects) {
	w, ok := pl.Schedule.Window(t)
	if !ok {
		p.Tries--
		p.Attempts, p.Unconfirmed = p.Attempts.Add(pl.Mode(p), -1), false
		return pl.giveUp(p)
	}
	p.Serial++
	p.Contact, p.WindowEnd, p.FailedSteps = Waiting, w.Close, 0
	// The outcome of the contact arrives earlier, unless it is lost.
	p.DueAt = pl.nextStepAt(p, w.Close)
	return p, Effects{Enqueue: &Outreach{
		Serial: p.Serial, Mode: pl.Mode(p), Attempt: p.Tries, Priority: p.Priority(),
		NotBefore: calendar.LaterOf(t, w.Open), NotAfter: w.Close,
	}}
}

// GiveUp ends a respondent whose contact cannot be built.
func (pl *Plan) GiveUp(p Progress) (Progress, Effects) {
	if p.Status.Final() {
		return p, Effects{}
	}
	return pl.giveUp(p)
}

// giveUp ends a respondent that has no attempt left.
func (pl *Plan) giveUp(p Progress) (Progress, Effects) {
	return pl.finish(p, Failed, p.Disposition.GivenUp())
}

// conclude ends a respondent with the result of a conversation. Whoever said something, be it a
// refusal, has answered.
func (pl *Plan) conclude(p Progress, d Disposition) (Progress, Effects) {
	if Started.CanBecome(d) {
		p.Disposition = p.Disposition.Advance(Started)
	}
	return pl.finish(p, d.status(), d)
}

// finish sets a final status. A contact that was not dispatched is canceled.
func (pl *Plan) finish(p Progress, s Status, d Disposition) (Progress, Effects) {
	p, e := pl.cancelWaiting(p)
	if step := p.Disposition.step(); !d.step().atLeast(step) {
		p.Furthest = step
	}
	p.Status, p.Disposition, p.DueAt, p.DelayedUntil = s, d, time.Time{}, time.Time{}
	e.Finished = true
	return pl.count(p), e
}

// count records that a respondent counts toward the cutoff and its bucket, from the
// first disposition that does.
func (pl *Plan) count(p Progress) Progress {
	p.Counted = p.Counted || p.Disposition.Counts(pl.CountPartial)
	return p
}

// cancelWaiting cancels a waiting contact. It was no attempt, unless it turns out to
// have been dispatched in the meantime.
func (pl *Plan) cancelWaiting(p Progress) (Progress, Effects) {
	if p.Contact != Waiting {
		return p, Effects{}
	}
	p.Contact, p.Unconfirmed = Canceling, false
	p.Tries--
	p.Attempts = p.Attempts.Add(pl.Mode(p), -1)
	return p, Effects{Cancel: p.Serial}
}

// dispatched records that the present contact was accepted by the provider. A call is an
// attempt only once something is known of it, because it may expire at the provider.
func (pl *Plan) dispatched(p Progress) Progress {
	if p.Contact == Canceling {
		p.Tries++
		p.Attempts, p.Unconfirmed = p.Attempts.Add(pl.Mode(p), 1), true
	}
	if !Voice(pl.Mode(p)) {
		p.Unconfirmed = false
	}
	return p
}

// nextStepAt returns the instant of the next step if the present attempt was made at t,
// moved into the schedule.
func (pl *Plan) nextStepAt(p Progress, t time.Time) time.Time {
	return pl.whenOpen(t.Add(pl.retries(p).Delay(p.Tries, pl.hasNextMode(p), pl.FallbackDelay)))
}

// whenOpen moves an instant into the schedule. After the last window it stays: the step
// that is due then gives up.
func (pl *Plan) whenOpen(t time.Time) time.Time {
	if open, ok := pl.Schedule.NextOpen(t); ok {
		return open
	}
	return t
}

func (pl *Plan) retries(p Progress) RetrySchedule { return pl.Retries[pl.Mode(p)] }

// hasNextAttempt reports whether a retry or another mode is left.
func (pl *Plan) hasNextAttempt(p Progress) bool {
	return pl.retries(p).Retry(p.Tries) || pl.hasNextMode(p)
}

func (pl *Plan) hasNextMode(p Progress) bool { return p.Step+1 < len(pl.Arms[p.Arm].Modes) }

// inConversation reports whether the respondent is answering by text; then a message
// that could not be delivered does not end the conversation.
func (pl *Plan) inConversation(p Progress) bool {
	return !Voice(pl.Mode(p)) && (p.Disposition == Started || p.Disposition == InterimPartial)
}

// Ending is the end of a contact.
type Ending struct {
	At      time.Time // when it ended
	Serial  int
	Outcome weir.Outcome
	Rule    people.Rule // by which it was suppressed
	Result  weir.Result
}

// ContactEnded records the end of a contact and the interviewer's result, if there
// was an interviewer. A final disposition ends the respondent, even if it is
// reported late. An agreed instant replaces the delay of the retry schedule and
// uses up no retry. After an interview the delay counts from its end, because
// the job may have waited for an interviewer.
func (pl *Plan) ContactEnded(p Progress, now time.Time, end Ending) (Progress, Effects) {
	latest := end.Serial == p.Serial && p.Contact != Idle && p.Status == Active
	if end.Outcome == weir.Suppressed {
		switch {
		case !latest:
			return p, Effects{}
		// The next attempt may say something else, or be paid for by what others have not cost.
		case end.Rule == people.RuleRepeat || end.Rule == limits.RuleBudget:
			return pl.ApplyOutcome(p, now, end.Serial, weir.Canceled)
		}
		p.Contact = Idle
		if end.Rule == people.RuleOnlyTo || end.Rule == people.RuleUnrecorded {
			return pl.giveUp(p)
		}
		return pl.OptOut(p) // the person has refused, in this survey or elsewhere
	}
	d := Disposition(end.Result.Code)
	if d != "" && d.Final() && p.Status == Active {
		if latest {
			p = pl.provenBy(p, end.Serial)
			p.Contact = Idle
		}
		if !p.Disposition.CanBecome(d) {
			d = p.Disposition.OptedOut()
		}
		return pl.conclude(p, d)
	}
	callBack := end.Result.CallBack
	if latest && !callBack.IsZero() {
		end.Outcome = weir.Completed // an agreed call-back is no failure
	}
	interview := latest && pl.Mode(p) == CATI && end.Outcome != weir.Expired
	p, e := pl.ApplyOutcome(p, now, end.Serial, end.Outcome)
	if !interview || p.Status != Active {
		return p, e
	}
	p.DueAt = pl.nextStepAt(p, end.At)
	if !callBack.IsZero() {
		p.Tries = max(0, p.Tries-1)
		p.DueAt = pl.whenOpen(now.Add(min(max(0, callBack.Sub(now)), validation.MaxDelay)))
	}
	return p, e
}

// CancelWaiting cancels a waiting contact because the survey is paused. The attempt was not
// made, and is due at once when the survey resumes.
func (pl *Plan) CancelWaiting(p Progress, now time.Time) (Progress, Effects) {
	if p.Status != Active {
		return p, Effects{}
	}
	p, e := pl.cancelWaiting(p)
	if e.Cancel != 0 {
		p.DueAt = now
	}
	return p, e
}

// NotEnqueued records that the contact requested by the latest step is not enqueued
// after all, because the survey or the channel does not accept it now. It was no
// attempt, and is due again at the instant from which it could have been made.
func (pl *Plan) NotEnqueued(p Progress, o Outreach) Progress {
	if p.Serial != o.Serial || p.Contact != Waiting {
		return p
	}
	p, _ = pl.cancelWaiting(p)
	p.Contact, p.DueAt = Idle, o.NotBefore
	return p
}

// Why returns why a respondent without an open contact waits, as far as its own
// progress determines it. It is zero for a final respondent, and for one that is to
// be contacted now: then the survey or a channel delays it.
func (pl *Plan) Why(p Progress, now time.Time) operators.Why {
	switch {
	case p.Status == Pending && p.DelayedUntil.After(now):
		return operators.NewWhy(operators.WhyDelayed, operators.TextDelayed, "at", p.DelayedUntil)
	case p.Status != Active || p.Due(now) || p.DueAt.IsZero():
		return operators.Why{}
	case p.FailedSteps > 0:
		return operators.NewWhy(operators.WhyDelayed, operators.TextNotBuilt, "at", p.DueAt)
	}
	due := pl.Schedule.Fields(p.DueAt)
	next, _ := pl.Timeout(p, p.DueAt)
	switch {
	case next.Status.Final():
		return operators.NewWhy(operators.WhyAnswer, operators.TextWaitsForAnswer, due...)
	case next.Contact == Idle: // the schedule was changed since
		return operators.NewWhy(operators.WhyWindow, operators.TextStepWhenOpen, pl.Schedule.Fields(next.DueAt)...)
	case next.Step != p.Step:
		return operators.NewWhy(operators.WhyRetry, operators.TextFirstAttempt, append(due, "mode", pl.Mode(next))...)
	default:
		return operators.NewWhy(operators.WhyRetry, operators.TextAttemptBy, append(due, "attempt", next.Tries, "mode", pl.Mode(next))...)
	}
}

// NeedOf returns what a respondent without an open contact needs. arm is that of a pending one.
func (pl *Plan) NeedOf(survey string, person Person, p Progress, now time.Time, arm int, cost Cost) Need {
	var e Effects
	switch {
	case p.Status == Pending:
		var err error
		if p, e, err = pl.Start(p, now, arm); err != nil {
			return Need{Free: true}
		}
	case p.Contact != Idle, !pl.Covers(p), !p.Due(now): // until it is due, an answer may come
		return Need{Free: true}
	default:
		p, e = pl.Timeout(p, now)
	}
	if e.Enqueue == nil {
		return Need{Free: true}
	}
	spec, err := pl.Contact(survey, person, p, *e.Enqueue)
	if err != nil { // it will be given up
		return Need{Free: true}
	}
	n, ok := cost(e.Enqueue.Mode, &spec)
	return Need{Free: !ok, Cost: n}
}
