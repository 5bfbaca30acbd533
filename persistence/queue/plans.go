package queue

import (
	"math"
	"time"

	"weir"
	"weir/ops"
	"weir/persistence/values"
)

// Statements lists the statements of contacts; see [Store.Statements].
func (s *Store) Statements(channel weir.ChannelID, lane weir.Lane, c weir.ContactID) []values.Statement {
	id, l, contact := int64(channel), int64(lane), int64(c)
	all := "SELECT " + contactColumns + withState
	sizes, ids := sizesSQL([]record{
		{ref: weir.Ref{Channel: channel, ID: c}}, {ref: weir.Ref{Channel: channel, ID: c + 1}}, {ref: weir.Ref{Channel: channel + 1, ID: c}},
	})
	list := []values.Statement{
		values.Named("sizes in flight", sizes, ids...),
		values.Named("contacts by id", all+byIDs(3), id, contact, contact+1, contact+2),
		values.Named("contacts by key", all+keySQL, id, "no such key"),
		values.Named("first lane", laneSQL, id, int64(math.MinInt64)),
		values.Named("next lane", laneSQL, id, l),
		values.Named("head", headSQL, id, l, int64(0), 100),
		values.Named("refill", headSQL, id, l, contact, 100),
		values.Named("due", delayedSQL, id, 100),
		values.Named("overdue", expiringSQL, id, 100),
		values.Named("list by id", all+idsSQL, id, contact, int64(math.MaxInt64), 100),
		values.Named("list between two instants", all+idsSQL, id, int64(1000), int64(1050), 100),
		values.Named("newest by id", all+newestSQL, id, contact, int64(0), 100),
		values.Named("newest by id, near the end", all+newestSQL, id, contact*19/5, int64(0), 100),
		values.Named("range of a search", searchRangeSQL, id, contact, int64(0), 5),
		values.Named("search", all+searchSQL+values.Marks(1)+searchEnd, id, contact, contact-10, "nowhere", 100),
		values.Named("purge", purgeSQL, id, int64(500_000), 100),
		values.Named("claims", "DELETE FROM contacts_queued WHERE (channel_id = ? AND lane = ? AND rev = ? AND id IN (?, ?))", id, l, int64(0), contact, contact+1),
		values.Named("claims under lock", s.revisionsSQL(weir.Queued, 2), id, contact, contact+1),
	}
	ends := &page{s: s, lowPos: 499_000, highPos: math.MaxInt64, at: cursor{State: int8(weir.Done), Ends: true}}
	first, firstArgs := ends.headSQL(&source{Channel: id}, spot{Pos: 499_000, ID: math.MinInt64})
	list = append(list, values.Named("the first end of a channel", first, firstArgs...))
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
			list = append(list, values.Named(name, text, args...))
		}
	}
	return list
}

// DeadStatements lists the statements about dead letters; see [Store.WatchStatements].
func (s *Store) DeadStatements(channel weir.ChannelID, contact weir.ContactID, reason string) []values.Statement {
	ch, c := int64(channel), int64(contact)
	some := []any{ch, c, c + 1, c + 2}
	return []values.Statement{
		values.Named("dead letters", deadSQL, ch, int64(0), int64(math.MaxInt64), 100),
		values.Named("dead letters between two instants", deadSQL, ch, c+1000, c+1050, 100),
		values.Named("dead letters that ended alike", s.deadAlike(), ch, string(weir.Lost), reason, int64(0), int64(math.MaxInt64), 100),
		values.Named("the next channel with dead letters", deadChannelSQL, ch),
		values.Named("a dead letter", deadContactSQL, ch, c),
		values.Named("what it became", requeueOfSQL, ch, c),
		values.Named("dead letters to be queued again", heldDeadSQL+values.Marks(3)+s.Dialect.ForUpdate, some...),
		values.Named("discard", s.dropDead(3), some...),
	}
}

// CountStatements lists the statements that count dead letters, by each filter.
// They read what they count.
func (s *Store) CountStatements(channel weir.ChannelID, reason string, since, until time.Time) []values.Statement {
	list := []values.Statement{values.Named("count by channel", deadByChannel)}
	for _, f := range []struct {
		name string
		ops.DeadLetterFilter
	}{
		{"all", ops.DeadLetterFilter{}},
		{"of a channel", ops.DeadLetterFilter{Channel: channel}},
		{"of a channel and outcome", ops.DeadLetterFilter{Channel: channel, Outcome: weir.Lost}},
		{"alike", ops.DeadLetterFilter{Channel: channel, Outcome: weir.Lost, Reason: &reason}},
		{"of an outcome", ops.DeadLetterFilter{Outcome: weir.Lost}},
		{"of a reason", ops.DeadLetterFilter{Reason: &reason}},
		{"of a channel between two instants", ops.DeadLetterFilter{Channel: channel, Since: since, Until: until}},
		{"between two instants", ops.DeadLetterFilter{Since: since, Until: until}},
	} {
		where, args := deadWhere(f.DeadLetterFilter)
		list = append(list, values.Named("count "+f.name, deadCount+where, args...), values.Named("groups "+f.name, deadGroups(where), append(args, 1000)...))
	}
	return list
}
