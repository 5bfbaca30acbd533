package persistence

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
)

// fold is the work that writes what has become of contacts into their rows, up
// to a row of the journal.
type fold struct {
	upTo int64 // 0: all
}

// newFold is a fold that nobody waits for.
func (j *journal) newFold(upTo int64) *request {
	return &request{work: &fold{upTo}, answer: func(o outcome) {
		if o.err == nil {
			j.refused = 0
		} else {
			j.refused++
		}
	}}
}

// foldUpTo is up to which row of the journal contacts are to be folded now.
func (w *writer) foldUpTo() int64 {
	if w.closed && len(w.queue) == 0 && w.stop.Err() == nil && w.journal.refused == 0 && w.journal.last() > 0 {
		return w.journal.last()
	}
	return w.journal.due(time.Now())
}

// settled returns when the rows of all contacts are as exact as what this
// process was told was committed before the call.
func (s *Store) settled(ctx context.Context) error {
	if s.writer.journal.empty() {
		return nil
	}
	_, err := s.await(ctx, func(ctx context.Context, answer func(outcome)) *request {
		return newWork(ctx, &fold{}, 0, 0, answer)
	})
	return err
}

// write implements work.
func (f *fold) write(t *transaction, _ *request) error {
	j := t.w.journal
	upTo := cmp.Or(f.upTo, j.last())
	if upTo <= t.b.wrote.folded {
		return nil // another request of the batch has done it
	}
	var records []record
	for ref, e := range j.entries {
		if e.row <= upTo && e.row > t.b.wrote.folded {
			records = append(records, record{ref, e.base, e.progress})
		}
	}
	if err := t.foldRecords(records); err != nil {
		return err
	}
	t.b.wrote.folded = upTo
	return t.later(t.w.s.text.dropJournal, t.w.start, upTo)
}

// foldRecords writes records into the rows of their contacts. Where a row has
// another revision than expected it is behind, for somebody else has folded a
// part, or it is as far or further, or gone; then nothing is to be done.
func (t *transaction) foldRecords(records []record) error {
	slices.SortFunc(records, func(a, b record) int { return compareRefs(a.ref, b.ref) })
	steps := foldSteps(records)
	n, err := t.update(steps)
	if err != nil || n == int64(len(steps)) {
		return err
	}
	refs := make([]weir.Ref, len(records))
	for i := range records {
		refs[i] = records[i].ref
	}
	revisions, err := t.revisions(refs)
	if err != nil {
		return err
	}
	behind := slices.DeleteFunc(records, func(r record) bool {
		rev := revisions[r.ref]
		return rev == gone || rev >= r.progress.Rev
	})
	for i := range behind {
		behind[i].base = revisions[behind[i].ref]
	}
	if n, err = t.update(foldSteps(behind)); err == nil && n != int64(len(behind)) {
		err = fmt.Errorf("%d contacts were folded, want %d", n, len(behind))
	}
	return err
}

func foldSteps(records []record) []step {
	steps := make([]step, len(records))
	for i := range records {
		r := &records[i]
		tr := &weir.Transition{Contact: weir.Contact{Ref: r.ref, Progress: r.progress}, From: r.base}
		steps[i] = step{first: tr, last: tr, base: r.base}
	}
	return steps
}

// left is a row of the journal that another start wrote.
type left struct {
	Start int64  `db:"start_number"`
	ID    int64  `db:"id"`
	Data  []byte `db:"data"`
}

const leftSQL = "SELECT start_number, id, data FROM contact_journal WHERE start_number <> ?"

// adopt folds what others have left in the journal about a channel whose lease
// is ours now: they can add nothing to it any more.
func (s *Store) adopt(ctx context.Context, channel weir.ChannelID) error {
	var rows []left
	if err := s.write.SelectContext(ctx, &rows, leftSQL, s.writer.startNumber()); err != nil || len(rows) == 0 {
		return err
	}
	return s.foldLeft(ctx, rows, func(r weir.Ref) bool { return r.Channel == channel })
}

// adoptAll folds and removes what starts have left that have no lease and, where
// several processes may be members, no connection. One that lives all the same
// loses nothing: what it writes next has newer revisions.
func (s *Store) adoptAll(ctx context.Context) error {
	text := leftSQL + " AND start_number IN (SELECT start_number FROM writers WHERE " +
		"(owner = ? OR ? OR " + s.sql.OwnerGone + ") AND NOT EXISTS (SELECT 1 FROM leases WHERE leases.owner = writers.owner))"
	var rows []left
	if err := s.write.SelectContext(ctx, &rows, text, s.writer.startNumber(), s.owner, s.alone); err != nil || len(rows) == 0 {
		return err
	}
	if err := s.foldLeft(ctx, rows, func(weir.Ref) bool { return true }); err != nil {
		return err
	}
	return s.transaction(ctx, func(tx *sqlx.Tx) error {
		for _, row := range rows {
			if _, err := tx.ExecContext(ctx, "DELETE FROM contact_journal WHERE start_number = ? AND id = ?", row.Start, row.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// foldLeft folds the latest that rows say of each contact.
func (s *Store) foldLeft(ctx context.Context, rows []left, which func(weir.Ref) bool) error {
	latest, err := latestOf(rows, which)
	if err != nil || len(latest) == 0 {
		return err
	}
	_, err = s.await(ctx, func(ctx context.Context, answer func(outcome)) *request {
		return newWork(ctx, &adoption{slices.Collect(maps.Values(latest))}, len(latest), 0, answer)
	})
	return err
}

// latestOf is the latest that rows say of each of some contacts. Starts had a
// channel one after the other, and each folded first what it found.
func latestOf(rows []left, which func(weir.Ref) bool) (map[weir.Ref]record, error) {
	latest := map[weir.Ref]record{}
	for _, row := range rows {
		records, err := decodeRecords(row.Data)
		if err != nil {
			return nil, fmt.Errorf("row %d of the journal of start %d: %w", row.ID, row.Start, err)
		}
		for _, r := range records {
			if before, ok := latest[r.ref]; which(r.ref) && (!ok || before.progress.Rev < r.progress.Rev) {
				latest[r.ref] = r
			}
		}
	}
	return latest, nil
}

// adoption is the work that folds what others have left.
type adoption struct{ records []record }

// write implements work.
func (a *adoption) write(t *transaction, _ *request) error {
	return t.foldRecords(slices.Clone(a.records))
}
