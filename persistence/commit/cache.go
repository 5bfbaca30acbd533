package commit

import (
	"context"
	"database/sql"

	"github.com/jmoiron/sqlx"

	"weir/persistence/dialect"
)

// statementCache runs the writer's statements, prepared where that pays. The
// pool has one connection, which a transaction holds, so a new text is prepared
// before the next transaction. Only the writer's goroutine
// uses it.
type statementCache struct {
	db        *sqlx.DB
	prepare   bool
	known     map[string]*sql.Stmt
	toPrepare []string
}

func newStatementCache(db *sqlx.DB, prepare bool) *statementCache {
	return &statementCache{db: db, prepare: prepare, known: map[string]*sql.Stmt{}}
}

// Fill prepares the texts that are new since the last call.
func (c *statementCache) fill(ctx context.Context) error {
	for len(c.toPrepare) > 0 {
		text := c.toPrepare[0]
		if c.known[text] == nil {
			stmt, err := c.db.PrepareContext(ctx, text) //nolint:sqlclosecheck // kept until the cache is closed
			if err != nil {
				return err
			}
			c.known[text] = stmt
		}
		c.toPrepare = c.toPrepare[1:]
	}
	return nil
}

// Exec runs a statement that is one of few texts.
func (c *statementCache) exec(ctx context.Context, tx *sqlx.Tx, text string, args ...any) (int64, error) {
	var result sql.Result
	var err error
	if stmt := c.prepared(text); stmt != nil {
		result, err = tx.StmtContext(ctx, stmt).ExecContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
	} else {
		result, err = tx.ExecContext(ctx, text, args...)
	}
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Later runs a statement whose result is not needed.
func (c *statementCache) later(ctx context.Context, tx *sqlx.Tx, text string, args ...any) error {
	ctx = dialect.Later(ctx)
	var err error
	if stmt := c.prepared(text); stmt != nil {
		_, err = tx.StmtContext(ctx, stmt).ExecContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
	} else {
		_, err = tx.ExecContext(ctx, text, args...)
	}
	return err
}

// Get reads one number by a statement that is one of few texts.
func (c *statementCache) get(ctx context.Context, tx *sqlx.Tx, n *int64, text string, args ...any) error {
	if stmt := c.prepared(text); stmt != nil {
		return tx.StmtContext(ctx, stmt).QueryRowContext(ctx, args...).Scan(n) //nolint:sqlclosecheck // ends with the transaction
	}
	return tx.QueryRowContext(ctx, text, args...).Scan(n)
}

// prepared returns the statement of a text; a new text is prepared for the next time.
func (c *statementCache) prepared(text string) *sql.Stmt {
	stmt := c.known[text]
	if stmt == nil && c.prepare {
		c.toPrepare = append(c.toPrepare, text)
	}
	return stmt
}

func (c *statementCache) close() {
	for _, stmt := range c.known {
		_ = stmt.Close()
	}
}
