package surveys

import (
	"context"
	"errors"
	"slices"

	"weir"
	"weir/surveys"
	"weir/surveys/pacing"
)

// written is the outcome of a write.
type written struct {
	applied    int        // moves that were made
	uncanceled int        // contacts that could not be canceled now; their respondents follow after retryDelay
	toCancel   []weir.Ref // contacts to cancel after their commit
}

// part is what is left to be written of a page of changes.
type part struct {
	changes  []surveys.Change
	deferral bool // it only delays respondents: if the store rejects that, too, the fault is not theirs
}

// write applies changes of one survey's respondents. It cancels contacts first;
// if that fails now, the respondent's change is dropped and the respondent is
// processed again soon. Changes that lost against another writer are computed
// again in the next round.
func write(ctx context.Context, r *round, sv *surveyState, st *surveys.Stepper, changes []surveys.Change) (out written, _ error) {
	first := cancelFirst(ctx, r, part{changes: changes}, &out)
	for left := []part{first}; len(left) > 0; {
		next := left[0]
		if left = left[1:]; len(next.changes) == 0 {
			continue
		}
		more, err := writePart(ctx, r, sv, st, next, &out)
		if err != nil {
			sv.limit, sv.limitLoaded = pacing.MinuteLimit{}, false // the commit is in doubt; the store has the truth
			return out, err
		}
		left = append(more, left...)
	}
	return out, nil
}

// cancelFirst cancels what must be canceled before a part is committed, and returns the part
// without the changes for which that failed.
func cancelFirst(ctx context.Context, r *round, p part, out *written) part {
	kept, failed := r.canceler.cancelFirst(ctx, r.io, p.changes)
	if p.changes = kept; failed > 0 {
		out.uncanceled += failed
		r.wakeAt(r.now.Add(retryDelay))
	}
	return p
}

// writePart commits the changes of a part in one transaction. It returns what is to be written next:
// if the store rejects the part, its halves, and in the end the delay of the respondent whose
// change it rejects; if a channel no longer accepts contacts, the changes that enqueue on no such
// channel; if a contact's key belongs to another contact, the delay of the respondent.
func writePart(ctx context.Context, r *round, sv *surveyState, st *surveys.Stepper, p part, out *written) (left []part, _ error) {
	done, err := r.io.commitWork(ctx, workOf(sv, p.changes))
	switch half := len(p.changes) / 2; {
	case contentRejected(err) && half > 0:
		return []part{{p.changes[:half], p.deferral}, {p.changes[half:], p.deferral}}, nil
	case contentRejected(err) && !p.deferral:
		c := p.changes[0]
		r.io.Logger.Error("store rejected a respondent's change; respondent delayed", "survey", sv.survey.Name, "respondent", c.Move.Was.ID.String())
		deferred := st.DeferFailed(c.Move.Was)
		deferred.Move.Taken = c.Move.Taken
		return []part{cancelFirst(ctx, r, part{[]surveys.Change{deferred}, true}, out)}, nil
	case weir.CodeOf(err) == weir.CodeConflict:
		return dropRefused(ctx, r, sv, p, done.Refused, err)
	case err != nil:
		return nil, err
	}
	var conflicts []surveys.Change
	for _, c := range p.changes {
		id := c.Move.Was.ID
		switch {
		case slices.Contains(done.Refused, id):
			next := st.DeferFailed(c.Move.Was) // its next contact has another key
			next.Move.Is.Serial = max(next.Move.Is.Serial, c.Move.Is.Serial)
			conflicts = append(conflicts, next)
		case slices.Contains(done.Stale, id):
			r.moreWork = true // another writer was faster: the next round decides again, at once
		default:
			recordWritten(r, sv, &c, out)
		}
	}
	r.io.announce(done.Contacts)
	if len(conflicts) == 0 {
		return nil, nil
	}
	r.io.Logger.Warn("contact keys in use by other contacts; respondents delayed", "survey", sv.survey.Name, "respondents", len(conflicts))
	return []part{cancelFirst(ctx, r, part{conflicts, false}, out)}, nil
}

// dropRefused returns a part without the changes of respondents whose channel accepts no contacts, whose
// outbox entries it deletes. If that leaves the part as it is, it returns err.
func dropRefused(ctx context.Context, r *round, sv *surveyState, p part, refused []surveys.RespondentID, err error) ([]part, error) {
	kept := part{deferral: p.deferral}
	dropped := surveys.Work{Survey: sv.survey.ID}
	for _, c := range p.changes {
		if slices.Contains(refused, c.Move.Was.ID) {
			dropped.Taken = append(dropped.Taken, c.Move.Taken...)
		} else {
			kept.changes = append(kept.changes, c)
		}
	}
	n := len(p.changes) - len(kept.changes)
	if n == 0 {
		return nil, err
	}
	r.io.Logger.Warn("channel accepts no contacts; changes dropped", "survey", sv.survey.Name, "respondents", n)
	r.wakeAt(r.now.Add(refusedDelay))
	if len(dropped.Taken) > 0 {
		if _, err := r.io.commitWork(ctx, dropped); err != nil {
			return nil, err
		}
	}
	return []part{kept}, nil
}

func workOf(sv *surveyState, changes []surveys.Change) surveys.Work {
	work := surveys.Work{Survey: sv.survey.ID}
	for i := range changes {
		work.Moves = append(work.Moves, changes[i].Move)
	}
	return work
}

// recordWritten updates the memory and the metrics for a change that was written.
func recordWritten(r *round, sv *surveyState, c *surveys.Change, out *written) {
	m := &c.Move
	out.applied++
	if c.AfterCommit && c.Cancel != (weir.Ref{}) {
		out.toCancel = append(out.toCancel, c.Cancel)
	}
	r.io.recordMetrics(&sv.survey, c)
	if a := m.Attempt; a != nil && a.Outcome != weir.Expired && a.Outcome != weir.Canceled {
		r.memory.pace(m.Was.Contact.Channel).freedSlots += sv.plan.Size(a.Mode)
	}
	if m.Is.Status == surveys.Pending && !m.Is.DelayedUntil.IsZero() {
		sv.firstDelayed = earliest(sv.firstDelayed, m.Is.DelayedUntil)
	}
	if m.Is.Status == surveys.Active {
		r.wakeAt(m.Is.DueAt)
	}
	if c.NewAttempt {
		// Counted when it is written: a change that lost uses up nothing of the limit per minute.
		sv.limit.Add(r.now, 1)
	}
}

// contentRejected reports whether the store rejected the content of a write rather than
// failed itself: a retry would fail again.
func contentRejected(err error) bool {
	e, ok := errors.AsType[*weir.Error](err)
	return ok && (e.Code == weir.CodeInvalid || e.Code == weir.CodeInternal)
}
