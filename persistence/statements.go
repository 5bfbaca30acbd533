package persistence

import (
	"strings"

	"weir/persistence/dialect"
)

// statements are the texts that are put together once.
type statements struct {
	sizes          map[sizedText]string
	keepContact    string
	addCounts      string
	insertAttempts string
	insertInbox    string
	renewWake      string
	mark           string
	marked         string
	addFlights     string
	markFenced     string
	expect         string
	fence          string
	raiseFence     string
	addSums        string
	addAttempts    string
	addBegun       string
	keepRespondent string
}

func newStatements(d dialect.Statements) statements {
	return statements{
		sizes:       map[sizedText]string{},
		keepContact: d.KeepContact,
		addCounts:   d.AddCounts,
		insertAttempts: "INSERT INTO attempts (channel_id, contact_id, number, claimed_at, sent_at, heard_at, finished_at, " +
			"provider_ref, outcome, reason) VALUES ",
		insertInbox:    "INSERT INTO inbox (id, channel_id, kind, payload, wake) VALUES ",
		renewWake:      d.RenewWake,
		addSums:        d.Add("survey_id", "status", "disposition", "bucket", "counted"),
		addAttempts:    d.Add("survey_id", "mode", "outcome"),
		addBegun:       d.Add("survey_id", "second"),
		keepRespondent: d.KeepRespondent,
		mark:           "UPDATE writers SET batch = ? WHERE start_number = ?",
		markFenced:     "UPDATE writers SET batch = CASE WHEN fence = ? THEN ? END WHERE start_number = ?",
		expect:         "UPDATE writers SET batch = CASE WHEN " + d.RowCount + " = ? THEN batch END WHERE start_number = ?",
		fence:          "SELECT fence FROM writers WHERE start_number = ?",
		raiseFence:     "UPDATE writers SET fence = fence + 1 WHERE start_number = ?",
		addFlights:     "INSERT INTO contacts_in_flight (id, start_number, data) VALUES (?, ?, ?)",
		marked:         "SELECT batch FROM writers WHERE start_number = ?",
	}
}

// sizedText names a text that exists once for each number of rows.
type sizedText struct {
	into, row string
	rows      int
}

// sized is a text that is put together when it is met. Only the writer's
// goroutine may ask.
func (s statements) sized(name sizedText, build func() string) string {
	text, ok := s.sizes[name]
	if !ok {
		text = build()
		s.sizes[name] = text
	}
	return text
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
