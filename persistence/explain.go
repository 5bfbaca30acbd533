package persistence

import (
	"time"

	"weir"
	"weir/persistence/values"
)

// Statement is an SQL text with its arguments.
type Statement = values.Statement

// Statements lists the statements that a broker, a list and the retention
// run, with example arguments, for tests of their plans.
func (s *Store) Statements(channel weir.ChannelID, lane weir.Lane, c weir.ContactID) []values.Statement {
	return append(s.queueStore.Statements(channel, lane, c), values.Named("open channels", s.OpenChannelsSQL()))
}

// WatchStatements lists the statements of what people look at — dead letters,
// minutes, what was asked for — and of what is done about them, with example
// arguments, for tests of their plans. Each reads a bounded part of
// an index.
func (s *Store) WatchStatements(channel weir.ChannelID, contact weir.ContactID, reason, subject string, now time.Time) []values.Statement {
	return append(s.DeadStatements(channel, contact, reason), s.adminStore.Statements(channel, subject, now)...)
}
