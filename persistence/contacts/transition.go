package contacts

import (
	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
	"weir/persistence/multirow"
)

// transitionWriter writes the transitions of a batch.
type transitionWriter struct {
	contacts *Reader
	flights  *flightLog
	events   contactEvents
	observer Observer
	gate     Gate
	waiting  *waiting
	scratch  *scratch
	settled  map[weir.Ref]weir.Receipt // of contacts that end, if the gate has changed them
}

// write writes the transitions of all changes at once. A contact that waits or is
// done has a row, which a transition deletes or replaces under its revision. One in
// flight has a record in the log, which the record or row of the next transition
// supersedes. The row of the log comes right behind the statements that it guards.
func (w *transitionWriter) write(t *commit.Tx, c *changes) error {
	steps, err := w.current(t, c.steps())
	if err != nil {
		return err
	}
	dead := func(t *commit.Tx, steps []step) error { return insertDeadLetters(&w.contacts.Dialect, t, steps) }
	for _, write := range []func(*commit.Tx, []step) error{
		w.log, enterQueue, w.settle, w.finish, archive, dead, w.observe, w.recordClaims,
	} {
		if err := write(t, steps); err != nil {
			return err
		}
	}
	if t.WritesContactEvents() {
		w.events.changed(t, steps)
	}
	for i := range steps {
		w.waiting.add(steps[i].ref().Channel, steps[i].first.Was, steps[i].last.Contact.State)
	}
	return nil
}

// log writes the row of the batch, behind the statements that have to find the contacts as
// the steps expect them.
func (w *transitionWriter) log(t *commit.Tx, steps []step) error {
	return w.flights.write(t, steps, append(amend(steps), leaveQueue(t, steps)...))
}

// observe passes the transitions on, those of one contact in order.
func (w *transitionWriter) observe(t *commit.Tx, steps []step) error {
	return w.observer.Changed(t, func(yield func(*weir.Transition) bool) {
		for i := range steps {
			for _, tr := range steps[i].parts {
				if !yield(tr.Transition) {
					return
				}
			}
		}
	})
}

// recordClaims reports to the gate which claims are committed, and which attempts are known not to
// have been sent.
func (w *transitionWriter) recordClaims(t *commit.Tx, steps []step) error {
	for i := range steps {
		flight, _ := w.contacts.flights.get(steps[i].ref())
		before := &flight.progress
		for _, tr := range steps[i].parts {
			c := &tr.Contact
			if skipped(c) && tr.Was.Waiting() {
				w.gate.Skipped(c, t.Now)
			}
			switch {
			case tr.Was == weir.Queued && c.State == weir.Sending:
				w.gate.Claimed(t, c)
			case tr.Was.InFlight() && c.State.Waiting() && c.ClaimedAt.IsZero(): // an undone claim is no attempt
				w.gate.Returned(t, c, c.Attempt+1, before)
			case tr.Ended != nil && tr.Ended.Outcome != "": // it may have gone out
			case tr.Was.InFlight() && c.State.Waiting(), neverOut(tr.Transition):
				w.gate.Returned(t, c, c.Attempt, before)
			}
			before = &c.Progress
		}
	}
	return nil
}

// settle has the gate look at the contacts that end.
func (w *transitionWriter) settle(t *commit.Tx, steps []step) error {
	for i := range steps {
		for _, tr := range steps[i].parts {
			if c := &tr.Contact; c.State == weir.Done && tr.Was.InFlight() {
				if kept := w.gate.Ended(t, tr.Transition, !neverOut(tr.Transition)); kept != c.Receipt {
					w.settled[c.Ref] = kept
				}
			}
		}
	}
	return nil
}

// current removes the steps that replace another revision than their contact has.
// Memory knows the revisions of what is in flight. Of other contacts they are read
// if an optimistic try has failed; otherwise the delete of the row is the guard.
func (w *transitionWriter) current(t *commit.Tx, steps []step) ([]step, error) {
	var rows map[weir.Ref]int64
	if !t.Optimistic {
		var err error
		if rows, err = w.revisions(t, steps); err != nil {
			return nil, err
		}
	}
	good := steps[:0]
	for _, s := range steps {
		fl, known := w.contacts.flights.get(s.ref())
		rev, ok := fl.progress.Rev, known
		if !s.first.Was.InFlight() {
			rev, ok = s.first.From, !known
			if !t.Optimistic && ok {
				rev, ok = rows[s.ref()]
			}
		}
		if ok && rev == s.first.From {
			good = append(good, s)
			continue
		}
		for _, tr := range s.parts {
			tr.change.markStale(tr.Contact.ID)
		}
	}
	return good, nil
}

// revisions reads the revisions of contacts that wait or are done, under lock.
func (w *transitionWriter) revisions(t *commit.Tx, steps []step) (map[weir.Ref]int64, error) {
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
			for len(refs) > 0 && refs[0].Channel == channel && len(args) <= columns.KeysPerList {
				args = append(args, int64(refs[0].ID))
				refs = refs[1:]
			}
			var rows []struct {
				ID  int64 `db:"id"`
				Rev int64 `db:"rev"`
			}
			if err := t.SelectContext(t.Ctx, &rows, revisionsSQL(&w.contacts.Dialect, state, len(args)-1), args...); err != nil {
				return nil, err
			}
			for _, r := range rows {
				found[weir.Ref{Channel: channel, ID: weir.ContactID(r.ID)}] = r.Rev
			}
		}
	}
	return found, nil
}

func revisionsSQL(d *dialect.Statements, state weir.State, n int) string {
	switch state {
	case weir.Queued: // through contacts, which know their lane
		return "SELECT q.id, q.rev FROM contacts c JOIN contacts_queued q ON q.channel_id = c.channel_id AND q.lane = c.lane AND q.id = c.id " +
			"WHERE c.channel_id = ? AND c.id IN " + columns.Marks(n) + d.ForUpdate
	case weir.Delayed:
		return "SELECT id, rev FROM contacts_delayed WHERE channel_id = ? AND id IN " + columns.Marks(n) + d.ForUpdate
	default:
		return "SELECT id, rev FROM contacts_done WHERE channel_id = ? AND id IN " + columns.Marks(n) + d.ForUpdate
	}
}

// finish inserts the rows of contacts that ended.
func (w *transitionWriter) finish(t *commit.Tx, steps []step) error {
	args := w.scratch.empty()
	n := 0
	for i := range steps {
		if c := &steps[i].last.Contact; c.State == weir.Done && steps[i].first.Was != weir.Done {
			args = append(args, int64(c.Channel), int64(c.ID))
			end := c.Progress
			if receipt, ok := w.settled[c.Ref]; ok {
				end.Receipt = receipt
			}
			args = appendEnd(args, &end)
			n++
		}
	}
	multirow.Insert(t, "contacts_done ("+doneColumns+")", columns.Marks(doneWidth), args, n)
	w.scratch.keep(args)
	return nil
}
