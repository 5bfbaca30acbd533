package database

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// ForeignError reports a database that holds tables of another program, which the steps of the
// schema would take for Weir's own, change and drop.
type ForeignError struct{ Tables []string }

// namedTables is how many tables a ForeignError names.
const namedTables = 10

func (e *ForeignError) Error() string {
	names := e.Tables[:min(len(e.Tables), namedTables)]
	more := ""
	if n := len(e.Tables) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("the database holds tables that are not Weir's (%s%s); Weir needs a database of its own, which is empty before its first start (DATABASE_URL); nothing was changed",
		strings.Join(names, ", "), more)
}

// versionTable is where goose notes the steps of the schema. Other programs have one, too.
const versionTable = "goose_db_version"

// CheckForeign returns a [ForeignError] unless the database is empty or Weir's own. It is Weir's
// own if the tables of [ownerTables], which every version makes first, have their columns; until
// the first step of the schema has been taken, nothing may be there but they and, of a first step
// that broke off, its table.
func (m *Member) CheckForeign(ctx context.Context) error {
	var names []string
	if err := m.Write.SelectContext(ctx, &names, m.Dialect.Tables); err != nil {
		return err
	}
	foreign := slices.Clone(names)
	remove := func(name, columns string) (bool, error) {
		at := slices.Index(foreign, name)
		if at < 0 {
			return false, nil
		}
		found, err := m.columnsOf(ctx, name)
		if err == nil && found == columns {
			foreign = slices.Delete(foreign, at, at+1)
		}
		return found == columns, err
	}
	owner, err := remove("owner", "id start_number epoch expires_at")
	if err != nil {
		return err
	}
	processes, err := remove("processes", "start_number address fingerprint version schema_step started_at")
	if err != nil {
		return err
	}
	if owner && processes && slices.Contains(names, versionTable) {
		var step int64
		if err := m.Write.GetContext(ctx, &step, "SELECT COALESCE(MAX(version_id), 0) FROM "+versionTable); err != nil || step > 0 {
			return err
		}
		foreign = slices.DeleteFunc(foreign, func(name string) bool { return name == versionTable })
		if _, err := remove("meta", "name value"); err != nil {
			return err
		}
	}
	if len(foreign) > 0 {
		return &ForeignError{foreign}
	}
	return nil
}

// columnsOf returns the columns of a table, in their order, with spaces between them.
func (m *Member) columnsOf(ctx context.Context, table string) (string, error) {
	rows, err := m.Write.QueryxContext(ctx, "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err == nil {
		err = rows.Err()
	}
	return strings.ToLower(strings.Join(names, " ")), err
}
