package operators

import (
	"time"

	"weir"
)

// statement is what package plantest calls a Statement: an SQL text with example arguments.
type statement = struct {
	Name, Text string
	Args       []any
}

func named(name, text string, args ...any) statement { return statement{name, text, args} }

// Statements lists the statements about minutes and the audit.
func (s *Store) Statements(channel weir.ChannelID, subject string, now time.Time) []statement {
	ch, minute := int64(channel), minuteOf(now)
	return []statement{
		named("requests about a contact", auditOfSQL, subject, 100),
		named("minutes before", minutesSQL(minuteBefore), ch, minute-100),
		named("a channel's hours", hoursSQL, ch, minute/60-200, minute/60),
		named("old hours", oldHoursSQL, minute/60-200, 1000),
		named("a channel's minutes", minutesSQL(minutesWhere), ch, minute-200, minute),
		named("old minutes", oldMinutesSQL, minute-2000, 500),
		named("purge of minutes", dropMinutesSQL(3), minute/15*15-30, ch, ch+1, ch+2),
	}
}
