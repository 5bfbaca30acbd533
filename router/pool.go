package router

import (
	"slices"
	"time"

	"weir/router/resource"
)

// AvailableWorker is a worker that has room now, and the time since when it has been
// available.
type AvailableWorker struct {
	WorkerID string    `json:"workerId"`
	Since    time.Time `json:"availableSince"`
}

// AvailableWorkers lists the workers that pass a pool's filter and have room on its
// channel, longest available first. With the longest-available order, a new job
// with the same requirements goes to the first of them. With newest the order is
// reversed.
func (s *entities) AvailableWorkers(p resource.PoolSpec, newest bool) []AvailableWorker {
	filter := &pool{PoolSpec: p}
	var out []AvailableWorker
	for _, w := range s.index.workers {
		if w != nil && w.passes(filter) && w.hasRoom(p.ChannelID) {
			out = append(out, AvailableWorker{w.ID, w.AvailableSince})
		}
	}
	if newest {
		slices.Reverse(out)
	}
	return out
}

// PoolDepth returns the depth of a pool; zero if there is no such pool.
func (s *entities) PoolDepth(id string) PoolDepth {
	p := s.pools[id]
	if p == nil {
		return PoolDepth{}
	}
	return PoolDepth{id, p.depth, p.Count}
}

// passes reports whether a worker passes a pool's filter.
func (w *worker) passes(p *pool) bool {
	if p.QueueID != "" && !slices.Contains(w.Queues, p.QueueID) {
		return false
	}
	for _, sel := range p.Selectors {
		if !sel.Operator.Holds(w.Labels[sel.Key], sel.Value) {
			return false
		}
	}
	return true
}

// updatePools updates whether a worker is counted in its pools.
func (w *worker) updatePools() {
	for i := range w.memberships {
		m := &w.memberships[i]
		in := w.position >= 0 && w.hasRoom(m.pool.ChannelID)
		if in == m.counted {
			continue
		}
		m.counted = in
		m.pool.Count++
		if in {
			m.pool.depth++
		} else {
			m.pool.depth--
		}
	}
}

// PoolDepth is the number of available workers that pass a pool's filter, and a
// version that grows by one with each worker that comes or goes.
type PoolDepth struct {
	ID      string `json:"id"`
	Depth   int    `json:"depth"`
	Version uint64 `json:"version"`
}
