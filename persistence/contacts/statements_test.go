package contacts

import (
	"math"
	"time"

	"weir"
	"weir/operators"
	"weir/persistence/columns"
)

// statement is what package plantest calls a Statement: an SQL text with example arguments.
type statement = struct {
	Name, Text string
	Args       []any
}

func named(name, text string, args ...any) statement { return statement{name, text, args} }

// Statements lists the statements that a broker, a list and the retention run.
func (s *Store) Statements(channel weir.ChannelID, lane weir.Lane, c weir.ContactID) []statement {
	id, l, contact := int64(channel), int64(lane), int64(c)
	all := "SELECT " + contactColumns + withState
	sizes, ids := sizesSQL([]record{
		{ref: weir.Ref{Channel: channel, ID: c}}, {ref: weir.Ref{Channel: channel, ID: c + 1}}, {ref: weir.Ref{Channel: channel + 1, ID: c}},
	})
	list := []statement{
		named("sizes in flight", sizes, ids...),
		named("contacts by id", all+byIDs(3), id, contact, contact+1, contact+2),
		named("contacts by key", all+keySQL, id, "no such key"),
		named("first lane", laneSQL, id, int64(math.MinInt64)),
		named("next lane", laneSQL, id, l),
		named("next lanes of channels", nextLanesSQL(2), id, int64(math.MinInt64), id, l),
		named("when contacts were queued", queuedAtSQL(2), id, contact, id, contact+1),
		named("head", headSQL, id, l, int64(0), 100),
		named("refill", headSQL, id, l, contact, 100),
		named("due", delayedSQL, id, 100),
		named("overdue", expiringSQL, id, 100),
		named("contacts of an address in segments", s.Reader.candidatesSQL(3, 2), int64(1), int64(2), int64(4), int64(7), int64(15_000), contact, 100),
		named("a part of a segment", segmentPartSQL, int64(2), 10),
		named("messages of a person", fromSQL(3), "+15550007", int64(math.MaxInt64), 10, "15550007", int64(math.MaxInt64), 10, "+15551234", int64(math.MaxInt64), 10),
		named("messages with two guids, and the latest", storedSQL(4), id, "g", "reused-g", nil, nil, id),
		named("claims", "DELETE FROM contacts_queued WHERE (channel_id = ? AND lane = ? AND rev = ? AND id IN (?, ?))", id, l, int64(0), contact, contact+1),
		named("claims under lock", revisionsSQL(&s.Reader.Dialect, weir.Queued, 2), id, contact, contact+1),
	}
	done := "contacts_done"
	if s.Reader.index.inUse() {
		done = "contacts_by_end"
		list = append(list, indexedLater(id, contact)...)
	} else {
		list = append(list, s.indexedByDatabase(id, contact)...)
	}
	ends := &page{s: s.Reader, lowPos: 499_000, highPos: math.MaxInt64, at: cursor{State: int8(weir.Done), Ends: true}}
	first, firstArgs := ends.headSQL(&scan{Channel: id}, keyset{Pos: 499_000, ID: math.MinInt64})
	list = append(list, named("the first end of a channel", first, firstArgs...))
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
			text, args := rangeSQL(done, r.state, id, r.at, 499_000, math.MaxInt64, newest, 100)
			list = append(list, named(name, text, args...))
		}
	}
	return list
}

// indexedByDatabase lists the statements that find contacts of a channel by an index of the database.
func (s *Store) indexedByDatabase(id, contact int64) []statement {
	all, ordered := "SELECT "+contactColumns+withState, "SELECT "+contactColumns+s.inOrder()
	return []statement{
		named("list by id", ordered+idsSQL, id, contact, int64(math.MaxInt64), 100),
		named("list between two instants", ordered+idsSQL, id, int64(1000), int64(1050), 100),
		named("newest by id", ordered+newestSQL, id, contact, int64(0), 100),
		named("newest by id, near the end", ordered+newestSQL, id, contact*19/5, int64(0), 100),
		named("range of a search", searchRangeSQL("contacts"), id, contact, int64(0), 5),
		named("search", all+searchSQL+columns.Marks(1)+searchEnd, id, contact, contact-10, "nowhere", 100),
		named("contacts behind the last segment", behindSQL, id, int64(10), contact, 100),
		named("purge", purgeSQL, id, int64(500_000), 100),
	}
}

// indexedLater lists those that find them by the index that is written later, or without one.
func indexedLater(id, contact int64) []statement {
	return []statement{
		named("list by id", indexedIDsSQL, id, contact, int64(math.MaxInt64), 100),
		named("newest by id", indexedNewestSQL, id, int64(0), contact, 100),
		named("range of a search", searchRangeSQL("contacts_by_channel"), id, contact, int64(0), 5),
		named("search", "SELECT "+contactColumns+indexedContacts+indexedSearchSQL+columns.Marks(1)+indexedSearchEnd, id, contact, contact-10, "nowhere", 100),
		named("search of the newest", "SELECT "+contactColumns+withState+byIDs(2)+" AND c.addr IN "+columns.Marks(1)+searchEnd, id, contact, contact+1, "nowhere", 100),
		named("contacts behind the last segment", behindAllSQL, int64(10), contact, 100),
		named("contacts that are done", doneSQL+columns.Marks(2), id, contact, contact+1),
		named("ends that a purge deletes", dropEnds(2), id, int64(1), contact, int64(2), contact+1),
		named("contacts of before", oldPartSQL, int64(0), contact, 10),
	}
}

// DeadStatements lists the statements about dead letters.
func (s *Store) DeadStatements(channel weir.ChannelID, contact weir.ContactID, reason string) []statement {
	ch, c := int64(channel), int64(contact)
	some := []any{ch, c, c + 1, c + 2}
	return []statement{
		named("dead letters", deadSQL, ch, int64(0), int64(math.MaxInt64), 100),
		named("dead letters between two instants", deadSQL, ch, c+1000, c+1050, 100),
		named("dead letters that ended alike", s.deadAlike(), ch, string(weir.Lost), reason, int64(0), int64(math.MaxInt64), 100),
		named("the next channel with dead letters", deadChannelSQL, ch),
		named("a dead letter", deadContactSQL, ch, c),
		named("what it became", requeueOfSQL, ch, c),
		named("dead letters to be queued again", heldDeadSQL+columns.Marks(3)+s.Reader.Dialect.ForUpdate, some...),
		named("discard", dropDead(&s.Reader.Dialect, 3), some...),
	}
}

// CountStatements lists the statements that count dead letters, by each filter.
// They read what they count.
func (s *Store) CountStatements(channel weir.ChannelID, reason string, since, until time.Time) []statement {
	list := []statement{named("count by channel", deadByChannel)}
	for _, f := range []struct {
		name string
		operators.DeadLetterFilter
	}{
		{"all", operators.DeadLetterFilter{}},
		{"of a channel", operators.DeadLetterFilter{Channel: channel}},
		{"of a channel and outcome", operators.DeadLetterFilter{Channel: channel, Outcome: weir.Lost}},
		{"alike", operators.DeadLetterFilter{Channel: channel, Outcome: weir.Lost, Reason: &reason}},
		{"of an outcome", operators.DeadLetterFilter{Outcome: weir.Lost}},
		{"of a reason", operators.DeadLetterFilter{Reason: &reason}},
		{"of a channel between two instants", operators.DeadLetterFilter{Channel: channel, Since: since, Until: until}},
		{"between two instants", operators.DeadLetterFilter{Since: since, Until: until}},
	} {
		where, args := deadWhere(f.DeadLetterFilter)
		list = append(list, named("count "+f.name, deadCount+where, args...), named("groups "+f.name, deadGroups(where), append(args, 1000)...))
	}
	return list
}
