package routing

import (
	"encoding/json"

	"weir"
	"weir/routing/eventlog"
	"weir/routing/resource"
)

// The memory that clients use is bounded by what they store, not by how many resources
// there are, because a resource may have 1 kB or a hundred. The sizes are estimates: a
// fixed part, texts, and the entries of lists. They follow from the events, so that
// every process counts the same.

// QuotaExceeded is the Code of the detail of a refusal for lack of room.
const QuotaExceeded = "quota_exceeded"

// fixedSize is the part of a resource's size that does not depend on its content.
const fixedSize = 512

// entity identifies a resource that is not a job. Jobs have their size themselves,
// because there are many.
type entity struct {
	kind resource.Kind
	id   string
}

func sizeOf(spec any) int {
	text, _ := json.Marshal(spec) //nolint:errchkjson // it was validated
	return fixedSize + 2*len(text)
}

// sizeOfWorker leaves out whether the worker is available: that also changes with events
// that have no specification.
func sizeOfWorker(spec resource.WorkerSpec) int {
	spec.AvailableForOffers = false
	return sizeOf(&spec)
}

// measure counts what an event has stored or deleted, except jobs.
func (s *State) measure(e eventlog.Event) {
	switch e := e.(type) {
	case *eventlog.WorkerPutEvent:
		s.setSize(entity{resource.Worker, e.WorkerID}, sizeOfWorker(e.Spec))
	case *eventlog.QueuePutEvent:
		s.setSize(entity{resource.Queue, e.ID}, sizeOf(&e.Spec))
	case *eventlog.DistributionPutEvent:
		s.setSize(entity{resource.Distribution, e.ID}, sizeOf(&e.Spec))
	case *eventlog.ClassificationPutEvent:
		s.setSize(entity{resource.Classification, e.ID}, sizeOf(&e.Spec))
	case *eventlog.ExceptionPutEvent:
		s.setSize(entity{resource.Exception, e.ID}, sizeOf(&e.Spec))
	case *eventlog.PoolPutEvent:
		s.setSize(entity{resource.Pool, e.ID}, sizeOf(&e.Spec))
	case *eventlog.WorkerDeletedEvent:
		s.setSize(entity{resource.Worker, e.WorkerID}, 0)
	case *eventlog.DeletedEvent:
		s.setSize(entity{e.Resource, e.ID}, 0)
	}
}

func (s *State) setSize(e entity, n int) {
	s.stored += n - s.sizes[e]
	s.sizes[e] = n
	if n == 0 {
		delete(s.sizes, e)
	}
}

// measureAll counts what a snapshot has.
func (s *State) measureAll() {
	for id, w := range s.workers {
		s.setSize(entity{resource.Worker, id}, sizeOfWorker(w.WorkerSpec))
	}
	for id, q := range s.queues {
		s.setSize(entity{resource.Queue, id}, sizeOf(&q.QueueSpec))
	}
	for id, d := range s.distributions {
		s.setSize(entity{resource.Distribution, id}, sizeOf(&d.Spec))
	}
	for id, p := range s.classifications {
		s.setSize(entity{resource.Classification, id}, sizeOf(&p.Spec))
	}
	for id, x := range s.exceptions {
		s.setSize(entity{resource.Exception, id}, sizeOf(&x.Spec))
	}
	for id, p := range s.pools {
		s.setSize(entity{resource.Pool, id}, sizeOf(&p.PoolSpec))
	}
	for _, j := range s.jobs {
		s.measureJob(j)
	}
}

func (s *State) measureJob(j *job) {
	n := fixedSize + j.JobSpec.Size() + resource.SelectorsSize(j.Attached)
	s.stored += n - j.size
	j.size = n
}

// admit refuses growth beyond the bound of what is stored.
func (s *State) admit(growth int) error {
	if growth <= 0 || s.stored+growth <= s.settings.MaxStored {
		return nil
	}
	return &weir.Error{
		Code: weir.CodeConflict, Message: "the router is full",
		Fields: []weir.FieldError{{Code: QuotaExceeded, Detail: "delete what is not needed, keep finished jobs for a shorter time (JOB_ROUTER_KEEP_FINISHED), " +
			"or raise the limit (JOB_ROUTER_MAX_MIB)"}},
	}
}

// SizeOf returns the size of a resource that is not a job; 0 if there is none.
func (s *State) SizeOf(kind resource.Kind, id string) int { return s.sizes[entity{kind, id}] }
