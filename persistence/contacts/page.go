package contacts

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"weir"
	"weir/persistence/columns"
	"weir/persistence/dialect"
)

// page collects one page of contacts.
type page struct {
	s        *Reader
	f        weir.ContactFilter
	found    []weir.Contact
	budget   int // rows that may still be read
	at       cursor
	inFlight map[int64][]record // by channel; nil: not read yet
	// The ids of the filter's time: the least, and the first behind. The same of
	// the positions in the queue index.
	low, high       int64
	lowPos, highPos int64
}

const (
	idsSQL    = " WHERE c.channel_id = ? AND c.id > ? AND c.id <= ? ORDER BY c.id LIMIT ?"
	newestSQL = " WHERE c.channel_id = ? AND c.id <= ? AND c.id >= ? ORDER BY c.id DESC LIMIT ?"
	keySQL    = " WHERE c.channel_id = ? AND c.ckey = ?"
)

// read reads contacts with their states, and returns how many rows there were.
func (p *page) read(ctx context.Context, where string, args ...any) ([]contactRow, int, error) {
	var rows []contactRow
	from := withState
	if where == idsSQL || where == newestSQL {
		from = p.s.inOrder()
	}
	if strings.HasPrefix(where, indexedSearchSQL) {
		from = indexedContacts
	}
	err := p.s.Read.SelectContext(ctx, &rows, "SELECT "+contactColumns+from+where, args...)
	if err == nil {
		err = p.s.resolve(ctx, p.s.Read, rows)
	}
	for i := range rows {
		rows[i].place = place{ID: rows[i].ID, Pos: rows[i].ID}
	}
	return rows, len(rows), err
}

// byID lists contacts of a channel between two ids, both included, and returns how many ids
// there were.
func (p *page) byID(ctx context.Context, channel, low, high int64, newest bool, limit int) ([]contactRow, int, error) {
	switch {
	case p.s.index.inUse():
		places, err := p.s.idsBetween(ctx, channel, low, high, newest, limit)
		if err != nil {
			return nil, 0, err
		}
		rows, err := p.s.readPlaces(ctx, channel, places)
		return rows, len(places), err
	case newest:
		return p.read(ctx, newestSQL, channel, high, low, limit)
	default:
		return p.read(ctx, idsSQL, channel, low-1, high, limit)
	}
}

// The statements that list ids of the index by channel.
const (
	indexedIDsSQL    = "SELECT id, id AS pos FROM contacts_by_channel WHERE channel_id = ? AND id >= ? AND id <= ? ORDER BY id LIMIT ?"
	indexedNewestSQL = "SELECT id, id AS pos FROM contacts_by_channel WHERE channel_id = ? AND id >= ? AND id <= ? ORDER BY id DESC LIMIT ?"
)

// idsBetween lists the places of contacts of a channel between two ids, both included.
func (s *Reader) idsBetween(ctx context.Context, channel, low, high int64, newest bool, limit int) ([]place, error) {
	recent, table := s.index.acceptedOnly(channel, low, high, newest, limit)
	behind := make([]place, len(recent))
	for i, id := range recent {
		behind[i] = place{ID: id, Pos: id}
	}
	text, n := indexedIDsSQL, limit
	if newest {
		text, n = indexedNewestSQL, limit-len(recent)
	}
	var list []place
	if low > table || n == 0 {
		return behind, nil
	}
	if err := s.Read.SelectContext(ctx, &list, text, channel, low, min(high, table), n); err != nil {
		return nil, err
	}
	if newest {
		return append(behind, list...), nil
	}
	list = append(list, behind...)
	return list[:min(limit, len(list))], nil
}

// full reports whether the page has to end.
func (p *page) full() bool { return p.budget <= 0 || len(p.found) >= p.f.Limit }

// rows reads on from p.at until nothing is left or the page is full. read returns
// rows and how many were asked about; fewer than its limit are the last.
func (p *page) rows(read func(limit int) ([]contactRow, int, error)) (more bool, err error) {
	for !p.full() {
		// One more than is missing shows whether there is a next page.
		n := min(p.budget, p.f.Limit-len(p.found)+1)
		if p.f.Survey != "" || p.f.Outcome != "" || len(p.f.States) > 0 && p.at.State == 0 {
			n = min(p.budget, columns.MaxPage)
		}
		rows, asked, err := read(n)
		if err != nil {
			return false, err
		}
		p.budget -= max(asked, columns.SeekCost)
		for i := range rows {
			if len(p.found) >= p.f.Limit {
				return true, nil
			}
			p.take(&rows[i])
			p.pass(&rows[i])
		}
		if asked < n {
			return false, nil
		}
	}
	return true, nil
}

// pass moves the cursor behind a row.
func (p *page) pass(r *contactRow) {
	p.at.ID = r.ID
	if p.at.State != 0 {
		p.at.Lane, p.at.Pos = r.place.Lane, r.place.Pos
	}
}

// take adds a row to the page if it matches. A contact may have changed its state
// since it was found by it.
func (p *page) take(r *contactRow) {
	c, _ := r.readable()
	if r.ID < p.low || r.ID >= p.high || finished(&p.f) && (r.FinishedAt < p.lowPos || r.FinishedAt >= p.highPos) ||
		p.f.Survey != "" && r.Survey != p.f.Survey || p.f.Outcome != "" && r.Outcome != string(p.f.Outcome) ||
		len(p.f.States) > 0 && !slices.Contains(p.f.States, c.State) || p.at.State != 0 && int8(c.State) != p.at.State {
		return
	}
	p.found = append(p.found, c)
}

// readState reads the contacts of the state of p.at from a place on.
func (p *page) readState(ctx context.Context, channel int64, from place, limit int) ([]contactRow, int, error) {
	places, err := p.places(ctx, channel, from, limit)
	if err != nil {
		return nil, 0, err
	}
	rows, err := p.s.readPlaces(ctx, channel, places)
	return rows, len(places), err
}

// places lists the places of contacts of the state of p.at, from a place on: behind
// it or, in a list from the newest on, from it.
func (p *page) places(ctx context.Context, channel int64, from place, limit int) (list []place, err error) {
	state := weir.State(p.at.State)
	if state == weir.Done && p.s.index.inUse() {
		return p.s.ends(ctx, p.s.Read, channel, from, p.lowPos, p.highPos, p.f.Newest, limit)
	}
	if !state.InFlight() {
		text, args := rangeSQL("contacts_done", state, channel, from, p.lowPos, p.highPos, p.f.Newest, limit)
		return list, p.s.Read.SelectContext(ctx, &list, text, args...)
	}
	if p.inFlight == nil {
		p.inFlight = map[int64][]record{}
		for c := range p.s.flights.byChannel() {
			p.inFlight[int64(c)] = p.s.flights.list(c)
		}
	}
	all := placesOf(p.inFlight[channel], func(s weir.State) bool { return s == state })
	if p.f.Newest {
		slices.Reverse(all)
	}
	for _, at := range all {
		after := cmp.Or(cmp.Compare(at.Pos, from.Pos), cmp.Compare(at.ID, from.ID))
		if (p.f.Newest && after <= 0 || !p.f.Newest && after > 0) && len(list) < limit {
			list = append(list, at)
		}
	}
	return list, nil
}

// ends lists places of contacts that are done, as [rangeSQL] does, where the index by channel
// is in use.
func (s *Reader) ends(ctx context.Context, q dialect.Reader, channel int64, from place, low, high int64, newest bool, limit int) (list []place, err error) {
	recent := s.index.endedOnly(channel, from, low, high, newest, limit) // before the table: a batch moves them there
	text, args := rangeSQL("contacts_by_end", weir.Done, channel, from, low, high, newest, limit)
	if err := q.SelectContext(ctx, &list, text, args...); err != nil {
		return nil, err
	}
	return mergePlaces(recent, list, newest, limit), nil
}

// rangeSQL is the statement that lists places of contacts that are queued, delayed or
// done, as a table has them: behind a place or, from the newest on, from it.
func rangeSQL(done string, state weir.State, channel int64, from place, low, high int64, newest bool, limit int) (string, []any) {
	table, pos := "contacts_delayed", "due_at"
	if state == weir.Done {
		table, pos = done, "finished_at"
	}
	if state == weir.Queued {
		text := "SELECT id, lane, id AS pos FROM contacts_queued WHERE channel_id = ? AND lane = ? AND id > ? ORDER BY id LIMIT ?"
		if newest {
			text = "SELECT id, lane, id AS pos FROM contacts_queued WHERE channel_id = ? AND lane = ? AND id <= ? ORDER BY id DESC LIMIT ?"
		}
		return text, []any{channel, from.Lane, from.ID, limit}
	}
	text := "SELECT id, 0 AS lane, {at} AS pos FROM {table} WHERE channel_id = ? AND {at} >= ? AND {at} < ? AND ({at} > ? OR id > ?) ORDER BY {at}, id LIMIT ?"
	args := []any{channel, max(from.Pos, low), high, from.Pos, from.ID, limit} // >= is where the range of the index begins; few share one instant
	if newest {
		text = "SELECT id, 0 AS lane, {at} AS pos FROM {table} WHERE channel_id = ? AND {at} <= ? AND {at} >= ? AND ({at} < ? OR id <= ?) ORDER BY {at} DESC, id DESC LIMIT ?"
		args = []any{channel, from.Pos, low, from.Pos, from.ID, limit}
	}
	return strings.NewReplacer("{at}", pos, "{table}", table).Replace(text), args
}
