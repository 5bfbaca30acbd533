package surveybroker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir"
	"weir/internal/failpoint"
	"weir/surveys"
	"weir/surveys/pacing"
)

// write applies changes of one survey's respondents. It cancels contacts first;
// if that fails now, the respondent's change is dropped and the respondent is
// processed again soon. Changes that lost against another writer are computed
// again in the next round.
func (r *round) write(ctx context.Context, sv *surveyState, changes []change) error {
	changes = r.cancelContacts(ctx, changes)
	if len(changes) == 0 {
		return nil
	}
	written, made, err := r.commit(ctx, sv, changes)
	if err != nil {
		sv.limit, sv.limitLoaded = pacing.MinuteLimit{}, false // the commit is in doubt; the store has the truth
		return err
	}
	stale := map[surveys.RespondentID]bool{}
	for _, id := range written.Stale {
		stale[id] = true
		// Another writer was faster: the next round decides again, at once. Refused ones are
		// delayed below.
		r.moreWork = r.moreWork || !slices.Contains(written.Refused, id)
	}
	for _, c := range made {
		if !stale[c.move.Was.ID] {
			r.recordWritten(sv, &c)
		}
	}
	r.announce(written.Contacts)
	return r.deferKeyConflicts(ctx, sv, made, written.Refused)
}

// cancelContacts cancels contacts that must be canceled before the commit, and
// returns the changes without those for which that failed.
func (r *round) cancelContacts(ctx context.Context, changes []change) []change {
	failed := make([]bool, len(changes))
	concurrently(changes, func(i int, c change) {
		if c.cancel == (weir.Ref{}) || c.cancelAfterCommit {
			return
		}
		if failed[i] = r.cancelsHang(c.cancel.Channel); failed[i] {
			return
		}
		begun := time.Now()
		failed[i] = !r.cancelContact(ctx, c.cancel, c.inFlightToo)
		r.recordCancel(c.cancel.Channel, time.Since(begun), !failed[i])
	})
	out := changes[:0:0]
	for i, c := range changes {
		if failed[i] {
			r.cancelFailures++
			r.wakeAt(r.now.Add(retryDelay))
			continue
		}
		out = append(out, c)
	}
	return out
}

// cancelContact cancels a contact and reports whether the change may be written. A
// contact that is done or deleted needs nothing. Nor does one that is in flight
// by now, unless evenInFlight is set: the respondent may be talking and must not be
// cut off.
func (s *System) cancelContact(ctx context.Context, ref weir.Ref, evenInFlight bool) bool {
	ctx, end := context.WithTimeout(ctx, cancelTimeout)
	defer end()
	if !evenInFlight {
		if c, _, err := s.o.Store.Contact(ctx, ref); err == nil && c.State.InFlight() {
			return true
		}
	}
	_, err := s.o.Channels.Cancel(ctx, ref)
	if err == nil || weir.CodeOf(err) == weir.CodeNotFound {
		return true
	}
	c, _, err := s.o.Store.Contact(ctx, ref)
	return err == nil && c.State == weir.Done || weir.CodeOf(err) == weir.CodeNotFound
}

// commit writes changes and returns them. If a channel no longer accepts contacts, the
// changes that enqueue on it are dropped, and their outbox entries are deleted.
func (r *round) commit(ctx context.Context, sv *surveyState, changes []change) (surveys.Written, []change, error) {
	written, err := r.commitWork(ctx, workOf(sv, changes))
	switch {
	case contentRejected(err):
		return r.isolate(ctx, sv, changes)
	case weir.CodeOf(err) != weir.CodeConflict:
		return written, changes, err
	}
	var kept []change
	dropped := surveys.Work{Survey: sv.survey.ID}
	for _, c := range changes {
		if slices.Contains(written.Refused, c.move.Was.ID) {
			dropped.Taken = append(dropped.Taken, c.move.Taken...)
		} else {
			kept = append(kept, c)
		}
	}
	if len(kept) == len(changes) {
		return surveys.Written{}, nil, err
	}
	r.o.Logger.Warn("channel accepts no contacts; changes dropped", "survey", sv.survey.Name, "respondents", len(changes)-len(kept))
	r.wakeAt(r.now.Add(blockedDelay))
	if len(dropped.Taken) > 0 {
		if _, err := r.commitWork(ctx, dropped); err != nil {
			return surveys.Written{}, nil, err
		}
	}
	return r.commit(ctx, sv, kept)
}

func mergeWritten(all *surveys.Written, w surveys.Written) {
	all.Stale, all.Refused = append(all.Stale, w.Stale...), append(all.Refused, w.Refused...)
	all.Contacts = append(all.Contacts, w.Contacts...)
}

func workOf(sv *surveyState, changes []change) surveys.Work {
	w := surveys.Work{Survey: sv.survey.ID}
	for _, c := range changes {
		w.Moves = append(w.Moves, c.move)
	}
	return w
}

// commitWork writes w.
func (r *round) commitWork(ctx context.Context, w surveys.Work) (surveys.Written, error) {
	written, err := call(ctx, func(ctx context.Context) (surveys.Written, error) { return r.storeWork(ctx, w) })
	if err != nil {
		return written, fmt.Errorf("write moves: %w", err)
	}
	return written, nil
}

// storeWork makes moves durable.
func (s *System) storeWork(ctx context.Context, w surveys.Work) (surveys.Written, error) {
	failpoint.Hit("survey.before")
	written, err := s.o.Store.Work(ctx, w)
	if err == nil {
		failpoint.Hit("survey.committed")
	}
	return written, err
}

// recordWritten updates the memory and the metrics for a change that was written.
func (r *round) recordWritten(sv *surveyState, c *change) {
	m := &c.move
	r.applied++
	if c.cancelAfterCommit && c.cancel != (weir.Ref{}) {
		r.toCancel = append(r.toCancel, c.cancel)
	}
	r.recordMetrics(&sv.survey, c)
	if a := m.Attempt; a != nil && a.Outcome != weir.Expired && a.Outcome != weir.Canceled {
		r.memory.pace(m.Was.Contact.Channel).freedSlots += sv.plan.Size(a.Mode)
	}
	if m.Is.Status == surveys.Pending && !m.Is.DelayedUntil.IsZero() {
		sv.firstDelayed = earliest(sv.firstDelayed, m.Is.DelayedUntil)
	}
	if m.Is.Status == surveys.Active {
		r.wakeAt(m.Is.DueAt)
	}
	if c.newAttempt {
		// Counted when it is written: a change that lost uses up nothing of the limit per minute.
		sv.limit.Add(r.now, 1)
	}
}

// recordMetrics updates the metrics for a change that was written.
func (s *System) recordMetrics(survey *surveys.Survey, c *change) {
	m := &c.move
	switch {
	case c.newAttempt && m.Was.Status == surveys.Pending:
		s.o.Metrics.started.WithLabelValues(survey.Name).Inc()
	case c.newAttempt:
		s.o.Metrics.retried.WithLabelValues(survey.Name).Inc()
	}
	if m.Is.FailedSteps > m.Was.FailedSteps {
		s.o.Metrics.failedSteps.WithLabelValues(survey.Name).Inc()
	}
	if m.Is.Status.Final() && !m.Was.Status.Final() {
		s.o.Metrics.finished.WithLabelValues(survey.Name, string(m.Is.Status)).Inc()
	}
}

// announce reports enqueued contacts to the channels' brokers.
func (s *System) announce(fresh []weir.Contact) {
	by := map[weir.ChannelID][]weir.Contact{}
	for _, c := range fresh {
		by[c.Channel] = append(by[c.Channel], c)
	}
	for id, list := range by {
		s.o.Channels.Announce(id, list)
	}
}

// contentRejected reports whether the store rejected the content of a write rather than
// failed itself: a retry would fail again.
func contentRejected(err error) bool {
	e, ok := errors.AsType[*weir.Error](err)
	return ok && (e.Code == weir.CodeInvalid || e.Code == weir.CodeInternal)
}

// isolate finds the changes that the store rejects, by bisection. Their
// respondents are delayed; the other changes are written. If even the delay
// cannot be written, the fault is not the respondent's, and isolate returns the
// error.
func (r *round) isolate(ctx context.Context, sv *surveyState, changes []change) (all surveys.Written, made []change, _ error) {
	if len(changes) == 1 {
		return r.deferRejected(ctx, sv, changes[0])
	}
	half := len(changes) / 2
	for _, some := range [][]change{changes[:half], changes[half:]} {
		written, done, err := r.commit(ctx, sv, some)
		if err != nil {
			return all, made, err
		}
		made = append(made, done...)
		mergeWritten(&all, written)
	}
	return all, made, nil
}

// deferRejected delays a respondent whose change the store rejected.
func (r *round) deferRejected(ctx context.Context, sv *surveyState, c change) (surveys.Written, []change, error) {
	st, err := r.stepper(ctx, sv)
	if err != nil {
		return surveys.Written{}, nil, err
	}
	r.o.Logger.Error("store rejected a respondent's change; respondent delayed",
		"survey", sv.survey.Name, "respondent", c.move.Was.ID.String())
	deferred := st.deferFailed(c.move.Was)
	deferred.move.Taken = c.move.Taken
	changes := r.cancelContacts(ctx, []change{deferred})
	if len(changes) == 0 {
		return surveys.Written{}, nil, nil
	}
	written, err := r.commitWork(ctx, workOf(sv, changes))
	return written, changes, err
}

// deferKeyConflicts delays respondents whose contact's key belongs to another contact;
// their next contact has another key.
func (r *round) deferKeyConflicts(ctx context.Context, sv *surveyState, changes []change, ids []surveys.RespondentID) error {
	if len(ids) == 0 {
		return nil
	}
	st, err := r.stepper(ctx, sv)
	if err != nil {
		return err
	}
	var out []change
	for _, c := range changes {
		if !slices.Contains(ids, c.move.Was.ID) {
			continue
		}
		next := st.deferFailed(c.move.Was)
		next.move.Is.Serial = max(next.move.Is.Serial, c.move.Is.Serial)
		out = append(out, next)
	}
	r.o.Logger.Warn("contact keys in use by other contacts; respondents delayed", "survey", sv.survey.Name, "respondents", len(out))
	return r.write(ctx, sv, out)
}

// maxCancelTimeouts is the max number of a channel's cancellations that time out, each
// after cancelTimeout, before the others of a round are left for later.
const maxCancelTimeouts = maxConcurrent

// recordCancel records the result of canceling a contact of a channel.
func (r *round) recordCancel(channel weir.ChannelID, took time.Duration, ok bool) {
	r.cancelMu.Lock()
	defer r.cancelMu.Unlock()
	switch {
	case ok:
		delete(r.cancelTimeouts, channel)
	case took >= cancelTimeout:
		r.cancelTimeouts[channel]++
	}
}

// cancelsHang reports whether too many of a channel's cancellations have timed out.
func (r *round) cancelsHang(channel weir.ChannelID) bool {
	r.cancelMu.Lock()
	defer r.cancelMu.Unlock()
	return r.cancelTimeouts[channel] >= maxCancelTimeouts
}
