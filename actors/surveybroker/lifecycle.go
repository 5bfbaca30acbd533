package surveybroker

import (
	"context"
	"fmt"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/internal/backoff"
	"weir/surveys"
	"weir/surveys/calendar"
)

// advanceSurvey advances a survey that is done, stopping or paused. open reports whether
// the survey may contact respondents now.
func (r *round) advanceSurvey(ctx context.Context, sv *surveyState) (open bool, err error) {
	if sv.plan == nil {
		return false, nil
	}
	if r.now.Before(sv.skippedUntil) {
		r.wakeAt(sv.skippedUntil)
		return false, nil
	}
	defer func() {
		if p := recover(); p != nil {
			open, err = false, nil
			r.skipBroken(sv, p)
		}
	}()
	if sv.survey.State == surveys.Paused && sv.sweepDone && !r.hinted && !sv.plan.Schedule.Over(r.now) {
		r.wakeForWindows(sv)
		return false, nil
	}
	sums, err := lookup(ctx, r.o.Store.Counts, sv.survey.ID)
	if err != nil {
		return false, fmt.Errorf("read a survey's counts: %w", err)
	}
	t := tally{Tally: sums.Tally(len(sv.plan.Quotas))}
	t.full = sv.plan.Quotas.FullBuckets(t.Buckets)
	if sv.survey.State == surveys.Stopping {
		return false, r.cancelRespondents(ctx, sv, t)
	}
	t.decision = sv.plan.Decide(r.now, t.Tally)
	r.tallies[sv.survey.ID] = t
	switch {
	case t.decision.Done && t.Pending > 0: // respondents that are no longer needed are canceled, too
		return false, r.changeState(ctx, sv, surveys.Stop, sv.causeOf(t))
	case t.decision.Done:
		return false, r.changeState(ctx, sv, surveys.Finish, sv.causeOf(t))
	case t.decision.Stop:
		return false, r.changeState(ctx, sv, surveys.Stop, surveys.WindowOver)
	case sv.survey.State == surveys.Paused:
		r.wakeForWindows(sv)
		if sv.sweepDone {
			return false, nil
		}
		return false, r.cancelWaiting(ctx, sv, func(surveys.Respondent) bool { return false })
	}
	r.wakeForWindows(sv)
	if err := r.readMissedOutcomes(ctx, sv); err != nil {
		return false, err
	}
	return true, r.cancelOutsideWindows(ctx, sv)
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
func (r *round) wakeForWindows(sv *surveyState) {
	if last, bounded := sv.plan.Schedule.LastClose(); bounded {
		r.wakeAt(last.Add(calendar.Grace))
	}
	if at, ok := sv.plan.Schedule.NextOpen(r.now); ok && at.After(r.now) {
		r.wakeAt(at)
	}
}

// skipBroken skips a survey whose own rules panicked, for a time that grows. Only
// the first panic is logged.
func (r *round) skipBroken(sv *surveyState, panicked any) {
	if sv.failures++; sv.failures == 1 {
		supervise.LogPanic(r.o.Logger, r.o.Metrics.panics, "survey skipped: its rules panicked", panicked, "survey", sv.survey.Name)
	} else {
		r.o.Metrics.panics.Inc()
	}
	sv.skippedUntil = r.now.Add(backoff.Delay(sv.failures, brokenDelay, time.Hour))
	r.skipped.Store(sv.survey.ID, sv.skippedUntil)
	r.wakeAt(sv.skippedUntil)
}

// changeState changes a survey's state. If another writer has changed the survey,
// the next round reads its new state.
func (r *round) changeState(ctx context.Context, sv *surveyState, step surveys.Step, cause surveys.Cause) error {
	to, err := sv.survey.State.Apply(step)
	if err != nil || to == sv.survey.State {
		return nil //nolint:nilerr // it has come so far already
	}
	s := sv.survey
	s.State = to
	if s.Cause == "" || sv.survey.State != surveys.Stopping {
		s.Cause = cause
	}
	if to == surveys.Done {
		s.Ended = r.now
	}
	changed, err := call(ctx, func(ctx context.Context) (surveys.Survey, error) {
		return r.o.Store.UpdateSurvey(ctx, s, stateEvent(&s, r.now))
	})
	switch weir.CodeOf(err) {
	case "":
		r.moreWork = true
		r.o.Logger.Info("survey state changed", "survey", s.Name, "state", string(s.State), "cause", string(s.Cause))
		r.setVersion(sv, changed)
		return nil
	case weir.CodeConflict, weir.CodeNotFound:
		r.moreWork = true
		return nil
	case weir.CodePrecondition: // respondents are becoming visible in it
		r.wakeAt(r.now.Add(retryDelay))
		return nil
	default:
		return fmt.Errorf("change a survey: %w", err)
	}
}

// cancelRespondents cancels a page of the respondents that are not final. The survey is
// done when none is left. Respondents whose contacts wait come first, so that
// their contacts cannot take a slot that becomes free when a provider releases
// a canceled contact.
func (r *round) cancelRespondents(ctx context.Context, sv *surveyState, t tally) error {
	if t.Pending+t.Active == 0 {
		return r.changeState(ctx, sv, surveys.Finish, surveys.ByUser)
	}
	if !sv.sweepDone {
		r.moreWork = true
		return r.sweepActive(ctx, sv, func(st *stepper, p surveys.Respondent) (change, bool) {
			if p.Progress.Contact == surveys.Idle || p.Progress.Contact == surveys.Dispatched {
				return change{}, false
			}
			return st.cancel(p)
		})
	}
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return r.o.Store.Open(ctx, sv.survey.ID, openPage)
	})
	if err != nil {
		return fmt.Errorf("read respondents to cancel: %w", err)
	}
	before := r.cancelFailures
	if _, err := r.stepEach(ctx, sv, page, (*stepper).cancel); err != nil {
		return err
	}
	r.moreWork = r.moreWork || r.cancelFailures == before // otherwise it is retried after retryDelay
	return nil
}

// cancel ends a respondent because its survey ends.
func (st *stepper) cancel(p surveys.Respondent) (change, bool) {
	return st.step(p, certain(st.plan.Cancel))
}

// cancelWaiting cancels contacts that wait in channels, except those to keep, a
// page in each round.
func (r *round) cancelWaiting(ctx context.Context, sv *surveyState, keep func(surveys.Respondent) bool) error {
	err := r.sweepActive(ctx, sv, func(st *stepper, p surveys.Respondent) (change, bool) {
		if p.Progress.Contact == surveys.Canceling { // a crash may have happened between commit and cancel
			r.toCancel = append(r.toCancel, p.Contact)
		}
		if p.Progress.Contact != surveys.Waiting || keep(p) {
			return change{}, false
		}
		c, ok := st.step(p, certain(func(p surveys.Progress) (surveys.Progress, surveys.Effects) { return sv.plan.CancelWaiting(p, r.now) }))
		c.cancelAfterCommit = true
		return c, ok
	})
	if err == nil {
		r.cancelCollected(ctx)
	}
	return err
}

// cancelOutsideWindows cancels contacts of a running survey that wait for windows
// that its schedule no longer has.
func (r *round) cancelOutsideWindows(ctx context.Context, sv *surveyState) error {
	if !sv.scheduleChanged || sv.entriesDropped { // one sweep at a time: they share the cursor
		return nil
	}
	w, ok := sv.plan.Schedule.Window(r.now)
	open := ok && !w.Open.After(r.now)
	if err := r.cancelWaiting(ctx, sv, func(p surveys.Respondent) bool { return open && !p.WindowEnd.After(w.Close) }); err != nil {
		return err
	}
	sv.scheduleChanged = !sv.sweepDone
	return nil
}

// sweepActive goes once through the active respondents, a page in each round.
func (r *round) sweepActive(ctx context.Context, sv *surveyState, of func(*stepper, surveys.Respondent) (change, bool)) error {
	filter := surveys.Filter{Survey: sv.survey.ID, Statuses: []surveys.Status{surveys.Active}, After: sv.sweepCursor, Limit: openPage}
	page, next, err := call2(ctx, func(ctx context.Context) ([]surveys.Respondent, surveys.RespondentID, error) {
		return r.o.Store.Respondents(ctx, filter)
	})
	if err != nil {
		return fmt.Errorf("read active respondents: %w", err)
	}
	if _, err := r.stepEach(ctx, sv, page, of); err != nil {
		return err
	}
	sv.sweepCursor, sv.sweepDone = next, next == 0
	r.moreWork = r.moreWork || !sv.sweepDone
	return nil
}

// stepEach writes the changes of a page of respondents and returns their number.
func (r *round) stepEach(ctx context.Context, sv *surveyState, page []surveys.Respondent, of func(*stepper, surveys.Respondent) (change, bool)) (int, error) {
	st, err := r.stepper(ctx, sv)
	if err != nil {
		return 0, err
	}
	var changes []change
	for _, p := range page {
		if c, ok := of(st, p); ok {
			changes = append(changes, c)
		}
	}
	return len(changes), r.write(ctx, sv, changes)
}

// cancelCollected cancels contacts whose respondents' moves are already
// committed.
func (r *round) cancelCollected(ctx context.Context) {
	changes := make([]change, len(r.toCancel))
	for i, ref := range r.toCancel {
		changes[i].cancel = ref
	}
	r.toCancel = nil
	r.cancelContacts(ctx, changes)
}

// readMissedOutcomes reads the outcome of the contacts of a survey that could not be run
// for a while, a page in each round: the respondents' own due times may be a
// week away.
func (r *round) readMissedOutcomes(ctx context.Context, sv *surveyState) error {
	if !sv.entriesDropped {
		return nil
	}
	var failed error
	err := r.sweepActive(ctx, sv, func(st *stepper, p surveys.Respondent) (change, bool) {
		if p.Progress.Contact == surveys.Idle || failed != nil {
			return change{}, false
		}
		c, ok, err := r.checkOverdue(ctx, st, p)
		failed = err
		return c, ok && err == nil
	})
	if err == nil {
		err = failed
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

// checkOverdue reads a contact that is overdue and returns the change that follows.
// ok is false if there is nothing to do.
func (r *round) checkOverdue(ctx context.Context, st *stepper, who surveys.Respondent) (_ change, ok bool, _ error) {
	c, err := r.readContact(ctx, who.Contact)
	gone := weir.CodeOf(err) == weir.CodeNotFound
	if err != nil && !gone {
		return change{}, false, fmt.Errorf("read a contact: %w", err)
	}
	switch {
	case gone:
		return st.applyAsEntry(who, surveys.OutboxEntry{Kind: surveys.ContactEnded, At: r.now, Outcome: weir.Lost}), true, nil
	case c.State == weir.Done:
		return st.applyAsEntry(who, surveys.OutboxEntry{Kind: surveys.ContactEnded, At: r.now, Outcome: c.Outcome, Reason: c.Reason, Messages: c.AcceptedMessages()}), true, nil
	case c.State.Waiting() && who.Progress.Contact == surveys.Canceling:
		r.toCancel = append(r.toCancel, who.Contact)
		r.cancelCollected(ctx)
	case !c.SentAt.IsZero() && who.Progress.Contact == surveys.Waiting:
		return st.applyAsEntry(who, surveys.OutboxEntry{Kind: surveys.ContactAccepted, At: c.SentAt, Messages: c.AcceptedMessages()}), true, nil
	}
	out, ok := st.step(who, certain(func(p surveys.Progress) (surveys.Progress, surveys.Effects) {
		p, e := st.plan.Timeout(p, r.now)
		if !p.DueAt.After(r.now) { // do not check it again at once
			p.DueAt = r.now.Add(time.Minute)
		}
		return p, e
	}))
	return out, ok, nil
}

// readContact reads a contact.
func (s *System) readContact(ctx context.Context, ref weir.Ref) (weir.Contact, error) {
	c, _, err := call2(ctx, func(ctx context.Context) (weir.Contact, []weir.Attempt, error) { return s.o.Store.Contact(ctx, ref) })
	return c, err
}
