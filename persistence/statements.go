package persistence

import (
	"strings"

	"weir/persistence/dialect"
)

// statements are the texts that are put together once.
type statements struct {
	insertContacts string // rows follow
	keepContact    string
	addCounts      string
	insertAttempts string
	insertInbox    string
	renewWake      string
	update         string
	mark           string
	marked         string
}

func newStatements(d dialect.Statements) statements {
	return statements{
		insertContacts: "INSERT INTO contacts (" + insertColumns + ") VALUES ",
		keepContact:    d.KeepContact,
		addCounts:      d.AddCount,
		insertAttempts: "INSERT INTO attempts (channel_id, contact_id, number, claimed_at, sent_at, heard_at, finished_at, " +
			"provider_ref, outcome, reason) VALUES ",
		insertInbox: "INSERT INTO inbox (id, channel_id, kind, payload, wake) VALUES ",
		renewWake:   d.RenewWake,
		update:      d.UpdateContacts,
		mark:        "UPDATE writers SET batch = ? WHERE start_number = ?",
		marked:      "SELECT batch FROM writers WHERE start_number = ?" + d.ForUpdate,
	}
}

// marks is n placeholders in parentheses: (?, ?, ?).
func marks(n int) string {
	return "(?" + strings.Repeat(", ?", n-1) + ")"
}

// rowsOf is count rows of n placeholders each.
func rowsOf(count, n int) string {
	row := marks(n)
	return row + strings.Repeat(", "+row, count-1)
}
