package routing

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"
	"weir/routing/internal/codec"
	"weir/routing/resource"
)

// Rematch revokes a job's offers and matches it again, to benchmark the match
// alone.
func Rematch(s *State, id string) {
	j := s.jobs[id]
	s.out, s.live = s.out[:0], true
	s.revokeAll(j)
	s.match()
	s.live = false
}

// Tighten sets the index limits to the minimum.
func Tighten(s *State) {
	s.index.limits = limits{ranges: 1, classes: 2, loads: 1, crowd: 0, gaps: 1}
	s.index.sweepAt = 2
}

// Audit returns inconsistencies in the index.
func Audit(s *State) (faults []string) {
	add := func(bad bool, what string) {
		if bad {
			faults = append(faults, what)
		}
	}
	x := &s.index
	active, refs := 0, map[*class]int{}
	for _, w := range s.workers {
		if w.pos >= 0 {
			active++
			add(w.pos >= len(x.at) || x.at[w.pos] != w, "worker "+w.ID+" is not at its position")
		}
		add((w.pos >= 0) != (w.State == resource.WorkerActive), "worker "+w.ID+" has the wrong place")
	}
	add(active != x.active, "the active workers are miscounted")
	last := -1
	var place uint64
	for pos, w := range x.at {
		if w != nil {
			add(w.Place < place || pos <= last, "worker "+w.ID+" is out of order")
			place, last = w.Place, pos
		}
	}
	queued := 0
	counts, oldest := map[resource.JobStatus]int{}, time.Time{}
	for _, j := range s.jobs {
		counts[j.Status]++
		if j.queue != nil {
			oldest = sooner(oldest, j.EnqueuedAt)
		}
		if j.kin != nil {
			refs[j.kin]++
		}
		if j.queue != nil {
			queued++
		}
		add((j.queue != nil) != (j.Status == resource.JobQueued), "job "+j.ID+" is in the wrong line")
		add(j.wants && j.kin == nil, "job "+j.ID+" wants without a class")
		add(j.mark, "job "+j.ID+" is marked")
	}
	figures := s.Figures()
	add(!maps.Equal(counts, figures.Jobs), "jobs are miscounted")
	add(!oldest.Equal(figures.OldestQueuedAt), "another job is the oldest")
	inLines := 0
	for _, q := range s.queues {
		n := 0
		for _, k := range q.ranks {
			n += k
		}
		add(n != q.line.n, "queue "+q.ID+" miscounts its ranks")
		inLines += q.line.n
	}
	add(inLines != queued, "the lines hold other jobs than the queued ones")
	for key, c := range x.classes {
		add(refs[c] != c.refs, "a class miscounts its jobs")
		add((c.homeSlot > 0) != (c.jobs.n > 0), "a class is found or not where it should")
		add(c.listed, "a class is on the agenda")
		add(key != c.key, "a class is kept under another key")
		delete(refs, c)
	}
	add(len(refs) > 0, "jobs belong to classes that were swept away")
	for _, p := range x.predicates {
		for _, w := range x.at {
			if w != nil {
				add(p.members.has(w.pos) != p.key.op.Holds(w.Labels[p.key.label], p.key.value), "a predicate has the wrong members")
			}
		}
	}
	return append(faults, auditSets(s)...)
}

// auditSets compares the sets of workers with the workers.
func auditSets(s *State) (faults []string) {
	x := &s.index
	loads, can, listen := map[*load]int{}, map[*channelIndex]int{}, map[*queueIndex]int{}
	for _, w := range x.at {
		if w == nil {
			continue
		}
		loads[w.load]++
		if !w.load.members.has(w.pos) || w.Capacity > 0 && w.load.num*w.Capacity != w.assignedCost*w.load.den {
			faults = append(faults, "worker "+w.ID+" has another load")
		}
		for _, c := range w.channels {
			if c.can {
				can[c.index]++
			}
			if c.can != c.index.can.has(w.pos) {
				faults = append(faults, "worker "+w.ID+" can or cannot")
			}
		}
		for _, q := range w.listens {
			listen[q]++
		}
	}
	for _, l := range x.loads {
		if l.members.n != loads[l] {
			faults = append(faults, "a load ratio has members that left")
		}
	}
	for id, c := range x.channels {
		if c.can.n != can[c] {
			faults = append(faults, "channel "+id+" has members that left")
		}
	}
	for id, q := range x.queues {
		if q.members.n != listen[q] || len(q.ring) != listen[q] {
			faults = append(faults, "queue "+id+" has members that left")
		}
	}
	return faults
}

// Rewritten decodes and re-encodes a line of a snapshot with encoding/json. It
// also checks that the handwritten reader decodes the same.
func Rewritten(line []byte) ([]byte, error) {
	var r record
	err := json.Unmarshal(line, &r)
	reader := codec.NewReader()
	if j, ok := readJob(reader, line); ok && (err != nil || !reflect.DeepEqual(j, r.Job)) {
		return nil, fmt.Errorf("by hand it is %+v (%w)", j, err)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // neither reads it
	}
	return json.Marshal(&r)
}
