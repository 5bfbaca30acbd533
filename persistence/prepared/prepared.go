// Package prepared keeps the prepared statements of a connection.
package prepared

import (
	"context"
	"database/sql"

	"github.com/jmoiron/sqlx"

	"weir/persistence/dialect"
)

// Cache runs statements, prepared where that pays. Its pool has one connection, which a
// transaction holds, so a new text is prepared before the next transaction. One goroutine
// uses it.
type Cache struct {
	db        *sqlx.DB
	prepare   bool
	known     map[string]*sql.Stmt
	toPrepare []string
	texts     map[TextName]string
}

// New returns the cache of a pool. Unless prepare is set nothing is prepared.
func New(db *sqlx.DB, prepare bool) *Cache {
	return &Cache{db: db, prepare: prepare, known: map[string]*sql.Stmt{}, texts: map[TextName]string{}}
}

// Fill prepares the texts that are new since the last call.
func (c *Cache) Fill(ctx context.Context) error {
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
func (c *Cache) Exec(ctx context.Context, tx *sqlx.Tx, text string, args ...any) (int64, error) {
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
func (c *Cache) Later(ctx context.Context, tx *sqlx.Tx, text string, args ...any) error {
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
func (c *Cache) Get(ctx context.Context, tx *sqlx.Tx, n *int64, text string, args ...any) error {
	if stmt := c.prepared(text); stmt != nil {
		return tx.StmtContext(ctx, stmt).QueryRowContext(ctx, args...).Scan(n) //nolint:sqlclosecheck // ends with the transaction
	}
	return tx.QueryRowContext(ctx, text, args...).Scan(n)
}

// prepared returns the statement of a text; a new text is prepared for the next time.
func (c *Cache) prepared(text string) *sql.Stmt {
	stmt := c.known[text]
	if stmt == nil && c.prepare {
		c.toPrepare = append(c.toPrepare, text)
	}
	return stmt
}

// Close closes the statements.
func (c *Cache) Close() {
	for _, stmt := range c.known {
		_ = stmt.Close()
	}
}

// TextName names a text that exists once for each number of rows.
type TextName struct {
	Into, Row string
	Rows      int
}

// Text returns a text that is put together when it is asked for the first time.
func (c *Cache) Text(name TextName, build func() string) string {
	text, ok := c.texts[name]
	if !ok {
		text = build()
		c.texts[name] = text
	}
	return text
}
