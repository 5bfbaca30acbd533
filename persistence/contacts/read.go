package contacts

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/database"
	"weir/persistence/dialect"
)

// The statements of a broker. Each reads one range of one index.
const (
	laneSQL = "SELECT lane, id AS pos FROM contacts_queued WHERE channel_id = ? AND lane > ? ORDER BY lane, id LIMIT 1"
	headSQL = "SELECT " + headColumns + " FROM contacts_queued q JOIN contacts c ON c.channel_id = q.channel_id AND c.id = q.id " +
		"WHERE q.channel_id = ? AND q.lane = ? AND q.id > ? ORDER BY q.id LIMIT ?"
	delayedSQL  = "SELECT id, 0 AS lane, due_at AS pos FROM contacts_delayed WHERE channel_id = ? ORDER BY due_at, id LIMIT ?"
	expiringSQL = "SELECT id, 0 AS lane, expire_at AS pos FROM contacts_expiring WHERE channel_id = ? ORDER BY expire_at, id LIMIT ?"
)

// Reader reads contacts with their states: what a broker needs, one contact, and lists.
type Reader struct {
	*commit.DB
	flights *flights
	waiting *waiting
	index   *channelIndex // nil: the database has one
}

var (
	_ weir.QueueReader   = (*Reader)(nil)
	_ weir.ContactReader = (*Reader)(nil)
)

// inOrder is withState for a range of ids.
func (s *Reader) inOrder() string {
	return strings.Replace(withState, " contacts c", " contacts c"+s.Dialect.ThroughKey, 1)
}

// readContacts reads contacts. Those in flight have no state yet; see [Reader.resolve].
func (s *Reader) readContacts(ctx context.Context, q dialect.Reader, where string, args []any) ([]contactRow, error) {
	var rows []contactRow
	err := q.SelectContext(ctx, &rows, "SELECT "+contactColumns+withState+where, args...)
	return rows, err
}

// readPlaces reads the contacts at some places of a channel, in that order. One that
// was purged meanwhile is left out.
func (s *Reader) readPlaces(ctx context.Context, channel int64, places []place) ([]contactRow, error) {
	list := make([]contactRow, 0, len(places))
	for part := range slices.Chunk(places, columns.KeysPerList) {
		args := []any{channel}
		for _, p := range part {
			args = append(args, p.ID)
		}
		rows, err := s.readContacts(ctx, s.Read, byIDs(len(part)), args)
		if err == nil {
			err = s.resolve(ctx, s.Read, rows)
		}
		if err != nil {
			return nil, err
		}
		byID := make(map[int64]*contactRow, len(rows))
		for i := range rows {
			byID[rows[i].ID] = &rows[i]
		}
		for _, p := range part {
			if r := byID[p.ID]; r != nil {
				r.place = p
				list = append(list, *r)
			}
		}
	}
	return list, nil
}

// resolve adds the progress of contacts in flight to rows that were read without
// a state. A contact that is not in flight any more either is read again, after a
// moment: the writer learns of its COMMIT later than readers do.
func (s *Reader) resolve(ctx context.Context, q dialect.Reader, rows []contactRow) error {
	const tries = 4
	for try := 0; ; try++ {
		missing := s.addProgress(rows)
		if len(missing) == 0 {
			return nil
		}
		if try == tries { // it changes faster than it can be read
			for _, r := range missing {
				r.latest = weir.Progress{State: weir.Sending}
			}
			return nil
		}
		database.Pause(ctx, time.Millisecond<<try)
		if err := s.readAgain(ctx, q, missing); err != nil {
			return err
		}
	}
}

// addProgress adds the progress of contacts in flight, and returns the rows without
// a state that are not.
func (s *Reader) addProgress(rows []contactRow) (missing []*contactRow) {
	for i := range rows {
		r := &rows[i]
		if r.State != 0 || r.latest.State != 0 {
			continue
		}
		var known bool
		if r.latest, known = s.flights.progress(r.ref()); !known {
			missing = append(missing, r)
		}
	}
	return missing
}

// readAgain replaces rows by what the database has now.
func (s *Reader) readAgain(ctx context.Context, q dialect.Reader, rows []*contactRow) error {
	slices.SortFunc(rows, func(a, b *contactRow) int { return compareRefs(a.ref(), b.ref()) })
	for len(rows) > 0 {
		n := 1
		for n < min(len(rows), columns.KeysPerList) && rows[n].Channel == rows[0].Channel {
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

// waitingSince reads the contacts at the places that a statement lists, whose instant
// has come, and returns the instant of the first of the others (zero: none). It leaves
// out contacts that have moved on since they were listed.
func (s *Reader) waitingSince(ctx context.Context, doing, text string, channel weir.ChannelID, now time.Time, limit int, state func(weir.State) bool) ([]weir.Contact, time.Time, error) {
	var places []place
	if err := s.Read.SelectContext(ctx, &places, text, int64(channel), limit+1); err != nil {
		return nil, time.Time{}, s.Failure(doing, err)
	}
	var next time.Time
	for i := range places {
		if at := columns.Instant(places[i].Pos); i == limit || at.After(now) {
			places, next = places[:i], at
			break
		}
	}
	rows, err := s.readPlaces(ctx, int64(channel), places)
	if err != nil {
		return nil, time.Time{}, s.Failure(doing, err)
	}
	list, err := contacts(rows)
	list = slices.DeleteFunc(list, func(c weir.Contact) bool { return !state(c.State) })
	return list, next, s.Failure(doing, err)
}

// placesOf returns the places of contacts in flight, by the instant of their claim.
func placesOf(list []record, which func(weir.State) bool) []place {
	var places []place
	for _, r := range list {
		if which(r.progress.State) {
			places = append(places, place{ID: int64(r.ref.ID), Pos: columns.Micros(r.progress.ClaimedAt)})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.ID, b.ID)) })
	return places
}

// InFlight implements [weir.QueueReader].
func (s *Reader) InFlight(ctx context.Context, channel weir.ChannelID) ([]weir.Contact, error) {
	rows, err := s.readPlaces(ctx, int64(channel), placesOf(s.flights.list(channel), weir.State.InFlight))
	if err != nil {
		return nil, s.Failure("read contacts in flight", err)
	}
	rows = slices.DeleteFunc(rows, func(r contactRow) bool { return r.State != 0 })
	list, err := contacts(rows)
	slices.SortFunc(list, func(a, b weir.Contact) int { return cmp.Compare(a.ID, b.ID) })
	return list, s.Failure("read contacts in flight", err)
}

// laneStart is a lane and its oldest contact.
type laneStart struct {
	Lane int64 `db:"lane"`
	Pos  int64 `db:"pos"`
}

// laneHeads goes from lane to lane, one index seek each.
func (s *Reader) laneHeads(ctx context.Context, channel weir.ChannelID) ([]laneStart, error) {
	var list []laneStart
	after := int64(math.MinInt64)
	for {
		var h laneStart
		err := s.Read.GetContext(ctx, &h, laneSQL, int64(channel), after)
		if errors.Is(err, sql.ErrNoRows) {
			return list, nil
		}
		if err != nil {
			return nil, s.Failure("read the lanes", err)
		}
		list = append(list, h)
		after = h.Lane
	}
}

// Lanes implements [weir.QueueReader].
func (s *Reader) Lanes(ctx context.Context, channel weir.ChannelID) ([]weir.Lane, error) {
	heads, err := s.laneHeads(ctx, channel)
	if err != nil {
		return nil, err
	}
	lanes := make([]weir.Lane, 0, len(heads))
	for _, h := range heads {
		lanes = append(lanes, weir.Lane(h.Lane))
	}
	return lanes, nil
}

// Head implements [weir.QueueReader].
func (s *Reader) Head(ctx context.Context, channel weir.ChannelID, lane weir.Lane, after weir.ContactID, limit int) (list []weir.Contact, err error) {
	rows, err := s.Read.QueryContext(ctx, headSQL, int64(channel), int64(lane), int64(after), limit)
	if err != nil {
		return nil, s.Failure("read the queue", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var row contactRow
	fields := row.headFields()
	for rows.Next() {
		row.Progress = nil
		if err := rows.Scan(fields...); err != nil {
			return nil, s.Failure("read the queue", err)
		}
		row.State = int8(weir.Queued)
		c, err := row.contact()
		if err != nil {
			return nil, s.Failure("read the queue", err)
		}
		list = append(list, c)
	}
	return list, s.Failure("read the queue", rows.Err())
}

// Due implements [weir.QueueReader].
func (s *Reader) Due(ctx context.Context, channel weir.ChannelID, now time.Time, limit int) ([]weir.Contact, time.Time, error) {
	return s.waitingSince(ctx, "read delayed contacts", delayedSQL, channel, now, limit, func(state weir.State) bool { return state == weir.Delayed })
}

// Overdue implements [weir.QueueReader].
func (s *Reader) Overdue(ctx context.Context, channel weir.ChannelID, now time.Time, limit int) ([]weir.Contact, time.Time, error) {
	return s.waitingSince(ctx, "read overdue contacts", expiringSQL, channel, now, limit, weir.State.Waiting)
}

// QueuedCount implements [weir.QueueReader].
func (s *Reader) QueuedCount(_ context.Context, channel weir.ChannelID) (int64, error) {
	return s.waiting.of(channel), nil
}
