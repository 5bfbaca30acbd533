package commit

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence/dialect"
)

// retryAfter is the value of Retry-After while the store is down.
const retryAfter = time.Second

// Failure gives an error of the database its code. Errors that have one stay.
func (s *DB) Failure(doing string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*weir.Error](err); ok {
		return e
	}
	if kind, code := s.classify(err); kind != dialect.Fault {
		s.metrics.errors.WithLabelValues(code).Inc()
		return Unavailable("cannot "+doing, err)
	}
	return s.fault("cannot "+doing, err)
}

// fault is the error of a statement that the database cannot execute.
func (s *DB) fault(message string, err error) *weir.Error {
	if _, code := s.classify(err); code == dialect.TooLong {
		return Unavailable("a statement exceeds max_allowed_packet of the database server; raise it, or send less at a time", err)
	}
	return &weir.Error{Code: weir.CodeInternal, Message: message, Cause: err}
}

func Unavailable(message string, cause error) *weir.Error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: message, RetryAfter: retryAfter, Cause: cause}
}

// classify is the dialect's opinion, except for contexts, which end anywhere.
func (s *DB) classify(err error) (dialect.Kind, string) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return dialect.Down, "timeout"
	}
	return s.Database.Classify(err)
}

// Transaction runs fn in a transaction of the pool for writes that are not the
// writer's, again when it had to give way to another one.
func (s *DB) Transaction(ctx context.Context, fn func(*sqlx.Tx) error) error {
	return s.again(ctx, func() error { return s.once(ctx, fn) })
}

// Exec runs one statement that is a transaction by itself, which saves two of
// three round trips, and says how many rows it changed. It must not change a
// channel or its lease; see [FenceOff].
func (s *DB) Exec(ctx context.Context, text string, args ...any) (n int64, err error) {
	err = s.again(ctx, func() error {
		result, err := s.Write.ExecContext(ctx, text, args...)
		if err == nil {
			n, err = result.RowsAffected()
		}
		return err
	})
	return n, err
}

// again does something once more when it had to give way to another
// transaction.
func (s *DB) again(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil {
			return nil
		}
		if e, ok := errors.AsType[*weir.Error](err); ok {
			return e
		}
		if kind, _ := s.classify(err); kind != dialect.Again || try == 5 || !Pause(ctx, jitter()) {
			return err
		}
		s.metrics.retries.Inc()
	}
}

func (s *DB) once(ctx context.Context, fn func(*sqlx.Tx) error) error {
	tx, err := s.Write.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, ended(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		s.reset(s.Write.DB)
		return err
	}
	return nil
}

// ended ignores that a transaction is over: its context may have ended it.
func ended(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// reset undoes a transaction whose COMMIT failed. SQLite keeps it open then,
// on the one connection that its pool has.
func (s *DB) reset(db *sql.DB) {
	if db.Stats().MaxOpenConnections == 1 {
		_, _ = db.ExecContext(context.Background(), "ROLLBACK")
	}
}

// jitter is a pause after which the other transaction is probably through.
func jitter() time.Duration {
	return 5*time.Millisecond + rand.N(45*time.Millisecond)
}
