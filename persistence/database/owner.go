package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/internal/failpoint"
	"weir/persistence/dialect"
	"weir/persistence/ownership"
)

// One process at a time owns the database, and it alone writes. Where the database is
// one file, its lock decides. Elsewhere one leased row does: the owner renews it four
// times a lease, and another process takes it once it is free or has expired.

// The two tables are older than the first step of the schema and never change their form:
// every version of the program, whatever it knows of the schema, has to find its owner.
func ownerTables() []string {
	return []string{
		`CREATE TABLE IF NOT EXISTS owner (
  id INTEGER NOT NULL PRIMARY KEY, -- 1: there is one row
  start_number BIGINT NOT NULL, -- the owner; 0: none
  epoch BIGINT NOT NULL, -- grows with each owner
  expires_at BIGINT NOT NULL
)`,
		`CREATE TABLE IF NOT EXISTS processes (
  start_number BIGINT NOT NULL PRIMARY KEY,
  address VARCHAR(255) NOT NULL,
  fingerprint VARCHAR(64) NOT NULL,
  version VARCHAR(64) NOT NULL,
  schema_step BIGINT NOT NULL,
  started_at BIGINT NOT NULL
)`,
	}
}

// ErrNotOwner reports that another process owns the database.
var ErrNotOwner = errors.New("another process owns the database")

// notOwner is what callers get whose write comes too late.
func notOwner() error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: "another process owns the database", RetryAfter: retryAfter, Cause: errors.Join(ErrNotOwner, weir.ErrSuperseded)}
}

// forever is the lease of a database that a lock keeps for its owner.
const forever = 100 * 365 * 24 * time.Hour

// Own makes this process the owner of the database. Unless wait is set, it returns
// [dialect.ErrMember] while another process is. It has no effect on the owner.
func (m *Member) Own(ctx context.Context, wait bool) error {
	if m.Owns() {
		return nil
	}
	release, held, err := m.Database.Hold(ctx, wait)
	if err != nil {
		return fmt.Errorf("own the database: %w", err)
	}
	if err = m.Database.Present(); err == nil { // the lock may have been awaited
		err = m.own(ctx, held, wait)
	}
	if err != nil {
		release()
		if errors.Is(err, dialect.ErrMember) {
			return err
		}
		return fmt.Errorf("own the database: %w", err)
	}
	m.release = release
	return nil
}

// own takes the row. held says that nobody else can have it.
func (m *Member) own(ctx context.Context, held, wait bool) error {
	if err := m.register(ctx); err != nil {
		return err
	}
	if held {
		return m.take(ctx, m.Write, forever, time.Now(), ownership.Row{})
	}
	if err := m.await(ctx, wait); err != nil {
		return err
	}
	m.startRenewal()
	return nil
}

// register makes the two tables, if they are not there, and counts this start.
func (m *Member) register(ctx context.Context) error {
	if m.Start() != 0 {
		return nil
	}
	if err := m.CheckForeign(ctx); err != nil {
		return err
	}
	made, err := m.hasTable(ctx, "processes")
	if err != nil {
		return err
	}
	if !made {
		for _, text := range ownerTables() {
			if _, err := m.Write.ExecContext(ctx, text); err != nil {
				return err
			}
		}
	}
	if n, err := m.hasOwnerRow(ctx); err != nil || !n {
		if _, errInsert := m.Write.ExecContext(ctx, "INSERT INTO owner (id, start_number, epoch, expires_at) VALUES (1, 0, 0, 0)"); errInsert != nil && !m.Database.Duplicate(errInsert) {
			return errors.Join(err, errInsert)
		}
	}
	for {
		var start int64
		if err := m.Write.GetContext(ctx, &start, "SELECT COALESCE(MAX(start_number), 0) + 1 FROM processes"); err != nil {
			return err
		}
		_, err := m.Write.ExecContext(ctx, "INSERT INTO processes (start_number, address, fingerprint, version, schema_step, started_at) VALUES (?, ?, ?, ?, ?, "+m.Database.Now()+")",
			start, m.Self.Address, m.Self.Fingerprint, m.Self.Version, m.Self.Schema)
		if m.Database.Duplicate(err) {
			continue // another process started in the same moment
		}
		if err == nil {
			m.ids.node = start % nodes
			m.start.Store(start)
			_, err = m.Write.ExecContext(ctx, "DELETE FROM processes WHERE start_number < ?", start-nodes)
		}
		return err
	}
}

func (m *Member) hasOwnerRow(ctx context.Context) (bool, error) {
	var n int
	err := m.Write.GetContext(ctx, &n, "SELECT COUNT(*) FROM owner")
	return n > 0, err
}

func (m *Member) hasTable(ctx context.Context, name string) (bool, error) {
	var n int
	err := m.Write.GetContext(ctx, &n, m.Dialect.HasTable, name)
	return n > 0, err
}

// await reads the row until it may be taken, and takes it.
func (m *Member) await(ctx context.Context, wait bool) error {
	var w ownership.Watch
	var conn *sqlx.Conn
	drop := func() {
		if conn != nil {
			_ = conn.Close()
		}
		conn = nil
		w.LostConnection()
	}
	defer drop()
	failed := 0
	for told, warned, down := false, false, false; ; {
		err := func() (err error) {
			if conn == nil {
				if conn, err = m.Write.Connx(ctx); err != nil {
					return err
				}
			}
			asked := time.Now()
			row, err := m.pollOn(ctx, conn)
			if err != nil {
				return err
			}
			w.Saw(asked, row, m.LeaseTTL)
			switch {
			case w.Decide(row, m.LeaseTTL, m.Start(), m.successor.Load()) == ownership.Take:
				return m.take(ctx, conn, m.LeaseTTL, w.Vacant(), row)
			case !wait && !row.Expired() && !row.Void(m.LeaseTTL):
				return dialect.ErrMember
			}
			if !told {
				told = true
				m.Logger.Info("another process owns the database; standing by", "owner", row.Start)
			}
			return nil
		}()
		old, tooOld := errors.AsType[*TooOldError](err)
		kind, _ := m.Classify(err)
		m.hindered.Store(hindrance(err, kind))
		switch {
		case err == nil && m.Owns():
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case tooOld && wait:
			if !warned {
				warned = true
				m.Logger.Error("this process cannot own the database; it only passes requests on", "error", old)
			}
		case err == nil || kind == dialect.Again && !errors.Is(err, dialect.ErrMember):
			down = false
		case kind == dialect.Down && wait:
			if !down {
				down = true
				m.Logger.Warn("the owner of the database cannot be read; trying again", "error", err)
			}
			failed = m.disconnectAfter(failed, err)
			drop()
		default:
			return err
		}
		if err == nil {
			failed = 0
		}
		if !m.pause(ctx) {
			return ctx.Err()
		}
	}
}

// maxFailures is after how many failures in a row all connections to the database are closed: the
// server may stand still, or be cut off, while another one has taken its place.
const maxFailures = 3

// disconnectAfter counts the failures in a row, of renewals or of looks.
func (m *Member) disconnectAfter(failed int, err error) int {
	if err == nil {
		return 0
	}
	if failed++; failed%maxFailures == 0 {
		m.Logger.Warn("the database was not reached; closing all connections to it", "failures", failed, "server", m.Database.ServerAddress())
		m.Database.Disconnect()
	}
	return failed
}

// minLookTime is what a look may take even if the lease is short.
const minLookTime = 2 * time.Second

// pollOn reads the row of the owner, on one connection, for a limited time.
func (m *Member) pollOn(ctx context.Context, conn *sqlx.Conn) (ownership.Row, error) {
	ctx, cancel := context.WithTimeout(ctx, max(m.LeaseTTL/2, minLookTime))
	defer cancel()
	row, err := m.readOwner(ctx, conn)
	if err == nil && (row.Expired() || row.Void(m.LeaseTTL)) {
		// A primary that was cut off from its group answers, while the owner cannot renew the
		// lease there: what is read on it counts for nothing.
		err = m.Database.Verify(ctx, conn.Conn)
	}
	return row, err
}

// hindrance is why a process that waits could not take the database, after a look at it; nil:
// it could.
func hindrance(err error, kind dialect.Kind) *string {
	text := ""
	if old, tooOld := errors.AsType[*TooOldError](err); tooOld {
		text = old.Error()
	} else if err != nil && kind == dialect.Down {
		text = "it cannot read the database"
	} else {
		return nil
	}
	return &text
}

// Hindered is why this process, which waits, could not take the database; empty: it could, as
// far as is known.
func (m *Member) Hindered() string {
	if text := m.hindered.Load(); text != nil {
		return *text
	}
	return ""
}

// beginner begins transactions: a pool, or one connection.
type beginner interface {
	BeginTxx(ctx context.Context, opts *sql.TxOptions) (*sqlx.Tx, error)
}

// take makes this process the owner, in one transaction and in this order, which is that
// of a change beside the writer: the row of the owner; the epoch, which refuses such
// changes of the former owner; the fences of all writers, which wait for its open batch and
// refuse its next one. A database without a schema has no writer yet. Nothing happens if
// another process was faster, unless the lease is for ever: then there can be none.
// vacant is since when nobody has owned the database, and seen the row that was judged.
func (m *Member) take(ctx context.Context, on beginner, lease time.Duration, vacant time.Time, seen ownership.Row) error {
	schema, err := m.hasTable(ctx, "writers")
	if err != nil {
		return err
	}
	asked := time.Now()
	tx, err := on.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	epoch, err := m.takeIn(ctx, tx, schema, lease, seen)
	if err != nil || epoch == 0 {
		return errors.Join(err, Ended(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		m.Reset(m.Write.DB)
		return err
	}
	m.begins(epoch, ownership.ValidUntil(asked, lease), vacant)
	failpoint.Hit("own.taken")
	return nil
}

// self is what others know of this process.
func (m *Member) self() Process {
	p := m.Self
	p.Start = m.Start()
	return p
}

// takeIn is a part of take. Its condition is [ownership.Row.MayTake].
func (m *Member) takeIn(ctx context.Context, tx *sqlx.Tx, schema bool, lease time.Duration, seen ownership.Row) (epoch int64, err error) {
	now := m.Database.Now()
	result, err := tx.ExecContext(ctx, "UPDATE owner SET start_number = ?, epoch = epoch + 1, expires_at = "+now+" + ? WHERE id = 1 AND (? OR start_number IN (0, ?) "+
		"OR start_number = ? AND epoch = ? AND expires_at = ? AND (expires_at <= "+now+" OR expires_at > "+now+" + ?))",
		m.Start(), lease.Microseconds(), lease == forever, m.Start(), seen.Start, seen.Epoch, seen.Expires, ownership.Longest(lease).Microseconds())
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return 0, err
	}
	if err := tx.GetContext(ctx, &epoch, "SELECT epoch FROM owner WHERE id = 1"); err != nil || !schema {
		return epoch, err
	}
	if err := m.understands(ctx, tx); err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE meta SET value = ? WHERE name = 'epoch'", epoch); err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, "UPDATE writers SET fence = fence + 1")
	return epoch, err
}

// TooOldError reports a schema that this program cannot run on.
type TooOldError struct{ Needs, Knows int64 }

func (e *TooOldError) Error() string {
	return fmt.Sprintf("this program is too old for the schema of the database: it knows steps up to %d, and the schema needs one that knows step %d; install a newer Weir", e.Knows, e.Needs)
}

// OldestStep is the step of the schema that a program has to know to run on it.
func (m *Member) OldestStep(ctx context.Context) (int64, error) {
	return oldestStep(ctx, m.Read)
}

func oldestStep(ctx context.Context, q sqlx.QueryerContext) (oldest int64, err error) {
	err = sqlx.GetContext(ctx, q, &oldest, "SELECT COALESCE(MAX(value), 0) FROM meta WHERE name = 'oldest_step'")
	return oldest, err
}

// understands returns a [TooOldError] unless this program can run on the schema.
func (m *Member) understands(ctx context.Context, tx *sqlx.Tx) error {
	oldest, err := oldestStep(ctx, tx)
	if err == nil && oldest > m.Self.Schema {
		err = &TooOldError{Needs: oldest, Knows: m.Self.Schema}
	}
	return err
}

// Migrated notes that the schema is there, which it may not have been when the database was
// taken: then its epoch follows now.
func (m *Member) Migrated(ctx context.Context) error {
	_, err := m.Exec(ctx, "UPDATE meta SET value = ? WHERE name = 'epoch' AND value < ?", m.Epoch(), m.Epoch())
	return err
}

// begins notes that this process has become the owner, after the database had none since an
// instant.
func (m *Member) begins(epoch int64, until, vacant time.Time) {
	now := time.Now()
	m.began.Store(&beginning{since: now, vacancy: now.Sub(vacant)})
	m.owns(epoch, until)
	m.statuses.set(OwnerStatus{epoch, m.self()})
}

// beginning is the beginning of an ownership.
type beginning struct {
	since   time.Time
	vacancy time.Duration // for how long the database had no owner before, as far as this process saw
}

// Began returns when this process became the owner, and for how long it had seen the database
// without one; zero: it has not.
func (m *Member) Began() (since time.Time, vacancy time.Duration) {
	if b := m.began.Load(); b != nil {
		return b.since, b.vacancy
	}
	return time.Time{}, 0
}

// owns notes that this process is the owner, until an instant.
func (m *Member) owns(epoch int64, until time.Time) {
	m.until.Store(&until)
	m.epoch.Store(epoch)
}

// Epoch is the number of this ownership; 0: this process does not own the database.
func (m *Member) Epoch() int64 { return m.epoch.Load() }

// Owns reports whether this process has become the owner. It may have lost the database
// since; see [Member.Valid].
func (m *Member) Owns() bool { return m.Epoch() != 0 }

// Valid reports whether this process certainly owns the database.
func (m *Member) Valid() bool {
	until := m.until.Load()
	return until != nil && m.lostWhy.Load() == nil && time.Now().Before(*until)
}

// Lost is closed when another process has become the owner, so that what this one writes is
// refused, or when this one lets its lease expire because it cannot write.
func (m *Member) Lost() <-chan struct{} { return m.lost }

// Lose notes that another process is the owner, and returns the error for whoever found out.
func (m *Member) Lose() error {
	return m.lose("the database was taken by another process; this one can do nothing more")
}

func (m *Member) lose(why string, fields ...any) error {
	return m.loseWith(notOwner(), why, fields...)
}

func (m *Member) loseWith(err error, why string, fields ...any) error {
	if m.lostWhy.CompareAndSwap(nil, &err) {
		m.Logger.Error(why, fields...) //nolint:sloglint // one of two texts
		close(m.lost)
	}
	return err
}

// LoseCommits notes that the database lacks what it has confirmed to this process, and
// returns the error for whoever found out.
func (m *Member) LoseCommits(missing error) error {
	m.missing.CompareAndSwap(nil, &missing)
	return m.lose("the database lacks commits that it has confirmed; this process cannot go on with it", "error", missing, "server", m.Database.ServerAddress())
}

// CheckPresent returns an error once the file of the database is no longer where it was opened,
// and then this process gives it up: what it writes could not be found by the next one.
func (m *Member) CheckPresent() error {
	err, missing := m.present()
	if err == nil {
		return nil
	}
	m.missing.CompareAndSwap(nil, &missing)
	return m.loseWith(err, "the file of the database is not the one that was opened; this process cannot go on with it", "error", missing)
}

// Missing returns the error of [Member.LoseCommits]; nil: nothing is missing.
func (m *Member) Missing() error {
	if missing := m.missing.Load(); missing != nil {
		return *missing
	}
	return nil
}

// startRenewal renews the lease four times a lease, on a connection of its own, as long as
// this process can write, and answers.
func (m *Member) startRenewal() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	m.stopRenewal = func() { stop(); <-done }
	go func() {
		defer close(done)
		renewals := ownership.NewRenewals(m.LeaseTTL, time.Now())
		failed := 0
		for Pause(ctx, ownership.RenewEvery(m.LeaseTTL)) {
			now := time.Now()
			switch why, since := renewals.Before(now, m.Stuck(now), m.Unresponsive(now)); why {
			case ownership.CannotWrite:
				_ = m.lose("nothing can be written, though the lease of the database is renewed; another process has to try", "stuck", since.Round(time.Second))
				return
			case ownership.Unresponsive:
				_ = m.lose("this process does not answer its own requests, though it renews the lease of the database; another one has to serve", "unresponsive", since.Round(time.Second))
				return
			case ownership.None, ownership.Taken:
			}
			err := m.renew(ctx)
			if ctx.Err() != nil {
				return
			}
			why, changed := renewals.After(time.Now(), resultOf(err))
			switch {
			case why != ownership.None:
				return
			case err != nil && changed:
				m.Logger.Warn("the lease of the database was not renewed; trying again", "error", err)
			case changed:
				m.Logger.Info("the lease of the database is renewed again")
			}
			failed = m.disconnectAfter(failed, err)
			if err == nil {
				failpoint.Hit("own.renewed")
			}
		}
	}()
}

func resultOf(err error) ownership.Result {
	switch {
	case err == nil:
		return ownership.Renewed
	case errors.Is(err, ErrNotOwner):
		return ownership.Refused
	default:
		return ownership.Failed
	}
}

// renew extends the lease. It counts from when it was asked for. A lease that has expired
// and was not taken is still ours.
func (m *Member) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.LeaseTTL/2)
	defer cancel()
	asked := time.Now()
	result, err := m.Lease.ExecContext(ctx, "UPDATE owner SET expires_at = "+m.Database.Now()+" + ? WHERE id = 1 AND start_number = ? AND epoch = ?",
		m.LeaseTTL.Microseconds(), m.Start(), m.Epoch())
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	switch {
	case err != nil:
		return err
	case n == 0:
		return m.Lose()
	}
	m.owns(m.Epoch(), ownership.ValidUntil(asked, m.LeaseTTL))
	return nil
}

// Release releases the database, so that another process can take it at once. This one can
// write nothing any more.
func (m *Member) Release(ctx context.Context) {
	if m.stopRenewal != nil {
		m.stopRenewal()
	}
	if m.Owns() && m.lostWhy.Load() == nil && m.until.Load() != nil {
		m.until.Store(nil)
		m.statuses.set(OwnerStatus{})
		ctx, cancel := context.WithTimeout(ctx, m.LeaseTTL/2)
		defer cancel()
		_, err := m.Lease.ExecContext(ctx, "UPDATE owner SET start_number = 0, expires_at = 0 WHERE id = 1 AND start_number = ? AND epoch = ?", m.Start(), m.Epoch())
		if err != nil {
			m.Logger.Warn("the lease of the database was not released; it expires", "error", err)
		}
		failpoint.Hit("hand.released")
	}
	if m.release != nil {
		m.release()
	}
}

// check refuses a transaction beside the writer of a process that has lost the database:
// the epoch stays as it is until the transaction has ended.
func (m *Member) check(ctx context.Context, tx *sqlx.Tx) error {
	if !m.Owns() {
		return nil // a command, beside the owner
	}
	var epoch int64
	if err := tx.GetContext(ctx, &epoch, "SELECT value FROM meta WHERE name = 'epoch'"+m.Dialect.ForShare); err != nil {
		return err
	}
	if epoch != m.Epoch() {
		return m.Lose()
	}
	return nil
}
