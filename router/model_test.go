package router_test

import (
	"slices"
	"time"

	"weir/router/journal"
	"weir/router/resource"
)

// model is the simplest matcher: it keeps the content of events in plain maps
// and examines every job and every worker. The engine must decide as it does.
type model struct {
	now     time.Time
	workers map[string]*modelWorker
	jobs    map[string]*modelJob
	queues  map[string]resource.QueueSpec
	dists   map[string]resource.DistributionSpec
	last    map[string]string  // by queue: the worker with the last offer
	scores  map[string]float64 // of the running command
	scored  string             // the job that the scores belong to
	lowered map[string]bool    // workers whose capacity a client lowered below what is assigned
}

type modelWorker struct {
	id       string
	spec     resource.WorkerSpec
	active   bool
	since    uint64 // event since which it is available
	reg      uint64
	offers   map[string]modelLoad
	assigned map[string]modelLoad
}

type modelLoad struct {
	job, channel string
	cost         int
}

type modelJob struct {
	id                  string
	spec                resource.JobSpec
	status              resource.JobStatus
	queue               string
	requested, attached []resource.WorkerSelector
	queued              uint64
	offers              map[string]string // offer to worker
	declined            map[string]modelDecline
	asks                bool
	assignments         int
}

type modelDecline struct {
	reg   uint64
	until time.Time
}

func newModel() *model {
	return &model{
		workers: map[string]*modelWorker{}, jobs: map[string]*modelJob{}, queues: map[string]resource.QueueSpec{},
		dists: map[string]resource.DistributionSpec{}, last: map[string]string{}, lowered: map[string]bool{},
	}
}

// apply records an event.
func (n *model) apply(e journal.Event) {
	h := e.Head()
	n.now = h.At
	n.applyWorker(e, h)
	n.applyOffer(e, h)
	n.applyJob(e, h)
	switch e := e.(type) {
	case *journal.QueuePutEvent:
		n.queues[e.ID] = e.Spec
	case *journal.DistributionPutEvent:
		n.dists[e.ID] = e.Spec
	case *journal.DeletedEvent:
		switch e.Resource {
		case resource.Queue:
			delete(n.queues, e.ID)
			delete(n.last, e.ID)
		case resource.Distribution:
			delete(n.dists, e.ID)
		default:
		}
	}
}

func (n *model) applyWorker(e journal.Event, h *journal.Header) {
	switch e := e.(type) {
	case *journal.WorkerPutEvent:
		w := n.workers[e.WorkerID]
		if w == nil {
			w = &modelWorker{id: e.WorkerID, offers: map[string]modelLoad{}, assigned: map[string]modelLoad{}}
			n.workers[w.id] = w
		}
		w.spec = e.Spec
		n.lowered[w.id] = w.cost(w.assigned) > w.spec.Capacity
	case *journal.WorkerRegisteredEvent:
		w := n.workers[e.WorkerID]
		w.active, w.since, w.reg = true, h.Seq, h.Seq
	case *journal.WorkerDeregisteredEvent:
		n.workers[e.WorkerID].active = false
		n.workers[e.WorkerID].spec.AvailableForOffers = false
	case *journal.WorkerDeletedEvent:
		delete(n.workers, e.WorkerID)
	}
}

func (n *model) applyOffer(e journal.Event, h *journal.Header) {
	lift := func(o journal.OfferHead) (*modelJob, *modelWorker) {
		j, w := n.jobs[o.JobID], n.workers[o.WorkerID]
		delete(j.offers, o.OfferID)
		return j, w
	}
	switch e := e.(type) {
	case *journal.OfferIssuedEvent:
		n.jobs[e.JobID].offers[e.OfferID] = e.WorkerID
		n.workers[e.WorkerID].offers[e.OfferID] = modelLoad{e.JobID, e.ChannelID, e.Cost}
		n.last[e.QueueID] = e.WorkerID
	case *journal.OfferAcceptedEvent:
		j, w := lift(e.OfferHead)
		w.assigned[e.AssignmentID] = w.offers[e.OfferID]
		delete(w.offers, e.OfferID)
		j.status = resource.JobAssigned
		j.assignments++
	case *journal.OfferDeclinedEvent:
		j, w := lift(e.OfferHead)
		delete(w.offers, e.OfferID)
		j.declined[w.id] = modelDecline{w.reg, e.RetryAt}
	case *journal.OfferRevokedEvent:
		_, w := lift(e.OfferHead)
		delete(w.offers, e.OfferID)
	case *journal.OfferExpiredEvent:
		_, w := lift(e.OfferHead)
		delete(w.offers, e.OfferID)
	}
}

func (n *model) applyJob(e journal.Event, h *journal.Header) {
	switch e := e.(type) {
	case *journal.JobReceivedEvent:
		n.jobs[e.JobID] = &modelJob{
			id: e.JobID, spec: e.Spec, status: e.Status, requested: e.Spec.RequestedWorkerSelectors,
			offers: map[string]string{}, declined: map[string]modelDecline{},
		}
	case *journal.JobUpdatedEvent:
		j := n.jobs[e.JobID]
		j.spec, j.status, j.requested = e.Spec, e.Status, e.Spec.RequestedWorkerSelectors
	case *journal.JobQueuedEvent:
		j := n.jobs[e.JobID]
		j.status, j.queue, j.requested, j.attached = resource.JobQueued, e.QueueID, e.Requested, e.Attached
		j.asks = false
		j.spec.Priority = new(e.Priority)
		if j.queued == 0 {
			j.queued = h.Seq
		}
	case *journal.JobWorkerSelectorsExpiredEvent:
		j := n.jobs[e.JobID]
		j.requested, j.attached = n.expired(j.requested), n.expired(j.attached)
	case *journal.JobUnassignedEvent:
		j := n.jobs[e.JobID]
		n.leave(e.WorkerID, e.AssignmentID, h)
		j.assignments--
		if e.Suspended {
			j.spec.MatchingMode.Kind = resource.Suspend
		}
	case *journal.JobCompletedEvent:
		n.jobs[e.JobID].status = resource.JobCompleted
	case *journal.JobClosedEvent:
		n.jobs[e.JobID].status = resource.JobClosed
		n.jobs[e.JobID].assignments--
		n.leave(e.WorkerID, e.AssignmentID, h)
	case *journal.JobCancelledEvent:
		n.jobs[e.JobID].status = resource.JobCancelled
		n.jobs[e.JobID].assignments = 0
		for _, w := range n.workers {
			for id, l := range w.assigned {
				if l.job == e.JobID {
					n.leave(w.id, id, h)
				}
			}
		}
	case *journal.JobScoresRequestedEvent:
		n.jobs[e.JobID].asks = true
	case *journal.JobScoredEvent:
		n.jobs[e.JobID].asks = false
		n.scored = e.JobID
	case *journal.JobScheduledEvent:
		n.jobs[e.JobID].status = resource.JobScheduled
	case *journal.JobWaitingForActivationEvent:
		n.jobs[e.JobID].status = resource.JobWaitingForActivation
	case *journal.JobClassificationFailedEvent:
		n.jobs[e.JobID].status = resource.JobClassificationFailed
	case *journal.JobSchedulingFailedEvent:
		n.jobs[e.JobID].status = resource.JobScheduleFailed
	case *journal.JobDeletedEvent:
		delete(n.jobs, e.JobID)
	case *journal.JobForgottenEvent:
		delete(n.jobs, e.JobID)
	}
}

func (n *model) leave(worker, assignment string, h *journal.Header) {
	w := n.workers[worker]
	delete(w.assigned, assignment)
	w.since = h.Seq
}

func (n *model) expired(in []resource.WorkerSelector) []resource.WorkerSelector {
	out := slices.Clone(in)
	for i := range out {
		if !out[i].ExpiresAt.IsZero() && !out[i].ExpiresAt.After(n.now) {
			out[i].Status = resource.SelectorExpired
		}
	}
	return out
}

// overloaded returns the jobs that have more than one winner.
func (n *model) overloaded() (out []string) {
	for id, j := range n.jobs {
		if j.assignments > 1 || j.assignments == 1 && len(j.offers) > 0 && j.status != resource.JobAssigned {
			out = append(out, id)
		}
	}
	return out
}

func (w *modelWorker) cost(of map[string]modelLoad) (sum int) {
	for _, l := range of {
		sum += l.cost
	}
	return sum
}
