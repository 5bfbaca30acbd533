package routing

import (
	"slices"
	"time"
	"weir/routing/label"
	"weir/routing/resource"
)

// Ready is a worker that has room now, and the time since when it has been
// available.
type Ready struct {
	WorkerID string    `json:"workerId"`
	Since    time.Time `json:"availableSince"`
}

// Ready lists the workers that pass a pool's filter and have room on its
// channel, longest available first, at most limit. With the longest-available
// order, a new job with the same requirements goes to the first of them. With
// newest the order is reversed.
func (s *State) Ready(p resource.PoolSpec, newest bool, limit int) []Ready {
	var out []Ready
	look := func(w *worker) bool {
		if w != nil && w.passes(&pool{PoolSpec: p}) && w.hasRoom(p.ChannelID) {
			out = append(out, Ready{w.ID, w.AvailableSince})
		}
		return len(out) < limit
	}
	if limit <= 0 {
		return nil
	}
	if newest {
		for _, w := range slices.Backward(s.index.at) {
			if !look(w) {
				return out
			}
		}
		return out
	}
	for _, w := range s.index.at {
		if !look(w) {
			return out
		}
	}
	return out
}

// Pool returns a pool.
func (s *State) Pool(id string) (Named[resource.PoolSpec], bool) {
	p := s.pools[id]
	if p == nil {
		return Named[resource.PoolSpec]{}, false
	}
	return Named[resource.PoolSpec]{id, p.PoolSpec, p.Version, p.ChangedAt}, true
}

// PoolDepth returns the depth of a pool; zero if there is no such pool.
func (s *State) PoolDepth(id string) PoolDepth {
	p := s.pools[id]
	if p == nil {
		return PoolDepth{}
	}
	return PoolDepth{id, p.depth, p.Count}
}

// WhilePool returns the command if a pool's count still is the one that the
// client saw, and refuses it otherwise, so that only one of several clients
// that saw the same count acts. Like [State.Patch] the result is valid for this
// state only.
func (s *State) WhilePool(id string, count uint64, c Command) (Command, error) {
	p := s.pools[id]
	switch {
	case p == nil:
		return nil, notFound("pool", id)
	case p.Count != count:
		return nil, If{Unmatchable: true}.check(0, time.Time{})
	}
	return c, nil
}

// Unmatchable lists the waiting jobs of a queue that no worker could take even
// if every worker were registered and free, at most limit, in queue order. It
// examines a bounded number of jobs and workers, because it blocks the engine
// meanwhile.
func (s *State) Unmatchable(queueID string, limit int) []string {
	q := s.queues[queueID]
	if q == nil || q.bypass() {
		return nil
	}
	const most, mostLooks = 100_000, 500_000
	looks := 0
	known := map[*class]bool{} // whether some worker could take the jobs of the class
	var out []string
	n := 0
	for j := range q.line.all {
		if n++; len(out) >= limit || n > most || looks > mostLooks {
			break
		}
		if j.kin == nil || len(j.Offers) > 0 {
			continue
		}
		able, seen := known[j.kin]
		if !seen {
			able = s.anybodyFor(j, &looks)
			known[j.kin] = able
		}
		if !able {
			out = append(out, j.ID)
		}
	}
	return out
}

// anybodyFor reports whether any worker, registered or not, has the queue, the
// channel and the labels that a job requires.
func (s *State) anybodyFor(j *job, looks *int) bool {
	p := &pool{PoolSpec: resource.PoolSpec{QueueID: j.QueueID}}
	can := func(w *worker) bool {
		*looks++
		return w != nil && w.passes(p) && w.cost(j.ChannelID) > 0
	}
	only, direct := "", false // a job may require one particular worker
	for _, list := range [][]resource.WorkerSelector{j.RequestedWorkerSelectors, j.Attached} {
		for _, sel := range list {
			if sel.Active() {
				p.Selectors = append(p.Selectors, sel)
				if id, is := sel.Value.Text(); is && sel.Key == "Id" && sel.Operator == label.Equal {
					only, direct = id, true
				}
			}
		}
	}
	if direct {
		return can(s.workers[only])
	}
	for _, w := range s.workers {
		if can(w) {
			return true
		}
	}
	return false
}
