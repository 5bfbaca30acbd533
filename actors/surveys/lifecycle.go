package surveys

import (
	"context"
	"fmt"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/events"
	"weir/internal/backoff"
	"weir/surveys"
	"weir/surveys/calendar"
)

// lifecycle finishes, stops and pauses surveys, and finds out about contacts that are
// overdue.
type lifecycle struct {
	io       *access
	view     *view
	schedule *schedule
	writer   *writer
	now      time.Time
	hinted   bool            // the round has a cause other than the regular interval
	tallies  map[int64]tally // of the surveys that may start respondents
}

// advance advances a survey that is done, stopping or paused. goesOn reports whether it is running;
// the feeder looks whether its window is open.
func (l *lifecycle) advance(ctx context.Context, sv *surveyState) (goesOn bool, err error) {
	if sv.plan == nil {
		return false, nil
	}
	if l.now.Before(sv.skippedUntil) {
		l.schedule.wakeAt(sv.skippedUntil)
		return false, nil
	}
	defer func() {
		if p := recover(); p != nil {
			goesOn, err = false, nil
			l.skipBroken(sv, p)
		}
	}()
	if sv.survey.State == surveys.Paused && sv.sweepDone && !l.hinted && !sv.plan.Schedule.Over(l.now) {
		l.wakeForWindows(sv)
		return false, nil
	}
	sums, err := lookup(ctx, l.io.Store.Counts, sv.survey.ID)
	if err != nil {
		return false, fmt.Errorf("read a survey's counts: %w", err)
	}
	t := tally{Tally: sums.Tally(len(sv.plan.Quotas))}
	t.full = sv.plan.Quotas.FullBuckets(t.Buckets)
	t.Secured += sv.budget.unpaid // they must not keep others from being started who can be paid for
	if sv.survey.State == surveys.Stopping {
		return false, l.cancelRespondents(ctx, sv, t)
	}
	t.decision = sv.plan.Decide(l.now, t.Tally)
	l.tallies[sv.survey.ID] = t
	var braked *weir.Braked
	var spent bool
	if sv.survey.State == surveys.Running {
		braked = l.io.brakes.verdict(&sv.survey, l.now)
		if spent, err = l.budgetSpent(ctx, sv, t.Tally); err != nil {
			return false, err
		}
	}
	switch {
	case t.decision.Done && t.Pending > 0: // respondents that are no longer needed are canceled, too
		return false, l.changeState(ctx, sv, surveys.Stop, sv.causeOf(t))
	case t.decision.Done:
		return false, l.changeState(ctx, sv, surveys.Finish, sv.causeOf(t))
	case t.decision.Stop:
		return false, l.changeState(ctx, sv, surveys.Stop, surveys.WindowOver)
	case braked != nil:
		return false, l.brake(ctx, sv, braked)
	case spent:
		return false, l.changeState(ctx, sv, surveys.Stop, surveys.BudgetSpent)
	case sv.survey.State == surveys.Paused:
		l.wakeForWindows(sv)
		if sv.sweepDone {
			return false, nil
		}
		return false, l.cancelWaiting(ctx, sv, func(surveys.Respondent) bool { return false })
	}
	l.wakeForWindows(sv)
	if err := l.readMissedOutcomes(ctx, sv); err != nil {
		return false, err
	}
	return true, l.cancelOutsideWindows(ctx, sv)
}

// causeOf returns why a survey with no respondents left to contact is done.
func (sv *surveyState) causeOf(t tally) surveys.Cause {
	if sv.plan.Enough(t.Tally) {
		return surveys.Reached
	}
	return surveys.Exhausted
}

// wakeForWindows schedules a round for when the survey's schedule opens, and for
// the end of its last window plus grace.
func (l *lifecycle) wakeForWindows(sv *surveyState) {
	if last, bounded := sv.plan.Schedule.LastClose(); bounded {
		l.schedule.wakeAt(last.Add(calendar.Grace))
	}
	if at, ok := sv.plan.Schedule.NextOpen(l.now); ok && at.After(l.now) {
		l.schedule.wakeAt(at)
	}
}

// skipBroken skips a survey whose own rules panicked, for a time that grows. Only
// the first panic is logged.
func (l *lifecycle) skipBroken(sv *surveyState, panicked any) {
	if sv.failures++; sv.failures == 1 {
		supervise.LogPanic(l.io.Logger, l.io.Metrics.panics, "survey skipped: its rules panicked", panicked, "survey", sv.survey.Name)
	} else {
		l.io.Metrics.panics.Inc()
	}
	sv.skippedUntil = l.now.Add(backoff.Delay(sv.failures, brokenDelay, time.Hour))
	l.io.findings.skipped.Store(sv.survey.ID, sv.skippedUntil)
	l.schedule.wakeAt(sv.skippedUntil)
}

// changeState changes a survey's state. If another writer has changed the survey,
// the next round reads its new state.
func (l *lifecycle) changeState(ctx context.Context, sv *surveyState, step surveys.Step, cause surveys.Cause) error {
	to, err := sv.survey.State.Apply(step)
	if err != nil || to == sv.survey.State {
		return nil //nolint:nilerr // it has come so far already
	}
	s := sv.survey
	s.State, s.Braked = to, nil
	if s.Cause == "" || sv.survey.State != surveys.Stopping {
		s.Cause = cause
	}
	if to == surveys.Done {
		s.Ended = l.now
	}
	_, err = l.store(ctx, sv, s)
	return err
}

// store stores a survey whose state has changed, with its events.
func (l *lifecycle) store(ctx context.Context, sv *surveyState, s surveys.Survey) (stored bool, _ error) {
	list := []events.Event{surveys.StateChanged(&s, l.now)}
	if s.Braked != nil {
		list = append(list, events.Braked("survey", s.Name, s.Braked))
	}
	changed, err := call(ctx, func(ctx context.Context) (surveys.Survey, error) {
		return l.io.Store.UpdateSurvey(ctx, s, list...)
	})
	switch weir.CodeOf(err) {
	case "":
		l.schedule.moreWork = true
		l.io.Logger.Info("survey state changed", "survey", s.Name, "state", string(s.State), "cause", string(s.Cause))
		l.view.setVersion(sv, changed)
		return true, nil
	case weir.CodeConflict, weir.CodeNotFound:
		l.schedule.moreWork = true
		return false, nil
	case weir.CodePrecondition: // respondents are becoming visible in it
		l.schedule.wakeAt(l.now.Add(retryDelay))
		return false, nil
	default:
		return false, fmt.Errorf("change a survey: %w", err)
	}
}

// cancelRespondents cancels a page of the respondents that are not final. The survey is
// done when none is left. Respondents whose contacts wait come first, so that
// their contacts cannot take a slot that becomes free when a provider releases
// a canceled contact.
func (l *lifecycle) cancelRespondents(ctx context.Context, sv *surveyState, t tally) error {
	if t.Pending+t.Active == 0 {
		return l.changeState(ctx, sv, surveys.Finish, surveys.ByUser)
	}
	if !sv.sweepDone {
		l.schedule.moreWork = true
		return l.sweepActive(ctx, sv, func(st *surveys.Stepper, p surveys.Respondent) (surveys.Change, bool) {
			if p.Progress.Contact == surveys.Idle || p.Progress.Contact == surveys.Dispatched {
				return surveys.Change{}, false
			}
			return st.Cancel(p)
		})
	}
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return l.io.Store.Open(ctx, sv.survey.ID, openPage)
	})
	if err != nil {
		return fmt.Errorf("read respondents to cancel: %w", err)
	}
	before := l.writer.cancelFailures
	if err := l.writer.stepEach(ctx, sv, page, (*surveys.Stepper).Cancel); err != nil {
		return err
	}
	l.schedule.moreWork = l.schedule.moreWork || l.writer.cancelFailures == before // otherwise it is retried after retryDelay
	return nil
}

// cancelWaiting cancels contacts that wait in channels, except those to keep, a
// page in each round.
func (l *lifecycle) cancelWaiting(ctx context.Context, sv *surveyState, keep func(surveys.Respondent) bool) error {
	err := l.sweepActive(ctx, sv, func(st *surveys.Stepper, p surveys.Respondent) (surveys.Change, bool) {
		if p.Progress.Contact == surveys.Canceling { // a crash may have happened between commit and cancel
			l.writer.toCancel = append(l.writer.toCancel, p.Contact)
		}
		if p.Progress.Contact != surveys.Waiting || keep(p) {
			return surveys.Change{}, false
		}
		c, ok := st.Step(p, surveys.Certain(func(p surveys.Progress) (surveys.Progress, surveys.Effects) { return sv.plan.CancelWaiting(p, l.now) }))
		c.AfterCommit = true
		return c, ok
	})
	if err == nil {
		l.writer.cancelCollected(ctx)
	}
	return err
}

// cancelOutsideWindows cancels contacts of a running survey that wait for windows
// that its schedule no longer has.
func (l *lifecycle) cancelOutsideWindows(ctx context.Context, sv *surveyState) error {
	if !sv.scheduleChanged || sv.entriesDropped { // one sweep at a time: they share the cursor
		return nil
	}
	w, ok := sv.plan.Schedule.Window(l.now)
	open := ok && !w.Open.After(l.now)
	if err := l.cancelWaiting(ctx, sv, func(p surveys.Respondent) bool { return open && !p.WindowEnd.After(w.Close) }); err != nil {
		return err
	}
	sv.scheduleChanged = !sv.sweepDone
	return nil
}

// sweepActive goes once through the active respondents, a page in each round.
func (l *lifecycle) sweepActive(ctx context.Context, sv *surveyState, of func(*surveys.Stepper, surveys.Respondent) (surveys.Change, bool)) error {
	return l.sweepPage(ctx, sv, func([]surveys.Respondent) error { return nil }, of)
}

// sweepPage goes through one page of the active respondents, once read has read what of needs.
func (l *lifecycle) sweepPage(ctx context.Context, sv *surveyState, read func([]surveys.Respondent) error, of func(*surveys.Stepper, surveys.Respondent) (surveys.Change, bool)) error {
	filter := surveys.Filter{Survey: sv.survey.ID, Statuses: []surveys.Status{surveys.Active}, After: sv.sweepCursor, Limit: openPage}
	page, next, err := call2(ctx, func(ctx context.Context) ([]surveys.Respondent, surveys.RespondentID, error) {
		return l.io.Store.Respondents(ctx, filter)
	})
	if err != nil {
		return fmt.Errorf("read active respondents: %w", err)
	}
	if err := read(page); err != nil {
		return err
	}
	if err := l.writer.stepEach(ctx, sv, page, of); err != nil {
		return err
	}
	sv.sweepCursor, sv.sweepDone = next, next == 0
	l.schedule.moreWork = l.schedule.moreWork || !sv.sweepDone
	return nil
}

// readMissedOutcomes reads the outcome of the contacts of a survey that could not be run
// for a while, a page in each round: the respondents' own due times may be a
// week away.
func (l *lifecycle) readMissedOutcomes(ctx context.Context, sv *surveyState) error {
	if !sv.entriesDropped {
		return nil
	}
	var contacts map[weir.Ref]weir.Contact
	read := func(page []surveys.Respondent) (err error) {
		contacts, err = l.io.readContacts(ctx, page, hasContact)
		return err
	}
	err := l.sweepPage(ctx, sv, read, func(st *surveys.Stepper, p surveys.Respondent) (surveys.Change, bool) {
		if !hasContact(&p) {
			return surveys.Change{}, false
		}
		return l.checkOverdue(st, p, contacts)
	})
	if err == nil {
		l.writer.cancelCollected(ctx)
	}
	if err != nil {
		sv.sweepCursor, sv.sweepDone = 0, false
		return err
	}
	if sv.entriesDropped = !sv.sweepDone; !sv.entriesDropped {
		sv.sweepCursor, sv.sweepDone = 0, false // for the next sweep
	}
	return nil
}

// checkOverdue returns the change that follows from the contact of a respondent that is overdue.
// ok is false if there is nothing to do.
func (l *lifecycle) checkOverdue(st *surveys.Stepper, who surveys.Respondent, contacts map[weir.Ref]weir.Contact) (_ surveys.Change, ok bool) {
	c, found := contacts[who.Contact]
	switch {
	case !found:
		return st.ApplyAsEntry(who, surveys.OutboxEntry{Kind: surveys.ContactEnded, At: l.now, Outcome: weir.Lost}), true
	case c.State == weir.Done:
		return st.ApplyAsEntry(who, surveys.OutboxEntry{Kind: surveys.ContactEnded, At: l.now, Outcome: c.Outcome, Reason: c.Reason, Messages: c.AcceptedMessages()}), true
	case c.State.Waiting() && who.Progress.Contact == surveys.Canceling:
		l.writer.toCancel = append(l.writer.toCancel, who.Contact)
	case !c.SentAt.IsZero() && who.Progress.Contact == surveys.Waiting:
		return st.ApplyAsEntry(who, surveys.OutboxEntry{Kind: surveys.ContactAccepted, At: c.SentAt, Messages: c.AcceptedMessages()}), true
	}
	return st.Step(who, surveys.Certain(func(p surveys.Progress) (surveys.Progress, surveys.Effects) {
		p, e := st.Plan.Timeout(p, l.now)
		if !p.DueAt.After(l.now) { // do not check it again at once
			p.DueAt = l.now.Add(time.Minute)
		}
		return p, e
	}))
}
