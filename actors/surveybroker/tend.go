package surveybroker

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/surveys"
)

// tally is a round's view of a survey as a whole.
type tally struct {
	surveys.Tally
	verdict surveys.Verdict
	full    []int
}

// tend advances a survey that is done, stopping or paused. open reports whether
// the survey may contact respondents now.
func (r *round) tend(ctx context.Context, k *known) (open bool, err error) {
	if k.plan == nil {
		return false, nil
	}
	if r.now.Before(k.rest) {
		r.wake(k.rest)
		return false, nil
	}
	defer func() {
		if p := recover(); p != nil {
			open, err = false, nil
			r.broke(k, supervise.PanicText(p), debug.Stack())
		}
	}()
	if k.survey.State == surveys.Paused && k.allHeld && !r.hinted && !k.plan.Schedule.Over(r.now) {
		r.windowEnds(k)
		return false, nil
	}
	sums, err := call(ctx, func(ctx context.Context) (surveys.Sums, error) { return r.store.Counts(ctx, k.survey.ID) })
	if err != nil {
		return false, fmt.Errorf("read a survey's counts: %w", err)
	}
	t := tally{Tally: sums.Tally(len(k.plan.Quotas))}
	t.full = k.plan.Quotas.FullBuckets(t.Buckets)
	if k.survey.State == surveys.Stopping {
		return false, r.stopping(ctx, k, t)
	}
	t.verdict = k.plan.Poll(r.now, t.Tally)
	r.tallies[k.survey.ID] = t
	switch {
	case t.verdict.Done && t.Pending > 0: // respondents that are no longer needed are canceled, too
		return false, r.become(ctx, k, surveys.Stop, k.causeOf(t))
	case t.verdict.Done:
		return false, r.become(ctx, k, surveys.Finish, k.causeOf(t))
	case t.verdict.Stop:
		return false, r.become(ctx, k, surveys.Stop, surveys.WindowOver)
	case k.survey.State == surveys.Paused:
		r.windowEnds(k)
		return false, r.pausing(ctx, k)
	}
	r.windowEnds(k)
	if err := r.catchUp(ctx, k); err != nil {
		return false, err
	}
	return true, r.align(ctx, k)
}

// causeOf returns why a survey with no respondents left to contact is done.
func (k *known) causeOf(t tally) surveys.Cause {
	if k.plan.Enough(t.Tally) {
		return surveys.Reached
	}
	return surveys.Exhausted
}

// windowEnds schedules a round for when the survey's schedule opens, and for
// the end of its last window plus grace.
func (r *round) windowEnds(k *known) {
	if last, bounded := k.plan.Schedule.LastClose(); bounded {
		r.wake(last.Add(surveys.Grace))
	}
	if at, ok := k.plan.Schedule.NextOpen(r.now); ok && at.After(r.now) {
		r.wake(at)
	}
}

// broke skips a survey whose own rules failed, for a time that grows.
func (r *round) broke(k *known, text string, stack []byte) {
	r.metrics.panics.Inc()
	if k.failures++; k.failures == 1 {
		r.logger.Error("a survey's rules failed; it is left alone for a while", "survey", k.survey.Name, "panic", text, "stack", string(stack))
	}
	k.rest = r.now.Add(min(brokenAside<<min(k.failures-1, 6), time.Hour))
	r.wake(k.rest)
}

// become changes a survey's state. If another writer has changed the survey,
// the next round reads its new state.
func (r *round) become(ctx context.Context, k *known, step surveys.Step, cause surveys.Cause) error {
	to, err := k.survey.State.Take(step)
	if err != nil || to == k.survey.State {
		return nil //nolint:nilerr // it has come so far already
	}
	if !r.until() {
		return errRoleLost
	}
	s := k.survey
	s.State = to
	if s.Cause == "" || k.survey.State != surveys.Stopping {
		s.Cause = cause
	}
	if to == surveys.Done {
		s.Ended = r.now
	}
	changed, err := call(ctx, func(ctx context.Context) (surveys.Survey, error) {
		return r.store.UpdateSurvey(ctx, s, stateEvent(&s, r.now))
	})
	switch weir.CodeOf(err) {
	case "":
		r.again = true
		r.logger.Info("a survey has come further", "survey", s.Name, "state", string(s.State), "cause", string(s.Cause))
		r.learn(k, changed)
		return nil
	case weir.CodeConflict, weir.CodeNotFound:
		r.again = true
		return nil
	case weir.CodePrecondition: // respondents are becoming visible in it
		r.wake(r.now.Add(laterAfter))
		return nil
	default:
		return fmt.Errorf("change a survey: %w", err)
	}
}

// stopping cancels a page of the respondents that are not final. The survey is
// done when none is left. Respondents whose contacts wait come first, so that
// their contacts cannot take a slot that becomes free when a provider releases
// a canceled contact.
func (r *round) stopping(ctx context.Context, k *known, t tally) error {
	if t.Pending+t.Active == 0 {
		return r.become(ctx, k, surveys.Finish, surveys.ByUser)
	}
	if !k.allHeld {
		r.again = true
		return r.sweep(ctx, k, func(d *desk, p surveys.Respondent) (change, bool) {
			if p.Progress.Contact == surveys.Idle || p.Progress.Contact == surveys.Out {
				return change{}, false
			}
			return d.cancel(p)
		})
	}
	page, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return r.store.Open(ctx, k.survey.ID, openPage)
	})
	if err != nil {
		return fmt.Errorf("find who is to be canceled: %w", err)
	}
	d, err := r.desk(ctx, k)
	if err != nil {
		return err
	}
	var changes []change
	for _, p := range page {
		if c, ok := d.cancel(p); ok {
			changes = append(changes, c)
		}
	}
	before := r.stuck
	if err := r.write(ctx, k, changes); err != nil {
		return err
	}
	r.again = r.again || r.stuck == before // otherwise it is retried after laterAfter
	return nil
}

// cancel ends a respondent because its survey ends.
func (d *desk) cancel(p surveys.Respondent) (change, bool) {
	return d.step(p, func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
		p, e := d.plan.Cancel(p)
		return p, e, nil
	})
}

// pausing cancels contacts that wait in channels, a page in each round.
func (r *round) pausing(ctx context.Context, k *known) error {
	if k.allHeld {
		return nil
	}
	err := r.sweep(ctx, k, func(d *desk, p surveys.Respondent) (change, bool) {
		if p.Progress.Contact == surveys.Leaving { // a crash may have happened between commit and cancel
			r.later = append(r.later, p.Contact)
			return change{}, false
		}
		c, ok := d.step(p, func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
			p, e := k.plan.Hold(p, r.now)
			return p, e, nil
		})
		c.late = true
		return c, ok
	})
	if err != nil {
		return err
	}
	r.takeBackLater(ctx)
	return nil
}

// sweep goes once through the active respondents, a page in each round.
func (r *round) sweep(ctx context.Context, k *known, of func(*desk, surveys.Respondent) (change, bool)) error {
	filter := surveys.Filter{Survey: k.survey.ID, Statuses: []surveys.Status{surveys.Active}, After: k.held, Limit: openPage}
	type listed struct {
		page []surveys.Respondent
		next surveys.RespondentID
	}
	got, err := call(ctx, func(ctx context.Context) (l listed, err error) {
		l.page, l.next, err = r.store.Respondents(ctx, filter)
		return l, err
	})
	if err != nil {
		return fmt.Errorf("find whose contacts wait: %w", err)
	}
	d, err := r.desk(ctx, k)
	if err != nil {
		return err
	}
	var changes []change
	for _, p := range got.page {
		if c, ok := of(d, p); ok {
			changes = append(changes, c)
		}
	}
	if err := r.write(ctx, k, changes); err != nil {
		return err
	}
	k.held, k.allHeld = got.next, got.next == 0
	r.again = r.again || !k.allHeld
	return nil
}

// takeBackLater cancels contacts whose respondents' moves are already
// committed.
func (r *round) takeBackLater(ctx context.Context) {
	changes := make([]change, len(r.later))
	for i, ref := range r.later {
		changes[i].cancel = ref
	}
	r.later = nil
	r.takeBack(ctx, changes)
}
