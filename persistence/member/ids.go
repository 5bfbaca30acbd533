package member

import (
	"math"
	"sync"
	"time"
)

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
