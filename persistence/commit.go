package persistence

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"weir"
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
// the first gives the guard and the last the result.
type step struct {
	first, last *weir.Transition
	parts       []part
}

type part struct {
	request    *request
	transition *weir.Transition
}

// change writes the transitions of all changes at once.
func (t *transaction) change() error {
	steps := t.steps()
	if t.b.careful {
		var err error
		if steps, err = t.withoutStale(steps); err != nil {
			return err
		}
	}
	if len(steps) > 0 {
		n, err := t.exec(t.w.s.text.update, encode(steps))
		if err != nil {
			return err
		}
		if n != int64(len(steps)) {
			if t.b.careful {
				return fmt.Errorf("%d contacts were changed, want %d", n, len(steps))
			}
			return errStale
		}
	}
	t.countChanged(steps)
	if err := t.archive(steps); err != nil {
		return err
	}
	return t.clearInbox()
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
				list = append(list, step{first: tr, last: tr, parts: []part{{r, tr}}})
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

// withoutStale reads the revisions under lock and removes the steps that
// would replace another one.
func (t *transaction) withoutStale(steps []step) ([]step, error) {
	revisions := map[weir.Ref]int64{}
	for rest := steps; len(rest) > 0; {
		channel := rest[0].first.Contact.Channel
		args := []any{int64(channel)}
		for len(rest) > 0 && rest[0].first.Contact.Channel == channel && len(args) <= 500 {
			args = append(args, int64(rest[0].first.Contact.ID))
			rest = rest[1:]
		}
		var rows []struct {
			ID  int64 `db:"id"`
			Rev int64 `db:"rev"`
		}
		err := t.tx.SelectContext(t.w.ctx, &rows, "SELECT id, rev FROM contacts WHERE channel_id = ? AND id IN "+
			marks(len(args)-1)+t.w.s.sql.ForUpdate, args...)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			revisions[weir.Ref{Channel: channel, ID: weir.ContactID(row.ID)}] = row.Rev
		}
	}
	return slices.DeleteFunc(steps, func(s step) bool {
		rev, ok := revisions[s.first.Contact.Ref]
		if ok && rev == s.first.From {
			return false
		}
		for _, p := range s.parts {
			t.markStale(p.request, p.transition.Contact.ID)
		}
		return true
	}), nil
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
	_, err := t.tx.ExecContext(t.w.ctx, t.w.s.text.insertAttempts+rowsOf(len(args)/width, width), args...)
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
	_, err := t.tx.ExecContext(t.w.ctx, "DELETE FROM inbox WHERE id IN "+marks(len(args)), args...)
	return err
}

// encode writes steps as the JSON that the bulk update reads, in the order of
// dialect.Columns.
func encode(steps []step) string {
	b := make([]byte, 0, 200*len(steps))
	b = append(b, '[')
	for i, s := range steps {
		if i > 0 {
			b = append(b, ',')
		}
		c := &s.last.Contact
		lane, pos := place(c)
		b = append(b, '[')
		for _, n := range [...]int64{
			int64(c.Channel), int64(c.ID), s.first.From, c.Rev, int64(c.State), lane, pos, number(c.State.Waiting()),
			micros(c.DueAt), int64(c.Attempt), int64(c.Failures),
			micros(c.ClaimedAt), micros(c.SentAt), micros(c.HeardAt), micros(c.FinishedAt),
		} {
			b = append(strconv.AppendInt(b, n, 10), ',')
		}
		for _, text := range [...]string{clip(c.ProviderRef), c.Parts, string(c.Outcome), clip(c.Reason)} {
			b = append(appendText(b, text), ',')
		}
		b = append(strconv.AppendInt(b, number(c.CancelAsked), 10), ']')
	}
	return string(append(b, ']'))
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// appendText appends a JSON string. Most texts are plain and need no encoder.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			encoded, _ := json.Marshal(text) // a string always encodes
			return append(b, encoded...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}
