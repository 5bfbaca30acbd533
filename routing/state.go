package routing

import (
	"iter"
	"maps"
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
	MaxStored    int           `json:"maxStored"`    // max bytes that clients store, as size.go estimates them
}

// DefaultSettings returns the limits of the API, one day for finished jobs, and room for
// about a million jobs.
func DefaultSettings() Settings {
	const day = 24 * time.Hour
	return Settings{KeepFinished: day, JobLife: 90 * day, IdleLife: 7 * day, MaxStored: 1 << 30}
}

// New returns an empty router. The settings are part of the state: a snapshot
// carries them, and a log of events must be replayed with the same settings.
func New(settings Settings) *State {
	return &State{
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

func (t table[V]) remove(id string) { delete(t, id) }

// entities is the common interface of the tables of all kinds.
type entities interface {
	has(id string) bool
	ids() iter.Seq[string]
	remove(id string)
}

// of returns the table of a kind; that of an unknown kind is empty.
func (s *State) of(kind resource.Kind) entities {
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
func (s *State) Settings() Settings { return s.settings }

func (s *State) jobHead(j *job) eventlog.JobHead { return jobHeadOf(j.ID, &j.JobSpec) }

func jobHeadOf(id string, spec *resource.JobSpec) eventlog.JobHead {
	return eventlog.JobHead{
		JobID: id, ChannelReference: spec.ChannelReference, ChannelID: spec.ChannelID,
		QueueID: spec.QueueID, Labels: spec.Labels, Tags: spec.Tags,
	}
}

func (s *State) offerHead(j *job, w *worker, offerID string) eventlog.OfferHead {
	return eventlog.OfferHead{
		WorkerID: w.ID, JobID: j.ID, ChannelReference: j.ChannelReference,
		ChannelID: j.ChannelID, QueueID: j.QueueID, OfferID: offerID,
	}
}

// agenda holds what may have become possible since the last match: jobs that
// newly may get an offer and workers that newly have room. Between two commands
// nothing is possible, so other pairs need not be examined.
type agenda struct {
	heap    []candidate // by sort key
	workers int         // workers on the heap
	scores  map[string]float64
	scored  *job // the job that the scores belong to
}

// candidate is a job on the agenda; or a worker with the first job that it
// could take when last examined; or a class with the sort key from which on some
// worker might take one of its jobs.
type candidate struct {
	sortKey uint64
	job     *job
	worker  *worker
	class   *class
}

func (c candidate) before(o candidate) bool {
	if c.sortKey != o.sortKey {
		return c.sortKey < o.sortKey
	}
	return c.job != nil && o.job == nil
}

func (a *agenda) push(c candidate) {
	a.heap = append(a.heap, c)
	i := len(a.heap) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !c.before(a.heap[p]) {
			break
		}
		a.heap[i] = a.heap[p]
		i = p
	}
	a.heap[i] = c
}

func (a *agenda) pop() candidate {
	h := a.heap
	top, last := h[0], h[len(h)-1]
	h[len(h)-1] = candidate{}
	h = h[:len(h)-1]
	a.heap = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(last) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = last
	return top
}

func (s *State) markJob(j *job) {
	if s.executing && !j.onAgenda {
		j.onAgenda = true
		s.agenda.push(candidate{sortKey: j.sortKey, job: j})
	}
}

// markWorker puts a worker on the agenda. The job that it could take is found
// when its turn comes.
func (s *State) markWorker(w *worker) {
	if s.executing && !w.onAgenda && w.position >= 0 {
		w.onAgenda = true
		s.agenda.workers++
		s.agenda.push(candidate{worker: w})
	}
}

// rulesOf returns the exception rules of a queue.
func (s *State) rulesOf(q *queue) []resource.ExceptionRule {
	if x := s.exceptions[q.ExceptionPolicyID]; x != nil {
		return x.Spec.ExceptionRules
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
