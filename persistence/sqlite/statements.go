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
		HasTable:          "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = ?",
		Tables:            `SELECT lower(name) FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY 1`,
		InsertRows:        insertRows,
		UpdateRespondents: updateRespondents(),
		KeepContact:       " ON CONFLICT DO NOTHING",
		KeepRespondent:    " ON CONFLICT DO NOTHING",
		Add: func(key ...string) string {
			return " ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET n = n + excluded.n"
		},
		Merge:   func(key ...string) string { return " ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET " },
		Fresh:   func(column string) string { return "excluded." + column },
		By:      func(index string) string { return " INDEXED BY " + index },
		Through: func(index string) string { return " INDEXED BY " + index },
		Prepare: true,
		Brief:   true,

		IndexLater: true,
	}
}

func insertRows(into, row string, n int) string {
	return "INSERT INTO " + into + " SELECT * FROM (VALUES " + row + strings.Repeat(", "+row, n-1) + ") WHERE column1 IS NOT NULL"
}

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
