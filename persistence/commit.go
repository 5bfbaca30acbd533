package persistence

import (
	"fmt"
	"slices"

	"weir"
	"weir/persistence/dialect"
)

// Commit implements [weir.Committer]. done is called on the writer's
// goroutine and must not wait for anything. A change of which some contacts
// were stale leaves its inbox rows: what they ask for is still to be done.
func (s *Store) Commit(c weir.Change, done func(weir.CommitResult)) {
	r := newChange(c, func(o outcome) { done(weir.CommitResult{Err: o.err, Stale: o.stale}) })
	if err := s.writer.hand(r); err != nil {
		go done(weir.CommitResult{Err: unavailable("the store takes nothing", err)})
	}
}

// step is what a batch does to one contact: one or more transitions, of which
// the first gives the revision that they replace and the last the result.
type step struct {
	first, last *weir.Transition
	parts       []part
	base        int64 // the revision of the contact's row: the guard
}

type part struct {
	request    *request
	transition *weir.Transition
}

// change writes the transitions of all changes at once.
func (t *transaction) change() error {
	steps, err := t.guarded(t.steps())
	if err != nil {
		return err
	}
	exact, later := divide(steps)
	if err := t.replace(exact); err != nil {
		return err
	}
	if err := t.journal(later); err != nil {
		return err
	}
	t.countChanged(steps)
	if err := t.archive(steps); err != nil {
		return err
	}
	if err := t.notice(steps); err != nil {
		return err
	}
	if err := t.bury(steps); err != nil {
		return err
	}
	return t.clearInbox()
}

// replace writes the results of steps into the rows of their contacts.
func (t *transaction) replace(steps []step) error {
	if len(steps) == 0 {
		return nil
	}
	n, err := t.update(steps)
	if err != nil {
		return err
	}
	if n != int64(len(steps)) {
		if t.b.careful {
			return fmt.Errorf("%d contacts were changed, want %d", n, len(steps))
		}
		return errStale
	}
	for i := range steps {
		t.b.wrote.exact = append(t.b.wrote.exact, steps[i].last.Contact.Ref)
	}
	return nil
}

// steps merges the transitions of the changes whose lease is good.
func (t *transaction) steps() []step {
	var list []step
	at := map[weir.Ref]int{}
	for _, r := range t.b.requests {
		if r.change == nil || !t.admitChange(r) {
			continue
		}
		for i := range r.change.Transitions {
			tr := &r.change.Transitions[i]
			k, known := at[tr.Contact.Ref]
			switch {
			case !known:
				at[tr.Contact.Ref] = len(list)
				list = append(list, step{first: tr, last: tr, parts: []part{{r, tr}}, base: tr.From})
			case list[k].last.Contact.Rev == tr.From:
				list[k].last = tr
				list[k].parts = append(list[k].parts, part{r, tr})
			default: // within one change only; see batch
				t.markStale(r, tr.Contact.ID)
			}
		}
	}
	// One order for all, so that two writers do not wait for each other.
	slices.SortFunc(list, func(a, b step) int { return compareRefs(a.first.Contact.Ref, b.first.Contact.Ref) })
	return list
}

func compareRefs(a, b weir.Ref) int {
	if a.Channel != b.Channel {
		return int(a.Channel - b.Channel)
	}
	switch {
	case a.ID < b.ID:
		return -1
	case a.ID > b.ID:
		return 1
	default:
		return 0
	}
}

func (t *transaction) admitChange(r *request) bool {
	lease, state := r.change.Lease, t.states[r.channel]
	if state.ID == 0 || state.Owner != lease.Owner || state.Epoch != lease.Epoch {
		r.outcome.err = weir.ErrLeaseLost
		t.w.s.metrics.errors.WithLabelValues("lease_lost").Inc()
		return false
	}
	for i := range r.change.Transitions {
		if r.change.Transitions[i].Contact.Channel != r.channel {
			r.outcome.err = weir.Errorf(weir.CodeInternal, "a change of one channel names a contact of another")
			return false
		}
	}
	return true
}

func (t *transaction) markStale(r *request, id weir.ContactID) {
	if !slices.Contains(r.outcome.stale, id) {
		r.outcome.stale = append(r.outcome.stale, id)
		t.w.s.metrics.errors.WithLabelValues("stale").Inc()
	}
}

func (t *transaction) countChanged(steps []step) {
	for _, s := range steps {
		was, is := s.first.Was.Waiting(), s.last.Contact.State.Waiting()
		switch channel := s.first.Contact.Channel; {
		case was && !is:
			t.counts[channel]--
		case is && !was:
			t.counts[channel]++
		}
	}
}

// archive keeps the attempts that ended while their contacts go on.
func (t *transaction) archive(steps []step) error {
	const width = 10
	var args []any
	for _, s := range steps {
		for _, p := range s.parts {
			a := p.transition.Ended
			if a == nil {
				continue
			}
			ref := p.transition.Contact.Ref
			args = append(args, int64(ref.Channel), int64(ref.ID), a.Number, micros(a.ClaimedAt), micros(a.SentAt),
				micros(a.HeardAt), micros(a.FinishedAt), clip(a.ProviderRef), string(a.Outcome), clip(a.Reason))
		}
	}
	if len(args) == 0 {
		return nil
	}
	_, err := t.tx.ExecContext(dialect.Later(t.w.ctx), t.w.s.text.insertAttempts+rowsOf(len(args)/width, width), args...)
	return err
}

// clearInbox deletes the inbox rows that the changes have dealt with.
func (t *transaction) clearInbox() error {
	var args []any
	for _, r := range t.b.requests {
		if r.change == nil || r.outcome.err != nil || len(r.outcome.stale) > 0 {
			continue
		}
		for _, id := range r.change.InboxDone {
			args = append(args, id)
		}
	}
	if len(args) == 0 {
		return nil
	}
	_, err := t.tx.ExecContext(dialect.Later(t.w.ctx), "DELETE FROM inbox WHERE id IN "+marks(len(args)), args...)
	return err
}
