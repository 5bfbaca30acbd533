package routing

import (
	"maps"
	"math"
	"slices"
	"time"

	"weir/routing/resource"
)

// Figures are counts of jobs, workers and offers.
type Figures struct {
	Jobs           map[resource.JobStatus]int
	Workers        map[resource.WorkerState]int
	Offers         int       // open ones
	OldestQueuedAt time.Time // zero when no job is queued
}

// Figures returns the current counts. It does not walk the jobs.
func (s *State) Figures() Figures {
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
}

// Position returns the position of a job; false if it is not queued.
func (s *State) Position(id string) (Position, bool) {
	j := s.jobs[id]
	if j == nil || j.queue == nil {
		return Position{}, false
	}
	n := j.queue.jobs.ahead(j.sortKey) + 1
	return Position{id, n, j.QueueID, j.queue.jobs.n, j.queue.minutes(n)}, true
}

// minutes estimates the wait of the nth job of a queue: n times its mean time
// between assignments, in whole minutes, at least one and at most 90 days.
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
}

// Statistics returns the figures of a queue at an instant. The estimate of a
// priority is that of the last job with that priority.
func (s *State) Statistics(id string, now time.Time) (Statistics, bool) {
	q := s.queues[id]
	if q == nil {
		return Statistics{}, false
	}
	out := Statistics{QueueID: id, Length: q.jobs.n}
	if q.jobs.n == 0 {
		return out, true
	}
	out.EstimatedWaitTimeMinutes = map[int]int{}
	n := 0
	var oldest time.Time
	for _, p := range slices.SortedFunc(maps.Keys(q.ranks), func(a, b int) int { return b - a }) {
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
	for j := range q.jobs.from(key) {
		if j.sortKey>>seqBits == key>>seqBits {
			at = j.EnqueuedAt
		}
		break
	}
	return at
}
