package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"weir/persistence/dialect"
)

// maxMessage is the max length of a message of several statements, in bytes.
const maxMessage = 4 << 20

// bundling makes connections whose transactions take fewer round trips:
// START TRANSACTION travels with the first statement, statements marked by
// [dialect.Later] with the next one, and remaining ones with COMMIT. The driver
// below must allow several statements in one message.
type bundling struct {
	driver.Connector
	counter *dialect.Counter
	most    int // max bytes of a message of several statements; the other bound is half of max_allowed_packet
}

// Connect implements driver.Connector.
func (b bundling) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := dialect.Connect(ctx, b.Connector)
	if err != nil {
		return nil, err
	}
	c, ok := inner.(connection)
	if !ok {
		_ = inner.Close()
		return nil, fmt.Errorf("mysql: a connection of type %T cannot do what the store needs", inner)
	}
	packet, err := packetLimit(ctx, c)
	if err != nil {
		_ = inner.Close()
		return nil, fmt.Errorf("mysql: read the limit of the writer's messages: %w", err)
	}
	return &bundler{connection: c, most: min(packet/2, b.most), counter: b.counter}, nil
}

func packetLimit(ctx context.Context, c connection) (int, error) {
	rows, err := c.QueryContext(ctx, "SELECT CAST(@@max_allowed_packet AS SIGNED)", nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return 0, err
	}
	n, ok := row[0].(int64)
	if !ok {
		return 0, fmt.Errorf("a %T is no number", row[0])
	}
	return int(n), nil
}

// connection is the set of interfaces that connections of the driver implement.
type connection interface {
	dialect.Connection
	driver.NamedValueChecker
}

// bundler is one connection. database/sql admits one goroutine at a time.
type bundler struct {
	connection
	most    int // max bytes of a message of several statements
	counter *dialect.Counter
	tx      *transaction // the open transaction, if it was begun by BeginTx
}

// exec sends a statement and waits for the answer.
func (c *bundler) exec(ctx context.Context, s statement) (driver.Result, error) {
	c.counter.Trip()
	return c.connection.ExecContext(ctx, s.text, s.args)
}

func (c *bundler) query(ctx context.Context, s statement) (driver.Rows, error) {
	c.counter.Trip()
	return c.connection.QueryContext(ctx, s.text, s.args)
}

// BeginTx implements driver.ConnBeginTx.
func (c *bundler) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if opts != (driver.TxOptions{}) {
		return nil, errors.New("mysql: the writer's transactions have the session's isolation level and may write")
	}
	if !c.IsValid() {
		return nil, driver.ErrBadConn // nothing was sent: database/sql may use another connection
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.tx = begin(c)
	return c.tx, nil
}

// Begin implements driver.Conn.
func (c *bundler) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// ExecContext implements driver.ExecerContext.
func (c *bundler) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if err := check(text); err != nil {
		return nil, err
	}
	s := statement{text, args}
	switch {
	case c.tx == nil:
		return c.exec(ctx, s)
	case dialect.IsLater(ctx):
		return c.tx.later(ctx, s)
	default:
		return c.tx.exec(ctx, s)
	}
}

// QueryContext implements driver.QueryerContext.
func (c *bundler) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if err := check(text); err != nil {
		return nil, err
	}
	if c.tx == nil {
		return c.query(ctx, statement{text, args})
	}
	return c.tx.query(ctx, statement{text, args})
}

// PrepareContext implements driver.ConnPrepareContext. In a transaction, held
// statements are sent first, so that all statements keep their order.
func (c *bundler) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	var inner driver.Stmt
	err := c.apart(ctx, func() (err error) {
		inner, err = c.connection.PrepareContext(ctx, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	whole, ok := inner.(preparable)
	if !ok {
		_ = inner.Close()
		return nil, fmt.Errorf("mysql: a statement of type %T cannot do what the store needs", inner)
	}
	return &prepared{whole, c}, nil
}

// Prepare implements driver.Conn.
func (c *bundler) Prepare(text string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), text)
}

// apart runs something that cannot be joined, after the held statements.
func (c *bundler) apart(ctx context.Context, do func() error) error {
	if c.tx == nil {
		c.counter.Trip()
		return do()
	}
	if err := c.tx.flush(ctx); err != nil {
		return err
	}
	c.counter.Trip()
	return c.tx.told(ctx, do())
}

// preparable is the set of interfaces that prepared statements of the driver implement.
type preparable interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
	driver.NamedValueChecker
}

// prepared is a prepared statement; it may be older than the transaction that
// it runs in.
type prepared struct {
	preparable
	c *bundler
}

// ExecContext implements driver.StmtExecContext.
func (p *prepared) ExecContext(ctx context.Context, args []driver.NamedValue) (result driver.Result, err error) {
	err = p.c.apart(ctx, func() (err error) {
		result, err = p.preparable.ExecContext(ctx, args)
		return err
	})
	return result, err
}

// QueryContext implements driver.StmtQueryContext.
func (p *prepared) QueryContext(ctx context.Context, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = p.c.apart(ctx, func() (err error) {
		rows, err = p.preparable.QueryContext(ctx, args)
		return err
	})
	return rows, err
}
