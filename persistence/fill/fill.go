// Package fill inserts many contacts into a store at once, as if they had been
// accepted and, some of them, sent some hours ago: for measurements, and tests,
// of how Weir scales.
//
// The rows are the same that the program itself would have left; the database
// generates them, ten thousand in one statement. No process may run on the store at
// the same time, because it would not notice them.
package fill

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// chunk is the number of rows of one statement and one transaction: few enough
// that a slow machine does not time out, which would look like a lost server.
const chunk = 10_000

// Column is a column of a table. Value is an SQL expression, in which n is the
// number of the row.
type Column struct{ Name, Value string }

// Executer is a database, or a transaction.
type Executer interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
}

// Rows inserts count rows, with numbers from first on. Columns that are not named
// get their defaults.
func Rows(ctx context.Context, db Executer, table string, columns []Column, first, count int) error {
	names, values := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		names[i], values[i] = c.Name, c.Value
	}
	for end := first + count; first < end; first += chunk {
		text := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s", table, strings.Join(names, ", "), strings.Join(values, ", "), Numbers(first, min(chunk, end-first)))
		if _, err := db.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("fill %s: %w", table, err)
		}
	}
	return nil
}

// Numbers returns a table expression with one column n: count numbers from first on,
// in order. The LIMIT makes MySQL keep the order within a statement.
func Numbers(first, count int) string {
	const ten = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 " +
		"UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	sum, from := fmt.Sprintf("%d + ten0.d", first), ten+" ten0"
	for i, unit := 1, 10; unit < count; i, unit = i+1, unit*10 {
		sum += fmt.Sprintf(" + %d * ten%d.d", unit, i)
		from += fmt.Sprintf(", %s ten%d", ten, i)
	}
	return fmt.Sprintf("(SELECT %s AS n FROM %s ORDER BY n LIMIT %d) AS numbers", sum, from, count)
}
