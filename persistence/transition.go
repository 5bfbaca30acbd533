package persistence

import (
	"cmp"
	"slices"

	"weir"
	"weir/persistence/dialect"
)

// Commit implements [weir.Committer]. done is called on the writer's
// goroutine and must not wait for anything. A change with stale contacts
// leaves its inbox rows: the items still have to be handled.
func (s *Store) Commit(c weir.Change, done func(weir.CommitResult)) {
	r := newChange(c, func(o outcome) { done(weir.CommitResult{Err: o.err, Stale: o.stale}) })
	if err := s.writer.submit(r); err != nil {
		go done(weir.CommitResult{Err: unavailable("the store takes nothing", err)})
	}
}

// step is one or more transitions of one contact in a batch: the first has the state
// and revision that they replace, the last the result.
type step struct {
	first, last *weir.Transition
	parts       []part
}

type part struct {
	request    *request
	transition *weir.Transition
}

// ref returns the contact of a step.
func (s *step) ref() weir.Ref { return s.last.Contact.Ref }

// change writes the transitions of all changes at once. A contact that waits or is
// done has a row, which a transition deletes or replaces under its revision. One in
// flight has a record in the log, which the record or row of the next transition
// supersedes.
func (t *transaction) change() error {
	steps, err := t.current(t.steps())
	if err != nil {
		return err
	}
	for _, write := range []func([]step) error{
		t.leaveQueue, t.amend, t.enterQueue, t.logFlights, t.finish, t.archive, t.insertOutbox, t.insertDeadLetters,
	} {
		if err := write(steps); err != nil {
			return err
		}
	}
	t.countChanged(steps)
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
	slices.SortFunc(list, func(a, b step) int { return compareRefs(a.ref(), b.ref()) })
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

// current removes the steps that replace another revision than their contact has.
// Memory knows the revisions of what is in flight. Of other contacts they are read
// if an optimistic try has failed; otherwise the delete of the row is the guard.
func (t *transaction) current(steps []step) ([]step, error) {
	var rows map[weir.Ref]int64
	if !t.optimistic {
		var err error
		if rows, err = t.revisions(steps); err != nil {
			return nil, err
		}
	}
	good := steps[:0]
	for _, s := range steps {
		fl, known := t.w.flights.get(s.ref())
		rev, ok := fl.progress.Rev, known
		if !s.first.Was.InFlight() {
			rev, ok = s.first.From, !known
			if !t.optimistic && ok {
				rev, ok = rows[s.ref()]
			}
		}
		if ok && rev == s.first.From {
			good = append(good, s)
			continue
		}
		for _, p := range s.parts {
			t.markStale(p.request, p.transition.Contact.ID)
		}
	}
	return good, nil
}

// revisions reads the revisions of contacts that wait or are done, under lock.
func (t *transaction) revisions(steps []step) (map[weir.Ref]int64, error) {
	found := map[weir.Ref]int64{}
	for _, state := range []weir.State{weir.Queued, weir.Delayed, weir.Done} {
		var refs []weir.Ref
		for i := range steps {
			if steps[i].first.Was == state {
				refs = append(refs, steps[i].ref())
			}
		}
		for len(refs) > 0 {
			channel, args := refs[0].Channel, []any{int64(refs[0].Channel)}
			for len(refs) > 0 && refs[0].Channel == channel && len(args) <= someAtATime {
				args = append(args, int64(refs[0].ID))
				refs = refs[1:]
			}
			var rows []struct {
				ID  int64 `db:"id"`
				Rev int64 `db:"rev"`
			}
			if err := t.tx.SelectContext(t.w.ctx, &rows, t.w.s.revisionsSQL(state, len(args)-1), args...); err != nil {
				return nil, err
			}
			for _, r := range rows {
				found[weir.Ref{Channel: channel, ID: weir.ContactID(r.ID)}] = r.Rev
			}
		}
	}
	return found, nil
}

func (s *Store) revisionsSQL(state weir.State, n int) string {
	switch state {
	case weir.Queued: // through contacts, which know their lane
		return "SELECT q.id, q.rev FROM contacts c JOIN contacts_queued q ON q.channel_id = c.channel_id AND q.lane = c.lane AND q.id = c.id " +
			"WHERE c.channel_id = ? AND c.id IN " + marks(n) + s.sql.ForUpdate
	case weir.Delayed:
		return "SELECT id, rev FROM contacts_delayed WHERE channel_id = ? AND id IN " + marks(n) + s.sql.ForUpdate
	default:
		return "SELECT id, rev FROM contacts_done WHERE channel_id = ? AND id IN " + marks(n) + s.sql.ForUpdate
	}
}

// leaveQueue deletes the rows of contacts that waited.
func (t *transaction) leaveQueue(steps []step) error {
	var queued, delayed, expiring []key
	for i := range steps {
		tr := steps[i].first
		c := &tr.Contact
		switch tr.Was {
		case weir.Queued:
			queued = append(queued, key{int64(c.Channel), int64(c.Lane()), tr.From, int64(c.ID)})
		case weir.Delayed:
			delayed = append(delayed, key{int64(c.Channel), tr.From, 0, int64(c.ID)})
		default:
			continue
		}
		if !c.NotAfter.IsZero() {
			expiring = append(expiring, key{int64(c.Channel), micros(c.NotAfter), 0, int64(c.ID)})
		}
	}
	for _, d := range []struct {
		table   string
		columns []string
		keys    []key
		guarded bool
	}{
		{"contacts_queued", []string{"channel_id", "lane", "rev"}, queued, true},
		{"contacts_delayed", []string{"channel_id", "rev"}, delayed, true},
		{"contacts_expiring", []string{"channel_id", "expire_at"}, expiring, false},
	} {
		if err := t.deleteRows(d.table, d.columns, d.keys, d.guarded); err != nil {
			return err
		}
	}
	return nil
}

// enterQueue inserts the rows of contacts that wait again.
func (t *transaction) enterQueue(steps []step) error {
	var list []*weir.Contact
	for i := range steps {
		if c := &steps[i].last.Contact; c.State.Waiting() {
			list = append(list, c)
		}
	}
	return t.insertWaiting(list)
}

// logFlights writes the progress of contacts in flight as one row of the log: of those
// that steps change, that are taken over and that are carried forward. A contact has one
// record in it.
func (t *transaction) logFlights(steps []step) error {
	l := &t.b.wrote
	changed := map[weir.Ref]bool{}
	var list []record
	for i := range steps {
		s := &steps[i]
		changed[s.ref()] = true
		if s.last.Contact.State.InFlight() {
			list = append(list, record{s.ref(), kept(s.last.Contact.Progress)})
		} else if s.first.Was.InFlight() {
			l.left = append(l.left, s.ref())
		}
	}
	add := func(more []record) {
		for _, r := range more {
			if !changed[r.ref] {
				changed[r.ref], list = true, append(list, r)
			}
		}
	}
	slices.SortFunc(l.records, func(a, b record) int { return cmp.Compare(b.progress.Rev, a.progress.Rev) })
	add(l.records)
	if l.records = list; len(list) == 0 {
		return nil
	}
	add(t.w.flights.carried())
	l.records = list
	l.row = t.w.s.ids.next(t.now)
	data := append(make([]byte, 0, 1+80*len(l.records)), recordVersion)
	for i := range l.records {
		data = appendRecord(data, &l.records[i])
	}
	return t.later(t.w.s.text.addFlights, l.row, t.w.start, data)
}

// dropFlights deletes rows of the log that batches before this one made superfluous,
// several at once. Rows that a process leaves are deleted by the next.
func (t *transaction) dropFlights() error {
	unused := t.w.flights.unused
	if len(unused) < minUnused {
		return nil
	}
	unused = unused[:min(len(unused), maxUnused)]
	args := append([]any{t.w.start}, arguments(unused)...)
	size := placesFor(len(unused))
	t.b.wrote.deleted = slices.Clone(unused)
	return t.later(dropFlightsSQL+marks(size), fill(args, size-len(unused))...)
}

const dropFlightsSQL = "DELETE FROM contacts_in_flight WHERE start_number = ? AND id IN "

// finish inserts the rows of contacts that ended.
func (t *transaction) finish(steps []step) error {
	args := t.w.scratch[:0]
	n := 0
	for i := range steps {
		if c := &steps[i].last.Contact; c.State == weir.Done && steps[i].first.Was != weir.Done {
			args = append(args, int64(c.Channel), int64(c.ID))
			args = appendEnd(args, &c.Progress)
			n++
		}
	}
	err := t.insertSized("contacts_done ("+doneColumns+")", marks(doneWidth), args, n)
	t.w.keep(args)
	return err
}

const (
	endColumns  = "finished_at, rev, attempt, failures, claimed_at, sent_at, heard_at, provider_ref, parts, outcome, reason, cancel_asked"
	doneColumns = "channel_id, id, " + endColumns
	doneWidth   = 14
)

// appendEnd appends the values of endColumns.
func appendEnd(args []any, p *weir.Progress) []any {
	return append(args, micros(p.FinishedAt), p.Rev, int64(p.Attempt), int64(p.Failures), micros(p.ClaimedAt), micros(p.SentAt), micros(p.HeardAt),
		clip(p.ProviderRef), p.Parts, string(p.Outcome), clip(p.Reason), number(p.CancelRequested))
}

// amend corrects contacts that were done before. There are few.
func (t *transaction) amend(steps []step) error {
	for i := range steps {
		s := &steps[i]
		if s.first.Was != weir.Done {
			continue
		}
		args := appendEnd(nil, &s.last.Contact.Progress)
		args = append(args, int64(s.ref().Channel), int64(s.ref().ID), s.first.From)
		if err := t.expect(1, amendSQL, args...); err != nil {
			return err
		}
	}
	return nil
}

const amendSQL = "UPDATE contacts_done SET finished_at = ?, rev = ?, attempt = ?, failures = ?, claimed_at = ?, sent_at = ?, heard_at = ?, " +
	"provider_ref = ?, parts = ?, outcome = ?, reason = ?, cancel_asked = ? WHERE channel_id = ? AND id = ? AND rev = ?"

func (t *transaction) countChanged(steps []step) {
	for i := range steps {
		was, is := steps[i].first.Was, steps[i].last.Contact.State
		d := t.counts[steps[i].ref().Channel]
		d.queued += number(is.Waiting()) - number(was.Waiting())
		d.inFlight += number(is.InFlight()) - number(was.InFlight())
		t.counts[steps[i].ref().Channel] = d
	}
}

// archive keeps the attempts that ended while their contacts continue.
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

// clearInbox deletes the inbox rows that the changes have handled.
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
