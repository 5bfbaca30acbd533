package router

import (
	"slices"
	"time"

	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// stamp is when a resource last changed.
type stamp struct {
	Version   Version   `json:"version"`
	ChangedAt time.Time `json:"changedAt"`
}

func (s *stamp) touch(h *journal.Header) { s.Version, s.ChangedAt = Version(h.Seq), h.At }

// Version is the number of the event that last changed a resource. It only
// grows; entity tags are made of it.
type Version uint64

// workerData is the part of a worker that a snapshot keeps. Offers and
// assignments are kept with their jobs.
type workerData struct {
	ID string `json:"id"`
	stamp
	resource.WorkerSpec
	Created        uint64               `json:"created"` // the event
	State          resource.WorkerState `json:"state"`
	Registered     uint64               `json:"registered,omitempty"` // event that made it active
	AvailableSince time.Time            `json:"availableSince,omitzero"`
	AvailableSeq   uint64               `json:"place,omitempty"` // event since which it is available; orders workers
	ActiveAt       time.Time            `json:"activeAt,omitzero"`
}

type worker struct {
	workerData
	offers   []*offer
	assigned []*assignment // not closed

	assignedCost, offeredCost int

	position     int // in the index; -1 while not active
	queueIndexes []*queueIndex
	predicates   []*predicate
	channels     []channelUse
	load         *load
	memberships  []membership
	idleTimer    timer
	onAgenda     bool // on the agenda
}

// channel returns the worker's use of a channel, nil if it does not serve the channel.
func (w *worker) channel(id string) *channelUse {
	for i := range w.channels {
		if w.channels[i].ChannelID == id {
			return &w.channels[i]
		}
	}
	return nil
}

func (w *worker) cost(channel string) int {
	if c := w.channel(channel); c != nil {
		return c.CapacityCostPerJob
	}
	return 0
}

func (w *worker) hasRoom(channel string) bool {
	c := w.channel(channel)
	return c != nil && c.hasRoom
}

func (w *worker) hasAnyRoom() bool {
	return slices.ContainsFunc(w.channels, func(c channelUse) bool { return c.hasRoom })
}

// jobData is the part of a job that a snapshot keeps.
type jobData struct {
	ID string `json:"id"`
	stamp
	resource.JobSpec                           // with its current queue, priority and requested selectors
	Attached         []resource.WorkerSelector `json:"attached,omitempty"`
	Status           resource.JobStatus        `json:"status"`

	CreatedAt   time.Time `json:"createdAt"`
	Created     uint64    `json:"created"` // the event
	EnqueuedAt  time.Time `json:"enqueuedAt,omitzero"`
	Enqueued    uint64    `json:"enqueued,omitempty"` // the event that queued it first; FIFO
	WaitsSince  time.Time `json:"waitsSince,omitzero"`
	WaitsIn     string    `json:"waitsIn,omitempty"` // the queue in which it has waited since then
	ScheduledAt time.Time `json:"scheduledAt,omitzero"`
	FinishedAt  time.Time `json:"finishedAt,omitzero"`

	Offers      []*offer      `json:"offers,omitempty"`
	Assignments []*assignment `json:"assignments,omitempty"`
	Declines    []decline     `json:"declines,omitempty"`
	Taken       []string      `json:"taken,omitempty"` // offers revoked because another worker accepted
	Unassigned  int           `json:"unassigned,omitempty"`
	Fired       []firedRule   `json:"fired,omitempty"`
	Awaits      Awaited       `json:"asks,omitempty"`
	Round       uint64        `json:"round,omitempty"` // the event that asks
	Tries       uint64        `json:"tries,omitempty"` // classifications so far
}

// Awaited is the result that a job awaits from the caller.
type Awaited string

// The results that a job may await.
const (
	AwaitNothing Awaited = ""
	AwaitRules   Awaited = "rules"
	AwaitScores  Awaited = "scores"
)

type job struct {
	jobData
	queue      *queue // while queued
	class      *class // its class, while queued
	wantsOffer bool   // listed in its class, because it may get an offer
	sortKey    uint64 // in queue and class
	dueTimer   timer  // its nearest deadline
	lifeTimer  timer  // until it expires, then until it is dropped
	onAgenda   bool   // on the agenda
	size       int    // in bytes, see [applier.measureJob]

	countedStatus resource.JobStatus // the status under which it is counted
}

// expedited reports whether an active selector moves the job to the front.
func (j *job) expedited() bool {
	pushes := func(s resource.WorkerSelector) bool { return s.Expedite && s.Active() }
	return slices.ContainsFunc(j.RequestedWorkerSelectors, pushes) || slices.ContainsFunc(j.Attached, pushes)
}

func (j *job) hasFired(queue, rule string) bool {
	return slices.Contains(j.Fired, firedRule{queue, rule})
}

// excludes reports whether the job must not be offered to an otherwise suitable
// worker: the worker has an open offer of the job, or declined it.
func (j *job) excludes(w *worker, now time.Time) bool {
	for _, o := range j.Offers {
		if o.worker == w {
			return true
		}
	}
	for _, d := range j.Declines {
		if d.WorkerID == w.ID && d.Registered == w.Registered && (d.Until.IsZero() || d.Until.After(now)) {
			return true
		}
	}
	return false
}

// awaitsAssignment reports whether the job is open and not assigned or completed.
func (j *job) awaitsAssignment() bool {
	return !j.Status.Finished() && j.Status != resource.JobAssigned && j.Status != resource.JobCompleted
}

// offer is a job offered to a worker.
type offer struct {
	ID        string    `json:"id"`
	WorkerID  string    `json:"worker"`
	Cost      int       `json:"cost"`
	IssuedAt  time.Time `json:"issuedAt"`
	ExpiresAt time.Time `json:"expiresAt"`

	job    *job
	worker *worker
}

// assignment is a job that a worker has. Its cost is the cost when it was
// offered.
type assignment struct {
	ID              string    `json:"id"`
	OfferID         string    `json:"offer"`
	WorkerID        string    `json:"worker"`
	ChannelID       string    `json:"channel"`
	Cost            int       `json:"cost"`
	AssignedAt      time.Time `json:"assignedAt"`
	CompletedAt     time.Time `json:"completedAt,omitzero"`
	CloseAt         time.Time `json:"closeAt,omitzero"`
	DispositionCode string    `json:"dispositionCode,omitempty"` // once closing is arranged
	ClosedAt        time.Time `json:"closedAt,omitzero"`

	job    *job
	worker *worker
}

// decline keeps a job from a worker until the worker registers again or, if
// Until is set, until that instant.
type decline struct {
	WorkerID   string    `json:"worker"`
	Registered uint64    `json:"registered"`
	Until      time.Time `json:"until,omitzero"`
}

// firedRule is a rule that does not fire again for the job in that queue.
type firedRule struct {
	Queue string `json:"queue"`
	Rule  string `json:"rule"`
}

type queue struct {
	queueData
	jobs          jobList                   // queued jobs, offered ones included
	ranks         map[int]int               // queued jobs by priority
	dist          resource.DistributionSpec // of its policy, or the default
	hadExceptions bool                      // when the queue last changed
}

type queueData struct {
	ID string `json:"id"`
	stamp
	resource.QueueSpec
	LastOffered string `json:"lastOffered,omitempty"`
	Pace        pace   `json:"pace,omitzero"`
}

func (q *queue) maxOffers() int { return max(1, q.dist.Mode.MaxConcurrentOffers) }

// The policies.
type (
	distribution   = Named[resource.DistributionSpec]
	classification = Named[resource.ClassificationSpec]
	exception      = Named[resource.ExceptionSpec]
)

// pace measures how fast a queue's jobs are assigned, for estimates.
type pace struct {
	LastAt time.Time `json:"lastAt,omitzero"`
	Mean   float64   `json:"mean,omitempty"` // seconds between assignments
	Count  int       `json:"count,omitempty"`
}

// assigned counts an assignment. The mean covers about the last 32.
func (p *pace) assigned(now time.Time) {
	if !p.LastAt.IsZero() {
		p.Count = min(p.Count+1, 32)
		p.Mean += (now.Sub(p.LastAt).Seconds() - p.Mean) / float64(p.Count)
	}
	p.LastAt = now
}

// recent reports whether assignments at this pace can be expected to go on: if none
// was made for four times the mean, and for ten minutes, it has ended.
func (p *pace) recent(now time.Time) bool {
	return p.Count > 0 && now.Sub(p.LastAt) <= max(10*time.Minute, 4*resource.Seconds(p.Mean))
}

type pool struct {
	ID string `json:"id"`
	stamp
	resource.PoolSpec
	Count uint64 `json:"count"` // version: number of depth changes so far
	depth int
}

// membership is a worker's membership in a pool whose filter it passes.
type membership struct {
	pool    *pool
	counted bool // it is counted
}

// jobList is a list of jobs ordered by sort key (see sortKeyOf). It is kept in chunks,
// so that adding and removing cost the same at any length, and counting the
// jobs ahead of one costs one step per chunk.
type jobList struct {
	chunks []chunk
	n      int
}

type chunk struct {
	first uint64 // sort key of the first entry when the chunk was made; a lower bound
	jobs  []listEntry
}

type listEntry struct {
	sortKey uint64
	job     *job
}

// channelUse is a worker's channel as the index sees it.
type channelUse struct {
	resource.Channel
	index   *channelIndex
	jobs    int  // open assignments and open offers on it
	hasRoom bool // the worker has room for one more
}

// timer is an instant at which something is due for its owner.
type timer struct {
	at    int64 // unix microseconds
	order uint64
	index int // in its heap, plus one; 0 when it is not set
	kind  timerKind
	job   *job
	work  *worker
}

type timerKind uint8

// The kinds of timers, in the order in which they fire at the same instant.
const (
	timerJob    timerKind = iota // the nearest of a job's own deadlines
	timerLife                    // maximum life of a job
	timerIdle                    // a worker that has been idle too long
	timerForget                  // a job that has been finished for long enough
	timerKinds                   // number of kinds
)

// predicate is a condition on one label, shared by all classes that use it.
// Only active workers have a position, so only they are members.
type predicate struct {
	key     predicateKey
	id      uint32
	members bitset
	classes []*class // non-empty classes that are found through it
	uses    int      // number of classes that use it
}

type predicateKey struct {
	label string
	op    label.Operator // never notEqual, which is the complement of equal
	value label.Value
}

// class is a set of waiting jobs that the same workers can take.
type class struct {
	key        string
	queue      *queueIndex
	channel    *channelIndex
	all        []*predicate
	none       []*predicate
	unindexed  []resource.WorkerSelector // ranges beyond the number that is indexed
	query      query                     // all of the above as sets; their order does not matter
	jobs       jobList
	refs       int        // queued jobs of the class, listed or not
	anchor     *predicate // where a worker finds the class; nil: at its queue
	anchorSlot int        // index in the anchor's list, plus one; 0 while the class is empty
	onAgenda   bool       // on the agenda
	cursor     uint64     // its sort key on the agenda
}

// queueIndex is the matcher's state for a queue id, whether or not a queue with
// that id exists.
type queueIndex struct {
	id          uint32
	members     bitset    // active workers that serve the queue
	workersByID []*worker // the same workers by id, for round robin
	classes     []*class  // non-empty classes that have no predicate as anchor
	closed      bool
}

type channelIndex struct {
	id       uint32
	withRoom bitset // active workers with room for one more job
}

// load is a set of active workers with the same load ratio.
type load struct {
	num, den int
	members  bitset
}
