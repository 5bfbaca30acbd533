package dialect

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
)

// Counter counts the statements sent to a database. The begin and the end of a
// transaction are not counted.
type Counter struct{ n atomic.Int64 }

// Count returns the number of statements so far.
func (c *Counter) Count() int64 { return c.n.Load() }

// Add counts further statements, besides the one that a connection has counted for a message
// of several.
func (c *Counter) Add(n int) { c.n.Add(int64(n)) }

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
