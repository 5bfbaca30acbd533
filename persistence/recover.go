package persistence

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
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
	if s.alone {
		return nil, nil
	}
	var rows []foreignRow
	if err := sqlx.SelectContext(ctx, q, &rows, logSQL, s.writer.startNumber()); err != nil {
		return nil, err
	}
	return latestOf(rows, which)
}

// allInFlight lists the contacts in flight of a channel, or of all: what this
// process and the others have in their logs. A contact that has just ended may be
// among them, and one that was just claimed elsewhere may be missing.
func (s *Store) allInFlight(ctx context.Context, channel *weir.ChannelID) ([]record, error) {
	latest, err := s.foreign(ctx, s.read, func(r weir.Ref) bool { return channel == nil || r.Channel == *channel })
	if err != nil {
		return nil, err
	}
	var list []record
	if channel != nil {
		list = s.writer.flights.list(*channel)
	} else {
		for c := range s.writer.flights.byChannel() {
			list = append(list, s.writer.flights.list(c)...)
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
		pause(ctx, time.Millisecond<<try)
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
		own, ok := s.writer.flights.progress(ref)
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
		for n < min(len(rows), someAtATime) && rows[n].Channel == rows[0].Channel {
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

// recover makes what this process knows of a channel's contacts in flight complete,
// when it has taken the lease. Others can add nothing to their logs any more.
func (s *Store) recover(ctx context.Context, channel weir.ChannelID) error {
	if s.alone {
		return nil // Join has recovered all channels
	}
	theirs, err := s.foreign(ctx, s.write, func(r weir.Ref) bool { return r.Channel == channel })
	if err != nil {
		return err
	}
	own := s.writer.flights.list(channel) // of a former lease
	for _, r := range own {
		if other, ok := theirs[r.ref]; ok && other.progress.Rev <= r.progress.Rev {
			delete(theirs, r.ref)
		}
	}
	if len(theirs) == 0 && len(own) == 0 {
		return nil
	}
	still, err := s.stillInFlight(ctx, own)
	if err != nil {
		return err
	}
	over := slices.DeleteFunc(own, func(r record) bool {
		return slices.ContainsFunc(still, func(f record) bool { return f.ref == r.ref })
	})
	return s.takeOver(ctx, theirs, nil, over)
}

// recoverGone takes over what starts left in the log that have no lease and, where
// several processes may be members, no connection. Whoever takes one of their
// channels finds it in our log.
func (s *Store) recoverGone(ctx context.Context) error {
	var all []foreignRow
	if err := s.write.SelectContext(ctx, &all, logSQL, s.writer.startNumber()); err != nil || len(all) == 0 {
		return err
	}
	var starts []int64
	err := s.write.SelectContext(ctx, &starts, "SELECT start_number FROM writers WHERE (owner = ? OR ? OR "+s.sql.OwnerGone+") "+
		"AND start_number <> ? AND NOT EXISTS (SELECT 1 FROM leases WHERE leases.owner = writers.owner)", s.owner, s.alone, s.writer.startNumber())
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
	for ref, r := range left {
		own, _ := s.writer.flights.progress(ref)
		if other, ok := others[ref]; ok && other.progress.Rev >= r.progress.Rev || own.Rev >= r.progress.Rev {
			delete(left, ref)
		}
	}
	return s.takeOver(ctx, left, gone, nil)
}

// takeOver writes records of contacts that are still in flight into our log, deletes
// rows of the logs that they are from, and drops contacts that are over.
func (s *Store) takeOver(ctx context.Context, records map[weir.Ref]record, rows []foreignRow, over []record) error {
	list, err := s.stillInFlight(ctx, slices.Collect(maps.Values(records)))
	if err != nil || len(list)+len(rows)+len(over) == 0 {
		return err
	}
	_, err = s.await(ctx, func(ctx context.Context, answer func(outcome)) *request {
		return newWork(ctx, &takeOver{list, rows, over}, len(list), 0, answer)
	})
	return err
}

// stillInFlight leaves out records of contacts that have been queued again, are
// done or were purged.
func (s *Store) stillInFlight(ctx context.Context, list []record) ([]record, error) {
	slices.SortFunc(list, func(a, b record) int { return compareRefs(a.ref, b.ref) })
	var still []record
	for len(list) > 0 {
		n := 1
		for n < min(len(list), someAtATime) && list[n].ref.Channel == list[0].ref.Channel {
			n++
		}
		args := []any{int64(list[0].ref.Channel)}
		for _, r := range list[:n] {
			args = append(args, int64(r.ref.ID))
		}
		var ids []int64
		err := s.write.SelectContext(ctx, &ids, "SELECT c.id"+withState+byIDs(n)+" AND q.id IS NULL AND d.id IS NULL AND e.id IS NULL", args...)
		if err != nil {
			return nil, err
		}
		for _, r := range list[:n] {
			if slices.Contains(ids, int64(r.ref.ID)) {
				still = append(still, r)
			}
		}
		list = list[n:]
	}
	return still, nil
}

// takeOver is the work of [Store.takeOver].
type takeOver struct {
	records []record
	rows    []foreignRow
	over    []record
}

// write implements work.
func (w *takeOver) write(t *transaction, _ *request) error {
	for _, r := range w.over { // unless it has changed meanwhile
		if fl, ok := t.w.flights.get(r.ref); ok && fl.progress.Rev == r.progress.Rev {
			t.b.wrote.left = append(t.b.wrote.left, r.ref)
		}
	}
	t.b.wrote.records = append(t.b.wrote.records, w.records...)
	last := map[int64]int64{}
	for _, r := range w.rows {
		last[r.Start] = max(last[r.Start], r.ID)
	}
	for _, start := range slices.Sorted(maps.Keys(last)) {
		if err := t.later("DELETE FROM contacts_in_flight WHERE start_number = ? AND id <= ?", start, last[start]); err != nil {
			return err
		}
	}
	return nil
}

// forgetElsewhere drops what this process knows of contacts of channels that other
// processes have taken over: their logs have it.
func (s *Store) forgetElsewhere(ctx context.Context) error {
	if s.alone {
		return nil
	}
	var channels []weir.ChannelID
	for channel := range s.writer.flights.byChannel() {
		channels = append(channels, channel)
	}
	if len(channels) == 0 {
		return nil
	}
	var ours []int64
	if err := s.write.SelectContext(ctx, &ours, "SELECT channel_id FROM leases WHERE owner = ?", s.owner); err != nil {
		return err
	}
	channels = slices.DeleteFunc(channels, func(c weir.ChannelID) bool { return slices.Contains(ours, int64(c)) })
	if len(channels) == 0 {
		return nil
	}
	elsewhere := func(ref weir.Ref) bool { return slices.Contains(channels, ref.Channel) }
	others, err := s.foreign(ctx, s.write, elsewhere)
	if err != nil {
		return err
	}
	var own, needed []record
	for _, c := range channels {
		own = append(own, s.writer.flights.list(c)...)
	}
	for _, r := range own {
		if other, ok := others[r.ref]; !ok || other.progress.Rev < r.progress.Rev {
			needed = append(needed, r)
		}
	}
	if needed, err = s.stillInFlight(ctx, needed); err != nil {
		return err
	}
	keep := map[weir.Ref]bool{}
	for _, r := range needed {
		keep[r.ref] = true
	}
	var over []record
	for _, r := range own {
		if !keep[r.ref] {
			over = append(over, r)
		}
	}
	return s.takeOver(ctx, nil, nil, over)
}
