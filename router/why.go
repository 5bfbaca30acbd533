package router

import (
	"fmt"

	"weir/api"
	"weir/operators"
	"weir/router/label"
	"weir/router/resource"
)

// maxWhyWorkers bounds the workers that are examined to explain a job.
const maxWhyWorkers = 100_000

// Why explains why a job waits; ok is false if there is no such job. The reason is
// zero for a job that a worker has and for a finished one. It uses the predicates
// of the matcher.
func (s *entities) Why(id string) (_ operators.Why, ok bool) {
	j := s.jobs[id]
	if j == nil {
		return operators.Why{}, false
	}
	switch {
	case j.Status == resource.JobScheduled || j.Status == resource.JobPendingSchedule:
		return operators.NewWhy("scheduled", operators.TextScheduled, "at", j.ScheduledAt), true
	case j.Status == resource.JobWaitingForActivation:
		return operators.NewWhy("activation", operators.TextActivation), true
	case j.Status == resource.JobCreated || j.Status == resource.JobPendingClassification:
		return operators.NewWhy("classification", operators.TextClassifying), true
	case j.Status == resource.JobClassificationFailed:
		return operators.NewWhy("classification_failed", operators.TextClassificationFailed), true
	case j.Status == resource.JobCompleted:
		return operators.NewWhy("closing", operators.TextCompleted), true
	case j.queue == nil:
		return operators.Why{}, true
	case len(j.Offers) > 0:
		o := j.Offers[0]
		return operators.NewWhy("offer_pending", operators.TextOffered, "worker", o.WorkerID, "at", o.ExpiresAt), true
	case j.MatchingMode.Kind == resource.Suspend:
		return operators.NewWhy("suspended", operators.TextSuspended), true
	case j.class.queue.closed:
		return operators.NewWhy("queue_closed", operators.TextQueueClosed, "queue", j.QueueID), true
	case j.Awaits == AwaitScores:
		return operators.NewWhy("scoring", operators.TextScoring), true
	}
	return s.whyUnmatched(j), true
}

// whyUnmatched explains why no worker is offered a job that waits in its queue.
func (s *entities) whyUnmatched(j *job) operators.Why {
	examined := 0
	if !s.anyWorkerFor(j, &examined) {
		if !s.anyWorkerServes(j) {
			return operators.NewWhy("no_worker", operators.TextNoWorker, "queue", j.QueueID, "channel", j.ChannelID)
		}
		why := operators.NewWhy("no_match", operators.TextNoMatch, "queue", j.QueueID)
		for _, sel := range j.activeSelectors() {
			if !sel.Operator.Satisfiable(sel.Value) {
				needs := operators.TextNeedsNumber
				if sel.Operator == label.Equal {
					needs = operators.TextNeedsValue
				}
				return why.And(api.Clause{Sentence: string(needs), Fields: map[string]string{"selector": fmt.Sprint(sel.Key, " ", sel.Operator)}})
			}
		}
		return why
	}
	p := &pool{PoolSpec: resource.PoolSpec{QueueID: j.QueueID, Selectors: j.activeSelectors()}}
	unavailable, busy, excluded := 0, 0, 0
	for _, w := range s.workers {
		if examined++; examined > maxWhyWorkers {
			break
		}
		switch {
		case !w.passes(p) || w.cost(j.ChannelID) == 0:
		case w.position < 0:
			unavailable++
		case !w.hasRoom(j.ChannelID):
			busy++
		case j.excludes(w, s.now):
			excluded++
		}
	}
	switch {
	case busy == 0 && excluded > 0:
		return operators.NewWhy("declined", operators.TextDeclined, "count", excluded)
	case busy == 0 && unavailable > 0:
		return operators.NewWhy("workers_away", operators.TextWorkersAway, "count", unavailable)
	default:
		return operators.NewWhy("workers_busy", operators.TextWorkersBusy, "count", busy, "ahead", j.queue.jobs.ahead(j.sortKey), "queue", j.QueueID)
	}
}

// anyWorkerServes reports whether any worker serves the queue and the channel of a
// job.
func (s *entities) anyWorkerServes(j *job) bool {
	p := &pool{PoolSpec: resource.PoolSpec{QueueID: j.QueueID}}
	return some(s.workers, func(w *worker) bool { return w.passes(p) && w.cost(j.ChannelID) > 0 })
}

// Unmatchable lists the waiting jobs of a queue that no worker could take even
// if every worker were registered and free, at most limit, in queue order. It
// examines a bounded number of jobs and workers, because it blocks the engine
// meanwhile.
func (s *entities) Unmatchable(queueID string, limit int) []string {
	out, _ := s.unmatchable(queueID, limit)
	return out
}

// Bounds of what Unmatchable examines. It goes on to the end of the workers that it has begun to examine for a job.
const maxUnmatchableJobs, maxUnmatchableExamined = 100_000, 500_000

func (s *entities) unmatchable(queueID string, limit int) (out []string, examined int) {
	q := s.queues[queueID]
	if q == nil || q.dist.Mode.BypassSelectors {
		return nil, 0
	}
	known := map[*class]bool{} // whether some worker could take the jobs of the class
	n := 0
	for j := range q.jobs.all {
		if n++; len(out) >= limit || n > maxUnmatchableJobs || examined > maxUnmatchableExamined {
			break
		}
		if j.class == nil || len(j.Offers) > 0 {
			continue
		}
		able, seen := known[j.class]
		if !seen {
			able = s.anyWorkerFor(j, &examined)
			known[j.class] = able
		}
		if !able {
			out = append(out, j.ID)
		}
	}
	return out, examined
}

// anyWorkerFor reports whether any worker, registered or not, has the queue, the
// channel and the labels that a job requires.
func (s *entities) anyWorkerFor(j *job, examined *int) bool {
	p := &pool{PoolSpec: resource.PoolSpec{QueueID: j.QueueID, Selectors: j.activeSelectors()}}
	can := func(w *worker) bool {
		*examined++
		return w != nil && w.passes(p) && w.cost(j.ChannelID) > 0
	}
	for _, sel := range p.Selectors {
		// A job may require one particular worker.
		if id, is := sel.Value.Text(); is && sel.Key == "Id" && sel.Operator == label.Equal {
			return can(s.workers[id])
		}
	}
	return some(s.workers, can)
}
