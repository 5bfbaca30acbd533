package database

import (
	"context"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"weir/persistence/ownership"
)

// Process is what others know of a start of the program.
type Process struct {
	Start       int64  `db:"start_number"`
	Address     string `db:"address"`     // HOST:PORT of its listener for peers; empty: it has none
	Fingerprint string `db:"fingerprint"` // SHA-256 of its certificate, in hexadecimal digits
	Version     string `db:"version"`
	Schema      int64  `db:"schema_step"` // the newest that it knows
}

// OwnerStatus is the owner of the database as it was last read, which may be this process.
type OwnerStatus struct {
	Epoch int64 // 0: there is none at the moment
	Process
}

// statuses holds the latest status of the owner, for whoever waits for a change.
type statuses struct {
	mu      sync.Mutex
	now     OwnerStatus
	changed chan struct{}
	epoch   int64 // of the latest owner
	changes int64 // how often another ownership began; the first one seen is none
}

func (s *statuses) set(next OwnerStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next.Epoch != 0 && next.Epoch != s.epoch {
		if s.epoch != 0 {
			s.changes++
		}
		s.epoch = next.Epoch
	}
	if s.now != next {
		s.now = next
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// OwnerStatus returns the owner as this process last read it, and a channel that is closed once
// it changes. It is read while this process waits to become the owner, and in [Member.Follow].
func (m *Member) OwnerStatus() (now OwnerStatus, changed <-chan struct{}) {
	m.statuses.mu.Lock()
	defer m.statuses.mu.Unlock()
	return m.statuses.now, m.statuses.changed
}

// OwnerChanges is how often another ownership of the database has begun since this process
// read it first.
func (m *Member) OwnerChanges() int64 {
	m.statuses.mu.Lock()
	defer m.statuses.mu.Unlock()
	return m.statuses.changes
}

// Poke makes a process that waits for the database poll at once.
func (m *Member) Poke() {
	select {
	case m.poke <- struct{}{}:
	default:
	}
}

// Succeed says which process the owner has named to be the next one.
func (m *Member) Succeed(start int64) { m.successor.Store(start) }

// minPause is the least time between two polls.
const minPause = 100 * time.Millisecond

// pause waits until the next poll; false: ctx has ended.
func (m *Member) pause(ctx context.Context) bool {
	if !Pause(ctx, minPause) {
		return false
	}
	timer := time.NewTimer(ownership.LookEvery(m.LeaseTTL) - minPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-m.poke:
	case <-timer.C:
	}
	return true
}

// Follow reads who the owner is, until ctx ends. It is for a process that has released the
// database.
func (m *Member) Follow(ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := m.readOwner(ctx, m.Lease); err != nil && ctx.Err() == nil {
			m.Logger.Warn("the owner of the database cannot be read; trying again", "error", err)
		}
		if !Pause(ctx, minPause) {
			return
		}
	}
}

// readOwner reads the row, and who that is. An owner whose lease has expired is none.
func (m *Member) readOwner(ctx context.Context, q sqlx.QueryerContext) (ownership.Row, error) {
	var row struct {
		ownership.Row
		Address     string `db:"address"`
		Fingerprint string `db:"fingerprint"`
		Version     string `db:"version"`
		Schema      int64  `db:"schema_step"`
	}
	err := sqlx.GetContext(ctx, q, &row, `SELECT o.start_number, o.epoch, o.expires_at, `+m.Database.Now()+` AS now,
  COALESCE(p.address, '') AS address, COALESCE(p.fingerprint, '') AS fingerprint, COALESCE(p.version, '') AS version, COALESCE(p.schema_step, 0) AS schema_step
FROM owner o LEFT JOIN processes p ON p.start_number = o.start_number WHERE o.id = 1`)
	if err != nil {
		return row.Row, err
	}
	now := OwnerStatus{}
	if !row.Free() && !row.Expired() && row.Start != m.Start() {
		now = OwnerStatus{row.Epoch, Process{row.Start, row.Address, row.Fingerprint, row.Version, row.Schema}}
	}
	m.statuses.set(now)
	return row.Row, nil
}

// Processes lists the processes that have registered, the newest first. Some have ended.
func (m *Member) Processes(ctx context.Context) ([]Process, error) {
	var list []Process
	err := m.Read.SelectContext(ctx, &list, "SELECT start_number, address, fingerprint, version, schema_step FROM processes ORDER BY start_number DESC LIMIT ?", nodes)
	return list, err
}
