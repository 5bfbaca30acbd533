package surveybroker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/internal/failpoint"
	"weir/surveys"
)

// write applies changes of one survey's respondents. It cancels contacts first;
// if that fails now, the respondent's change is dropped and the respondent is
// processed again soon. Changes that lost against another writer are computed
// again in the next round.
func (r *round) write(ctx context.Context, k *known, changes []change) error {
	changes = r.takeBack(ctx, changes)
	if len(changes) == 0 {
		return nil
	}
	written, made, err := r.commit(ctx, k, changes)
	if err != nil {
		k.minute, k.replayed = surveys.Minute{}, false // the commit is in doubt; the store has the truth
		return err
	}
	stale := map[surveys.RespondentID]bool{}
	for _, id := range written.Stale {
		stale[id] = true
		r.again = r.again || !slices.Contains(written.Refused, id)
	}
	for _, c := range made {
		if !stale[c.move.Was.ID] {
			r.counted(k, &c)
		}
	}
	r.announce(written.Contacts)
	return r.rekey(ctx, k, made, written.Refused)
}

// takeBack cancels contacts that must be canceled before the commit, and
// returns the changes without those for which that failed.
func (r *round) takeBack(ctx context.Context, changes []change) []change {
	failed := make([]bool, len(changes))
	var wg sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i, c := range changes {
		if c.cancel == (weir.Ref{}) || c.late {
			continue
		}
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			if failed[i] = r.hangs(c.cancel.Channel); failed[i] {
				return
			}
			begun := time.Now()
			failed[i] = !r.cancel(ctx, c.cancel, c.recall)
			r.hang(c.cancel.Channel, time.Since(begun), !failed[i])
		})
	}
	wg.Wait()
	out := changes[:0:0]
	for i, c := range changes {
		if failed[i] {
			r.stuck++
			r.wake(r.now.Add(laterAfter))
			continue
		}
		out = append(out, c)
	}
	return out
}

// cancel cancels a contact and reports whether the change may be written. A
// contact that is done or deleted needs nothing. Nor does one that is in flight
// by now, unless recall is set: the respondent may be talking and must not be
// cut off.
func (s *System) cancel(ctx context.Context, ref weir.Ref, recall bool) bool {
	ctx, end := context.WithTimeout(ctx, cancelTimeout)
	defer end()
	if !recall {
		if c, _, err := s.store.Contact(ctx, ref); err == nil && c.State.InFlight() {
			return true
		}
	}
	_, err := s.channels.Cancel(ctx, ref)
	if err == nil || weir.CodeOf(err) == weir.CodeNotFound {
		return true
	}
	c, _, err := s.store.Contact(ctx, ref)
	return err == nil && c.State == weir.Done || weir.CodeOf(err) == weir.CodeNotFound
}

// commit writes changes. If a channel no longer accepts contacts, the changes
// of other channels are written; those of this channel are dropped, and their
// outbox entries are deleted.
func (r *round) commit(ctx context.Context, k *known, changes []change) (surveys.Written, []change, error) {
	written, err := r.work(ctx, workOf(k, changes))
	switch {
	case refused(err):
		return r.isolate(ctx, k, changes)
	case weir.CodeOf(err) != weir.CodeConflict:
		return written, changes, err
	}
	groups := map[weir.ChannelID][]change{}
	for _, c := range changes {
		groups[c.move.Channel] = append(groups[c.move.Channel], c)
	}
	var made []change
	var all surveys.Written
	for channel, group := range groups {
		w := workOf(k, group)
		written, err := r.work(ctx, w)
		if refused(err) {
			written, group, err = r.isolate(ctx, k, group)
		}
		if weir.CodeOf(err) == weir.CodeConflict {
			r.logger.Warn("a channel takes no contacts of a survey any more", "survey", k.survey.Name, "channel_id", int64(channel))
			r.wake(r.now.Add(crossAside))
			taken := surveys.Work{Survey: k.survey.ID}
			for _, m := range w.Moves {
				taken.Taken = append(taken.Taken, m.Taken...)
			}
			if len(taken.Taken) > 0 {
				_, err = r.work(ctx, taken)
			} else {
				err = nil
			}
			group = nil
		}
		if err != nil {
			return all, made, err
		}
		made = append(made, group...)
		all.Stale, all.Contacts = append(all.Stale, written.Stale...), append(all.Contacts, written.Contacts...)
		all.Refused = append(all.Refused, written.Refused...)
	}
	return all, made, nil
}

func workOf(k *known, changes []change) surveys.Work {
	w := surveys.Work{Survey: k.survey.ID}
	for _, c := range changes {
		w.Moves = append(w.Moves, c.move)
	}
	return w
}

// work writes w if this process still has the role.
func (r *round) work(ctx context.Context, w surveys.Work) (surveys.Written, error) {
	if !r.until() {
		return surveys.Written{}, errRoleLost
	}
	w.Lease = r.lease
	written, err := call(ctx, func(ctx context.Context) (surveys.Written, error) { return r.commitWork(ctx, w) })
	if errors.Is(err, weir.ErrLeaseLost) {
		return written, errRoleLost
	}
	if err != nil {
		return written, fmt.Errorf("write moves: %w", err)
	}
	return written, nil
}

// commitWork makes moves durable.
func (s *System) commitWork(ctx context.Context, w surveys.Work) (surveys.Written, error) {
	failpoint.Hit("survey.before")
	written, err := s.store.Work(ctx, w)
	if err == nil {
		failpoint.Hit("survey.committed")
	}
	return written, err
}

// counted updates the memory and the metrics for a change that was written.
func (r *round) counted(k *known, c *change) {
	m := &c.move
	r.made++
	if c.late && c.cancel != (weir.Ref{}) {
		r.later = append(r.later, c.cancel)
	}
	r.measured(&k.survey, c)
	if a := m.Attempt; a != nil && a.Outcome != weir.Expired && a.Outcome != weir.Canceled {
		r.mem.road(m.Was.Contact.Channel).ended += k.plan.Size(a.Mode)
	}
	if m.Is.Status == surveys.Pending && !m.Is.AsideTill.IsZero() {
		k.aside = soonest(k.aside, m.Is.AsideTill)
	}
	if m.Is.Status == surveys.Active {
		r.wake(m.Is.DueAt)
	}
	if c.begun {
		k.minute.Take(r.now, 1)
	}
}

// measured updates the metrics for a change that was written.
func (s *System) measured(survey *surveys.Survey, c *change) {
	m := &c.move
	switch {
	case c.begun && m.Was.Status == surveys.Pending:
		s.metrics.started.WithLabelValues(survey.Name).Inc()
	case c.begun:
		s.metrics.retried.WithLabelValues(survey.Name).Inc()
	}
	if m.Is.Stumbles > m.Was.Stumbles {
		s.metrics.stumbled.WithLabelValues(survey.Name).Inc()
	}
	if m.Is.Status.Final() && !m.Was.Status.Final() {
		s.metrics.finished.WithLabelValues(survey.Name, string(m.Is.Status)).Inc()
	}
}

// announce reports enqueued contacts to the channels' brokers.
func (s *System) announce(fresh []weir.Contact) {
	by := map[weir.ChannelID][]weir.Contact{}
	for _, c := range fresh {
		by[c.Channel] = append(by[c.Channel], c)
	}
	for id, list := range by {
		s.channels.Announce(id, list)
	}
}
