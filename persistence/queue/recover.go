package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/commit"
	"weir/persistence/member"
	"weir/persistence/values"
)

// logSQL reads the log of other processes, alive or gone.
const logSQL = "SELECT start_number, id, data FROM contacts_in_flight WHERE start_number <> ?"

// foreignRow is a row of the log of another start.
type foreignRow struct {
	Start int64  `db:"start_number"`
	ID    int64  `db:"id"`
	Data  []byte `db:"data"`
}

// latestOf returns the latest record of each contact that which accepts. Starts
// had a channel one after the other, and each began with the revisions of the one
// before.
func latestOf(rows []foreignRow, which func(weir.Ref) bool) (map[weir.Ref]record, error) {
	latest := map[weir.Ref]record{}
	for _, row := range rows {
		records, err := decodeRecords(row.Data)
		if err != nil {
			return nil, fmt.Errorf("row %d of start %d in contacts_in_flight: %w", row.ID, row.Start, err)
		}
		for _, r := range records {
			if before, ok := latest[r.ref]; which(r.ref) && (!ok || before.progress.Rev < r.progress.Rev) {
				latest[r.ref] = r
			}
		}
	}
	return latest, nil
}

// foreign reads the latest records of the starts other than ours.
func (s *Store) foreign(ctx context.Context, q sqlx.QueryerContext, which func(weir.Ref) bool) (map[weir.Ref]record, error) {
	if s.Alone {
		return nil, nil
	}
	var rows []foreignRow
	if err := sqlx.SelectContext(ctx, q, &rows, logSQL, s.Start()); err != nil {
		return nil, err
	}
	return latestOf(rows, which)
}

// allInFlight lists the contacts in flight of a channel, or of all: what this
// process and the others have in their logs. A contact that has just ended may be
// among them, and one that was just claimed elsewhere may be missing.
func (s *Store) allInFlight(ctx context.Context, channel *weir.ChannelID) ([]record, error) {
	latest, err := s.foreign(ctx, s.Read, func(r weir.Ref) bool { return channel == nil || r.Channel == *channel })
	if err != nil {
		return nil, err
	}
	var list []record
	if channel != nil {
		list = s.flights.list(*channel)
	} else {
		for c := range s.flights.byChannel() {
			list = append(list, s.flights.list(c)...)
		}
	}
	for i := range list {
		if other, both := latest[list[i].ref]; both {
			if other.progress.Rev > list[i].progress.Rev {
				list[i] = other
			}
			delete(latest, other.ref)
		}
	}
	return slices.AppendSeq(list, maps.Values(latest)), nil
}

// resolve adds the progress of contacts in flight to rows that were read without
// a state. A contact that is not in flight any more either is read again, after a
// moment: the writer learns of its COMMIT later than readers do.
func (s *Store) resolve(ctx context.Context, q sqlx.QueryerContext, rows []contactRow) error {
	const tries = 4
	for try := 0; ; try++ {
		missing, err := s.inFlight(ctx, q, rows)
		if err != nil || len(missing) == 0 {
			return err
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

// inFlight adds the progress of contacts in flight, and returns the rows without
// a state that are not.
func (s *Store) inFlight(ctx context.Context, q sqlx.QueryerContext, rows []contactRow) ([]*contactRow, error) {
	stateless := map[weir.Ref]*contactRow{}
	for i := range rows {
		if r := &rows[i]; r.State == 0 && r.flight.State == 0 {
			stateless[r.ref()] = r
		}
	}
	if len(stateless) == 0 {
		return nil, nil
	}
	others, err := s.foreign(ctx, q, func(ref weir.Ref) bool { return stateless[ref] != nil })
	if err != nil {
		return nil, err
	}
	var missing []*contactRow
	for ref, r := range stateless {
		own, ok := s.flights.progress(ref)
		other, known := others[ref]
		switch {
		case known && other.progress.Rev > own.Rev:
			r.flight = other.progress
		case ok:
			r.flight = own
		case known:
			r.flight = other.progress
		default:
			missing = append(missing, r)
		}
	}
	return missing, nil
}

// readAgain replaces rows by what the database has now.
func (s *Store) readAgain(ctx context.Context, q sqlx.QueryerContext, rows []*contactRow) error {
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

// Recover makes what this process knows of a channel's contacts in flight complete,
// when it has taken the lease. Others can add nothing to their logs any more, and this
// process nothing under a former lease: the batch of the recovery follows any batch
// that was still being committed.
func (s *Store) Recover(ctx context.Context, channel weir.ChannelID) error {
	theirs, err := s.foreign(ctx, s.Write, func(r weir.Ref) bool { return r.Channel == channel })
	if err != nil {
		return err
	}
	w := &takeOver{records: slices.Collect(maps.Values(theirs))}
	if !s.Alone {
		w.channels = []weir.ChannelID{channel}
	}
	return s.takeOver(ctx, w)
}

// RecoverGone takes over what starts left in the log that have no lease and, where
// several processes may be members, no connection. Whoever takes one of their
// channels finds it in our log. Such a process may come back, and still count on its
// rows; but then it takes each channel anew, and the records come back to it.
func (s *Store) RecoverGone(ctx context.Context) error {
	var all []foreignRow
	if err := s.Write.SelectContext(ctx, &all, logSQL, s.Start()); err != nil || len(all) == 0 {
		return err
	}
	var starts []int64
	err := s.Write.SelectContext(ctx, &starts, "SELECT start_number FROM writers WHERE (owner = ? OR ? OR "+s.Dialect.OwnerGone+") "+
		"AND start_number <> ? AND NOT EXISTS (SELECT 1 FROM leases WHERE leases.owner = writers.owner)", s.Owner, s.Alone, s.Start())
	if err != nil {
		return err
	}
	isGone := func(r foreignRow) bool { return slices.Contains(starts, r.Start) }
	gone := slices.DeleteFunc(slices.Clone(all), func(r foreignRow) bool { return !isGone(r) })
	if len(gone) == 0 {
		return nil
	}
	every := func(weir.Ref) bool { return true }
	left, err := latestOf(gone, every)
	if err != nil {
		return err
	}
	others, err := latestOf(slices.DeleteFunc(all, isGone), every)
	if err != nil {
		return err
	}
	maps.DeleteFunc(left, func(ref weir.Ref, r record) bool { return others[ref].progress.Rev > r.progress.Rev })
	return s.takeOver(ctx, &takeOver{records: slices.Collect(maps.Values(left)), rows: gone})
}

// takeOver is the work of a recovery. It is decided in its batch, where memory has what
// the batches before have written.
//
// A record is dropped only if its contact is no longer in flight or has a later one in
// another log: if two processes that have the same one dropped it because the other has
// it, none would be left.
type takeOver struct {
	part     *part
	records  []record            // of other logs; written into ours if they count
	rows     []foreignRow        // of other logs, deleted up to these
	channels []weir.ChannelID    // whose contacts in memory are dropped if they are no longer in flight
	later    map[weir.Ref]record // of other logs: what memory has of before is dropped, too
}

func (s *Store) takeOver(ctx context.Context, w *takeOver) error {
	w.part = &s.part
	return s.Await(ctx, &commit.Request{Work: w, Rows: len(w.records)})
}

// Write implements [Work].
func (w *takeOver) Write(t *commit.Tx, _ *commit.Request) error {
	var own []record
	for _, channel := range w.channels {
		own = append(own, w.part.s.flights.list(channel)...)
	}
	still, err := stillInFlight(t, slices.Concat(w.records, own))
	if err != nil {
		return err
	}
	for _, r := range own {
		if !still[r.ref] || w.later[r.ref].progress.Rev > r.progress.Rev {
			w.part.landing.left = append(w.part.landing.left, r.ref)
		}
	}
	for _, r := range w.records {
		// One that memory has is written again: a process that took this one for gone
		// may have deleted its row.
		if fl, _ := w.part.s.flights.get(r.ref); still[r.ref] && fl.progress.Rev <= r.progress.Rev {
			w.part.landing.records = append(w.part.landing.records, r)
		}
	}
	last := map[int64]int64{}
	for _, r := range w.rows {
		last[r.Start] = max(last[r.Start], r.ID)
	}
	for _, start := range slices.Sorted(maps.Keys(last)) {
		if err := t.Later("DELETE FROM contacts_in_flight WHERE start_number = ? AND id <= ?", start, last[start]); err != nil {
			return err
		}
	}
	return nil
}

// stillInFlight returns which contacts have not been queued again, are not done and
// were not purged.
func stillInFlight(t *commit.Tx, list []record) (map[weir.Ref]bool, error) {
	ids := map[weir.ChannelID][]weir.ContactID{}
	for _, r := range list {
		ids[r.ref.Channel] = append(ids[r.ref.Channel], r.ref.ID)
	}
	still := map[weir.Ref]bool{}
	for _, channel := range slices.Sorted(maps.Keys(ids)) {
		for part := range slices.Chunk(ids[channel], values.KeysPerList) {
			var found []weir.ContactID
			err := t.SQL.SelectContext(t.Ctx, &found, "SELECT c.id"+withState+byIDs(len(part))+noState,
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

// forgetElsewhere drops what this process knows of contacts of channels that other
// processes have taken over, if it counts no longer.
func (s *Store) forgetElsewhere(ctx context.Context) error {
	if s.Alone {
		return nil
	}
	channels := slices.Sorted(maps.Keys(s.flights.byChannel()))
	if len(channels) == 0 {
		return nil
	}
	var ours []weir.ChannelID
	if err := s.Write.SelectContext(ctx, &ours, "SELECT channel_id FROM leases WHERE owner = ?", s.Owner); err != nil {
		return err
	}
	channels = slices.DeleteFunc(channels, func(c weir.ChannelID) bool { return slices.Contains(ours, c) })
	if len(channels) == 0 {
		return nil
	}
	others, err := s.foreign(ctx, s.Write, func(ref weir.Ref) bool { return slices.Contains(channels, ref.Channel) })
	if err != nil {
		return err
	}
	return s.takeOver(ctx, &takeOver{channels: channels, later: others})
}
