package database

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/dialect"
)

// Client runs statements on a database: it repeats transactions that had to give way to
// others, and returns the errors of the database by kind.
type Client struct {
	Database dialect.Database
	Dialect  dialect.Statements
	Write    *sqlx.DB
	Read     *sqlx.DB
	Lease    *sqlx.DB // of the lease alone
	Logger   *slog.Logger
	Metrics  *Metrics

	guard   func(context.Context, *sqlx.Tx) error // begins each transaction, and may refuse it
	damaged atomic.Bool                           // see [Client.IsDamaged]
}

func newClient(database dialect.Database, scheme string, c Config) *Client {
	pools := database.Pools()
	c.Metrics.statements.Store(pools.Statements)
	server := database.ServerAddress
	c.Metrics.server.Store(&server)
	return &Client{
		Database: database, Dialect: database.Statements(), Logger: c.Log, Metrics: c.Metrics,
		Write: sqlx.NewDb(pools.Write, scheme), Read: sqlx.NewDb(pools.Read, scheme), Lease: sqlx.NewDb(pools.Lease, scheme),
	}
}

// CountError counts an error of a kind.
func (c *Client) CountError(code string) { c.Metrics.Errors.WithLabelValues(code).Inc() }

// retryAfter is the value of Retry-After while the store is down.
const retryAfter = time.Second

// Failure gives an error of the database its code. Errors that have one stay.
func (c *Client) Failure(doing string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*weir.Error](err); ok {
		return e
	}
	if kind, code := c.Classify(err); kind != dialect.Fault {
		c.Metrics.Errors.WithLabelValues(code).Inc()
		return Unavailable("cannot "+doing, err)
	}
	return c.Fault("cannot "+doing, err)
}

// Fault is the error of a statement that the database cannot execute.
func (c *Client) Fault(message string, err error) *weir.Error {
	if _, code := c.Classify(err); code == dialect.TooLong {
		return Unavailable("a statement exceeds max_allowed_packet of the database server; raise it, or send less at a time", err)
	}
	return &weir.Error{Code: weir.CodeInternal, Message: message, Cause: err}
}

func Unavailable(message string, cause error) *weir.Error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: message, RetryAfter: retryAfter, Cause: cause}
}

// Classify is the dialect's opinion, except for contexts, which end anywhere.
func (c *Client) Classify(err error) (dialect.Kind, string) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return dialect.Down, "timeout"
	}
	kind, code := c.Database.Classify(err)
	if code == dialect.Damaged && !c.damaged.Swap(true) {
		c.Logger.Error("database damaged; restore it, then restart", "error", err)
	}
	return kind, code
}

// IsDamaged reports whether the database has reported damage to this process. Other
// statements may work all the while, so it lasts until the process is restarted.
func (c *Client) IsDamaged() bool { return c.damaged.Load() }

// Transaction runs fn in a transaction of the pool for writes that are not the
// writer's, again when it had to give way to another one.
func (c *Client) Transaction(ctx context.Context, fn func(*sqlx.Tx) error) error {
	return c.again(ctx, func() error { return c.once(ctx, fn) })
}

// Exec runs one statement that is a transaction by itself, which saves two of
// three round trips, and says how many rows it changed. It must not change a channel,
// which is a request of the writer.
func (c *Client) Exec(ctx context.Context, text string, args ...any) (n int64, err error) {
	err = c.again(ctx, func() error {
		result, err := c.Write.ExecContext(ctx, text, args...)
		if err == nil {
			n, err = result.RowsAffected()
		}
		return err
	})
	return n, err
}

// again does something once more when it had to give way to another
// transaction.
func (c *Client) again(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil {
			err, _ = c.present()
			return err
		}
		if e, ok := errors.AsType[*weir.Error](err); ok {
			return e
		}
		if kind, _ := c.Classify(err); kind != dialect.Again || try == 5 || !Pause(ctx, Jitter()) {
			return err
		}
		c.Metrics.Retries.Inc()
	}
}

// present returns an error once the file of the database is no longer where it was opened: what
// was just written may not be there after a restart.
func (c *Client) present() (err, why error) {
	if why = c.Database.Present(); why == nil {
		return nil, nil
	}
	return &weir.Error{
		Code: weir.CodeUnavailable, Message: "the file of the database was removed or replaced; this process ends, and stores nothing any more",
		RetryAfter: retryAfter, Cause: errors.Join(why, ErrNotOwner, weir.ErrSuperseded),
	}, why
}

func (c *Client) once(ctx context.Context, fn func(*sqlx.Tx) error) error {
	tx, err := c.Write.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	if err = c.guard(ctx, tx); err == nil {
		err = fn(tx)
	}
	if err != nil {
		return errors.Join(err, Ended(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		c.Reset(c.Write.DB)
		return err
	}
	return nil
}

// Ended ignores that a transaction is over: its context may have ended it.
func Ended(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// Reset undoes a transaction whose COMMIT failed. SQLite keeps it open then,
// on the one connection that its pool has.
func (c *Client) Reset(db *sql.DB) {
	if db.Stats().MaxOpenConnections == 1 {
		_, _ = db.ExecContext(context.Background(), "ROLLBACK")
	}
}

// Jitter is a pause after which the other transaction is probably through.
func Jitter() time.Duration {
	return 5*time.Millisecond + rand.N(45*time.Millisecond)
}
