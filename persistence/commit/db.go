package commit

import (
	"context"
	"errors"

	"weir/events"
	"weir/persistence/dialect"
	"weir/persistence/member"
)

// DB is a database, this process as one of its members, and the writer that commits what
// all packages write.
type DB struct {
	*member.Member
	// ContactEvents says when events of contacts are written; the zero value is
	// [events.WhenSubscribed]. It is set before Join.
	ContactEvents events.When

	text   statements
	writer *writer
	parts  []Part
}

// New is a DB on an open database, whose scheme is that of its URL.
func New(database dialect.Database, scheme string, c member.Config) *DB {
	db := &DB{Member: member.New(database, scheme, c)}
	db.text = newStatements(db.Dialect)
	db.writer = newWriter(db)
	return db
}

// WritesContactEvents reports whether events of contacts are written, if there is an
// interest in them or none.
func (s *DB) WritesContactEvents(interest bool) bool {
	return s.ContactEvents == events.Always || interest && s.ContactEvents != events.Never
}

// SetParts sets the parts of all batches, in their order.
func (s *DB) SetParts(parts ...Part) { s.parts = parts }

// Join makes this process a member, and starts the writer.
func (s *DB) Join(ctx context.Context) error {
	if err := s.Member.Join(ctx); err != nil {
		return err
	}
	s.writer.begin()
	return nil
}

// Ready returns an error unless the database takes writes, and the writer's last commit
// did not fail.
func (s *DB) Ready(ctx context.Context) error {
	if err := s.Database.Writable(ctx); err != nil {
		return s.Failure("try to write", err)
	}
	if s.writer.down.Load() {
		return member.Unavailable("changes cannot be committed (is the disk full?); the log has the reason", nil)
	}
	return nil
}

// Close ends the writer after it has written what it was handed, as long as
// ctx allows, and closes the database.
func (s *DB) Close(ctx context.Context) error {
	return errors.Join(s.writer.close(ctx), s.Leave())
}

// Submit queues a request. An error means that it was not taken.
func (s *DB) Submit(r *Request) error {
	if err := s.writer.submit(r); err != nil {
		return member.Unavailable("the store takes nothing", err)
	}
	return nil
}

// Waiting returns how many requests wait for the writer.
func (s *DB) Waiting() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.queue)
}
