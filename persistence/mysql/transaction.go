package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	mysql "github.com/go-sql-driver/mysql"
)

// transaction is one of a bundler. It begins with nothing sent and START
// TRANSACTION held.
//
// After an error of the server only its end can follow, which undoes it: of a
// message of several statements nobody could tell which were done.
type transaction struct {
	c      *bundler
	held   []statement // goes in front of what is sent next
	size   int         // of what is held, at most
	sent   bool        // the server has heard of it
	failed error
}

// A transaction begins with a savepoint and releases it before COMMIT. A server
// may roll a transaction back between two statements of a message without an
// error: Galera does, when a replicated write is in the way. The savepoint is gone
// then, its release fails, and COMMIT is not executed. What was executed after the
// rollback is undone as well, since connections do not commit by themselves.
const (
	start  = "START TRANSACTION" + separator + "SAVEPOINT weir"
	finish = "RELEASE SAVEPOINT weir" + separator + "COMMIT"
)

func begin(c *bundler) *transaction {
	t := &transaction{c: c}
	t.hold(statement{text: start})
	return t
}

func (t *transaction) hold(s statement) {
	t.held = append(t.held, s)
	t.size += s.size()
}

// later keeps a statement for the next message, if it can be kept.
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

// exec sends what is held and a statement, whose result it gives: the driver's
// is that of the last one.
func (t *transaction) exec(ctx context.Context, s statement) (driver.Result, error) {
	s, err := t.together(ctx, s)
	if err != nil {
		return nil, err
	}
	result, err := t.c.exec(ctx, s)
	return result, t.told(ctx, err)
}

// query does the same with one that gives rows: the driver passes over results
// without columns, and what is held has none.
func (t *transaction) query(ctx context.Context, s statement) (driver.Rows, error) {
	s, err := t.together(ctx, s)
	if err != nil {
		return nil, err
	}
	rows, err := t.c.query(ctx, s)
	return rows, t.told(ctx, err)
}

// together puts what is held in front of a statement. What cannot be joined to
// it, or would be too long, is sent here.
func (t *transaction) together(ctx context.Context, s statement) (statement, error) {
	if err := t.usable(ctx); err != nil || len(t.held) == 0 {
		return s, err
	}
	if !s.joins() || t.size+s.size() > t.c.most {
		return s, t.flush(ctx)
	}
	return join(append(t.held, s)), nil // which stays held until it is sent
}

// usable says why no statement can follow.
func (t *transaction) usable(ctx context.Context) error {
	if t.failed != nil {
		return fmt.Errorf("mysql: the transaction has failed: %w", t.failed)
	}
	return ctx.Err()
}

// flush sends what is held.
func (t *transaction) flush(ctx context.Context) error {
	if err := t.usable(ctx); err != nil || len(t.held) == 0 {
		return err
	}
	_, err := t.c.exec(ctx, join(t.held))
	if errors.Is(err, driver.ErrSkip) { // to be prepared, which several cannot be
		err = errors.New("mysql: the arguments of statements that were held do not fit")
	}
	return t.told(ctx, err)
}

// told notes what became of a message, by the error that came back.
func (t *transaction) told(ctx context.Context, err error) error {
	if err != nil && t.unsent(ctx, err) {
		return err
	}
	t.held, t.size, t.sent = nil, 0, true
	if err == nil {
		return nil
	}
	if errors.Is(err, driver.ErrBadConn) {
		// That would be leave to try again, but the server may have got it.
		err = mysql.ErrInvalidConn
	}
	if _, answered := errors.AsType[*mysql.MySQLError](err); !answered {
		t.c.throwAway()
	}
	t.failed = err
	return err
}

// unsent is true for errors that the driver gives before it sends anything.
func (t *transaction) unsent(ctx context.Context, err error) bool {
	if errors.Is(err, driver.ErrSkip) || errors.Is(err, mysql.ErrPktTooLarge) {
		return true
	}
	// A context that ends later closes the connection.
	return ctx.Err() != nil && errors.Is(err, ctx.Err()) && t.c.IsValid()
}

// Commit implements driver.Tx. For database/sql the transaction is over then,
// so that it must be over for the server, too.
func (t *transaction) Commit() error {
	defer t.end()
	if t.failed == nil && !t.sent && len(t.held) == 1 {
		return nil // it was never begun
	}
	err := t.usable(context.Background())
	if err == nil {
		t.hold(statement{text: finish})
		err = t.flush(context.Background())
	}
	if err != nil {
		// After a statement that failed the server has not executed COMMIT.
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

// undo has the server forget the transaction. If it cannot be told, it will
// see the connection close.
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

// throwAway closes a connection of which nobody knows how it stands; the pool
// sees that it is not valid any more.
func (c *bundler) throwAway() { _ = c.connection.Close() }
