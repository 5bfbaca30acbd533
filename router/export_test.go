package router

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"

	"weir/router/internal/codec"
	"weir/router/resource"
)

// Rematch revokes a job's offers and matches it again, to benchmark the match
// alone.
func Rematch(s *State, id string) {
	j := s.jobs[id]
	s.emitted, s.executing = s.emitted[:0], true
	s.decisions.revokeAll(j.Offers, false)
	s.matcher.match()
	s.executing = false
}

// MaxUnmatchableExamined bounds what Unmatchable examines before it begins with another job.
const MaxUnmatchableExamined = maxUnmatchableExamined

// Unmatchable also returns how many workers were examined.
func Unmatchable(s *State, queue string, limit int) (ids []string, examined int) {
	return s.unmatchable(queue, limit)
}

// MinimizeLimits sets the index limits to the minimum.
func MinimizeLimits(s *State) {
	s.index.limits = limits{ranges: 1, classes: 2, loads: 1, individual: 0, gaps: 1}
	s.index.sweepAt = 2
}

// CheckIndex returns inconsistencies in the index.
func CheckIndex(s *State) (faults []string) {
	add := func(bad bool, what string) {
		if bad {
			faults = append(faults, what)
		}
	}
	x := &s.index
	active, refs := 0, map[*class]int{}
	for _, w := range s.workers {
		if w.position >= 0 {
			active++
			add(w.position >= len(x.workers) || x.workers[w.position] != w, "worker "+w.ID+" is not at its position")
		}
		add((w.position >= 0) != (w.State == resource.WorkerActive), "worker "+w.ID+" has the wrong place")
	}
	add(active != x.active, "the active workers are miscounted")
	last := -1
	var place uint64
	for pos, w := range x.workers {
		if w != nil {
			add(w.AvailableSeq < place || pos <= last, "worker "+w.ID+" is out of order")
			place, last = w.AvailableSeq, pos
		}
	}
	queued := 0
	counts, oldest := map[resource.JobStatus]int{}, time.Time{}
	for _, j := range s.jobs {
		counts[j.Status]++
		if j.queue != nil {
			oldest = earlier(oldest, j.EnqueuedAt)
		}
		if j.class != nil {
			refs[j.class]++
		}
		if j.queue != nil {
			queued++
		}
		add((j.queue != nil) != (j.Status == resource.JobQueued), "job "+j.ID+" is in the wrong line")
		add(j.wantsOffer && j.class == nil, "job "+j.ID+" wants without a class")
		add(j.onAgenda, "job "+j.ID+" is marked")
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
		add(n != q.jobs.n, "queue "+q.ID+" miscounts its ranks")
		inLines += q.jobs.n
	}
	add(inLines != queued, "the lines hold other jobs than the queued ones")
	for key, c := range x.classes {
		add(refs[c] != c.refs, "a class miscounts its jobs")
		add((c.anchorSlot > 0) != (c.jobs.n > 0), "a class is found or not where it should")
		add(c.onAgenda, "a class is on the agenda")
		add(key != c.key, "a class is kept under another key")
		delete(refs, c)
	}
	add(len(refs) > 0, "jobs belong to classes that were swept away")
	for _, p := range x.predicates {
		for _, w := range x.workers {
			if w != nil {
				add(p.members.has(w.position) != p.key.op.Holds(w.Labels[p.key.label], p.key.value), "a predicate has the wrong members")
			}
		}
	}
	counted := &applier{entities: entities{
		workers: s.workers, jobs: s.jobs, queues: s.queues, distributions: s.distributions, classifications: s.classifications,
		exceptions: s.exceptions, pools: s.pools, sizes: map[entity]int{},
	}}
	for _, j := range s.jobs {
		counted.stored += j.size
	}
	counted.measureAll()
	add(counted.stored != s.stored || !maps.Equal(counted.sizes, s.sizes), "the sizes are miscounted")
	return append(faults, auditSets(s)...)
}

// auditSets compares the sets of workers with the workers.
func auditSets(s *State) (faults []string) {
	x := &s.index
	loads, can, listen := map[*load]int{}, map[*channelIndex]int{}, map[*queueIndex]int{}
	for _, w := range x.workers {
		if w == nil {
			continue
		}
		loads[w.load]++
		if !w.load.members.has(w.position) || w.Capacity > 0 && w.load.num*w.Capacity != w.assignedCost*w.load.den {
			faults = append(faults, "worker "+w.ID+" has another load")
		}
		for _, c := range w.channels {
			if c.hasRoom {
				can[c.index]++
			}
			if c.hasRoom != c.index.withRoom.has(w.position) {
				faults = append(faults, "worker "+w.ID+" can or cannot")
			}
		}
		for _, q := range w.queueIndexes {
			listen[q]++
		}
	}
	for _, l := range x.loads {
		if l.members.n != loads[l] {
			faults = append(faults, "a load ratio has members that left")
		}
	}
	for id, c := range x.channels {
		if c.withRoom.n != can[c] {
			faults = append(faults, "channel "+id+" has members that left")
		}
	}
	for id, q := range x.queues {
		if q.members.n != listen[q] || len(q.workersByID) != listen[q] {
			faults = append(faults, "queue "+id+" has members that left")
		}
	}
	return faults
}

// Patch is the function of that name for a kind and the text of a patch.
func (s *State) Patch(kind resource.Kind, id string, body []byte, cond If) (Command, error) {
	var patch map[string]any
	if err := json.Unmarshal(body, &patch); err != nil {
		return nil, err
	}
	return map[resource.Kind]func(*State, string, map[string]any, If) (Command, error){
		resource.Worker: PatchWorker, resource.Job: PatchJob, resource.Queue: Patch[resource.QueueSpec], resource.Distribution: Patch[resource.DistributionSpec],
		resource.Classification: Patch[resource.ClassificationSpec], resource.Exception: Patch[resource.ExceptionSpec], resource.Pool: Patch[resource.PoolSpec],
	}[kind](s, id, patch, cond)
}

// Pools returns the depth of every pool.
func (s *State) Pools() (out []PoolDepth) {
	for _, id := range s.IDs(resource.Pool, "", 1000) {
		out = append(out, s.PoolDepth(id))
	}
	return out
}

// AwaitingJobs lists the jobs that wait for a result from the caller.
func (s *State) AwaitingJobs() (out []string) {
	for _, e := range s.PendingRequests() {
		out = append(out, e.Subject())
	}
	return out
}

// Reencode decodes and re-encodes a line of a snapshot with encoding/json. It
// also checks that the handwritten reader decodes the same.
func Reencode(line []byte) ([]byte, error) {
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
