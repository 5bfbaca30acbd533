package routing_test

import (
	"math"
	"slices"
	"sort"
	"time"

	"weir/routing"
)

// naive is the matcher that one would write first: it keeps what events tell
// in plain maps and looks at every job and every worker. The engine has to
// decide as it does.
type naive struct {
	now     time.Time
	workers map[string]*naiveWorker
	jobs    map[string]*naiveJob
	queues  map[string]routing.QueueSpec
	dists   map[string]routing.DistributionSpec
	last    map[string]string // by queue: the worker with the last offer
	lowered map[string]bool   // workers whose capacity a client lowered below what is assigned
}

type naiveWorker struct {
	id       string
	spec     routing.WorkerSpec
	active   bool
	draining bool
	since    uint64 // event since which it is available
	reg      uint64
	offers   map[string]naiveLoad
	assigned map[string]naiveLoad
}

type naiveLoad struct {
	job, channel string
	cost         int
}

type naiveJob struct {
	id                  string
	spec                routing.JobSpec
	status              routing.JobStatus
	queue               string
	requested, attached []routing.WorkerSelector
	queued              uint64
	offers              map[string]string // offer to worker
	declined            map[string]naiveDecline
	asks                bool
	assignments         int
}

type naiveDecline struct {
	reg   uint64
	until time.Time
}

func newNaive() *naive {
	return &naive{
		workers: map[string]*naiveWorker{}, jobs: map[string]*naiveJob{}, queues: map[string]routing.QueueSpec{},
		dists: map[string]routing.DistributionSpec{}, last: map[string]string{}, lowered: map[string]bool{},
	}
}

// see takes note of an event.
func (n *naive) see(e routing.Event) {
	h := e.Head()
	n.now = h.At
	n.seeWorker(e, h)
	n.seeOffer(e, h)
	n.seeJob(e, h)
	switch e := e.(type) {
	case *routing.QueuePutEvent:
		n.queues[e.ID] = e.Spec
	case *routing.DistributionPutEvent:
		n.dists[e.ID] = e.Spec
	case *routing.DeletedEvent:
		switch e.Resource {
		case routing.ResourceQueue:
			delete(n.queues, e.ID)
			delete(n.last, e.ID)
		case routing.ResourceDistribution:
			delete(n.dists, e.ID)
		}
	}
}

func (n *naive) seeWorker(e routing.Event, h *routing.Header) {
	switch e := e.(type) {
	case *routing.WorkerPutEvent:
		w := n.workers[e.WorkerID]
		if w == nil {
			w = &naiveWorker{id: e.WorkerID, offers: map[string]naiveLoad{}, assigned: map[string]naiveLoad{}}
			n.workers[w.id] = w
		}
		w.spec = e.Spec
		n.lowered[w.id] = w.cost(w.assigned) > w.spec.Capacity
	case *routing.WorkerRegisteredEvent:
		w := n.workers[e.WorkerID]
		w.active, w.since, w.reg = true, h.Seq, h.Seq
	case *routing.WorkerDeregisteredEvent:
		n.workers[e.WorkerID].active = false
		n.workers[e.WorkerID].spec.AvailableForOffers = false
	case *routing.WorkerDeletedEvent:
		delete(n.workers, e.WorkerID)
	}
}

func (n *naive) seeOffer(e routing.Event, h *routing.Header) {
	lift := func(o routing.OfferHead) (*naiveJob, *naiveWorker) {
		j, w := n.jobs[o.JobID], n.workers[o.WorkerID]
		delete(j.offers, o.OfferID)
		return j, w
	}
	switch e := e.(type) {
	case *routing.OfferIssuedEvent:
		n.jobs[e.JobID].offers[e.OfferID] = e.WorkerID
		n.workers[e.WorkerID].offers[e.OfferID] = naiveLoad{e.JobID, e.ChannelID, e.Cost}
		n.last[e.QueueID] = e.WorkerID
	case *routing.OfferAcceptedEvent:
		j, w := lift(e.OfferHead)
		w.assigned[e.AssignmentID] = w.offers[e.OfferID]
		delete(w.offers, e.OfferID)
		j.status = routing.JobAssigned
		j.assignments++
	case *routing.OfferDeclinedEvent:
		j, w := lift(e.OfferHead)
		delete(w.offers, e.OfferID)
		j.declined[w.id] = naiveDecline{w.reg, e.RetryAt}
	case *routing.OfferRevokedEvent:
		_, w := lift(e.OfferHead)
		delete(w.offers, e.OfferID)
	case *routing.OfferExpiredEvent:
		_, w := lift(e.OfferHead)
		delete(w.offers, e.OfferID)
	}
}

func (n *naive) seeJob(e routing.Event, h *routing.Header) {
	switch e := e.(type) {
	case *routing.JobReceivedEvent:
		n.jobs[e.JobID] = &naiveJob{
			id: e.JobID, spec: e.Spec, status: e.Status, requested: e.Spec.RequestedWorkerSelectors,
			offers: map[string]string{}, declined: map[string]naiveDecline{},
		}
	case *routing.JobUpdatedEvent:
		j := n.jobs[e.JobID]
		j.spec, j.status, j.requested = e.Spec, e.Status, e.Spec.RequestedWorkerSelectors
	case *routing.JobQueuedEvent:
		j := n.jobs[e.JobID]
		j.status, j.queue, j.requested, j.attached = routing.JobQueued, e.QueueID, e.Requested, e.Attached
		j.spec.Priority = new(e.Priority)
		if j.queued == 0 {
			j.queued = h.Seq
		}
	case *routing.JobWorkerSelectorsExpiredEvent:
		j := n.jobs[e.JobID]
		j.requested, j.attached = n.expired(j.requested), n.expired(j.attached)
	case *routing.JobUnassignedEvent:
		j := n.jobs[e.JobID]
		n.leave(e.WorkerID, e.AssignmentID, h)
		j.assignments--
		if e.Suspended {
			j.spec.MatchingMode.Kind = routing.Suspend
		}
	case *routing.JobCompletedEvent:
		n.jobs[e.JobID].status = routing.JobCompleted
	case *routing.JobClosedEvent:
		n.jobs[e.JobID].status = routing.JobClosed
		n.jobs[e.JobID].assignments--
		n.leave(e.WorkerID, e.AssignmentID, h)
	case *routing.JobCancelledEvent:
		n.jobs[e.JobID].status = routing.JobCancelled
		n.jobs[e.JobID].assignments = 0
		for _, w := range n.workers {
			for id, l := range w.assigned {
				if l.job == e.JobID {
					n.leave(w.id, id, h)
				}
			}
		}
	case *routing.JobScheduledEvent:
		n.jobs[e.JobID].status = routing.JobScheduled
	case *routing.JobWaitingForActivationEvent:
		n.jobs[e.JobID].status = routing.JobWaitingForActivation
	case *routing.JobClassificationFailedEvent:
		n.jobs[e.JobID].status = routing.JobClassificationFailed
	case *routing.JobSchedulingFailedEvent:
		n.jobs[e.JobID].status = routing.JobScheduleFailed
	case *routing.JobDeletedEvent:
		delete(n.jobs, e.JobID)
	case *routing.JobForgottenEvent:
		delete(n.jobs, e.JobID)
	}
}

func (n *naive) leave(worker, assignment string, h *routing.Header) {
	w := n.workers[worker]
	delete(w.assigned, assignment)
	w.since = h.Seq
}

func (n *naive) expired(in []routing.WorkerSelector) []routing.WorkerSelector {
	out := slices.Clone(in)
	for i := range out {
		if !out[i].ExpiresAt.IsZero() && !out[i].ExpiresAt.After(n.now) {
			out[i].Status = routing.SelectorExpired
		}
	}
	return out
}

// crowded are the jobs that have more than one winner.
func (n *naive) crowded() (out []string) {
	for id, j := range n.jobs {
		if j.assignments > 1 || j.assignments == 1 && len(j.offers) > 0 && j.status != routing.JobAssigned {
			out = append(out, id)
		}
	}
	return out
}

func (w *naiveWorker) cost(of map[string]naiveLoad) (sum int) {
	for _, l := range of {
		sum += l.cost
	}
	return sum
}

func (n *naive) dist(queue string) routing.DistributionSpec {
	d, ok := n.dists[n.queues[queue].DistributionPolicyID]
	if !ok {
		d.Mode = routing.Mode{Kind: routing.LongestIdle, MaxConcurrentOffers: 1}
	}
	return d
}

// next is the offer that has to come next; ok is false when there is none.
func (n *naive) next() (job, worker string, ok bool) {
	var jobs []*naiveJob
	for _, j := range n.jobs {
		if j.status == routing.JobQueued && j.spec.MatchingMode.Kind == routing.QueueAndMatch &&
			len(j.offers) < n.dist(j.queue).Mode.MaxConcurrentOffers && n.queues[j.queue].Closed == routing.Open {
			jobs = append(jobs, j)
		}
	}
	sort.Slice(jobs, func(a, b int) bool { return jobs[a].before(jobs[b]) })
	for _, j := range jobs {
		var all []*naiveWorker
		for _, w := range n.workers {
			if n.eligible(j, w) {
				all = append(all, w)
			}
		}
		if len(all) > 0 {
			return j.id, n.pick(j, all).id, true
		}
	}
	return "", "", false
}

func (j *naiveJob) before(o *naiveJob) bool {
	if a, b := j.expedited(), o.expedited(); a != b {
		return a
	}
	if a, b := j.priority(), o.priority(); a != b {
		return a > b
	}
	return j.queued < o.queued
}

func (j *naiveJob) priority() int {
	if j.spec.Priority == nil {
		return 1
	}
	return *j.spec.Priority
}

func (j *naiveJob) selectors() (out []routing.WorkerSelector) {
	for _, s := range slices.Concat(j.requested, j.attached) {
		if s.Status != routing.SelectorExpired {
			out = append(out, s)
		}
	}
	return out
}

func (j *naiveJob) expedited() bool {
	return slices.ContainsFunc(j.selectors(), func(s routing.WorkerSelector) bool { return s.Expedite })
}

func (n *naive) eligible(j *naiveJob, w *naiveWorker) bool {
	if !w.active || !slices.Contains(w.spec.Queues, j.queue) {
		return false
	}
	if w.spec.MaxConcurrentOffers > 0 && len(w.offers) >= w.spec.MaxConcurrentOffers {
		return false
	}
	if d, ok := j.declined[w.id]; ok && d.reg == w.reg && (d.until.IsZero() || d.until.After(n.now)) {
		return false
	}
	on := 0
	for _, l := range w.offers {
		if l.job == j.id {
			return false
		}
		if l.channel == j.spec.ChannelID {
			on++
		}
	}
	for _, l := range w.assigned {
		if l.channel == j.spec.ChannelID {
			on++
		}
	}
	i := slices.IndexFunc(w.spec.Channels, func(c routing.Channel) bool { return c.ChannelID == j.spec.ChannelID })
	if i < 0 {
		return false
	}
	c := w.spec.Channels[i]
	if c.MaxNumberOfJobs > 0 && on >= c.MaxNumberOfJobs || c.CapacityCostPerJob > w.spec.Capacity-w.cost(w.assigned)-w.cost(w.offers) {
		return false
	}
	if n.dist(j.queue).Mode.BypassSelectors {
		return true
	}
	return !slices.ContainsFunc(j.selectors(), func(s routing.WorkerSelector) bool { return !naiveHolds(s, w.spec.Labels) })
}

// naiveHolds is the table of operators, written differently.
func naiveHolds(s routing.WorkerSelector, labels routing.Labels) bool {
	have, there := labels[s.Key]
	a, isNumber := have.Number()
	b, wantsNumber := s.Value.Number()
	both := there && isNumber && wantsNumber
	switch s.Operator {
	case routing.Equal:
		return there && have == s.Value
	case routing.NotEqual:
		return !there || have != s.Value
	case routing.LessThan:
		return both && a < b
	case routing.LessOrEqual:
		return both && a <= b
	case routing.GreaterThan:
		return both && a > b
	}
	return both && a >= b
}

func (w *naiveWorker) ratio() float64 {
	if w.spec.Capacity == 0 {
		return 1
	}
	return float64(w.cost(w.assigned)) / float64(w.spec.Capacity)
}

func (n *naive) pick(j *naiveJob, all []*naiveWorker) *naiveWorker {
	mode := n.dist(j.queue).Mode
	idle := func(a, b *naiveWorker) bool {
		if a.ratio() != b.ratio() {
			return a.ratio() < b.ratio()
		}
		return a.since < b.since
	}
	sort.Slice(all, func(x, y int) bool {
		a, b := all[x], all[y]
		switch mode.Kind {
		case routing.ShortestIdle:
			return a.since > b.since
		case routing.RoundRobin:
			if after := a.id > n.last[j.queue]; after != (b.id > n.last[j.queue]) {
				return after
			}
			return a.id < b.id
		case routing.BestWorker:
			sa, sb := n.score(j, a), n.score(j, b)
			if mode.ScoringRuleOptions != nil && !*mode.ScoringRuleOptions.DescendingOrder {
				sa, sb = -sa, -sb
			}
			if sa != sb {
				return sa > sb
			}
		}
		return idle(a, b)
	})
	return all[0]
}

// score is the reference's default score, spelt out.
func (n *naive) score(j *naiveJob, w *naiveWorker) float64 {
	total := 0.0
	if len(j.spec.Labels) > 0 {
		same := 0.0
		for k, v := range j.spec.Labels {
			if w.spec.Labels[k] == v {
				same++
			}
		}
		total += same / float64(len(j.spec.Labels))
	}
	selectors := j.selectors()
	sum := 0.0
	for _, s := range selectors {
		have, isNumber := w.spec.Labels[s.Key].Number()
		want, wantsNumber := s.Value.Number()
		unequal := s.Operator != routing.Equal && s.Operator != routing.NotEqual
		if unequal && !(isNumber && wantsNumber) {
			continue
		}
		switch s.Operator {
		case routing.Equal, routing.NotEqual:
			if naiveHolds(s, w.spec.Labels) {
				sum++
			}
		case routing.GreaterThan, routing.GreaterOrEqual:
			sum += naiveSigmoid(have-want, want)
		default:
			sum += naiveSigmoid(want-have, want)
		}
	}
	if len(selectors) > 0 {
		total += sum / float64(len(selectors))
	}
	return total
}

func naiveSigmoid(d, by float64) float64 {
	if by != 0 {
		d /= by
	}
	return 1 / (1 + math.Exp(-d))
}
