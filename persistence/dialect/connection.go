package dialect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
)

// Counter counts the statements sent to a database. The begin and the end of a
// transaction are not counted.
type Counter struct{ n, trips atomic.Int64 }

// Count returns the number of statements so far.
func (c *Counter) Count() int64 { return c.n.Load() }

// Trip counts one round trip to the server, on connections that send several
// statements in one message.
func (c *Counter) Trip() { c.trips.Add(1) }

// Trips returns the number of those round trips so far. Statements of other
// connections do not count.
func (c *Counter) Trips() int64 { return c.trips.Load() }

// Counted returns a connector whose connections count their statements.
func (c *Counter) Counted(connections driver.Connector) driver.Connector {
	return counted{connections, c}
}

type counted struct {
	driver.Connector
	counter *Counter
}

// Connect implements driver.Connector.
func (c counted) Connect(ctx context.Context) (driver.Conn, error) {
	whole, err := Connect(ctx, c.Connector)
	if err != nil {
		return nil, err
	}
	return &countedConnection{whole, c.counter}, nil
}

// Connect opens a connection for a connector that wraps another.
func Connect(ctx context.Context, connections driver.Connector) (Connection, error) {
	inner, err := connections.Connect(ctx)
	if err != nil {
		return nil, err
	}
	whole, ok := inner.(Connection)
	if !ok {
		_ = inner.Close()
		return nil, fmt.Errorf("a connection of type %T cannot do what the store needs", inner)
	}
	return whole, nil
}

// Connection is the set of interfaces that connections of all drivers here implement.
type Connection interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type countedConnection struct {
	Connection
	counter *Counter
}

// ExecContext implements driver.ExecerContext.
func (c *countedConnection) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	out, err := c.Connection.ExecContext(ctx, text, args)
	c.counter.unlessSkipped(err)
	return out, err
}

// QueryContext implements driver.QueryerContext.
func (c *countedConnection) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	out, err := c.Connection.QueryContext(ctx, text, args)
	c.counter.unlessSkipped(err)
	return out, err
}

// unlessSkipped counts a statement, unless database/sql repeats it as a prepared one.
func (c *Counter) unlessSkipped(err error) {
	if !errors.Is(err, driver.ErrSkip) {
		c.n.Add(1)
	}
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *countedConnection) CheckNamedValue(v *driver.NamedValue) error {
	return checked(c.Connection, v)
}

func checked(inner any, v *driver.NamedValue) error {
	if checker, ok := inner.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip // database/sql applies its default check
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *countedConnection) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	inner, err := c.Connection.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	whole, ok := inner.(statement)
	if !ok {
		_ = inner.Close()
		return nil, fmt.Errorf("a statement of type %T cannot do what the store needs", inner)
	}
	return &countedStatement{whole, c.counter}, nil
}

// statement is the set of interfaces that prepared statements of all drivers here implement.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type countedStatement struct {
	statement
	counter *Counter
}

// ExecContext implements driver.StmtExecContext.
func (s *countedStatement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.counter.n.Add(1)
	return s.statement.ExecContext(ctx, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s *countedStatement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.counter.n.Add(1)
	return s.statement.QueryContext(ctx, args)
}

// CheckNamedValue implements driver.NamedValueChecker.
func (s *countedStatement) CheckNamedValue(v *driver.NamedValue) error {
	return checked(s.statement, v)
}

// laterKey marks contexts made by [Later].
type laterKey struct{}

// Later marks statements of a transaction whose result the caller does not need.
// Each may wait until the next statement without the mark, or COMMIT, and travels
// in the same message to the server. Its error is returned by that one, and then
// only the end of the transaction can follow. It must change rows and must not
// return any. A database that gains nothing from this runs it at once.
func Later(ctx context.Context) context.Context {
	return context.WithValue(ctx, laterKey{}, true)
}

// IsLater reports whether a context was made by [Later].
func IsLater(ctx context.Context) bool {
	later, _ := ctx.Value(laterKey{}).(bool)
	return later
}

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

// NewCache returns the cache of a pool. Unless prepare is set nothing is prepared.
func NewCache(db *sqlx.DB, prepare bool) *Cache {
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
	result, err := c.exec(ctx, tx, text, args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Later runs a statement whose result is not needed.
func (c *Cache) Later(ctx context.Context, tx *sqlx.Tx, text string, args ...any) error {
	_, err := c.exec(Later(ctx), tx, text, args)
	return err
}

func (c *Cache) exec(ctx context.Context, tx *sqlx.Tx, text string, args []any) (sql.Result, error) {
	if stmt := c.prepared(text); stmt != nil {
		return tx.StmtContext(ctx, stmt).ExecContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
	}
	return tx.ExecContext(ctx, text, args...)
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
