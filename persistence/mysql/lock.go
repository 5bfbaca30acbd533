package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"time"

	"weir/internal/backoff"
	"weir/persistence/dialect"
)

const (
	lockRetry = 250 * time.Millisecond // between attempts to acquire the lock
	lockCheck = 5 * time.Second        // between checks that this process still holds it
)

// Join acquires the lock weir.<owner> and keeps it on a connection of its own.
func (d *Database) Join(ctx context.Context, owner string) (func(), bool, error) {
	conn, err := d.take(ctx, owner)
	if err != nil {
		return nil, false, err
	}
	keep, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { d.keep(keep, owner, conn) })
	leave := func() {
		stop()
		done.Wait()
	}
	return leave, false, nil
}

// take waits for the lock.
func (d *Database) take(ctx context.Context, owner string) (*sql.Conn, error) {
	conn, err := d.pools.Write.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("mysql: connection of the lock: %w", err)
	}
	for try := 0; ; try++ {
		ours, err := d.try(ctx, conn, owner)
		if err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("mysql: lock of %s: %w", owner, err)
		}
		if ours {
			return conn, nil
		}
		if try == 0 {
			d.log.Info("another process runs under this name; standing by", "owner", owner)
		}
		if !backoff.Wait(ctx, lockRetry) {
			_ = conn.Close()
			return nil, fmt.Errorf("mysql: another process runs under the name %s: %w", owner, ctx.Err())
		}
	}
}

func (d *Database) try(ctx context.Context, conn *sql.Conn, owner string) (bool, error) {
	var got sql.NullInt64
	err := conn.QueryRowContext(ctx, "SELECT COALESCE(IS_USED_LOCK("+lockName("?")+") = CONNECTION_ID(), 0) OR GET_LOCK("+lockName("?")+", 0)",
		owner, owner).Scan(&got)
	return got.Int64 == 1, err
}

// keep maintains the lock until ctx ends. A broken connection is replaced and the
// lock acquired again, because the server released it.
func (d *Database) keep(ctx context.Context, owner string, conn *sql.Conn) {
	// A canceled query would break the connection, so queries get a context that is never canceled.
	unstopped := context.WithoutCancel(ctx)
	for backoff.Wait(ctx, lockCheck) {
		if conn == nil {
			fresh, err := d.pools.Write.Conn(ctx)
			if err != nil {
				continue
			}
			conn = fresh
		}
		ours, err := d.try(unstopped, conn, owner)
		switch {
		case err != nil:
			d.log.Warn("the lock of this process may be lost; taking it again", "owner", owner, "error", err)
			_ = conn.Close()
			conn = nil
		case !ours:
			d.log.Warn("another process runs under this name", "owner", owner)
		}
	}
	if conn != nil {
		_, _ = conn.ExecContext(unstopped, "DO RELEASE_LOCK("+lockName("?")+")", owner)
		_ = conn.Close()
	}
}

// LockMigrations implements [dialect.Database].
func (d *Database) LockMigrations(ctx context.Context) (func(), error) {
	conn, err := d.pools.Write.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("mysql: connection of the migration's lock: %w", err)
	}
	// A migration may take long, and MySQL would end this session, which is idle meanwhile.
	if _, err := conn.ExecContext(ctx, "SET SESSION wait_timeout = 86400"); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("mysql: connection of the migration's lock: %w", err)
	}
	for try := 0; ; try++ {
		ours, err := d.try(ctx, conn, "#migrations")
		if err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("mysql: lock of the migration: %w", err)
		}
		if ours {
			break
		}
		if try == 0 {
			d.log.Info("another process migrates the database; waiting")
		}
		if !backoff.Wait(ctx, lockRetry) {
			_ = conn.Close()
			return nil, fmt.Errorf("mysql: another process migrates the database: %w", ctx.Err())
		}
	}
	return func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK("+lockName("?")+")", "#migrations")
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // discards the connection: the pool must not reuse it with that setting
		_ = conn.Close()
	}, nil
}

// Exclude implements [dialect.Database]. A member holds its lock or a lease: a process
// that died counts as a member until its leases have expired.
func (d *Database) Exclude(ctx context.Context) (func(), error) {
	for _, text := range []string{
		"SELECT COUNT(*) FROM (SELECT DISTINCT owner FROM writers) w WHERE IS_FREE_LOCK(" + lockName("owner") + ") = 0",
		"SELECT COUNT(*) FROM leases WHERE owner <> '' AND expires_at > " + d.Now(),
		"SELECT COUNT(*) FROM roles WHERE owner <> '' AND expires_at > " + d.Now(),
	} {
		var members int
		err := d.pools.Read.QueryRowContext(ctx, text).Scan(&members)
		if _, code := d.Classify(err); err != nil && code != "schema" { // the table may no longer exist
			return nil, fmt.Errorf("mysql: look for members: %w", err)
		}
		if members > 0 {
			return nil, dialect.ErrMember
		}
	}
	return func() {}, nil
}
