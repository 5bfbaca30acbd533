package router

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"weir/router/internal/codec"
	"weir/router/resource"
)

// Restore decodes the result of [State.Snapshot]. Decoding dominates the time, so
// all cores take part.
func Restore(data []byte) (*State, error) {
	line, rest, _ := bytes.Cut(data, []byte{'\n'})
	var head snapshotHead
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, errTruncated
	}
	if head.Format != snapshotFormat || head.Version != snapshotVersion {
		return nil, fmt.Errorf("a snapshot of format %q, version %d cannot be read", head.Format, head.Version)
	}
	parts, err := decodeRecords(rest, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	s := New(head.Settings)
	s.seq, s.now, s.jobs = head.Seq, head.Now, make(table[job], n)
	for i, r := range slices.Concat(parts...) {
		// The last record counts the others: a snapshot that was cut at the end of a line is
		// detected.
		if i == n-1 && r.End != nil {
			if *r.End != i {
				return nil, fmt.Errorf("the snapshot has %d of %d records", i, *r.End)
			}
			return s, s.rebuild()
		}
		if !s.addRecord(&r) {
			return nil, errRecord
		}
	}
	return nil, errTruncated
}

var errTruncated = errors.New("the snapshot is truncated")

// decodeRecords decodes lines in parallel, in at most that many parts of about the
// same size.
func decodeRecords(data []byte, maxParts int) ([][]record, error) {
	if !bytes.HasSuffix(data, []byte{'\n'}) {
		return nil, errTruncated
	}
	parts, errs := make([][]record, maxParts), make([]error, maxParts)
	size := len(data)/maxParts + 1
	var wait sync.WaitGroup
	for i := range maxParts {
		end := len(data)
		// Cut behind the next line break, so that no record is divided.
		if size < end {
			end = size + bytes.IndexByte(data[size:], '\n') + 1
		}
		part := data[:end]
		data = data[end:]
		wait.Go(func() {
			reader := codec.NewReader()
			for line := range bytes.Lines(part) {
				var r record
				if j, ok := readJob(reader, line); ok {
					r.Job = j
				} else if errs[i] = json.Unmarshal(line, &r); errs[i] != nil {
					return
				}
				parts[i] = append(parts[i], r)
			}
		})
	}
	wait.Wait()
	return parts, errors.Join(errs...)
}

var errRecord = errors.New("the snapshot has a record of unknown kind or with a duplicate id")

// addRecord adds an entity that is not yet connected to others.
func (s *applier) addRecord(r *record) (ok bool) {
	switch {
	case r.Distribution != nil:
		return add(s.distributions, r.Distribution.ID, r.Distribution)
	case r.Classification != nil:
		return add(s.classifications, r.Classification.ID, r.Classification)
	case r.Exception != nil:
		return add(s.exceptions, r.Exception.ID, r.Exception)
	case r.Queue != nil:
		return add(s.queues, r.Queue.ID, &queue{queueData: *r.Queue, ranks: map[int]int{}})
	case r.Worker != nil:
		return add(s.workers, r.Worker.ID, &worker{workerData: *r.Worker, position: -1})
	case r.Pool != nil:
		return add(s.pools, r.Pool.ID, r.Pool)
	case r.Job != nil:
		return add(s.jobs, r.Job.ID, &job{jobData: *r.Job})
	}
	return false
}

func add[V any](t table[V], id string, v *V) bool {
	if t.has(id) {
		return false
	}
	t[id] = v
	return true
}

// rebuild connects the entities and builds the index and the timers.
func (s *applier) rebuild() error {
	jobs := slices.SortedFunc(maps.Values(s.jobs), func(a, b *job) int { return cmp.Compare(a.Created, b.Created) })
	for i, j := range jobs {
		// Created is the key of the list by age; two jobs with the same one would replace each
		// other.
		if i > 0 && jobs[i-1].Created == j.Created {
			return fmt.Errorf("the snapshot is inconsistent: job %q", j.ID)
		}
		if err := s.connect(j); err != nil {
			return err
		}
	}
	// Positions in the index are the order of availability, so workers enter in that order.
	for _, w := range slices.SortedFunc(maps.Values(s.workers), func(a, b *worker) int { return cmp.Compare(a.AvailableSeq, b.AvailableSeq) }) {
		w.order()
		w.rebuildChannels()
		w.idleTimer = timer{kind: timerIdle, order: w.Created, work: w}
		if w.State == resource.WorkerActive {
			s.index.addWorker(w)
		}
		s.setIdleTimer(w)
	}
	for _, p := range s.pools {
		// The depth is counted anew; the version of a pool is in the snapshot, because clients
		// compare it.
		s.recountPool(p)
	}
	for _, q := range s.queues {
		s.queueChanged(q)
	}
	s.measureAll()
	for _, j := range jobs {
		if err := s.checkJob(j); err != nil {
			return err
		}
		s.jobsByAge.add(j.Created, j)
		s.reindexJob(j)
	}
	return nil
}

// checkJob checks the invariants of a job that the engine relies on.
func (s *applier) checkJob(j *job) error {
	p := j.EffectivePriority()
	switch {
	case j.Status == "",
		j.Status == resource.JobQueued && s.queues[j.QueueID] == nil,
		!j.Status.Finished() && j.ClassificationPolicyID != "" && s.classifications[j.ClassificationPolicyID] == nil,
		len(j.Offers) > 0 && j.Status != resource.JobQueued,
		p < resource.MinPriority, p > resource.MaxPriority, j.Enqueued > s.seq:
		return fmt.Errorf("the snapshot is inconsistent: job %q", j.ID)
	}
	return nil
}

// connect links a job's offers and assignments to their workers.
func (s *applier) connect(j *job) error {
	j.initTimers(j.Created)
	for _, o := range j.Offers {
		w := s.workers[o.WorkerID]
		if w == nil || s.offers[o.ID] != nil {
			return fmt.Errorf("the snapshot is inconsistent: offer %q", o.ID)
		}
		o.job, o.worker = j, w
		s.offers[o.ID] = o
		w.offers = append(w.offers, o)
		w.offeredCost += o.Cost
	}
	for _, a := range j.Assignments {
		a.job, a.worker = j, s.workers[a.WorkerID]
		if !a.ClosedAt.IsZero() {
			continue
		}
		if a.worker == nil {
			return fmt.Errorf("the snapshot is inconsistent: assignment %q", a.ID)
		}
		a.worker.assigned = append(a.worker.assigned, a)
		a.worker.assignedCost += a.Cost
	}
	for _, id := range j.Taken {
		s.takenOffers[id] = j
	}
	return nil
}

// order sorts offers and assignments in the order in which they were made.
func (w *worker) order() {
	// Ids begin with the number of their event in base 36: a longer one is a later one.
	byID := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
	slices.SortFunc(w.offers, func(a, b *offer) int { return byID(a.ID, b.ID) })
	slices.SortFunc(w.assigned, func(a, b *assignment) int { return byID(a.ID, b.ID) })
}
