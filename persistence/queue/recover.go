package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/persistence/dialect"
	"weir/persistence/member"
	"weir/persistence/values"
)

// Recover reads the log of the contacts in flight, which earlier owners of the database
// have left. It is called once, when nobody else can write and nothing was written yet; the
// rows are continued as they are.
func (s *Store) Recover(ctx context.Context) error {
	var rows []struct {
		ID   int64  `db:"id"`
		Data []byte `db:"data"`
	}
	if err := s.Write.SelectContext(ctx, &rows, "SELECT id, data FROM contacts_in_flight ORDER BY id"); err != nil {
		return err
	}
	log := make([]loggedRow, len(rows))
	latest := map[weir.Ref]record{}
	for i, row := range rows {
		records, err := decodeRecords(row.Data)
		if err != nil {
			return fmt.Errorf("row %d of contacts_in_flight: %w", row.ID, err)
		}
		log[i] = loggedRow{row.ID, records}
		for _, r := range records {
			if before, ok := latest[r.ref]; !ok || before.progress.Rev <= r.progress.Rev {
				latest[r.ref] = r
			}
		}
	}
	still, err := s.stillInFlight(ctx, slices.Collect(maps.Keys(latest)))
	if err != nil {
		return err
	}
	s.flights.recovered(log, still)
	return nil
}

// stillInFlight returns which contacts have not been queued again, are not done and
// were not purged.
func (s *Store) stillInFlight(ctx context.Context, list []weir.Ref) (map[weir.Ref]bool, error) {
	ids := map[weir.ChannelID][]weir.ContactID{}
	for _, ref := range list {
		ids[ref.Channel] = append(ids[ref.Channel], ref.ID)
	}
	still := make(map[weir.Ref]bool, len(list))
	for _, channel := range slices.Sorted(maps.Keys(ids)) {
		slices.Sort(ids[channel])
		for part := range slices.Chunk(ids[channel], values.KeysPerList) {
			var found []weir.ContactID
			err := s.Write.SelectContext(ctx, &found, "SELECT c.id"+withState+byIDs(len(part))+noState,
				append([]any{int64(channel)}, values.Arguments(part)...)...)
			if err != nil {
				return nil, err
			}
			for _, id := range found {
				still[weir.Ref{Channel: channel, ID: id}] = true
			}
		}
	}
	return still, nil
}

// resolve adds the progress of contacts in flight to rows that were read without
// a state. A contact that is not in flight any more either is read again, after a
// moment: the writer learns of its COMMIT later than readers do.
func (s *Store) resolve(ctx context.Context, q dialect.Reader, rows []contactRow) error {
	const tries = 4
	for try := 0; ; try++ {
		missing := s.addProgress(rows)
		if len(missing) == 0 {
			return nil
		}
		if try == tries { // it changes faster than it can be read
			for _, r := range missing {
				r.flight = weir.Progress{State: weir.Sending}
			}
			return nil
		}
		member.Pause(ctx, time.Millisecond<<try)
		if err := s.readAgain(ctx, q, missing); err != nil {
			return err
		}
	}
}

// addProgress adds the progress of contacts in flight, and returns the rows without
// a state that are not.
func (s *Store) addProgress(rows []contactRow) (missing []*contactRow) {
	for i := range rows {
		r := &rows[i]
		if r.State != 0 || r.flight.State != 0 {
			continue
		}
		var known bool
		if r.flight, known = s.flights.progress(r.ref()); !known {
			missing = append(missing, r)
		}
	}
	return missing
}

// readAgain replaces rows by what the database has now.
func (s *Store) readAgain(ctx context.Context, q dialect.Reader, rows []*contactRow) error {
	slices.SortFunc(rows, func(a, b *contactRow) int { return compareRefs(a.ref(), b.ref()) })
	for len(rows) > 0 {
		n := 1
		for n < min(len(rows), values.KeysPerList) && rows[n].Channel == rows[0].Channel {
			n++
		}
		args := []any{rows[0].Channel}
		for _, r := range rows[:n] {
			args = append(args, r.ID)
		}
		found, err := s.readContacts(ctx, q, byIDs(n), args)
		if err != nil {
			return err
		}
		byID := make(map[int64]contactRow, n)
		for _, r := range found {
			byID[r.ID] = r
		}
		for _, r := range rows[:n] {
			if again, ok := byID[r.ID]; ok { // otherwise it was purged
				*r = again
			}
		}
		rows = rows[n:]
	}
	return nil
}
