package router

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"weir/router/journal"
	"weir/router/resource"
)

// Offer is an open offer as a worker's view shows it.
type Offer struct {
	OfferID      string    `json:"offerId"`
	JobID        string    `json:"jobId"`
	WorkerID     string    `json:"-"`
	CapacityCost int       `json:"capacityCost"`
	OfferedAt    time.Time `json:"offeredAt"`
	ExpiresAt    time.Time `json:"expiresAt"`
}

// AssignedJob is an assignment as a worker's view shows it.
type AssignedJob struct {
	AssignmentID string    `json:"assignmentId"`
	JobID        string    `json:"jobId"`
	CapacityCost int       `json:"capacityCost"`
	AssignedAt   time.Time `json:"assignedAt"`
}

// Worker is a worker as clients see it.
type Worker struct {
	ID string `json:"id"`
	resource.WorkerSpec
	Version        Version              `json:"-"`
	ChangedAt      time.Time            `json:"-"`
	State          resource.WorkerState `json:"state"`
	Offers         []Offer              `json:"offers"`
	AssignedJobs   []AssignedJob        `json:"assignedJobs"`
	LoadRatio      float64              `json:"loadRatio"`
	AvailableSince time.Time            `json:"-"`
}

// Assignment is an assignment as a job's view shows it.
type Assignment struct {
	AssignmentID string    `json:"assignmentId"`
	WorkerID     string    `json:"workerId"`
	AssignedAt   time.Time `json:"assignedAt"`
	CompletedAt  time.Time `json:"completedAt,omitzero"`
	ClosedAt     time.Time `json:"closedAt,omitzero"`
}

// Job is a job as clients see it.
type Job struct {
	ID string `json:"id"`
	resource.JobSpec
	Version                 Version                   `json:"-"`
	ChangedAt               time.Time                 `json:"-"`
	Status                  resource.JobStatus        `json:"status"`
	EnqueuedAt              time.Time                 `json:"enqueuedAt,omitzero"`
	ScheduledAt             time.Time                 `json:"scheduledAt,omitzero"`
	AttachedWorkerSelectors []resource.WorkerSelector `json:"attachedWorkerSelectors"`
	Assignments             map[string]Assignment     `json:"assignments"`
	Offers                  []Offer                   `json:"-"`
	Unassigned              int                       `json:"-"`
	Awaits                  Awaited                   `json:"-"`
	Round                   uint64                    `json:"-"`
	Size                    int                       `json:"-"` // estimated bytes in memory
}

// Named is a queue, a policy or a pool as clients see it. Snapshots keep policies
// in this form.
type Named[T any] struct {
	ID        string    `json:"id"`
	Spec      T         `json:"spec"`
	Version   Version   `json:"version"`
	ChangedAt time.Time `json:"changedAt"`
}

// spec returns what a client has stated.
func (n *Named[T]) spec() any { return &n.Spec }

// named returns a policy as clients see it.
func (n *Named[T]) named() Named[T] { return *n }

func (q *queue) spec() any { return &q.QueueSpec }

func (q *queue) named() Named[resource.QueueSpec] {
	return Named[resource.QueueSpec]{q.ID, q.QueueSpec, q.Version, q.ChangedAt}
}

func (p *pool) spec() any { return &p.PoolSpec }

func (p *pool) named() Named[resource.PoolSpec] {
	return Named[resource.PoolSpec]{p.ID, p.PoolSpec, p.Version, p.ChangedAt}
}

// find returns a queue, a policy or a pool; ok is false if there is none.
func find[T any](s *entities, kind resource.Kind, id string) (n Named[T], ok bool) {
	if !s.known(kind, id) {
		return n, false
	}
	v, ok := s.of(kind).get(id).(interface{ named() Named[T] })
	if ok {
		n = v.named()
	}
	return n, ok
}

// Worker returns a worker.
func (s *entities) Worker(id string) (Worker, bool) {
	w := s.workers[id]
	if w == nil {
		return Worker{}, false
	}
	v := Worker{
		ID: id, WorkerSpec: w.WorkerSpec, Version: w.Version, ChangedAt: w.ChangedAt, State: w.State,
		Offers: []Offer{}, AssignedJobs: []AssignedJob{}, AvailableSince: w.AvailableSince,
	}
	for _, o := range w.offers {
		v.Offers = append(v.Offers, o.view())
	}
	for _, a := range w.assigned {
		v.AssignedJobs = append(v.AssignedJobs, AssignedJob{a.ID, a.job.ID, a.Cost, a.AssignedAt})
	}
	if w.Capacity > 0 {
		v.LoadRatio = min(1, float64(w.assignedCost)/float64(w.Capacity))
	}
	return v, true
}

// HasRoom reports whether a registered worker has room for a job on a channel,
// or on any channel if none is named.
func (s *entities) HasRoom(workerID, channelID string) bool {
	w := s.workers[workerID]
	switch {
	case w == nil:
		return false
	case channelID == "":
		return w.hasAnyRoom()
	}
	return w.hasRoom(channelID)
}

func (o *offer) view() Offer {
	return Offer{o.ID, o.job.ID, o.WorkerID, o.Cost, o.IssuedAt, o.ExpiresAt}
}

// Job returns a job.
func (s *entities) Job(id string) (Job, bool) {
	j := s.jobs[id]
	if j == nil {
		return Job{}, false
	}
	v := Job{
		ID: id, JobSpec: j.JobSpec, Version: j.Version, ChangedAt: j.ChangedAt, Status: j.Status,
		EnqueuedAt: j.EnqueuedAt, ScheduledAt: j.ScheduledAt, AttachedWorkerSelectors: slices.Clone(j.Attached),
		Assignments: map[string]Assignment{}, Unassigned: j.Unassigned, Awaits: j.Awaits, Round: j.Round, Size: j.size,
	}
	v.Priority = new(j.EffectivePriority())
	for _, a := range j.Assignments {
		v.Assignments[a.ID] = Assignment{a.ID, a.WorkerID, a.AssignedAt, a.CompletedAt, a.ClosedAt}
	}
	for _, o := range j.Offers {
		v.Offers = append(v.Offers, o.view())
	}
	return v, true
}

// Queue returns a queue.
func (s *entities) Queue(id string) (Named[resource.QueueSpec], bool) {
	return find[resource.QueueSpec](s, resource.Queue, id)
}

// Distribution returns a distribution policy.
func (s *entities) Distribution(id string) (Named[resource.DistributionSpec], bool) {
	return find[resource.DistributionSpec](s, resource.Distribution, id)
}

// Classification returns a classification policy. Its rules hold secrets.
func (s *entities) Classification(id string) (Named[resource.ClassificationSpec], bool) {
	return find[resource.ClassificationSpec](s, resource.Classification, id)
}

// Exception returns an exception policy.
func (s *entities) Exception(id string) (Named[resource.ExceptionSpec], bool) {
	return find[resource.ExceptionSpec](s, resource.Exception, id)
}

// Pool returns a pool.
func (s *entities) Pool(id string) (Named[resource.PoolSpec], bool) {
	return find[resource.PoolSpec](s, resource.Pool, id)
}

// IDs returns the ids of one kind of resource that sort after the given id, in
// order, at most limit.
func (s *entities) IDs(kind resource.Kind, after string, limit int) []string {
	var ids []string
	for id := range s.of(kind).ids() {
		if id > after {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids[:min(limit, len(ids))]
}

// PageSize is the size of resources at which a page ends, so that a response with the
// largest of them does not use up the memory. A thousand usual ones are smaller.
const PageSize = 4 << 20

// Jobs returns a page of jobs in order of creation, after a cursor (0 at
// first): the jobs that keep accepts, at most limit, and no more once they have a size of
// [PageSize]. It examines a bounded number of jobs per call, so a page may be short.
// next is the cursor of the next page, 0 on the last.
func (s *entities) Jobs(after uint64, limit int, keep func(*Job) bool) (page []Job, next uint64) {
	const maxExamined = 10_000
	examined, size := 0, 0
	for j := range s.jobsByAge.from(after + 1) {
		if len(page) == limit || examined == maxExamined || size >= PageSize {
			return page, after
		}
		examined++
		after = j.Created
		if v, _ := s.Job(j.ID); keep == nil || keep(&v) {
			page = append(page, v)
			size += v.Size
		}
	}
	return page, 0
}

// Seq returns the number of the last event.
func (s *entities) Seq() uint64 { return s.seq }

// Figures are counts of jobs, workers and offers.
type Figures struct {
	Jobs           map[resource.JobStatus]int
	Workers        map[resource.WorkerState]int
	Offers         int       // open ones
	OldestQueuedAt time.Time // zero when no job is queued
}

// Figures returns the current counts. It does not walk the jobs.
func (s *entities) Figures() Figures {
	f := Figures{Jobs: maps.Clone(s.counts), Workers: map[resource.WorkerState]int{}, Offers: len(s.offers)}
	for _, q := range s.queues {
		for p := range q.ranks {
			f.OldestQueuedAt = earlier(f.OldestQueuedAt, earlier(q.oldest(true, p), q.oldest(false, p)))
		}
	}
	for _, w := range s.workers {
		f.Workers[w.State]++
	}
	return f
}

// Position is the position of a queued job.
type Position struct {
	JobID                    string `json:"jobId"`
	Position                 int    `json:"position"` // from 1
	QueueID                  string `json:"queueId"`
	QueueLength              int    `json:"queueLength"`
	EstimatedWaitTimeMinutes int    `json:"estimatedWaitTimeMinutes"`
	Paced                    bool   `json:"-"` // the estimate rests on recent assignments
}

// Position returns the position of a job at an instant; false if it is not queued.
func (s *entities) Position(id string, now time.Time) (Position, bool) {
	j := s.jobs[id]
	if j == nil || j.queue == nil {
		return Position{}, false
	}
	n := j.queue.jobs.ahead(j.sortKey) + 1
	return Position{id, n, j.QueueID, j.queue.jobs.n, j.queue.minutes(n), j.queue.Pace.recent(now)}, true
}

// minutes estimates the wait of the nth job of a queue: n times its mean time
// between assignments, in whole minutes, at least one and at most 90 days. The API
// requires an estimate above 0 even if there is nothing to base it on.
func (q *queue) minutes(n int) int {
	const limit = 90 * 24 * 60
	return int(min(limit, max(1, math.Ceil(float64(n)*q.Pace.Mean/60))))
}

// Statistics are the figures of a queue.
type Statistics struct {
	QueueID                   string      `json:"queueId"`
	Length                    int         `json:"length"`
	EstimatedWaitTimeMinutes  map[int]int `json:"estimatedWaitTimeMinutes,omitempty"` // by priority
	LongestJobWaitTimeMinutes *float64    `json:"longestJobWaitTimeMinutes,omitempty"`
	Paced                     bool        `json:"-"` // the estimates rest on recent assignments
}

// Statistics returns the figures of a queue at an instant. The estimate of a
// priority is that of the last job with that priority.
func (s *entities) Statistics(id string, now time.Time) (Statistics, bool) {
	q := s.queues[id]
	if q == nil {
		return Statistics{}, false
	}
	out := Statistics{QueueID: id, Length: q.jobs.n, Paced: q.Pace.recent(now)}
	if q.jobs.n == 0 {
		return out, true
	}
	out.EstimatedWaitTimeMinutes = map[int]int{}
	n := 0
	var oldest time.Time
	for _, p := range slices.SortedFunc(maps.Keys(q.ranks), func(a, b int) int { return b - a }) {
		// Jobs of higher priorities are all ahead of this one's.
		n += q.ranks[p]
		out.EstimatedWaitTimeMinutes[p] = q.minutes(n)
		oldest = earlier(oldest, earlier(q.oldest(true, p), q.oldest(false, p)))
	}
	out.LongestJobWaitTimeMinutes = new(max(0, now.Sub(oldest).Minutes()))
	return out, true
}

// oldest returns when the oldest job of a rank was queued; zero if there is
// none.
func (q *queue) oldest(expedite bool, priority int) (at time.Time) {
	key := sortKeyOf(expedite, priority, 0)
	// The first job from the lowest key of the rank on; if it has another rank, there is none.
	for j := range q.jobs.from(key) {
		if j.sortKey>>seqBits == key>>seqBits {
			at = j.EnqueuedAt
		}
		break
	}
	return at
}

// Patch merges a JSON merge patch (RFC 7396) into what a client has stated about a queue,
// a policy or a pool and returns the command that puts the result. The result is valid for
// this state only: nothing may be applied in between. The patch is decoded already, so that
// the goroutine of the engine need not; it is not modified.
func Patch[T any, P resource.SpecOf[T]](s *State, id string, patch map[string]any, cond If) (Command, error) {
	old, _ := find[T](&s.entities, P(nil).Kind(), id)
	spec, err := resource.Merge(old.Spec, patch)
	return Put[T, P]{id, spec, cond}, err
}

// PatchWorker is [Patch] of a worker.
func PatchWorker(s *State, id string, patch map[string]any, cond If) (Command, error) {
	w, _ := s.Worker(id)
	spec, err := resource.Merge(w.WorkerSpec, patch)
	return PutWorker{id, spec, cond}, err
}

// PatchJob is [Patch] of a job.
func PatchJob(s *State, id string, patch map[string]any, cond If) (Command, error) {
	var before resource.JobSpec
	if j := s.jobs[id]; j != nil {
		before = j.JobSpec
	}
	spec, err := resource.Merge(before, patch)
	return PutJob{ID: id, Spec: spec, If: cond}, err
}

// PendingRequests returns the unanswered events that ask the caller for results, so that
// it can issue the requests again after a restart. Their time is that of the
// state; scores are requested for the workers that are eligible now.
func (s *entities) PendingRequests() []journal.Event {
	var out []journal.Event
	for _, j := range s.jobs {
		var e journal.Event
		switch {
		case j.Awaits == AwaitRules:
			e = &journal.JobRulesRequestedEvent{JobHead: s.jobHead(j), Rules: remoteRules(&s.classifications[j.ClassificationPolicyID].Spec)}
		case j.Awaits == AwaitScores && j.queue != nil:
			e = s.scoresRequest(j, s.allEligible(j))
		default:
			continue
		}
		*e.Head() = journal.Header{Seq: j.Round, At: s.now}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b journal.Event) int { return cmp.Compare(a.Subject(), b.Subject()) })
	return out
}
