package persistence

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"weir"
)

// The statements of a broker. Each reads one range of one index.
const (
	inFlightSQL = "SELECT " + contactColumns + " FROM contacts WHERE channel_id = ? AND state BETWEEN ? AND ?"
	laneSQL     = "SELECT lane, pos FROM contacts WHERE channel_id = ? AND state = ? AND lane > ? ORDER BY lane, pos LIMIT 1"
	delayedSQL  = "SELECT " + contactColumns + inLane
	headSQL     = "SELECT " + specColumns + inLane
	inLane      = " FROM contacts WHERE channel_id = ? AND state = ? AND lane = ? AND pos > ? ORDER BY pos LIMIT ?"
	overdueSQL  = "SELECT " + contactColumns + " FROM contacts WHERE channel_id = ? AND expire_at > 0 ORDER BY expire_at LIMIT ?"
	queuedAtSQL = "SELECT queued_at FROM contacts WHERE channel_id = ? AND id = ?"
)

// Statements lists the statements that a broker, a list and the retention
// run, with example arguments, for those who want to see their plans.
func (s *Store) Statements(channel weir.ChannelID, lane weir.Lane, t weir.Transition) []Statement {
	id, l := int64(channel), int64(lane)
	apart := &Store{sql: s.sql, text: newStatements(s.sql)} // texts of the writer's own are its goroutine's
	update, values := apart.updateOf([]step{{first: &t, last: &t, base: t.From}}, nil)
	again := t
	again.From, again.Contact.Rev, again.Contact.Failures = t.Contact.Rev, t.Contact.Rev+1, 1
	whole, wholeValues := apart.updateOf([]step{{first: &again, last: &again, base: again.From}}, nil)
	return []Statement{
		{"in flight", inFlightSQL, []any{id, int64(weir.Sending), int64(weir.Unknown)}},
		{"first lane", laneSQL, []any{id, int64(weir.Queued), int64(math.MinInt64)}},
		{"next lane", laneSQL, []any{id, int64(weir.Queued), l}},
		{"head", headSQL, []any{id, int64(weir.Queued), l, int64(0), 100}},
		{"refill", headSQL, []any{id, int64(weir.Queued), l, int64(t.Contact.ID), 100}},
		{"due", delayedSQL, []any{id, int64(weir.Delayed), int64(0), int64(0), 100}},
		{"overdue", overdueSQL, []any{id, 100}},
		{"list by id", idsSQL, []any{id, int64(t.Contact.ID), int64(math.MaxInt64), 100}},
		{"list between two instants", idsSQL, []any{id, int64(1000), int64(1050), 100}},
		{"contacts of dead letters", someContactsSQL + marks(3), []any{id, int64(t.Contact.ID), int64(t.Contact.ID) + 1, int64(5)}},
		{"list by state", stateSQL, stateArguments(startLane(id, int8(weir.Queued), l), math.MinInt64, math.MaxInt64, 100)},
		{"list done, a later page", stateSQL, stateArguments(cursor{Channel: id, State: int8(weir.Done), Pos: 500_000, ID: 1}, math.MinInt64, math.MaxInt64, 100)},
		{"newest by id", "SELECT " + contactColumns + newestIDs, []any{id, int64(t.Contact.ID), int64(0), 100}},
		{"newest by id, near the end", "SELECT " + contactColumns + newestIDs, []any{id, int64(t.Contact.ID) * 19 / 5, int64(0), 100}},
		{"newest of a lane", "SELECT " + contactColumns + s.newestState(), newestArguments(&source{Channel: id, Lane: l, spot: spot{Pos: int64(t.Contact.ID), ID: int64(t.Contact.ID)}}, int8(weir.Queued), 0, 100)},
		{"newest that finished between two instants", "SELECT " + contactColumns + s.newestState(), newestArguments(&source{Channel: id, spot: spot{Pos: 500_000, ID: math.MaxInt64}}, int8(weir.Done), 499_990, 100)},
		{"range of a search", searchRangeSQL, []any{id, int64(t.Contact.ID), int64(0), 5}},
		{"search", searchSQL + marks(1) + " ORDER BY id DESC LIMIT ?", []any{id, int64(t.Contact.ID), int64(t.Contact.ID) - 10, "nowhere", 100}},
		{"list by key", keySQL, []any{id, "no such key"}},
		{"open channels", s.openChannelsSQL(), nil},
		{"purge", purgeSQL, []any{id, int64(weir.Done), int64(500_000), 100}},
		{"claim, send, callback, collect", update, values},
		{"retry", whole, wholeValues},
	}
}

// Statement is an SQL text with its arguments.
type Statement struct {
	Name string
	Text string
	Args []any
}

// selectContacts reads rows that are exact.
func (s *Store) selectContacts(ctx context.Context, doing, text string, args ...any) ([]weir.Contact, error) {
	if err := s.settled(ctx); err != nil {
		return nil, err
	}
	list, err := s.queryContacts(ctx, text, args)
	return list, s.failure(doing, err)
}

func (s *Store) queryContacts(ctx context.Context, text string, args []any) ([]weir.Contact, error) {
	return s.queryRows(ctx, (*contactRow).fields, text, args)
}

// queryRows reads row by row, into one.
func (s *Store) queryRows(ctx context.Context, fieldsOf func(*contactRow) []any, text string, args []any) (list []weir.Contact, err error) {
	rows, err := s.read.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var row contactRow
	fields := fieldsOf(&row)
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			return nil, err
		}
		c, err := row.contact()
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, rows.Err()
}

// InFlight implements [weir.QueueReader].
func (s *Store) InFlight(ctx context.Context, channel weir.ChannelID) ([]weir.Contact, error) {
	list, err := s.selectContacts(ctx, "read contacts in flight", inFlightSQL, int64(channel), int64(weir.Sending), int64(weir.Unknown))
	slices.SortFunc(list, func(a, b weir.Contact) int { return cmp.Compare(a.ID, b.ID) })
	return list, err
}

// laneHead is a lane and its oldest contact.
type laneHead struct {
	Lane int64 `db:"lane"`
	Pos  int64 `db:"pos"`
}

// laneHeads goes from lane to lane, one index seek each.
func (s *Store) laneHeads(ctx context.Context, channel weir.ChannelID) ([]laneHead, error) {
	var list []laneHead
	after := int64(math.MinInt64)
	for {
		var h laneHead
		err := s.read.GetContext(ctx, &h, laneSQL, int64(channel), int64(weir.Queued), after)
		if errors.Is(err, sql.ErrNoRows) {
			return list, nil
		}
		if err != nil {
			return nil, s.failure("read the lanes", err)
		}
		list = append(list, h)
		after = h.Lane
	}
}

// Lanes implements [weir.QueueReader].
func (s *Store) Lanes(ctx context.Context, channel weir.ChannelID) ([]weir.Lane, error) {
	if err := s.settled(ctx); err != nil {
		return nil, err
	}
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

// Head implements [weir.QueueReader]. Rows whose contacts have gone on, as the
// journal knows, are left out: to fold them first would cost more.
func (s *Store) Head(ctx context.Context, channel weir.ChannelID, lane weir.Lane, after weir.ContactID, limit int) ([]weir.Contact, error) {
	var list []weir.Contact
	for len(list) < limit {
		var rows []weir.Contact
		err := s.writer.journal.together(func() (err error) {
			rows, err = s.queryHead(ctx, channel, lane, after, limit)
			return err
		}, func(progress func(weir.Ref) (weir.Progress, bool)) error {
			for i := range rows {
				if p, ok := progress(rows[i].Ref); rows[i].State == weir.Queued && (!ok || p.Rev <= rows[i].Rev) {
					list = append(list, rows[i])
				}
			}
			return nil
		})
		if err != nil {
			return nil, s.failure("read the queue", err)
		}
		if len(rows) < limit {
			break
		}
		after = rows[len(rows)-1].ID
	}
	return list[:min(len(list), limit)], nil
}

// queryHead reads what was asked for of contacts that never left the queue, which
// is all that their rows say, and the whole rows of the others.
func (s *Store) queryHead(ctx context.Context, channel weir.ChannelID, lane weir.Lane, after weir.ContactID, limit int) ([]weir.Contact, error) {
	list, err := s.queryRows(ctx, (*contactRow).specFields, headSQL, []any{int64(channel), int64(weir.Queued), int64(lane), int64(after), limit})
	if err != nil {
		return nil, err
	}
	args := []any{int64(channel)}
	for i := range list {
		if list[i].State = weir.Queued; list[i].Rev > 0 {
			args = append(args, int64(list[i].ID))
		}
	}
	if len(args) == 1 {
		return list, nil
	}
	whole, err := s.queryContacts(ctx, someContactsSQL+marks(len(args)-1), args)
	byID := make(map[weir.ContactID]weir.Contact, len(whole))
	for i := range whole {
		byID[whole[i].ID] = whole[i]
	}
	for i := range list {
		if list[i].Rev > 0 {
			list[i].Progress = byID[list[i].ID].Progress // of one that is gone: no state
		}
	}
	return list, err
}

// Due implements [weir.QueueReader].
func (s *Store) Due(ctx context.Context, channel weir.ChannelID, now time.Time, limit int) ([]weir.Contact, time.Time, error) {
	list, err := s.selectContacts(ctx, "read delayed contacts", delayedSQL, int64(channel), int64(weir.Delayed), int64(0), int64(0), limit+1)
	if err != nil {
		return nil, time.Time{}, err
	}
	due, next := split(list, now, limit, func(c *weir.Contact) time.Time { return c.DueAt })
	return due, next, nil
}

// Overdue implements [weir.QueueReader].
func (s *Store) Overdue(ctx context.Context, channel weir.ChannelID, now time.Time, limit int) ([]weir.Contact, time.Time, error) {
	list, err := s.selectContacts(ctx, "read overdue contacts", overdueSQL, int64(channel), limit+1)
	if err != nil {
		return nil, time.Time{}, err
	}
	over, next := split(list, now, limit, func(c *weir.Contact) time.Time { return c.NotAfter })
	return over, next, nil
}

// split cuts a list that is ordered by an instant behind those that have come,
// and behind limit, and gives the instant of the first of the rest.
func split(list []weir.Contact, now time.Time, limit int, at func(*weir.Contact) time.Time) ([]weir.Contact, time.Time) {
	for i := range list {
		if i == limit || at(&list[i]).After(now) {
			return list[:i], at(&list[i])
		}
	}
	return list, time.Time{}
}

// QueuedCount implements [weir.QueueReader].
func (s *Store) QueuedCount(ctx context.Context, channel weir.ChannelID) (int64, error) {
	var n int64
	err := s.read.GetContext(ctx, &n, "SELECT queued FROM channel_counts WHERE channel_id = ?", int64(channel))
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, s.failure("read the number of queued contacts", err)
}

// OldestQueued implements [weir.QueueReader].
func (s *Store) OldestQueued(ctx context.Context, channel weir.ChannelID) (time.Time, error) {
	if err := s.settled(ctx); err != nil {
		return time.Time{}, err
	}
	heads, err := s.laneHeads(ctx, channel)
	if err != nil || len(heads) == 0 {
		return time.Time{}, err
	}
	oldest := slices.MinFunc(heads, func(a, b laneHead) int { return cmp.Compare(a.Pos, b.Pos) })
	var us int64
	err = s.read.GetContext(ctx, &us, queuedAtSQL, int64(channel), oldest.Pos)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return instant(us), s.failure("read the oldest contact", err)
}
