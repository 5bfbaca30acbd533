package queue

import (
	"math"
	"time"

	"weir"
	"weir/ops"
	"weir/persistence/commit"
)

// Statements lists the statements of contacts; see [Store.Statements].
func (s *Store) Statements(channel weir.ChannelID, lane weir.Lane, c weir.ContactID) []commit.Statement {
	id, l, contact := int64(channel), int64(lane), int64(c)
	all := "SELECT " + contactColumns + withState
	sizes, ids := sizesSQL([]record{
		{ref: weir.Ref{Channel: channel, ID: c}}, {ref: weir.Ref{Channel: channel, ID: c + 1}}, {ref: weir.Ref{Channel: channel + 1, ID: c}},
	})
	list := []commit.Statement{
		commit.Named("sizes in flight", sizes, ids...),
		commit.Named("contacts by id", all+byIDs(3), id, contact, contact+1, contact+2),
		commit.Named("contacts by key", all+keySQL, id, "no such key"),
		commit.Named("first lane", laneSQL, id, int64(math.MinInt64)),
		commit.Named("next lane", laneSQL, id, l),
		commit.Named("head", headSQL, id, l, int64(0), 100),
		commit.Named("refill", headSQL, id, l, contact, 100),
		commit.Named("due", delayedSQL, id, 100),
		commit.Named("overdue", expiringSQL, id, 100),
		commit.Named("list by id", all+idsSQL, id, contact, int64(math.MaxInt64), 100),
		commit.Named("list between two instants", all+idsSQL, id, int64(1000), int64(1050), 100),
		commit.Named("newest by id", all+newestSQL, id, contact, int64(0), 100),
		commit.Named("newest by id, near the end", all+newestSQL, id, contact*19/5, int64(0), 100),
		commit.Named("range of a search", searchRangeSQL, id, contact, int64(0), 5),
		commit.Named("search", all+searchSQL+commit.Marks(1)+searchEnd, id, contact, contact-10, "nowhere", 100),
		commit.Named("purge", purgeSQL, id, int64(500_000), 100),
		commit.Named("claims", "DELETE FROM contacts_queued WHERE (channel_id = ? AND lane = ? AND rev = ? AND id IN (?, ?))", id, l, int64(0), contact, contact+1),
		commit.Named("claims under lock", s.revisionsSQL(weir.Queued, 2), id, contact, contact+1),
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
			list = append(list, commit.Named(name, text, args...))
		}
	}
	return list
}

// DeadStatements lists the statements about dead letters; see [Store.WatchStatements].
func (s *Store) DeadStatements(channel weir.ChannelID, contact weir.ContactID, reason string) []commit.Statement {
	ch, c := int64(channel), int64(contact)
	some := []any{ch, c, c + 1, c + 2}
	return []commit.Statement{
		commit.Named("dead letters", deadSQL, ch, int64(0), int64(math.MaxInt64), 100),
		commit.Named("dead letters between two instants", deadSQL, ch, c+1000, c+1050, 100),
		commit.Named("dead letters that ended alike", s.deadAlike(), ch, string(weir.Lost), reason, int64(0), int64(math.MaxInt64), 100),
		commit.Named("the next channel with dead letters", deadChannelSQL, ch),
		commit.Named("a dead letter", deadContactSQL, ch, c),
		commit.Named("what it became", requeueOfSQL, ch, c),
		commit.Named("dead letters to be queued again", heldDeadSQL+commit.Marks(3)+s.Dialect.ForUpdate, some...),
		commit.Named("discard", s.dropDead(3), some...),
	}
}

// CountStatements lists the statements that count dead letters, by each filter.
// They read what they count.
func (s *Store) CountStatements(channel weir.ChannelID, reason string, since, until time.Time) []commit.Statement {
	list := []commit.Statement{commit.Named("count by channel", deadByChannel)}
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
		list = append(list, commit.Named("count "+f.name, deadCount+where, args...), commit.Named("groups "+f.name, deadGroups(where), append(args, 1000)...))
	}
	return list
}
