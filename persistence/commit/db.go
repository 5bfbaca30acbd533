// Package commit writes what all stores write, in batches: one goroutine, the
// group-commit writer, takes all waiting requests and commits them on one connection, as a
// few multi-row statements in one transaction. It knows channels, but no contact.
//
// # Invariants
//
//   - Every transaction of the writer inserts one row, with an id of its own, into the log
//     contacts_in_flight. If the connection breaks at COMMIT, that row shows whether the
//     transaction was committed. Nothing is written twice or given up while that
//     is unknown (TestWriter_BrokenCommitsLoseAndDoubleNothing, contacts.TestOptimisticBatch_IsNotCommittedLate).
//   - Whoever takes the database changes the fence in the same transaction. Under another
//     fence the row is rejected, and the batch with it (contacts.TestOptimisticBatch_IsFencedOffByANewOwner).
//   - A channel is changed by a request of the writer that is alone in its batch, so that the
//     writer knows its channels without reading them (TestWriter_BatchesAreBounded, conformance).
//   - What an earlier incarnation of a broker submits after the next one began is refused
//     (TestIncarnations).
//   - A batch that fails is repeated as it was, or without the requests that can't be
//     done; these are answered with their own error (conformance: one guilty request).
//   - Requests are committed in the order in which they were submitted, in batches of bounded
//     size, and ids grow in the order of commits (TestWriter_BatchesAreBounded, dbase.TestIDsGrow).
//   - A request whose caller has gone is dropped, unless its COMMIT was sent. Each is answered
//     once (conformance: an acceptance that is left to its caller).
package commit

import (
	"context"
	"errors"
	"fmt"

	"weir/events"
	"weir/internal/failpoint"
	dbase "weir/persistence/database"
	"weir/persistence/dialect"
)

// DB is a database, this process as its owner, and the writer that commits what
// all packages write.
type DB struct {
	*dbase.Member
	// ContactEvents says when events of contacts are written; the zero value is
	// [events.WhenSubscribed]. It is set before Join.
	ContactEvents events.When

	text   statements
	writer *writer
	parts  []Part
}

// New is a DB on an open database, whose scheme is that of its URL.
func New(database dialect.Database, scheme string, c dbase.Config) *DB {
	db := &DB{Member: dbase.New(database, scheme, c)}
	db.text = newStatements(db.Dialect)
	db.writer = newWriter(db)
	db.Stuck = db.writer.stuck
	database.Inspect(db.writer.inspect)
	return db
}

// SetParts sets the parts of all batches, in their order.
func (s *DB) SetParts(parts ...Part) { s.parts = parts }

// Join makes this process the owner, and starts the writer. recovery comes before: it
// reads what earlier owners have left.
func (s *DB) Join(ctx context.Context, recovery func(context.Context) error) error {
	if err := s.Member.Join(ctx); err != nil {
		return err
	}
	if err := recovery(ctx); err != nil {
		return fmt.Errorf("join the store: recover contacts in flight: %w", err)
	}
	s.writer.begin()
	return nil
}

// Ready returns an error unless the database takes writes and has not reported damage, and
// the writer's last commit did not fail.
func (s *DB) Ready(ctx context.Context) error {
	if err := s.CheckPresent(); err != nil {
		return err
	}
	if err := s.Database.Writable(ctx); err != nil {
		return s.Failure("try to write", err)
	}
	if s.IsDamaged() {
		return dbase.Unavailable("the database is damaged; restore it, then restart Weir; the log has the reason", nil)
	}
	if s.writer.down.Load() {
		return dbase.Unavailable("changes cannot be committed (is the disk full?); the log has the reason", nil)
	}
	return nil
}

// Release flushes the writer's queue, as long as ctx allows, and releases the database. Reads still work.
func (s *DB) Release(ctx context.Context) error {
	err := s.writer.close(ctx)
	if s.Owns() {
		failpoint.Hit("hand.flushed")
	}
	s.Member.Release(context.WithoutCancel(ctx))
	return err
}

// Close releases the database, and closes it.
func (s *DB) Close(ctx context.Context) error {
	return errors.Join(s.Release(ctx), s.Leave())
}
