package persistence

import "weir"

// guarded gives each step the revision of its contact's row, and leaves out
// those that would replace another revision than the contact has. Where memory
// cannot tell and the row is written in this batch, the guard of that will.
func (t *transaction) guarded(steps []step) ([]step, error) {
	rows, err := t.revisions(t.doubtful(steps))
	if err != nil {
		return nil, err
	}
	good := steps[:0]
	for _, s := range steps {
		if base, ok := t.base(&s, rows); ok {
			s.base = base
			good = append(good, s)
			continue
		}
		for _, p := range s.parts {
			t.markStale(p.request, p.transition.Contact.ID)
		}
	}
	return good, nil
}

// doubtful are the contacts whose rows have to be asked: all of them once a guard
// has failed, else those that go to the journal and are not known.
func (t *transaction) doubtful(steps []step) []weir.Ref {
	var refs []weir.Ref
	for i := range steps {
		s := &steps[i]
		ref := s.first.Contact.Ref
		_, _, known := t.known(ref)
		known = known || s.first.From == 0 && t.w.journal.fresh.has(ref)
		if t.b.careful || !known && journals(s) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// known is what the journal says of a contact: the revision of its row and its
// own. What this batch has folded is in place.
func (t *transaction) known(ref weir.Ref) (base, rev int64, ok bool) {
	e, ok := t.w.journal.entries[ref]
	if !ok {
		return 0, 0, false
	}
	if e.row <= t.b.wrote.folded {
		return e.progress.Rev, e.progress.Rev, true
	}
	return e.base, e.progress.Rev, true
}

// base is the revision of the row of a step's contact; false if the contact has
// another revision than the step replaces.
func (t *transaction) base(s *step, rows map[weir.Ref]int64) (int64, bool) {
	base, rev, known := t.known(s.first.Contact.Ref)
	row, asked := rows[s.first.Contact.Ref]
	switch {
	case asked && row == gone:
		return 0, false
	case asked && known:
		return row, max(row, rev) == s.first.From
	case asked:
		return row, row == s.first.From
	case known:
		return base, rev == s.first.From
	default:
		return s.first.From, true
	}
}

// gone stands for the revision of a contact that has no row.
const gone = -1

// revisions reads the revisions of contacts, in the order of their refs, under
// lock.
func (t *transaction) revisions(refs []weir.Ref) (map[weir.Ref]int64, error) {
	const most = 500
	if len(refs) == 0 {
		return nil, nil
	}
	found := make(map[weir.Ref]int64, len(refs))
	for len(refs) > 0 {
		channel, args := refs[0].Channel, []any{int64(refs[0].Channel)}
		for len(refs) > 0 && refs[0].Channel == channel && len(args) <= most {
			found[refs[0]] = gone
			args = append(args, int64(refs[0].ID))
			refs = refs[1:]
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
			found[weir.Ref{Channel: channel, ID: weir.ContactID(row.ID)}] = row.Rev
		}
	}
	return found, nil
}

// divide tells the steps that are written into the rows of their contacts from
// those that go to the journal.
func divide(steps []step) (exact, later []step) {
	for i := range steps {
		if journals(&steps[i]) {
			later = append(later, steps[i])
		} else {
			exact = append(exact, steps[i])
		}
	}
	return exact, later
}

// journals tells whether a step goes to the journal. What goes back into the queue
// has to be found there.
func journals(s *step) bool { return !s.last.Contact.State.Waiting() }

// journal writes the results of steps as one row.
func (t *transaction) journal(steps []step) error {
	if len(steps) == 0 {
		return nil
	}
	wrote := &t.b.wrote
	wrote.row = t.w.s.ids.next(t.now)
	wrote.entries = make(map[weir.Ref]entry, len(steps))
	data := append(make([]byte, 0, 1+100*len(steps)), recordsVersion)
	for i := range steps {
		s := &steps[i]
		r := record{ref: s.last.Contact.Ref, base: s.base, progress: kept(s.last.Contact.Progress)}
		data = appendRecord(data, &r)
		wrote.entries[r.ref] = entry{base: r.base, row: wrote.row, progress: r.progress}
	}
	return t.later(t.w.s.text.addJournal, wrote.row, t.w.start, data)
}
