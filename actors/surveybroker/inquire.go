package surveybroker

import (
	"context"
	"fmt"
	"time"

	"weir"
	"weir/surveys"
)

// inquire reads a contact that is overdue and returns the change that follows.
// ok is false if there is nothing to do.
func (r *round) inquire(ctx context.Context, d *desk, who surveys.Respondent) (_ change, ok bool, _ error) {
	type found struct {
		contact weir.Contact
		gone    bool
	}
	got, err := call(ctx, func(ctx context.Context) (f found, err error) {
		f.contact, _, err = r.store.Contact(ctx, who.Contact)
		if weir.CodeOf(err) == weir.CodeNotFound {
			return found{gone: true}, nil
		}
		return f, err
	})
	if err != nil {
		return change{}, false, fmt.Errorf("read a contact: %w", err)
	}
	switch c := &got.contact; {
	case got.gone:
		return r.ended(d, who, weir.Lost, ""), true, nil
	case c.State == weir.Done:
		return r.ended(d, who, c.Outcome, c.Reason), true, nil
	case c.State.Waiting() && who.Progress.Contact == surveys.Leaving:
		r.later = append(r.later, who.Contact)
		r.takeBackLater(ctx)
	case !c.SentAt.IsZero() && who.Progress.Contact == surveys.Waiting:
		n := surveys.Notice{Kind: surveys.HandedOver, At: c.SentAt, Channel: c.Channel, Respondent: about(who), Contact: c.Ref}
		out, _ := d.noted(who, []surveys.Notice{n})
		out.move.Taken = nil
		return out, true, nil
	}
	out, ok := d.step(who, func(p surveys.Progress) (surveys.Progress, surveys.Effects, error) {
		p, e := d.plan.Timeout(p, r.now)
		if !p.DueAt.After(r.now) { // do not check it again at once
			p.DueAt = r.now.Add(time.Minute)
		}
		return p, e, nil
	})
	return out, ok, nil
}

// ended applies the end of a contact as if an outbox entry had reported it.
func (r *round) ended(d *desk, who surveys.Respondent, outcome weir.Outcome, reason string) change {
	n := surveys.Notice{
		Kind: surveys.Ended, At: r.now, Channel: who.Contact.Channel, Contact: who.Contact, Outcome: outcome, Reason: reason,
		Respondent: about(who),
	}
	out, _ := d.noted(who, []surveys.Notice{n})
	out.move.Taken = nil
	return out
}

// about returns the reference to the respondent's latest contact.
func about(who surveys.Respondent) weir.Respondent {
	return weir.Respondent{Survey: who.Survey, ID: int64(who.ID), Serial: who.Serial}
}
