package persistence

import (
	"math"
	"time"

	"weir"
	"weir/ops"
)

// WatchStatements lists the statements of what people look at — dead letters,
// minutes, what was asked for — and of what is done about them, with example
// arguments, for tests of their plans. Each reads a bounded part of
// an index.
func (s *Store) WatchStatements(channel weir.ChannelID, contact weir.ContactID, reason, subject string, now time.Time) []Statement {
	ch, c, minute := int64(channel), int64(contact), minuteOf(now)
	some := []any{ch, c, c + 1, c + 2}
	list := []Statement{
		{"dead letters", deadSQL, []any{ch, int64(0), int64(math.MaxInt64), 100}},
		{"dead letters between two instants", deadSQL, []any{ch, c + 1000, c + 1050, 100}},
		{"dead letters that ended alike", s.deadAlike(), []any{ch, string(weir.Lost), reason, int64(0), int64(math.MaxInt64), 100}},
		{"the next channel with dead letters", deadChannelSQL, []any{ch}},
		{"a dead letter", deadContactSQL, []any{ch, c}},
		{"what it became", requeueOfSQL, []any{ch, c}},
		{"dead letters to be queued again", heldDeadSQL + marks(3) + s.sql.ForUpdate, some},
		{"discard", s.dropDead(3), some},
		{"requests about a contact", auditOfSQL, []any{subject, 100}},
		{"minutes before", minutesSQL("channel_minutes", minuteBefore), []any{ch, minute - 100}},
	}
	for _, table := range []string{"channel_minutes", "channel_quarters"} {
		list = append(
			list,
			Statement{"a channel's " + table, minutesSQL(table, minutesWhere), []any{ch, minute - 200, minute}},
			Statement{"old " + table, oldMinutesSQL(table), []any{minute - 2000, 500}},
			Statement{"purge of " + table, dropMinutesSQL(table, 3), []any{minute/15*15 - 30, ch, ch + 1, ch + 2}},
		)
	}
	return append(list, Statement{"quarters of some channels", minutesSQL("channel_quarters", quartersWhere(3)), []any{ch, ch + 1, ch + 2, minute - 300, minute}})
}

// CountStatements lists the statements that count dead letters, by each filter.
// They read what they count.
func (s *Store) CountStatements(channel weir.ChannelID, reason string, since, until time.Time) []Statement {
	list := []Statement{{"count by channel", deadByChannel, nil}}
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
		list = append(list, Statement{"count " + f.name, deadCount + where, args}, Statement{"groups " + f.name, deadGroups(where), append(args, 1000)})
	}
	return list
}
