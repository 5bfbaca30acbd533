package contacts

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"weir"
	"weir/persistence/columns"
)

// byIDs selects contacts of a channel by their ids.
func byIDs(n int) string { return " WHERE c.channel_id = ? AND c.id IN " + columns.Marks(n) }

// noState leaves contacts that have no row in the table of a state.
const noState = " AND q.id IS NULL AND d.id IS NULL AND e.id IS NULL"

// place is where a contact stands in a list: its lane and position there, which
// is an id or an instant.
type place struct {
	ID   int64 `db:"id"`
	Lane int64 `db:"lane"`
	Pos  int64 `db:"pos"`
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
	if !state.InFlight() {
		text, args := rangeSQL(state, channel, from, p.lowPos, p.highPos, p.f.Newest, limit)
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

// rangeSQL is the statement that lists places of contacts that are queued, delayed or
// done: behind a place or, from the newest on, from it.
func rangeSQL(state weir.State, channel int64, from place, low, high int64, newest bool, limit int) (string, []any) {
	table, pos := "contacts_delayed", "due_at"
	if state == weir.Done {
		table, pos = "contacts_done", "finished_at"
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
