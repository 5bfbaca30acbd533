package dialect

import (
	"context"
	"errors"
)

// ErrNotCommitted reports that a transaction failed before its COMMIT was executed.
var ErrNotCommitted = errors.New("not committed")

// Statement is one statement of a transaction, with values for its placeholders. Its text
// holds no semicolon, and a question mark only as a placeholder.
type Statement struct {
	Text string
	Args []any
	Once bool // the text does not come again, so that it is not worth preparing
}

// Transaction is a transaction of the writer. It takes lists of statements, which it executes
// in their order: as one message to the server where that saves round trips, or one by one.
// After an error, which may be that of any statement of a list, nothing but Rollback follows.
// One goroutine uses it, and ends it with Commit or Rollback.
type Transaction interface {
	// Exec returns how many rows the last statement changed.
	Exec(ctx context.Context, list []Statement) (int64, error)
	// Select reads the rows of the last statement, a query, into a pointer to a slice. The
	// others return no rows.
	Select(ctx context.Context, dest any, list []Statement) error
	// Get reads one row in the same way, or returns [database/sql.ErrNoRows], after which the
	// transaction goes on.
	Get(ctx context.Context, dest any, list []Statement) error
	// Commit commits what was done, and what a list does. After an error it may not be known
	// whether that was committed; it was not if the error wraps [ErrNotCommitted]. Nothing at all is sent for a transaction
	// without a statement.
	Commit(ctx context.Context, list []Statement) error
	Rollback() error
}

// Reader reads rows: a pool, a connection, or a transaction.
type Reader interface {
	// SelectContext reads all rows into a pointer to a slice.
	SelectContext(ctx context.Context, dest any, query string, args ...any) error
	// GetContext reads one row, or returns [database/sql.ErrNoRows].
	GetContext(ctx context.Context, dest any, query string, args ...any) error
}

// TextName names a text that exists once for each number of rows.
type TextName struct {
	Into, Row string
	Rows      int
}
