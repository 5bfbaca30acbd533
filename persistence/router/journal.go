package router

import (
	"context"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/router/journal"
)

var _ journal.Store = (*Store)(nil)

// segmentsBytes bounds what one read of the journal brings.
const segmentsBytes = 8 << 20

// Append implements [journal.Store].
func (s *Store) Append(by weir.Incarnation, g journal.Group, done func(error)) {
	// The router collects by itself, so that only real rows count: a writer that
	// waits for more to come would hold up a group that is complete.
	rows := 2 + len(g.Segments) + len(g.Public)/columns.EventsPerRow
	bytes := 0
	for i := range g.Segments {
		bytes += len(g.Segments[i].Data)
	}
	for i := range g.Public {
		bytes += 100 + len(g.Public[i].Subject) + len(g.Public[i].Data)
	}
	r := &commit.Request{Work: &routed{by, g}, Rows: rows, Bytes: bytes, Answer: done} // without a context: it is kept, come what may
	if err := s.Submit(r); err != nil {
		done(err)
	}
}

// routed is a pending write of a group of the router's events to the journal.
type routed struct {
	by    weir.Incarnation
	group journal.Group
}

// Write implements [commit.Work]. The row of the head orders groups: one that was
// refused keeps back all that follow it.
func (w *routed) Write(t *commit.Tx, r *commit.Request) error {
	if !t.IsCurrent(w.by) {
		r.Refuse(weir.ErrSuperseded)
		return nil
	}
	list := w.group.Segments
	n, err := t.Exec("UPDATE router_head SET last_seq = ? WHERE id = 1 AND last_seq = ?",
		int64(list[len(list)-1].Last), int64(list[0].First)-1)
	if err != nil {
		return err
	}
	if n != 1 {
		r.Refuse(journal.ErrGap)
		return nil
	}
	for i := range list {
		_, err := t.Exec("INSERT INTO router_journal (first_seq, last_seq, data) VALUES (?, ?, ?)",
			int64(list[i].First), int64(list[i].Last), list[i].Data)
		if err != nil {
			return err
		}
	}
	t.Emit(w.group.Public...)
	return nil
}

// Segments implements [journal.Store].
func (s *Store) Segments(ctx context.Context, after uint64, limit int) ([]journal.Segment, error) {
	rows, err := s.Read.QueryContext(ctx, "SELECT first_seq, last_seq, data FROM router_journal WHERE first_seq > ? ORDER BY first_seq LIMIT ?",
		int64(after), limit)
	if err != nil {
		return nil, s.Failure("read the router's journal", err)
	}
	defer func() { _ = rows.Close() }()
	var list []journal.Segment
	for bytes := 0; bytes < segmentsBytes && rows.Next(); {
		var g journal.Segment
		if err := rows.Scan(&g.First, &g.Last, &g.Data); err != nil {
			return nil, s.Failure("read the router's journal", err)
		}
		bytes += len(g.Data)
		list = append(list, g)
	}
	return list, s.Failure("read the router's journal", rows.Err())
}

// Store keeps the journal of the router.
type Store struct{ *commit.DB }
