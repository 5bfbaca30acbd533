package sqlite

import (
	"fmt"
	"slices"
	"strings"

	"weir/persistence/dialect"
)

// Statements implements [dialect.Database]. Reads lock nothing: a write transaction
// holds the whole database.
func (d *Database) Statements() dialect.Statements {
	return dialect.Statements{
		UpdateRows:        updateRows,
		InsertRows:        insertRows,
		UpdateRespondents: updateRespondents(),
		KeepContact:       " ON CONFLICT DO NOTHING",
		KeepRespondent:    " ON CONFLICT DO NOTHING",
		Add: func(key ...string) string {
			return " ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET n = n + excluded.n"
		},
		Merge:     func(key ...string) string { return " ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET " },
		Fresh:     func(column string) string { return "excluded." + column },
		By:        func(index string) string { return " INDEXED BY " + index },
		Through:   func(index string) string { return " INDEXED BY " + index },
		AddCount:  " ON CONFLICT (channel_id) DO UPDATE SET queued = queued + excluded.queued",
		RenewWake: " ON CONFLICT (channel_id, wake) DO UPDATE SET id = excluded.id",
		OwnerGone: "1 = 0",
		Prepare:   true,
		Brief:     true,
	}
}

// updateRows takes a third of the time of a JSON list, which SQLite parses again
// for every value.
func updateRows(shape dialect.Shape, n int) string {
	columns := dialect.Columns(shape)
	row := "(?" + strings.Repeat(", ?", len(columns)-1) + ")"
	set := dialect.Assignments(shape, "", func(c string) string {
		if dialect.Text(c) {
			return "COALESCE(j." + c + ", '')"
		}
		return "j." + c
	}, "CASE WHEN j.waiting = 1 AND contacts.not_after > 0 THEN contacts.not_after END")
	return "WITH j (" + strings.Join(columns, ", ") + ") AS (VALUES " + row + strings.Repeat(", "+row, n-1) + ") " +
		"UPDATE contacts SET " + strings.Join(set, ", ") + " FROM j" + whichContacts
}

func insertRows(into, row string, n int) string {
	return "INSERT INTO " + into + " SELECT * FROM (VALUES " + row + strings.Repeat(", "+row, n-1) + ") WHERE column1 IS NOT NULL"
}

// whichContacts finds each contact by its id, because the rows are ordered by id; the
// plus keeps the planner from using the channel's indexes.
const whichContacts = " WHERE contacts.id = j.id AND +contacts.channel_id = j.channel_id AND contacts.rev = j.was_rev"

func updateRespondents() string {
	columns := dialect.RespondentColumns()
	var from, set []string
	for i, c := range columns {
		from = append(from, fmt.Sprintf("value ->> %d AS %s", i, c))
		switch {
		case c == "attributes":
			set = append(set, "attributes = COALESCE(j.attributes, respondents.attributes)")
		case i > slices.Index(columns, "was_rev"):
			set = append(set, c+" = j."+c)
		}
	}
	return "UPDATE respondents SET " + strings.Join(set, ", ") +
		" FROM (SELECT " + strings.Join(from, ", ") + " FROM json_each(?)) AS j" +
		" WHERE respondents.id = j.id AND respondents.survey_id = j.survey_id AND respondents.rev = j.was_rev AND respondents.status > 0"
}
