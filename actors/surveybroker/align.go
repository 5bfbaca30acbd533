package surveybroker

import (
	"context"

	"weir/surveys"
)

// align cancels contacts that wait in channels for windows that the schedule of
// a running survey no longer has, a page in each round.
func (r *round) align(ctx context.Context, k *known) error {
	if !k.moved {
		return nil
	}
	err := r.sweep(ctx, k, func(d *desk, p surveys.Respondent) (change, bool) {
		if p.Progress.Contact == surveys.Leaving { // a crash may have happened between commit and cancel
			r.later = append(r.later, p.Contact)
		}
		w, ok := k.plan.Schedule.Window(r.now)
		if p.Progress.Contact != surveys.Waiting || ok && !w.Open.After(r.now) && !p.Closes.After(w.Close) {
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
	k.moved = !k.allHeld
	return nil
}

// catchUp reads the outcome of the contacts of a survey that could not be run
// for a while, a page in each round: the respondents' own due times may be a
// week away.
func (r *round) catchUp(ctx context.Context, k *known) error {
	if !k.missed {
		return nil
	}
	var failed error
	err := r.sweep(ctx, k, func(d *desk, p surveys.Respondent) (change, bool) {
		if p.Progress.Contact == surveys.Idle || failed != nil {
			return change{}, false
		}
		c, ok, err := r.inquire(ctx, d, p)
		failed = err
		return c, ok && err == nil
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		k.held, k.allHeld = 0, false
		return err
	}
	if k.missed = !k.allHeld; !k.missed {
		k.held, k.allHeld = 0, false // for the next sweep
	}
	return nil
}
