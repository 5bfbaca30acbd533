// Package database makes a process the owner of a database: its lease, its ids, its clock
// beside that of the database, and the errors of the database by kind. It knows no tables but
// owner, processes, meta and writers.
package database

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

// Member is an open database, and this process as its owner, if it is.
type Member struct {
	*Client
	LeaseTTL time.Duration
	Self     Process // what others are to know of this process; it is set before Own
	ids      *ids
	// Stuck is for how long the writer has been trying to commit the same batch. It is set
	// before Join.
	Stuck func(now time.Time) time.Duration
	// Unresponsive is for how long this process has not answered a request to itself. It is set before
	// Join.
	Unresponsive func(now time.Time) time.Duration
	start        atomic.Int64
	stopSkew     func()

	// Of the ownership; see [Member.Own].
	epoch       atomic.Int64
	until       atomic.Pointer[time.Time] // when it ends if it is not renewed, less a margin
	began       atomic.Pointer[beginning]
	joined      atomic.Bool
	lost        chan struct{}
	lostWhy     atomic.Pointer[error]
	missing     atomic.Pointer[error] // see [Member.LoseCommits]
	stopRenewal func()
	release     func() // of the file's lock

	// Of a process that waits for it.
	statuses  statuses
	successor atomic.Int64 // the start number that the owner named
	poke      chan struct{}
	hindered  atomic.Pointer[string] // see [Member.Hindered]
}

// Config configures a Member.
type Config struct {
	Log      *slog.Logger
	Metrics  *Metrics
	LeaseTTL time.Duration
}

// New is a Member on an open database, whose scheme is that of its URL.
func New(database dialect.Database, scheme string, c Config) *Member {
	m := &Member{
		Client: newClient(database, scheme, c), LeaseTTL: c.LeaseTTL, ids: newIDs(0),
		lost: make(chan struct{}), poke: make(chan struct{}, 1), statuses: statuses{changed: make(chan struct{})},
		Stuck: func(time.Time) time.Duration { return 0 }, Unresponsive: func(time.Time) time.Duration { return 0 },
	}
	m.guard = m.check
	return m
}

// Join makes this process the owner, if it is not, and its writer one of the database's.
// The schema has to be there.
func (m *Member) Join(ctx context.Context) error {
	if m.joined.Load() {
		return errors.New("the store was joined already")
	}
	if err := m.Own(ctx, true); err != nil {
		return err
	}
	if err := m.enroll(ctx); err != nil {
		return fmt.Errorf("join the store: %w", err)
	}
	m.joined.Store(true)
	m.stopSkew = watchClock(m.Client)
	m.Logger.Info("joined the store", "start", m.Start(), "epoch", m.Epoch())
	return nil
}

// enroll makes the row of the writer.
func (m *Member) enroll(ctx context.Context) error {
	return m.Transaction(ctx, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO writers (start_number) VALUES (?)", m.Start()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM writers WHERE start_number < ?", m.Start()-nodes)
		return err
	})
}

// Leave releases the database, and closes it.
func (m *Member) Leave() error {
	if m.stopSkew != nil {
		m.stopSkew()
	}
	m.Release(context.Background())
	return m.Database.Close()
}

// Start is the number of this start; 0 before it has one.
func (m *Member) Start() int64 { return m.start.Load() }

// IsMember reports whether this process has joined.
func (m *Member) IsMember() bool { return m.joined.Load() }

// NextID gives an id at an instant; see [ids].
func (m *Member) NextID(now time.Time) int64 { return m.ids.next(now) }

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

// InstantOfID returns the instant at which an id was given, to the millisecond.
func InstantOfID(id int64) time.Time {
	return time.UnixMilli(id>>(nodeBits+sequenceBits) + idEpochMS).UTC()
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
