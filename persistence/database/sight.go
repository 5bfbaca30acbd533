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

// Sight is the owner of the database as a process sees it, which may be itself.
type Sight struct {
	Epoch int64 // 0: there is none at the moment
	Process
}

// sights is the latest sight, for whoever waits for a change.
type sights struct {
	mu      sync.Mutex
	now     Sight
	changed chan struct{}
	epoch   int64 // of the latest owner
	changes int64 // how often another ownership began; the first one seen is none
}

func (s *sights) set(next Sight) {
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

// Sight returns the owner as this process saw it last, and a channel that is closed once
// it sees another. It looks while it waits to become the owner, and in [Member.Follow].
func (m *Member) Sight() (now Sight, changed <-chan struct{}) {
	m.sights.mu.Lock()
	defer m.sights.mu.Unlock()
	return m.sights.now, m.sights.changed
}

// OwnerChanges is how often this process saw another ownership of the database begin. The
// first one that it saw does not count.
func (m *Member) OwnerChanges() int64 {
	m.sights.mu.Lock()
	defer m.sights.mu.Unlock()
	return m.sights.changes
}

// Look makes a process that waits look at once.
func (m *Member) Look() {
	select {
	case m.look <- struct{}{}:
	default:
	}
}

// Succeed says which process the owner has named to be the next one.
func (m *Member) Succeed(start int64) { m.successor.Store(start) }

// minPause is the least time between two looks.
const minPause = 100 * time.Millisecond

// pause waits until the next look; false: ctx has ended.
func (m *Member) pause(ctx context.Context) bool {
	if !Pause(ctx, minPause) {
		return false
	}
	timer := time.NewTimer(ownership.LookEvery(m.LeaseTTL) - minPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-m.look:
	case <-timer.C:
	}
	return true
}

// Follow looks who the owner is, until ctx ends. It is for a process that has released the
// database.
func (m *Member) Follow(ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := m.see(ctx, m.Lease); err != nil && ctx.Err() == nil {
			m.Logger.Warn("the owner of the database cannot be read; trying again", "error", err)
		}
		if !Pause(ctx, minPause) {
			return
		}
	}
}

// see reads the row, and who that is. An owner whose lease has expired is none.
func (m *Member) see(ctx context.Context, q sqlx.QueryerContext) (ownership.Row, error) {
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
	now := Sight{}
	if !row.Free() && !row.Expired() && row.Start != m.Start() {
		now = Sight{row.Epoch, Process{row.Start, row.Address, row.Fingerprint, row.Version, row.Schema}}
	}
	m.sights.set(now)
	return row.Row, nil
}

// Processes lists the processes that have registered, the newest first. Some have ended.
func (m *Member) Processes(ctx context.Context) ([]Process, error) {
	var list []Process
	err := m.Read.SelectContext(ctx, &list, "SELECT start_number, address, fingerprint, version, schema_step FROM processes ORDER BY start_number DESC LIMIT ?", nodes)
	return list, err
}
