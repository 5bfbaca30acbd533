package surveys

import (
	"context"
	"fmt"

	"weir"
	"weir/events"
	"weir/surveys"
)

// advance finishes, stops or pauses a survey, or goes on canceling what it no longer needs. If the
// survey contacts respondents, it returns what that is to be decided by; whether its window is open
// is for [feed] to see.
func advance(ctx context.Context, r *roundState, sv *surveyState) (facts *surveys.Facts, err error) {
	if sv.plan == nil {
		return nil, nil
	}
	if r.now.Before(sv.skippedUntil) {
		r.wakeAt(sv.skippedUntil)
		return nil, nil
	}
	defer func() {
		if p := recover(); p != nil {
			facts, err = nil, nil
			r.skipBroken(sv, p)
		}
	}()
	if sv.survey.State == surveys.Paused && sv.sweepDone && !r.hinted && !sv.plan.Schedule.Over(r.now) {
		r.wakeAt(sv.plan.WakeAt(r.now))
		return nil, nil
	}
	sums, err := lookup(ctx, r.io.Store.Counts, sv.survey.ID)
	if err != nil {
		return nil, fmt.Errorf("read a survey's counts: %w", err)
	}
	tally := sums.Tally(len(sv.plan.Quotas))
	tally.Secured += sv.budget.Unpaid // they must not keep others from being started who can be paid for
	if sv.survey.State == surveys.Stopping {
		return nil, cancelRespondents(ctx, r, sv, tally)
	}
	decision := sv.plan.Decide(r.now, tally)
	var braked *weir.Braked
	var spent bool
	if sv.survey.State == surveys.Running {
		braked = r.io.brakes.verdict(&sv.survey, r.now)
		if spent, err = budgetSpent(ctx, r, sv, tally); err != nil {
			return nil, err
		}
	}
	v := sv.plan.Judge(sv.survey.State, decision, tally, braked != nil, spent)
	if v.Step != "" {
		if v.Step != surveys.Pause {
			braked = nil
		}
		return nil, changeState(ctx, r, sv, v, braked)
	}
	r.wakeAt(sv.plan.WakeAt(r.now))
	if !v.GoesOn {
		return nil, cancelPaused(ctx, r, sv)
	}
	if err := readMissedOutcomes(ctx, r, sv); err != nil {
		return nil, err
	}
	return &surveys.Facts{Tally: tally, Full: sv.plan.Quotas.FullBuckets(tally.Buckets), ToStart: decision.ToStart}, cancelOutsideWindows(ctx, r, sv)
}

// changeState changes a survey's state, with its events; braked is what its brake says. If another
// writer has changed the survey, the next round reads its new state.
func changeState(ctx context.Context, r *roundState, sv *surveyState, v surveys.Verdict, braked *weir.Braked) error {
	s, ok := sv.survey.Advance(v.Step, v.Cause, braked, r.now)
	if !ok {
		return nil
	}
	list := []events.Event{surveys.StateChanged(&s, r.now)}
	if braked != nil {
		list = append(list, events.Braked("survey", s.Name, braked))
	}
	changed, err := call(ctx, func(ctx context.Context) (surveys.Survey, error) {
		return r.io.Store.UpdateSurvey(ctx, s, list...)
	})
	switch weir.CodeOf(err) {
	case "":
	case weir.CodeConflict, weir.CodeNotFound:
		r.moreWork = true
		return nil
	case weir.CodePrecondition: // respondents are becoming visible in it
		r.wakeAt(r.now.Add(retryDelay))
		return nil
	default:
		return fmt.Errorf("change a survey: %w", err)
	}
	r.moreWork = true
	r.io.Logger.Info("survey state changed", "survey", s.Name, "state", string(s.State), "cause", string(s.Cause))
	r.setVersion(sv, changed)
	if braked != nil {
		r.io.Logger.Warn("survey paused itself", "survey", s.Name, "cause", string(braked.Cause), "count", braked.Count, "of", braked.Of, "bound_percent", braked.Percent)
		r.io.Metrics.brakes.WithLabelValues(string(braked.Cause)).Inc()
	}
	return nil
}

// cancelRespondents cancels a page of the respondents that are not final. The survey is
// done when none is left. Respondents whose contacts wait come first, so that
// their contacts cannot take a slot that becomes free when a provider releases
// a canceled contact.
func cancelRespondents(ctx context.Context, r *roundState, sv *surveyState, t surveys.Tally) error {
	if t.Pending+t.Active == 0 {
		return changeState(ctx, r, sv, surveys.Verdict{Step: surveys.Finish, Cause: surveys.ByUser}, nil)
	}
	if !sv.sweepDone {
		r.moreWork = true
		return sweep(ctx, r, sv, func(st *surveys.Stepper, page []surveys.Respondent) (changes []surveys.Change, _ []weir.Ref, _ error) {
			for _, p := range page {
				if p.Progress.Contact == surveys.Idle || p.Progress.Contact == surveys.Dispatched {
					continue
				}
				if c, ok := st.Cancel(p); ok {
					changes = append(changes, c)
				}
			}
			return changes, nil, nil
		})
	}
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return r.io.Store.Open(ctx, sv.survey.ID, openPage)
	})
	if err != nil {
		return fmt.Errorf("read respondents to cancel: %w", err)
	}
	st, err := r.stepperFor(ctx, sv, page)
	if err != nil {
		return err
	}
	var changes []surveys.Change
	for _, p := range page {
		if c, ok := st.Cancel(p); ok {
			changes = append(changes, c)
		}
	}
	done, err := writeChanges(ctx, r, sv, st, changes)
	r.continueIf(err == nil && done.uncanceled == 0) // otherwise it is retried after retryDelay
	return err
}

// cancelPaused cancels the contacts of a paused survey that wait in channels.
func cancelPaused(ctx context.Context, r *roundState, sv *surveyState) error {
	if sv.sweepDone {
		return nil
	}
	return cancelWaiting(ctx, r, sv, func(*surveys.Respondent) bool { return false })
}

// cancelOutsideWindows cancels contacts of a running survey that wait for windows
// that its schedule no longer has.
func cancelOutsideWindows(ctx context.Context, r *roundState, sv *surveyState) error {
	if !sv.scheduleChanged || sv.entriesDropped { // one sweep at a time: they share the cursor
		return nil
	}
	w, ok := sv.plan.Schedule.Window(r.now)
	open := ok && !w.Open.After(r.now)
	err := cancelWaiting(ctx, r, sv, func(p *surveys.Respondent) bool { return open && !p.WindowEnd.After(w.Close) })
	sv.scheduleChanged = err != nil || !sv.sweepDone
	return err
}

// cancelWaiting cancels contacts that wait in channels, except those to keep, a
// page in each round.
func cancelWaiting(ctx context.Context, r *roundState, sv *surveyState, keep func(*surveys.Respondent) bool) error {
	return sweep(ctx, r, sv, func(st *surveys.Stepper, page []surveys.Respondent) (changes []surveys.Change, again []weir.Ref, _ error) {
		for i := range page {
			if page[i].Progress.Contact == surveys.Waiting && keep(&page[i]) {
				continue
			}
			c, repeat, ok := st.CancelWaiting(page[i])
			if repeat {
				again = append(again, page[i].Contact)
			}
			if ok {
				changes = append(changes, c)
			}
		}
		return changes, again, nil
	})
}

// readMissedOutcomes reads the outcome of the contacts of a survey that could not be run
// for a while, a page in each round: the respondents' own due times may be a
// week away.
func readMissedOutcomes(ctx context.Context, r *roundState, sv *surveyState) error {
	if !sv.entriesDropped {
		return nil
	}
	err := sweep(ctx, r, sv, func(st *surveys.Stepper, page []surveys.Respondent) (changes []surveys.Change, again []weir.Ref, _ error) {
		contacts, err := r.io.readContacts(ctx, page, hasContact)
		if err != nil {
			return nil, nil, err
		}
		for i := range page {
			if !hasContact(&page[i]) {
				continue
			}
			c, repeat, ok := st.Overdue(page[i], contacts)
			if repeat {
				again = append(again, page[i].Contact)
			}
			if ok {
				changes = append(changes, c)
			}
		}
		return changes, again, nil
	})
	if err != nil {
		sv.sweepCursor, sv.sweepDone = 0, false
		return err
	}
	if sv.entriesDropped = !sv.sweepDone; !sv.entriesDropped {
		sv.sweepCursor, sv.sweepDone = 0, false // for the next sweep
	}
	return nil
}

// sweep goes once through the active respondents, a page in each round, and writes what decide changes.
// decide also returns contacts whose cancellation is to be repeated.
func sweep(ctx context.Context, r *roundState, sv *surveyState, decide func(*surveys.Stepper, []surveys.Respondent) (changes []surveys.Change, again []weir.Ref, _ error)) error {
	filter := surveys.Filter{Survey: sv.survey.ID, Statuses: []surveys.Status{surveys.Active}, After: sv.sweepCursor, Limit: openPage}
	page, next, err := call2(ctx, func(ctx context.Context) ([]surveys.Respondent, surveys.RespondentID, error) {
		return r.io.Store.Respondents(ctx, filter)
	})
	if err != nil {
		return fmt.Errorf("read active respondents: %w", err)
	}
	st, err := r.stepperFor(ctx, sv, page)
	if err != nil {
		return err
	}
	changes, again, err := decide(st, page)
	if err != nil {
		return err
	}
	done, err := writeChanges(ctx, r, sv, st, changes)
	if err != nil {
		return err
	}
	sv.sweepCursor, sv.sweepDone = next, next == 0
	r.continueIf(!sv.sweepDone)
	r.cancel(ctx, append(again, done.toCancel...))
	return nil
}
