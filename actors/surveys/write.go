package surveys

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"weir"
	"weir/internal/failpoint"
	"weir/surveys"
	"weir/surveys/pacing"
)

// writeResult is the outcome of a write.
type writeResult struct {
	applied    int        // moves that were made
	uncanceled int        // contacts that could not be canceled now; their respondents follow after retryDelay
	toCancel   []weir.Ref // contacts to cancel after their commit
}

// part is what is left to be written of a page of changes.
type part struct {
	changes  []surveys.Change
	deferral bool // it only delays respondents: if the store rejects that, too, the fault is not theirs
}

// writeChanges applies changes of one survey's respondents. It cancels contacts first;
// if that fails now, the respondent's change is dropped and the respondent is
// processed again soon. Changes that lost against another writer are computed
// again in the next round.
func writeChanges(ctx context.Context, r *roundState, sv *surveyState, st *surveys.Stepper, changes []surveys.Change) (out writeResult, _ error) {
	first := cancelPart(ctx, r, part{changes: changes}, &out)
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

// cancelPart cancels what must be canceled before a part is committed, and returns the part
// without the changes for which that failed.
func cancelPart(ctx context.Context, r *roundState, p part, out *writeResult) part {
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
func writePart(ctx context.Context, r *roundState, sv *surveyState, st *surveys.Stepper, p part, out *writeResult) (left []part, _ error) {
	done, err := r.io.commitWork(ctx, workOf(sv, p.changes))
	switch half := len(p.changes) / 2; {
	case contentRejected(err) && half > 0:
		return []part{{p.changes[:half], p.deferral}, {p.changes[half:], p.deferral}}, nil
	case contentRejected(err) && !p.deferral:
		c := p.changes[0]
		r.io.Logger.Error("store rejected a respondent's change; respondent delayed", "survey", sv.survey.Name, "respondent", c.Move.Was.ID.String())
		deferred := st.DeferFailed(c.Move.Was)
		deferred.Move.Taken = c.Move.Taken
		return []part{cancelPart(ctx, r, part{[]surveys.Change{deferred}, true}, out)}, nil
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
	return []part{cancelPart(ctx, r, part{conflicts, false}, out)}, nil
}

// dropRefused returns a part without the changes of respondents whose channel accepts no contacts, whose
// outbox entries it deletes. If that leaves the part as it is, it returns err.
func dropRefused(ctx context.Context, r *roundState, sv *surveyState, p part, refused []surveys.RespondentID, err error) ([]part, error) {
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
	work := surveys.Work{Survey: sv.survey.ID, Definition: &sv.survey.Definition}
	for i := range changes {
		work.Moves = append(work.Moves, changes[i].Move)
	}
	return work
}

// recordWritten updates the memory and the metrics for a change that was written.
func recordWritten(r *roundState, sv *surveyState, c *surveys.Change, out *writeResult) {
	m := &c.Move
	out.applied++
	if r.pass != nil {
		r.pass.wrote[m.Was.ID] = true
	}
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

// storeWork makes moves durable.
func (a *access) storeWork(ctx context.Context, w surveys.Work) (surveys.Written, error) {
	failpoint.Hit("survey.before")
	written, err := a.writeWork(ctx, w)
	if err == nil {
		failpoint.Hit("survey.committed")
	}
	return written, err
}

// writeWork writes work. Its replies are claimed with it if their channel has free slots; its result has only contacts
// that have to be announced.
func (a *access) writeWork(ctx context.Context, w surveys.Work) (surveys.Written, error) {
	channel, replies := w.Replies()
	if len(replies) == 0 {
		return a.Store.Work(ctx, w)
	}
	pending, err := a.Store.NewWork(ctx, w)
	if err != nil {
		return surveys.Written{}, err
	}
	specs := make([]weir.Spec, len(replies))
	for i, m := range replies {
		specs[i] = *m.Reply
	}
	err = a.Channels.AcceptWith(channel, specs, pending)
	if err != nil && weir.CodeOf(err) != weir.CodeConflict {
		return surveys.Written{}, err
	}
	return pending.Written(), err
}

// commitWork commits work of a round.
func (a *access) commitWork(ctx context.Context, work surveys.Work) (surveys.Written, error) {
	written, err := lookup(ctx, a.storeWork, work)
	if err != nil {
		return written, fmt.Errorf("write moves: %w", err)
	}
	return written, nil
}

// announce reports enqueued contacts to the channels' brokers.
func (a *access) announce(fresh []weir.Contact) {
	by := map[weir.ChannelID][]weir.Contact{}
	for _, c := range fresh {
		by[c.Channel] = append(by[c.Channel], c)
	}
	for id, list := range by {
		a.Channels.Announce(id, list)
	}
}

// recordMetrics updates the metrics, and what the survey's brake counts, for a change that
// was written.
func (a *access) recordMetrics(survey *surveys.Survey, c *surveys.Change) {
	m := &c.Move
	a.brakes.record(survey, m)
	a.noteZone(survey, m)
	switch {
	case c.NewAttempt && m.Was.Status == surveys.Pending:
		a.Metrics.started.WithLabelValues(survey.Name).Inc()
	case c.NewAttempt:
		a.Metrics.retried.WithLabelValues(survey.Name).Inc()
	}
	if m.Is.FailedSteps > m.Was.FailedSteps {
		a.Metrics.failedSteps.WithLabelValues(survey.Name).Inc()
	}
	if m.Is.Status.Final() && !m.Was.Status.Final() {
		a.Metrics.finished.WithLabelValues(survey.Name, string(m.Is.Status)).Inc()
	}
}

// noteZone notes, and logs once for a survey, that a contact goes to a respondent whose time_zone is no
// zone, as it may have been stored before such names were refused: the rules for the sake of the
// person go by the phone number then.
func (a *access) noteZone(survey *surveys.Survey, m *surveys.Move) {
	if m.Enqueue == nil || m.Enqueue.TimeZone == "" {
		return
	}
	if _, ok := a.zones.Load(m.Enqueue.TimeZone); ok {
		return
	}
	if _, noted := a.findings.zoneless.LoadOrStore(survey.ID, m.Is.ID); !noted {
		a.Logger.Warn("time_zone of a respondent is no IANA time zone; the hours are those of the phone number", "survey", survey.Name, "respondent", m.Is.ID.String())
	}
}
