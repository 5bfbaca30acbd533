// Package sqlite is the embedded store: one file, or memory for tests. One
// process at a time is a member; a second one is on standby until the first ends.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"weir/persistence/dialect"
)

const memory = ":memory:"

// Database is one SQLite database.
type Database struct {
	path  string
	log   *slog.Logger
	pools dialect.Pools
	file  *file // nil: it is in memory

	prepared prepared
}

// Open opens the database at an address, the part of the URL after the scheme:
// a path, or :memory: for a database that is private to the caller and discarded
// when it is closed.
func Open(ctx context.Context, address string, log *slog.Logger) (dialect.Database, error) {
	if address == "" {
		return nil, errors.New("sqlite: the path is missing; want sqlite://path")
	}
	d := &Database{path: address, log: log}
	open := d.openFile
	if address == memory {
		open = d.openMemory
	}
	if err := open(ctx); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("sqlite: open %s: %w", address, err)
	}
	if err := d.pools.Batch.PingContext(ctx); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("sqlite: open %s: %w", address, err)
	}
	return d, nil
}

// openMemory uses one connection for everything, because a memory database belongs
// to its connection.
func (d *Database) openMemory(context.Context) error {
	counter := new(dialect.Counter)
	db, err := pool("file::memory:?_txlock=immediate", 1, counter, nil)
	d.pools = dialect.Pools{Batch: db, Write: db, Read: db, Lease: db, Statements: counter}
	return err
}

func (d *Database) openFile(ctx context.Context) error {
	d.protect()
	file := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: d.path}).EscapedPath()}).String()
	common := "?_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)&_pragma=temp_store(MEMORY)"
	counter := new(dialect.Counter)
	// Of 64 MB of WAL a checkpoint writes each page once, however many batches changed it: a
	// tenth less is written for a contact than with SQLite's own 4 MB, a third less in an import.
	writing := "&_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(16000)&_txlock=immediate"
	d.file = newFile(d.path)
	if err := d.file.open(ctx, file+common+writing); err != nil {
		return err
	}
	write, err := pool(file+common+"&_pragma=cache_size(-16000)"+writing, 1, counter, d.file)
	if err != nil {
		return err
	}
	// A reader drops its pages as soon as it sees another commit, so that more memory than for one
	// statement gives it nothing.
	read, err := pool(file+common+"&_pragma=cache_size(-4000)&_pragma=query_only(1)", 4, counter, d.file)
	d.pools = dialect.Pools{Batch: write, Write: write, Read: read, Lease: write, Statements: counter}
	return err
}

// protect creates the file, if it does not exist, with a mode that lets only its owner
// read it. SQLite gives the files beside it the same mode. Existing files keep their
// mode, because other programs may depend on it.
func (d *Database) protect() {
	if f, err := os.OpenFile(d.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
		_ = f.Close()
		return
	}
	for _, path := range []string{d.path, d.path + "-wal", d.path + "-shm"} {
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			d.log.Warn("database file is accessible to other users; chmod 600 it", "file", path, "mode", info.Mode().Perm().String())
		}
	}
}

func pool(dsn string, most int, counter *dialect.Counter, f *file) (*sql.DB, error) {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db := sql.OpenDB(counter.Counted(guarded{c, f}))
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// Pools implements [dialect.Database].
func (d *Database) Pools() dialect.Pools { return d.pools }

// Close implements [dialect.Database].
func (d *Database) Close() error {
	var errs []error
	d.prepared.close()
	if d.pools.Read != nil && d.pools.Read != d.pools.Batch {
		errs = append(errs, d.pools.Read.Close())
	}
	if d.pools.Batch != nil {
		errs = append(errs, d.pools.Batch.Close())
	}
	if d.file != nil {
		errs = append(errs, d.file.close(context.Background(), d.log.Warn))
	}
	return errors.Join(errs...)
}

// Now returns the process's clock: the database has no other, and tests in virtual
// time need their own.
func (d *Database) Now() string { return strconv.FormatInt(time.Now().UnixMicro(), 10) }

// ServerAddress implements [dialect.Database].
func (d *Database) ServerAddress() string { return "" }

// Inspect implements [dialect.Database].
func (d *Database) Inspect(func(context.Context, dialect.ReadNumber) error) {}

// Renew implements [dialect.Database]. A file has no password.
func (d *Database) Renew(func() (string, error)) {}

// Verify implements [dialect.Database].
func (d *Database) Verify(context.Context, *sql.Conn) error { return nil }

// Disconnect implements [dialect.Database]. A file has no other server.
func (d *Database) Disconnect() {}

// Migrations implements [dialect.Database].
func (d *Database) Migrations() (string, goose.Dialect) { return "sqlite", goose.DialectSQLite3 }

// Classify implements [dialect.Database].
func (d *Database) Classify(err error) (dialect.Kind, string) {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		if errors.Is(err, errNotThere) {
			return dialect.Down, "file"
		}
		if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) {
			return dialect.Down, "connection"
		}
		return dialect.Fault, "driver"
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return dialect.Again, "busy"
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE:
		return dialect.Fault, "refused"
	case sqlite3.SQLITE_FULL:
		return dialect.Down, "full"
	case sqlite3.SQLITE_READONLY:
		return dialect.Down, "read_only"
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL:
		return dialect.Down, "disk"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return dialect.Down, dialect.Damaged
	default: // a missing table, for example
		return dialect.Down, "other"
	}
}

// Present implements [dialect.Database].
func (d *Database) Present() error {
	if d.file == nil {
		return nil
	}
	return d.file.present()
}

// Room implements [dialect.Database].
func (d *Database) Room(migrate bool) error {
	switch {
	case d.file == nil:
		return nil
	case migrate:
		return d.file.lacks(migrateRoom)
	}
	return d.file.lacks(startRoom)
}

// Duplicate implements [dialect.Database].
func (d *Database) Duplicate(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) &&
		(e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// Writable implements [dialect.Database].
func (d *Database) Writable(ctx context.Context) error {
	tx, err := d.pools.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(ctx, "UPDATE meta SET value = value WHERE name = 'channels'")
	return err
}

// Hold acquires the exclusive lock of the file <path>.lock. The operating system
// releases it when the process ends, however it ends.
func (d *Database) Hold(ctx context.Context, wait bool) (func(), bool, error) {
	if d.path == memory {
		return func() {}, true, nil
	}
	lock := flock.New(place(d.path) + ".lock")
	held, err := lock.TryLock()
	if err == nil && !held {
		if !wait {
			return nil, false, dialect.ErrMember
		}
		d.log.Info("another process holds the database; standing by", "lock", lock.Path())
		// It polls, because a blocking call could not be canceled.
		if held, err = lock.TryLockContext(ctx, 50*time.Millisecond); !held && ctx.Err() != nil {
			return nil, false, fmt.Errorf("sqlite: lock %s is held by another process: %w", lock.Path(), ctx.Err())
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("sqlite: lock %s: %w", lock.Path(), err)
	}
	return func() { _ = lock.Close() }, true, nil
}

// place resolves symbolic links, as SQLite does: processes that use different paths
// to the same file must use the same lock.
func place(path string) string {
	if behind, err := filepath.EvalSymlinks(path); err == nil {
		return behind
	}
	return path
}
