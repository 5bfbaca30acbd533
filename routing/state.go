package routing

import (
	"time"

	"weir/routing/eventlog"
)

// State is the complete state of the router. It decides which events follow from a command or from
// the time; the applier in it makes the changes that they state. Only [State.Execute],
// [State.Replay] and [Restore] change it; it is not safe for concurrent use.
type State struct {
	applier

	emitted   []eventlog.Event // events of the running Execute
	noWaitJob *job             // a new job with NoWait
	supplied  suppliedScores   // by the running command
}

// Settings are the limits that the API leaves open or that operators choose.
type Settings struct {
	KeepFinished time.Duration `json:"keepFinished"` // how long finished jobs can be read
	JobLife      time.Duration `json:"jobLife"`      // after this time an open job expires
	IdleLife     time.Duration `json:"idleLife"`     // after this time an idle worker is deregistered
	MaxStored    int           `json:"maxStored"`    // max bytes that clients store, as size.go estimates them
}

// DefaultSettings returns the limits of the API, one day for finished jobs, and room for
// about a million jobs.
func DefaultSettings() Settings {
	const day = 24 * time.Hour
	return Settings{KeepFinished: day, JobLife: 90 * day, IdleLife: 7 * day, MaxStored: 1 << 30}
}

// New returns an empty router. The settings are part of the state: a snapshot
// carries them, and a log of events must be replayed with the same settings.
func New(settings Settings) *State {
	return &State{applier: applier{entities: newEntities(settings)}}
}

// agenda holds what may have become possible since the last match: jobs that
// newly may get an offer and workers that newly have room. Between two commands
// nothing is possible, so other pairs need not be examined.
type agenda struct {
	heap    []candidate // by sort key
	workers int         // workers on the heap
}

// candidate is a job on the agenda; or a worker with the first job that it
// could take when last examined; or a class with the sort key from which on some
// worker might take one of its jobs.
type candidate struct {
	sortKey uint64
	job     *job
	worker  *worker
	class   *class
}

func (c candidate) before(o candidate) bool {
	if c.sortKey != o.sortKey {
		return c.sortKey < o.sortKey
	}
	return c.job != nil && o.job == nil
}

func (a *agenda) push(c candidate) {
	a.heap = append(a.heap, c)
	i := len(a.heap) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !c.before(a.heap[p]) {
			break
		}
		a.heap[i] = a.heap[p]
		i = p
	}
	a.heap[i] = c
}

func (a *agenda) pop() candidate {
	h := a.heap
	top, last := h[0], h[len(h)-1]
	h[len(h)-1] = candidate{}
	h = h[:len(h)-1]
	a.heap = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(last) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = last
	return top
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
