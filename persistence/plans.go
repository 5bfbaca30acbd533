package persistence

import (
	"math"

	"weir"
)

// Statement is an SQL text with its arguments.
type Statement struct {
	Name string
	Text string
	Args []any
}

// Statements lists the statements that a broker, a list and the retention
// run, with example arguments, for tests of their plans.
func (s *Store) Statements(channel weir.ChannelID, lane weir.Lane, c weir.ContactID) []Statement {
	id, l, contact := int64(channel), int64(lane), int64(c)
	all := "SELECT " + contactColumns + withState
	sizes, ids := sizesSQL([]record{
		{ref: weir.Ref{Channel: channel, ID: c}}, {ref: weir.Ref{Channel: channel, ID: c + 1}}, {ref: weir.Ref{Channel: channel + 1, ID: c}},
	})
	list := []Statement{
		{"sizes in flight", sizes, ids},
		{"contacts by id", all + byIDs(3), []any{id, contact, contact + 1, contact + 2}},
		{"contacts by key", all + keySQL, []any{id, "no such key"}},
		{"first lane", laneSQL, []any{id, int64(math.MinInt64)}},
		{"next lane", laneSQL, []any{id, l}},
		{"head", headSQL, []any{id, l, int64(0), 100}},
		{"refill", headSQL, []any{id, l, contact, 100}},
		{"due", delayedSQL, []any{id, 100}},
		{"overdue", expiringSQL, []any{id, 100}},
		{"list by id", all + idsSQL, []any{id, contact, int64(math.MaxInt64), 100}},
		{"list between two instants", all + idsSQL, []any{id, int64(1000), int64(1050), 100}},
		{"newest by id", all + newestSQL, []any{id, contact, int64(0), 100}},
		{"newest by id, near the end", all + newestSQL, []any{id, contact * 19 / 5, int64(0), 100}},
		{"range of a search", searchRangeSQL, []any{id, contact, int64(0), 5}},
		{"search", all + searchSQL + marks(1) + searchEnd, []any{id, contact, contact - 10, "nowhere", 100}},
		{"open channels", s.openChannelsSQL(), nil},
		{"purge", purgeSQL, []any{id, int64(500_000), 100}},
		{"claims", "DELETE FROM contacts_queued WHERE (channel_id = ? AND lane = ? AND rev = ? AND id IN (?, ?))", []any{id, l, int64(0), contact, contact + 1}},
		{"claims under lock", s.revisionsSQL(weir.Queued, 2), []any{id, contact, contact + 1}},
	}
	for _, r := range []struct {
		name  string
		state weir.State
		at    place
	}{
		{"queued", weir.Queued, place{Lane: l, Pos: contact, ID: contact}},
		{"delayed", weir.Delayed, place{Pos: 500_000, ID: 1}},
		{"done", weir.Done, place{Pos: 500_000, ID: 1}},
	} {
		for _, newest := range []bool{false, true} {
			name := "list " + r.name
			if newest {
				name += ", newest first"
			}
			text, args := rangeSQL(r.state, id, r.at, 499_000, math.MaxInt64, newest, 100)
			list = append(list, Statement{name, text, args})
		}
	}
	return list
}
