// Package member makes a process one of the members that share a database: its name in
// leases, its ids, its clock beside that of the database, and the errors of the database by
// kind. It knows no table but writers, leases and roles.
package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"weir/persistence/dialect"
)

// Member is an open database, and this process as one of its members.
type Member struct {
	Database dialect.Database
	Dialect  dialect.Statements
	Write    *sqlx.DB
	Read     *sqlx.DB
	Logger   *slog.Logger
	Metrics  *Metrics
	Owner    string // the name of this process in leases
	LeaseTTL time.Duration
	Alone    bool // no other process can be a member
	ids      *ids
	start    atomic.Int64
	damaged  atomic.Bool // see [Member.IsDamaged]
	leave    func()
	stopSkew context.CancelFunc
}

// Config configures a Member.
type Config struct {
	Log      *slog.Logger
	Metrics  *Metrics
	Owner    string
	LeaseTTL time.Duration
}

// New is a Member on an open database, whose scheme is that of its URL.
func New(database dialect.Database, scheme string, c Config) *Member {
	pools := database.Pools()
	c.Metrics.statements.Store(pools.Statements)
	return &Member{
		Database: database, Dialect: database.Statements(),
		Write: sqlx.NewDb(pools.Write, scheme), Read: sqlx.NewDb(pools.Read, scheme),
		Logger: c.Log, Metrics: c.Metrics, Owner: c.Owner, LeaseTTL: c.LeaseTTL, ids: newIDs(0),
	}
}

// Join makes this process a member: it waits until no other process stands in the way.
func (m *Member) Join(ctx context.Context) error {
	if m.IsMember() {
		return errors.New("the store was joined already")
	}
	leave, alone, err := m.Database.Join(ctx, m.Owner)
	if err != nil {
		return fmt.Errorf("join the store: %w", err)
	}
	start, err := m.register(ctx, alone)
	if err != nil {
		leave()
		return fmt.Errorf("join the store: %w", err)
	}
	m.leave, m.Alone = leave, alone
	m.ids.node = start % nodes
	m.start.Store(start)
	m.watchClock()
	m.Logger.Info("joined the store", "owner", m.Owner, "start", start)
	return nil
}

// register counts this start and frees the leases of processes that are
// certain to be gone.
func (m *Member) register(ctx context.Context, alone bool) (start int64, err error) {
	err = m.Transaction(ctx, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE meta SET value = value + 1 WHERE name = 'starts'"); err != nil {
			return err
		}
		if err := tx.GetContext(ctx, &start, "SELECT value FROM meta WHERE name = 'starts'"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO writers (start_number, owner, batch) VALUES (?, ?, 0)", start, m.Owner); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM writers WHERE start_number < ?", start-100*nodes); err != nil {
			return err
		}
		return m.freeDead(ctx, tx, alone)
	})
	return start, err
}

// freeDead frees the leases and roles of this process's former life and of
// processes that are certainly dead: all others, if it is alone.
func (m *Member) freeDead(ctx context.Context, tx *sqlx.Tx, alone bool) error {
	for _, table := range []string{"leases", "roles"} {
		var owners []string
		if err := tx.SelectContext(ctx, &owners, "SELECT DISTINCT owner FROM "+table+" WHERE owner <> ''"); err != nil {
			return err
		}
		for _, owner := range owners {
			if !alone && owner != m.Owner && !certainlyDead(owner) {
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

// Leave ends the membership, and closes the database.
func (m *Member) Leave() error {
	if m.stopSkew != nil {
		m.stopSkew()
	}
	if m.leave != nil {
		m.leave()
	}
	return m.Database.Close()
}

// Start is the number of this start; 0 before it has one.
func (m *Member) Start() int64 { return m.start.Load() }

// IsMember reports whether this process has joined.
func (m *Member) IsMember() bool { return m.Start() != 0 }

// NextID gives an id at an instant; see [ids].
func (m *Member) NextID(now time.Time) int64 { return m.ids.next(now) }

// CountError counts an error of a kind.
func (m *Member) CountError(code string) { m.Metrics.Errors.WithLabelValues(code).Inc() }

// FenceOff makes the writer of an owner read again what it knows of its channels. It
// is part of each transaction that changes one of them or its lease.
func FenceOff(ctx context.Context, tx *sqlx.Tx, owner string) error {
	if owner == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, "UPDATE writers SET fence = fence + 1 WHERE owner = ?", owner)
	return err
}

// An id is 41 bits of milliseconds since 2025, 10 bits of the node and 12 bits
// of a sequence. It grows within a process even when the clock steps back.
const (
	idEpochMS    = 1735689600000 // 2025-01-01T00:00:00Z
	nodeBits     = 10
	sequenceBits = 12
	nodes        = 1 << nodeBits
)

type ids struct {
	mu       sync.Mutex
	node     int64
	ms       int64
	sequence int64
}

func newIDs(node int64) *ids { return &ids{node: node} }

// next gives the next id at an instant.
func (g *ids) next(now time.Time) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ms := now.UnixMilli() - idEpochMS; ms > g.ms {
		g.ms, g.sequence = ms, 0
	} else if g.sequence++; g.sequence == 1<<sequenceBits {
		g.ms, g.sequence = g.ms+1, 0
	}
	return g.ms<<(nodeBits+sequenceBits) | g.node<<sequenceBits | g.sequence
}

// InstantOf is the instant that an id holds, to the millisecond.
func InstantOf(id int64) time.Time {
	return time.UnixMilli(id>>(nodeBits+sequenceBits) + idEpochMS).UTC()
}

// FirstID is the least id of an instant.
func FirstID(t time.Time) int64 {
	return max(0, t.Add(time.Millisecond-1).UnixMilli()-idEpochMS) << (nodeBits + sequenceBits)
}

// Bounds are those of the ids that were given since an instant and before
// another: low is the least, high the first that is none. A zero instant bounds
// nothing.
func Bounds(since, until time.Time) (low, high int64) {
	high = math.MaxInt64
	if !since.IsZero() {
		low = FirstID(since)
	}
	if !until.IsZero() {
		high = FirstID(until)
	}
	return low, high
}
