package routing

import (
	"time"

	"weir/routing/eventlog"
	"weir/routing/resource"
)

// State is the complete state of the router. Only [State.Execute], [State.Replay]
// and [Restore] change it; it is not safe for concurrent use.
type State struct {
	now time.Time // of the last command or event; never goes back
	seq uint64    // number of the last event

	settings        Settings
	workers         map[string]*worker
	jobs            map[string]*job
	queues          map[string]*queue
	distributions   map[string]*distribution
	classifications map[string]*classification
	exceptions      map[string]*exception
	pools           map[string]*pool
	offers          map[string]*offer // open offers
	takenOffers     map[string]*job   // offers revoked because another worker accepted

	jobsByAge jobList                    // jobs by creation, for paging
	counts    map[resource.JobStatus]int // jobs by status

	index     index
	timers    [timerKinds]heap
	agenda    agenda
	emitted   []eventlog.Event // events of the running Execute
	noWaitJob *job             // a new job with NoWait
	executing bool             // an Execute is running; otherwise events are being replayed
	snapshot  *Snapshot        // the unfinished snapshot; copies jobs before they change
}

// Settings are the limits that the API leaves open or that operators choose.
type Settings struct {
	KeepFinished time.Duration `json:"keepFinished"` // how long finished jobs can be read
	JobLife      time.Duration `json:"jobLife"`      // after this time an open job expires
	IdleLife     time.Duration `json:"idleLife"`     // after this time an idle worker is deregistered
	Seed         uint64        `json:"seed"`         // for weighted allocations
}

// DefaultSettings returns the limits of the API, and one day for finished jobs.
func DefaultSettings() Settings {
	const day = 24 * time.Hour
	return Settings{KeepFinished: day, JobLife: 90 * day, IdleLife: 7 * day}
}

// New returns an empty router. The settings are part of the state: a snapshot
// carries them, and a log of events must be replayed with the same settings.
func New(settings Settings) *State {
	return &State{
		settings: settings,
		workers:  map[string]*worker{}, jobs: map[string]*job{}, queues: map[string]*queue{},
		distributions: map[string]*distribution{}, classifications: map[string]*classification{},
		exceptions: map[string]*exception{}, pools: map[string]*pool{},
		offers: map[string]*offer{}, takenOffers: map[string]*job{},
		counts: map[resource.JobStatus]int{}, index: newIndex(),
	}
}

// Version is the number of the event that last changed a resource. It only
// grows; entity tags are made of it.
type Version uint64

// stamp is when a resource last changed.
type stamp struct {
	Version   Version   `json:"version"`
	ChangedAt time.Time `json:"changedAt"`
}

func (s *stamp) touch(h *eventlog.Header) { s.Version, s.ChangedAt = Version(h.Seq), h.At }

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

	countedStatus resource.JobStatus // the status under which it is counted
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
	jobs          jobList       // queued jobs, offered ones included
	ranks         map[int]int   // queued jobs by priority
	dist          *distribution // nil: the default
	hadExceptions bool          // when the queue last changed
}

type queueData struct {
	ID string `json:"id"`
	stamp
	resource.QueueSpec
	LastOffered string `json:"lastOffered,omitempty"`
	Pace        pace   `json:"pace,omitzero"`
}

type distribution struct {
	ID string `json:"id"`
	stamp
	resource.DistributionSpec
}

type classification struct {
	ID string `json:"id"`
	stamp
	resource.ClassificationSpec
}

type exception struct {
	ID string `json:"id"`
	stamp
	resource.ExceptionSpec
}

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

// Settings returns the limits in force.
func (s *State) Settings() Settings { return s.settings }

func (s *State) jobHead(j *job) eventlog.JobHead {
	return eventlog.JobHead{
		JobID: j.ID, ChannelReference: j.ChannelReference, ChannelID: j.ChannelID,
		QueueID: j.QueueID, Labels: j.Labels, Tags: j.Tags,
	}
}
