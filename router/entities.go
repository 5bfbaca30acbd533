package router

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"weir/router/journal"
	"weir/router/resource"

	"weir"
)

// entities are the resources with their index: who waits where, and who can take what. Its methods
// only read; an [applier] makes the changes.
type entities struct {
	now time.Time // of the last command or event; never goes back
	seq uint64    // number of the last event

	settings        Settings
	workers         table[worker]
	jobs            table[job]
	queues          table[queue]
	distributions   table[distribution]
	classifications table[classification]
	exceptions      table[exception]
	pools           table[pool]
	offers          map[string]*offer // open offers
	takenOffers     map[string]*job   // offers revoked because another worker accepted

	jobsByAge jobList                    // jobs by creation, for paging
	counts    map[resource.JobStatus]int // jobs by status
	stored    int                        // the sum of all sizes
	sizes     map[entity]int             // of resources that are not jobs

	index index
}

func newEntities(settings Settings) entities {
	return entities{
		settings: settings,
		workers:  table[worker]{}, jobs: table[job]{}, queues: table[queue]{},
		distributions: table[distribution]{}, classifications: table[classification]{},
		exceptions: table[exception]{}, pools: table[pool]{},
		offers: map[string]*offer{}, takenOffers: map[string]*job{},
		counts: map[resource.JobStatus]int{}, sizes: map[entity]int{}, index: newIndex(),
	}
}

// table holds the entities of one kind by id.
type table[V any] map[string]*V

func (t table[V]) has(id string) bool { return t[id] != nil }

func (t table[V]) ids() iter.Seq[string] { return maps.Keys(t) }

func (t table[V]) get(id string) any { return t[id] }

func (t table[V]) remove(id string) { delete(t, id) }

// byID is the common interface of the tables of all kinds.
type byID interface {
	has(id string) bool
	get(id string) any
	ids() iter.Seq[string]
	remove(id string)
}

// of returns the table of a kind; that of an unknown kind is empty.
func (s *entities) of(kind resource.Kind) byID {
	switch kind {
	case resource.Worker:
		return s.workers
	case resource.Job:
		return s.jobs
	case resource.Queue:
		return s.queues
	case resource.Distribution:
		return s.distributions
	case resource.Classification:
		return s.classifications
	case resource.Exception:
		return s.exceptions
	case resource.Pool:
		return s.pools
	}
	return table[job]{}
}

// Settings returns the limits in force.
func (s *entities) Settings() Settings { return s.settings }

func (s *entities) jobHead(j *job) journal.JobHead { return jobHeadOf(j.ID, &j.JobSpec) }

func (s *entities) offerHead(j *job, w *worker, offerID string) journal.OfferHead {
	return journal.OfferHead{
		WorkerID: w.ID, JobID: j.ID, ChannelReference: j.ChannelReference,
		ChannelID: j.ChannelID, QueueID: j.QueueID, OfferID: offerID,
	}
}

// rulesOf returns the exception rules of a queue.
func (s *entities) rulesOf(q *queue) []resource.ExceptionRule {
	if x := s.exceptions[q.ExceptionPolicyID]; x != nil {
		return x.Spec.ExceptionRules
	}
	return nil
}

func jobHeadOf(id string, spec *resource.JobSpec) journal.JobHead {
	return journal.JobHead{
		JobID: id, ChannelReference: spec.ChannelReference, ChannelID: spec.ChannelID,
		QueueID: spec.QueueID, Labels: spec.Labels, Tags: spec.Tags,
	}
}

// known reports whether a resource exists.
func (s *entities) known(kind resource.Kind, id string) bool { return s.of(kind).has(id) }

// deletable returns an error that lists every reason why a resource cannot be
// deleted, or nil.
// The API answers 409 for a queue in use and 400 for a policy in use; clients know both.
func (s *entities) deletable(kind resource.Kind, id string) error {
	code := weir.CodeInvalid
	var reasons []weir.FieldError
	refuse := func(used bool, detail, text string) {
		if used {
			reasons = append(reasons, weir.FieldError{Code: detail, Detail: text})
		}
	}
	switch kind {
	case resource.Queue:
		code = weir.CodeConflict
		refuse(some(s.jobs, func(j *job) bool { return j.QueueID == id && !j.Status.Finished() }), JobInQueue, "an active job is in this queue")
		refuse(some(s.classifications, func(c *classification) bool { return c.Spec.FallbackQueueID == id }),
			ClassificationFallsBack, "a classification policy falls back to this queue")
		refuse(some(s.workers, func(w *worker) bool { return slices.Contains(w.Queues, id) }), WorkerOnQueue, "a worker is assigned to this queue")
	case resource.Distribution:
		refuse(some(s.queues, func(q *queue) bool { return q.DistributionPolicyID == id }), QueueUsesDistribution, "a queue uses it")
	case resource.Exception:
		refuse(some(s.queues, func(q *queue) bool { return q.ExceptionPolicyID == id }), QueueUsesException, "a queue uses it")
	case resource.Classification:
		refuse(some(s.jobs, func(j *job) bool { return j.ClassificationPolicyID == id && !j.Status.Finished() }), JobUsesClassification, "an active job uses it")
	case resource.Worker, resource.Job, resource.Pool:
	}
	if reasons == nil {
		return nil
	}
	return &weir.Error{Code: code, Message: "the resource is in use", Fields: reasons}
}

// withActionIDs returns a copy of the rules in which every action has an id.
func (s *entities) withActionIDs(rules []resource.ExceptionRule) []resource.ExceptionRule {
	out := slices.Clone(rules)
	n := 0
	for i := range out {
		out[i].Actions = slices.Clone(out[i].Actions)
		for k := range out[i].Actions {
			if a := &out[i].Actions[k]; a.ID == "" {
				n++
				a.ID = "x-" + strconv.FormatUint(s.seq+1, 36) + "-" + strconv.Itoa(n)
			}
		}
	}
	return out
}

// AssignmentOf returns the id of the open assignment that an accepted offer
// became, or "" if there is none.
func (s *entities) AssignmentOf(workerID, offerID string) string {
	if w := s.workers[workerID]; w != nil {
		for _, a := range w.assigned {
			if a.OfferID == offerID {
				return a.ID
			}
		}
	}
	return ""
}

func (s *entities) openOffer(workerID, offerID string) (*offer, error) {
	if s.workers[workerID] == nil {
		return nil, notFound("worker", workerID)
	}
	o := s.offers[offerID]
	if o != nil && o.WorkerID == workerID {
		return o, nil
	}
	if s.takenOffers[offerID] != nil {
		return nil, &weir.Error{
			Code: weir.CodeConflict, Message: "another worker accepted the job",
			Fields: []weir.FieldError{{Pointer: "/offerId", Code: OfferTaken, Detail: "the offer was revoked"}},
		}
	}
	return nil, notFound("offer", offerID)
}

// assignmentOf returns a job and one of its assignments.
func (s *entities) assignmentOf(jobID, id string) (*job, *assignment, error) {
	j := s.jobs[jobID]
	if j == nil {
		return nil, nil, notFound("job", jobID)
	}
	i := j.assignment(id)
	if i < 0 {
		return nil, nil, notFound("assignment", id)
	}
	return j, j.Assignments[i], nil
}

// newID returns the id of the offer or assignment that the next event creates. The
// event's number gives the order; the instant keeps ids unique in a store that
// begins anew or continues from a backup.
func (s *entities) newID(prefix string) string {
	return prefix + strconv.FormatUint(s.seq+1, 36) + "-" + strconv.FormatInt(s.now.UnixMicro(), 36)
}

func (s *entities) workerInfo(w *worker) journal.WorkerInfo {
	queues := make([]journal.QueueInfo, len(w.Queues))
	for i, id := range w.Queues {
		queues[i] = s.queueInfo(id)
	}
	return journal.WorkerInfo{TotalCapacity: w.Capacity, Queues: queues, Channels: w.Channels, Labels: w.Labels, Tags: w.Tags}
}

func (s *entities) queueInfo(id string) journal.QueueInfo {
	if q := s.queues[id]; q != nil {
		return journal.QueueInfo{ID: id, Name: q.Name, Labels: q.Labels}
	}
	return journal.QueueInfo{ID: id}
}

// admit refuses growth beyond the bound of what is stored.
func (s *entities) admit(growth int) error {
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
func (s *entities) SizeOf(kind resource.Kind, id string) int { return s.sizes[entity{kind, id}] }
