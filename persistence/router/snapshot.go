package router

import (
	"context"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/commit"
	"weir/router/journal"
)

const (
	partBytes  = 256 << 10 // of a snapshot, written in one transaction
	pruneChunk = 100       // rows that one transaction deletes
)

var errParts = errors.New("the router's snapshot lacks a part")

// SaveSnapshot implements [journal.Store]. The parts are written under a
// number that does not count yet; one statement makes it count.
func (s *Store) SaveSnapshot(ctx context.Context, by weir.Incarnation, seq uint64, data []byte) error {
	number, parts := s.NextID(time.Now()), 0
	for rest := data; parts == 0 || len(rest) > 0; parts++ {
		part := rest[:min(partBytes, len(rest))]
		rest = rest[len(part):]
		err := s.save(ctx, func(tx *sqlx.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO router_snapshots (snapshot, part, data) VALUES (?, ?, ?)", number, parts, part)
			return err
		})
		if err != nil {
			return err
		}
	}
	switched := &snapshotSwitch{by, number, parts, int64(seq)}
	if err := s.Await(ctx, &commit.Request{Work: switched, Rows: 1}); err != nil {
		return err
	}
	return s.pruneRouter(ctx, number, int64(seq))
}

// save runs a transaction of a snapshot.
func (s *Store) save(ctx context.Context, fn func(*sqlx.Tx) error) error {
	return s.Failure("save the router's snapshot", s.Transaction(ctx, fn))
}

// snapshotSwitch makes a snapshot count. It goes through the writer, where one of an
// earlier state of the router is refused.
type snapshotSwitch struct {
	by     weir.Incarnation
	number int64
	parts  int
	seq    int64
}

// Write implements [commit.Work].
func (w *snapshotSwitch) Write(t *commit.Tx, r *commit.Request) error {
	if !t.IsCurrent(w.by) {
		r.Refuse(weir.ErrSuperseded)
		return nil
	}
	var n int64
	if err := t.Get(&n, "SELECT COUNT(*) FROM router_snapshots WHERE snapshot = ?", w.number); err != nil {
		return err
	}
	if n != int64(w.parts) {
		r.Refuse(errParts)
		return nil
	}
	n, err := t.Exec("UPDATE router_head SET snapshot = ?, snapshot_seq = ? WHERE id = 1 AND last_seq >= ? AND snapshot_seq <= ?",
		w.number, w.seq, w.seq, w.seq)
	if err == nil && n != 1 {
		r.Refuse(journal.ErrGap)
	}
	return err
}

// pruneRouter deletes the journal rows and snapshots that the current snapshot covers, a
// bounded number of rows at a time.
func (s *Store) pruneRouter(ctx context.Context, snapshot, seq int64) error {
	for _, step := range []func(context.Context, *sqlx.Tx, int64, int64) (bool, error){pruneJournal, pruneSnapshots} {
		for more := true; more; {
			err := s.save(ctx, func(tx *sqlx.Tx) (err error) {
				more, err = step(ctx, tx, snapshot, seq)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func pruneJournal(ctx context.Context, tx *sqlx.Tx, _, seq int64) (more bool, err error) {
	var found []int64
	err = tx.SelectContext(ctx, &found, "SELECT last_seq FROM router_journal WHERE first_seq <= ? ORDER BY first_seq LIMIT ?", seq, pruneChunk)
	for len(found) > 0 && found[len(found)-1] > seq { // it ends after the snapshot
		found = found[:len(found)-1]
	}
	if err != nil || len(found) == 0 {
		return false, err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM router_journal WHERE first_seq <= ?", found[len(found)-1])
	return len(found) == pruneChunk, err
}

func pruneSnapshots(ctx context.Context, tx *sqlx.Tx, snapshot, _ int64) (more bool, err error) {
	var found []struct {
		Snapshot int64 `db:"snapshot"`
		Part     int64 `db:"part"`
	}
	err = tx.SelectContext(ctx, &found, "SELECT snapshot, part FROM router_snapshots WHERE snapshot < ? ORDER BY snapshot, part LIMIT ?", snapshot, pruneChunk)
	for i := 0; err == nil && i < len(found); i++ {
		_, err = tx.ExecContext(ctx, "DELETE FROM router_snapshots WHERE snapshot = ? AND part = ?", found[i].Snapshot, found[i].Part)
	}
	return len(found) == pruneChunk, err
}

// LoadSnapshot implements [journal.Store].
func (s *Store) LoadSnapshot(ctx context.Context) (journal.Saved, error) {
	var saved journal.Saved
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		saved = journal.Saved{}
		var number int64
		// The one row that decides what counts.
		row := tx.QueryRowContext(ctx, "SELECT last_seq, snapshot, snapshot_seq FROM router_head WHERE id = 1")
		if err := row.Scan(&saved.Last, &number, &saved.Seq); err != nil {
			return err
		}
		for part := 0; number != 0; part++ {
			var data [][]byte
			err := tx.SelectContext(ctx, &data, "SELECT data FROM router_snapshots WHERE snapshot = ? AND part = ?", number, part)
			if err != nil || len(data) == 0 {
				return err
			}
			saved.Data = append(saved.Data, data[0]...)
		}
		return nil
	})
	return saved, s.Failure("read the router's snapshot", err)
}
