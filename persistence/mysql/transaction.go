package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	mysql "github.com/go-sql-driver/mysql"
)

// transaction is a transaction of a bundler. It begins with nothing sent and START
// TRANSACTION held.
//
// After an error of the server only the end of the transaction can follow, and it
// rolls back: in a message of several statements it is unknown which ones were
// executed.
type transaction struct {
	c      *bundler
	held   []statement // statements that precede the next one in its message
	size   int         // upper bound of the held statements' length in bytes
	sent   bool        // the server may know of the transaction
	failed error
}

func begin(c *bundler) *transaction {
	t := &transaction{c: c}
	t.hold(statement{text: "START TRANSACTION"})
	return t
}

func (t *transaction) hold(s statement) {
	t.held = append(t.held, s)
	t.size += s.size()
}

// later holds a statement for the next message, if possible.
func (t *transaction) later(ctx context.Context, s statement) (driver.Result, error) {
	if err := t.usable(ctx); err != nil {
		return nil, err
	}
	size := s.size()
	if !s.changes() || !s.joins() || size > t.c.most {
		if _, err := t.exec(ctx, s); err != nil {
			return nil, err
		}
		return unknown{}, nil
	}
	if t.size+size > t.c.most {
		if err := t.flush(ctx); err != nil {
			return nil, err
		}
	}
	t.hold(s.kept())
	return unknown{}, nil
}

// exec sends the held statements and s, and returns the result of s: the driver
// returns that of the last statement.
func (t *transaction) exec(ctx context.Context, s statement) (driver.Result, error) {
	s, err := t.together(ctx, s)
	if err != nil {
		return nil, err
	}
	result, err := t.c.exec(ctx, s)
	return result, t.told(ctx, err)
}

// query does the same for a statement that returns rows: the driver skips results
// without columns, and held statements have none.
func (t *transaction) query(ctx context.Context, s statement) (driver.Rows, error) {
	s, err := t.together(ctx, s)
	if err != nil {
		return nil, err
	}
	rows, err := t.c.query(ctx, s)
	return rows, t.told(ctx, err)
}

// together puts the held statements in front of s. If s cannot be joined to them, or
// the message would be too long, it sends them here.
func (t *transaction) together(ctx context.Context, s statement) (statement, error) {
	if err := t.usable(ctx); err != nil || len(t.held) == 0 {
		return s, err
	}
	if !s.joins() || t.size+s.size() > t.c.most {
		return s, t.flush(ctx)
	}
	return join(append(t.held, s)), nil // they stay held until they are sent
}

// usable returns an error if no statement can follow.
func (t *transaction) usable(ctx context.Context) error {
	if t.failed != nil {
		return fmt.Errorf("mysql: the transaction has failed: %w", t.failed)
	}
	return ctx.Err()
}

// flush sends the held statements.
func (t *transaction) flush(ctx context.Context) error {
	if err := t.usable(ctx); err != nil || len(t.held) == 0 {
		return err
	}
	_, err := t.c.exec(ctx, join(t.held))
	if errors.Is(err, driver.ErrSkip) { // it would have to be prepared, which several statements cannot be
		err = errors.New("mysql: the arguments of statements that were held do not fit")
	}
	return t.told(ctx, err)
}

// told records the outcome of a message, by the error that it returned.
func (t *transaction) told(ctx context.Context, err error) error {
	if err != nil && t.unsent(ctx, err) {
		return err
	}
	t.held, t.size, t.sent = nil, 0, true
	if err == nil {
		return nil
	}
	if errors.Is(err, driver.ErrBadConn) {
		// ErrBadConn would let database/sql retry, but the server may have received it.
		err = mysql.ErrInvalidConn
	}
	if _, answered := errors.AsType[*mysql.MySQLError](err); !answered {
		t.c.throwAway()
	}
	t.failed = err
	return err
}

// unsent reports whether the driver returned an error before it sent anything.
func (t *transaction) unsent(ctx context.Context, err error) bool {
	if errors.Is(err, driver.ErrSkip) || errors.Is(err, mysql.ErrPktTooLarge) {
		return true
	}
	// A context that ends later closes the connection.
	return ctx.Err() != nil && errors.Is(err, ctx.Err()) && t.c.IsValid()
}

// Commit implements driver.Tx. database/sql considers the transaction finished then,
// so it must be finished on the server, too.
func (t *transaction) Commit() error {
	defer t.end()
	if t.failed == nil && !t.sent && len(t.held) == 1 {
		return nil // it was never begun
	}
	err := t.usable(context.Background())
	if err == nil {
		t.hold(statement{text: "COMMIT"})
		err = t.flush(context.Background())
	}
	if err != nil {
		// After a failed statement the server has not executed COMMIT.
		_ = t.undo()
	}
	return err
}

// Rollback implements driver.Tx.
func (t *transaction) Rollback() error {
	defer t.end()
	if !t.sent {
		return nil
	}
	return t.undo()
}

// undo rolls the transaction back on the server. If ROLLBACK fails, the connection is
// closed, which has the same effect.
func (t *transaction) undo() error {
	if !t.c.IsValid() {
		return mysql.ErrInvalidConn
	}
	_, err := t.c.exec(context.Background(), statement{text: "ROLLBACK"})
	if err == nil {
		return nil
	}
	t.c.throwAway()
	if errors.Is(err, driver.ErrBadConn) {
		err = mysql.ErrInvalidConn
	}
	return err
}

func (t *transaction) end() { t.c.tx = nil }

// throwAway closes a connection whose state is unknown, so that the pool drops it.
func (c *bundler) throwAway() { _ = c.connection.Close() }
