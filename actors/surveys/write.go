package surveys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/surveys"
	"weir/surveys/pacing"
)

// schedule accumulates when the next round is due.
type schedule struct {
	moreWork bool             // work is left to be done at once
	nextWork time.Time        // instant of the next known work; zero: none is known
	recheck  []weir.ChannelID // channels to check again soon
}

// wakeAt schedules the next round for an instant at the latest.
func (a *schedule) wakeAt(at time.Time) {
	if !at.IsZero() {
		a.nextWork = earliest(a.nextWork, at)
	}
}

// writer cancels contacts and commits the changes of one round.
type writer struct {
	io             *access
	view           *view
	schedule       *schedule
	memory         *memory
	now            time.Time
	applied        int        // moves that were made, and outbox entries that were removed without one
	cancelFailures int        // contacts that could not be canceled
	toCancel       []weir.Ref // contacts to cancel after their commit
	cancelMu       sync.Mutex
	cancelTimeouts map[weir.ChannelID]int // cancellations that timed out, by channel
}

// write applies changes of one survey's respondents. It cancels contacts first;
// if that fails now, the respondent's change is dropped and the respondent is
// processed again soon. Changes that lost against another writer are computed
// again in the next round.
func (w *writer) write(ctx context.Context, sv *surveyState, changes []surveys.Change) error {
	changes = w.cancelContacts(ctx, changes)
	if len(changes) == 0 {
		return nil
	}
	written, made, err := w.commit(ctx, sv, changes)
	if err != nil {
		sv.limit, sv.limitLoaded = pacing.MinuteLimit{}, false // the commit is in doubt; the store has the truth
		return err
	}
	stale := map[surveys.RespondentID]bool{}
	for _, id := range written.Stale {
		stale[id] = true
		// Another writer was faster: the next round decides again, at once. Refused ones are
		// delayed below.
		w.schedule.moreWork = w.schedule.moreWork || !slices.Contains(written.Refused, id)
	}
	for _, c := range made {
		if !stale[c.Move.Was.ID] {
			w.recordWritten(sv, &c)
		}
	}
	w.io.announce(written.Contacts)
	return w.deferKeyConflicts(ctx, sv, made, written.Refused)
}

// cancelContacts cancels contacts that must be canceled before the commit, and
// returns the changes without those for which that failed.
func (w *writer) cancelContacts(ctx context.Context, changes []surveys.Change) []surveys.Change {
	failed := make([]bool, len(changes))
	concurrently(changes, func(i int, c surveys.Change) {
		if c.Cancel == (weir.Ref{}) || c.AfterCommit {
			return
		}
		if failed[i] = w.cancelsHang(c.Cancel.Channel); failed[i] {
			return
		}
		begun := time.Now()
		failed[i] = !w.io.cancelContact(ctx, c.Cancel, c.InFlightToo)
		w.recordCancel(c.Cancel.Channel, time.Since(begun), !failed[i])
	})
	out := changes[:0:0]
	for i, c := range changes {
		if failed[i] {
			w.cancelFailures++
			w.schedule.wakeAt(w.now.Add(retryDelay))
			continue
		}
		out = append(out, c)
	}
	return out
}

// commit writes changes and returns them. If a channel no longer accepts contacts, the
// changes that enqueue on it are dropped, and their outbox entries are deleted.
func (w *writer) commit(ctx context.Context, sv *surveyState, changes []surveys.Change) (surveys.Written, []surveys.Change, error) {
	written, err := w.commitWork(ctx, workOf(sv, changes))
	switch {
	case contentRejected(err):
		return w.isolate(ctx, sv, changes)
	case weir.CodeOf(err) != weir.CodeConflict:
		return written, changes, err
	}
	var kept []surveys.Change
	dropped := surveys.Work{Survey: sv.survey.ID}
	for _, c := range changes {
		if slices.Contains(written.Refused, c.Move.Was.ID) {
			dropped.Taken = append(dropped.Taken, c.Move.Taken...)
		} else {
			kept = append(kept, c)
		}
	}
	if len(kept) == len(changes) {
		return surveys.Written{}, nil, err
	}
	w.io.Logger.Warn("channel accepts no contacts; changes dropped", "survey", sv.survey.Name, "respondents", len(changes)-len(kept))
	w.schedule.wakeAt(w.now.Add(blockedDelay))
	if len(dropped.Taken) > 0 {
		if _, err := w.commitWork(ctx, dropped); err != nil {
			return surveys.Written{}, nil, err
		}
	}
	return w.commit(ctx, sv, kept)
}

func mergeWritten(all *surveys.Written, some surveys.Written) {
	all.Stale, all.Refused = append(all.Stale, some.Stale...), append(all.Refused, some.Refused...)
	all.Contacts = append(all.Contacts, some.Contacts...)
}

func workOf(sv *surveyState, changes []surveys.Change) surveys.Work {
	work := surveys.Work{Survey: sv.survey.ID}
	for _, c := range changes {
		work.Moves = append(work.Moves, c.Move)
	}
	return work
}

// commitWork commits work.
func (w *writer) commitWork(ctx context.Context, work surveys.Work) (surveys.Written, error) {
	written, err := call(ctx, func(ctx context.Context) (surveys.Written, error) { return w.io.storeWork(ctx, work) })
	if err != nil {
		return written, fmt.Errorf("write moves: %w", err)
	}
	return written, nil
}

// recordWritten updates the memory and the metrics for a change that was written.
func (w *writer) recordWritten(sv *surveyState, c *surveys.Change) {
	m := &c.Move
	w.applied++
	if c.AfterCommit && c.Cancel != (weir.Ref{}) {
		w.toCancel = append(w.toCancel, c.Cancel)
	}
	w.io.recordMetrics(&sv.survey, c)
	if a := m.Attempt; a != nil && a.Outcome != weir.Expired && a.Outcome != weir.Canceled {
		w.memory.pace(m.Was.Contact.Channel).freedSlots += sv.plan.Size(a.Mode)
	}
	if m.Is.Status == surveys.Pending && !m.Is.DelayedUntil.IsZero() {
		sv.firstDelayed = earliest(sv.firstDelayed, m.Is.DelayedUntil)
	}
	if m.Is.Status == surveys.Active {
		w.schedule.wakeAt(m.Is.DueAt)
	}
	if c.NewAttempt {
		// Counted when it is written: a change that lost uses up nothing of the limit per minute.
		sv.limit.Add(w.now, 1)
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
func (w *writer) isolate(ctx context.Context, sv *surveyState, changes []surveys.Change) (all surveys.Written, made []surveys.Change, _ error) {
	if len(changes) == 1 {
		return w.deferRejected(ctx, sv, changes[0])
	}
	half := len(changes) / 2
	for _, some := range [][]surveys.Change{changes[:half], changes[half:]} {
		written, done, err := w.commit(ctx, sv, some)
		if err != nil {
			return all, made, err
		}
		made = append(made, done...)
		mergeWritten(&all, written)
	}
	return all, made, nil
}

// deferRejected delays a respondent whose change the store rejected.
func (w *writer) deferRejected(ctx context.Context, sv *surveyState, c surveys.Change) (surveys.Written, []surveys.Change, error) {
	st, err := w.view.stepper(ctx, sv)
	if err != nil {
		return surveys.Written{}, nil, err
	}
	w.io.Logger.Error("store rejected a respondent's change; respondent delayed",
		"survey", sv.survey.Name, "respondent", c.Move.Was.ID.String())
	deferred := st.DeferFailed(c.Move.Was)
	deferred.Move.Taken = c.Move.Taken
	changes := w.cancelContacts(ctx, []surveys.Change{deferred})
	if len(changes) == 0 {
		return surveys.Written{}, nil, nil
	}
	written, err := w.commitWork(ctx, workOf(sv, changes))
	return written, changes, err
}

// deferKeyConflicts delays respondents whose contact's key belongs to another contact;
// their next contact has another key.
func (w *writer) deferKeyConflicts(ctx context.Context, sv *surveyState, changes []surveys.Change, ids []surveys.RespondentID) error {
	if len(ids) == 0 {
		return nil
	}
	st, err := w.view.stepper(ctx, sv)
	if err != nil {
		return err
	}
	var out []surveys.Change
	for _, c := range changes {
		if !slices.Contains(ids, c.Move.Was.ID) {
			continue
		}
		next := st.DeferFailed(c.Move.Was)
		next.Move.Is.Serial = max(next.Move.Is.Serial, c.Move.Is.Serial)
		out = append(out, next)
	}
	w.io.Logger.Warn("contact keys in use by other contacts; respondents delayed", "survey", sv.survey.Name, "respondents", len(out))
	return w.write(ctx, sv, out)
}

// maxCancelTimeouts is the max number of a channel's cancellations that time out, each
// after cancelTimeout, before the others of a round are left for later.
const maxCancelTimeouts = maxConcurrent

// recordCancel records the result of canceling a contact of a channel.
func (w *writer) recordCancel(channel weir.ChannelID, took time.Duration, ok bool) {
	w.cancelMu.Lock()
	defer w.cancelMu.Unlock()
	switch {
	case ok:
		delete(w.cancelTimeouts, channel)
	case took >= cancelTimeout:
		w.cancelTimeouts[channel]++
	}
}

// cancelsHang reports whether too many of a channel's cancellations have timed out.
func (w *writer) cancelsHang(channel weir.ChannelID) bool {
	w.cancelMu.Lock()
	defer w.cancelMu.Unlock()
	return w.cancelTimeouts[channel] >= maxCancelTimeouts
}

// cancelCollected cancels contacts whose respondents' moves are already
// committed.
func (w *writer) cancelCollected(ctx context.Context) {
	changes := make([]surveys.Change, len(w.toCancel))
	for i, ref := range w.toCancel {
		changes[i].Cancel = ref
	}
	w.toCancel = nil
	w.cancelContacts(ctx, changes)
}

// stepEach writes the changes of a page of respondents.
func (w *writer) stepEach(ctx context.Context, sv *surveyState, page []surveys.Respondent, of func(*surveys.Stepper, surveys.Respondent) (surveys.Change, bool)) error {
	changes, err := w.stepsOf(ctx, sv, page, of)
	if err != nil {
		return err
	}
	return w.write(ctx, sv, changes)
}

// stepsOf returns the changes of a page of respondents.
func (w *writer) stepsOf(ctx context.Context, sv *surveyState, page []surveys.Respondent, of func(*surveys.Stepper, surveys.Respondent) (surveys.Change, bool)) (changes []surveys.Change, _ error) {
	st, err := w.view.stepper(ctx, sv)
	if err == nil {
		err = w.io.readTalks(ctx, sv, false, pointers(page))
	}
	if err != nil {
		return nil, err
	}
	for _, p := range page {
		if c, ok := of(st, p); ok {
			changes = append(changes, c)
		}
	}
	return changes, nil
}
