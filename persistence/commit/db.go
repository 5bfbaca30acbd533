package commit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"weir/persistence/dialect"
)

// DB is an open database, and the writer that commits what all packages write.
type DB struct {
	Database dialect.Database
	Dialect  dialect.Statements
	text     statements
	Write    *sqlx.DB
	Read     *sqlx.DB
	Logger   *slog.Logger
	metrics  *Metrics
	Owner    string
	LeaseTTL time.Duration
	ids      *ids
	writer   *writer
	parts    []Part
	joined   atomic.Bool
	Alone    bool // no other process can be a member
	leave    func()
	stopSkew context.CancelFunc
}

// Config configures a DB.
type Config struct {
	Log      *slog.Logger
	Metrics  *Metrics
	Owner    string // the name of this process in leases
	LeaseTTL time.Duration
}

// New is a DB on an open database, whose scheme is that of its URL.
func New(database dialect.Database, scheme string, c Config) *DB {
	pools := database.Pools()
	db := &DB{
		Database: database, Dialect: database.Statements(),
		Write: sqlx.NewDb(pools.Write, scheme), Read: sqlx.NewDb(pools.Read, scheme),
		Logger: c.Log, metrics: c.Metrics, Owner: c.Owner, LeaseTTL: c.LeaseTTL, ids: newIDs(0),
	}
	db.metrics.statements.Store(pools.Statements)
	db.text = newStatements(db.Dialect)
	db.writer = newWriter(db)
	return db
}

// SetParts sets the parts of all batches, in their order.
func (s *DB) SetParts(parts ...Part) { s.parts = parts }

// Join makes this process a member, and starts the writer.
func (s *DB) Join(ctx context.Context) error {
	if s.joined.Load() {
		return errors.New("the store was joined already")
	}
	leave, alone, err := s.Database.Join(ctx, s.Owner)
	if err != nil {
		return fmt.Errorf("join the store: %w", err)
	}
	start, err := s.register(ctx, alone)
	if err != nil {
		leave()
		return fmt.Errorf("join the store: %w", err)
	}
	s.leave = leave
	s.ids.node = start % nodes
	s.Alone = alone
	s.writer.begin(start)
	s.watchClock()
	s.joined.Store(true)
	s.Logger.Info("joined the store", "owner", s.Owner, "start", start)
	return nil
}

// register counts this start and frees the leases of processes that are
// certain to be gone.
func (s *DB) register(ctx context.Context, alone bool) (start int64, err error) {
	err = s.Transaction(ctx, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE meta SET value = value + 1 WHERE name = 'starts'"); err != nil {
			return err
		}
		if err := tx.GetContext(ctx, &start, "SELECT value FROM meta WHERE name = 'starts'"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO writers (start_number, owner, batch) VALUES (?, ?, 0)", start, s.Owner); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM writers WHERE start_number < ?", start-100*nodes); err != nil {
			return err
		}
		return s.freeDead(ctx, tx, alone)
	})
	return start, err
}

// freeDead frees the leases and roles of this process's former life and of
// processes that are certainly dead: all others, if it is alone.
func (s *DB) freeDead(ctx context.Context, tx *sqlx.Tx, alone bool) error {
	for _, table := range []string{"leases", "roles"} {
		var owners []string
		if err := tx.SelectContext(ctx, &owners, "SELECT DISTINCT owner FROM "+table+" WHERE owner <> ''"); err != nil {
			return err
		}
		for _, owner := range owners {
			if !alone && owner != s.Owner && !certainlyDead(owner) {
				continue
			}
			if _, err := tx.ExecContext(ctx, "UPDATE "+table+" SET owner = '', expires_at = 0 WHERE owner = ?", owner); err != nil {
				return err
			}
			if err := FenceOff(ctx, tx, owner); err != nil {
				return err
			}
		}
	}
	return nil
}

// Ready returns an error unless the database takes writes, and the writer's last commit
// did not fail.
func (s *DB) Ready(ctx context.Context) error {
	if err := s.Database.Writable(ctx); err != nil {
		return s.Failure("try to write", err)
	}
	if s.writer.down.Load() {
		return Unavailable("changes cannot be committed (is the disk full?); the log has the reason", nil)
	}
	return nil
}

// Close ends the writer after it has written what it was handed, as long as
// ctx allows, and closes the database.
func (s *DB) Close(ctx context.Context) error {
	err := s.writer.close(ctx)
	if s.stopSkew != nil {
		s.stopSkew()
	}
	if s.leave != nil {
		s.leave()
	}
	return errors.Join(err, s.Database.Close())
}

// NextID gives an id at an instant; see [ids].
func (s *DB) NextID(now time.Time) int64 { return s.ids.next(now) }

// Start is the number of this start; 0 before it has one.
func (s *DB) Start() int64 { return s.writer.startNumber() }

// Submit queues a request. An error means that it was not taken.
func (s *DB) Submit(r *Request) error {
	if err := s.writer.submit(r); err != nil {
		return Unavailable("the store takes nothing", err)
	}
	return nil
}

// CountError counts an error of a kind.
func (s *DB) CountError(code string) { s.metrics.errors.WithLabelValues(code).Inc() }

// IsMember reports whether this process has joined.
func (s *DB) IsMember() bool { return s.joined.Load() }

// Waiting returns how many requests wait for the writer.
func (s *DB) Waiting() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.queue)
}
