package router

import (
	"fmt"

	"weir/router/label"
	"weir/router/resource"

	"weir/operators"
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
		return operators.Why{Code: "scheduled", Text: "scheduled for " + operators.WhyAt(j.ScheduledAt)}, true
	case j.Status == resource.JobWaitingForActivation:
		return operators.Why{Code: "activation", Text: "waiting for activation: set its matching mode to queueAndMatch"}, true
	case j.Status == resource.JobCreated || j.Status == resource.JobPendingClassification:
		return operators.Why{Code: "classification", Text: "being classified"}, true
	case j.Status == resource.JobClassificationFailed:
		return operators.Why{Code: "classification_failed", Text: "classification failed: reclassify the job, or change its labels, queue or policy"}, true
	case j.Status == resource.JobCompleted:
		return operators.Why{Code: "closing", Text: "completed, not closed yet"}, true
	case j.queue == nil:
		return operators.Why{}, true
	case len(j.Offers) > 0:
		o := j.Offers[0]
		return operators.Why{Code: "offer_pending", Text: fmt.Sprintf("offered to worker %s; the offer expires at %s", o.WorkerID, operators.WhyAt(o.ExpiresAt))}, true
	case j.MatchingMode.Kind == resource.Suspend:
		return operators.Why{Code: "suspended", Text: "matching is suspended: set its matching mode to queueAndMatch"}, true
	case j.class.queue.closed:
		return operators.Why{Code: "queue_closed", Text: fmt.Sprintf("queue %s is closed", j.QueueID)}, true
	case j.Awaits == AwaitScores:
		return operators.Why{Code: "scoring", Text: "waiting for the scores of a scoring function"}, true
	}
	return s.whyUnmatched(j), true
}

// whyUnmatched explains why no worker is offered a job that waits in its queue.
func (s *entities) whyUnmatched(j *job) operators.Why {
	examined := 0
	if !s.anyWorkerFor(j, &examined) {
		if !s.anyWorkerServes(j) {
			return operators.Why{Code: "no_worker", Text: fmt.Sprintf("no worker of queue %s serves channel %s", j.QueueID, j.ChannelID)}
		}
		text := fmt.Sprintf("no worker of queue %s matches the selectors of the job", j.QueueID)
		for _, sel := range j.activeSelectors() {
			if !sel.Operator.Satisfiable(sel.Value) {
				needs := "a number"
				if sel.Operator == label.Equal {
					needs = "a value"
				}
				text += fmt.Sprintf("; no worker ever can: %s %s needs %s", sel.Key, sel.Operator, needs)
				break
			}
		}
		return operators.Why{Code: "no_match", Text: text}
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
		return operators.Why{Code: "declined", Text: fmt.Sprintf("each available worker that matches (%d) declined the job or let its offer expire", excluded)}
	case busy == 0 && unavailable > 0:
		return operators.Why{Code: "workers_away", Text: fmt.Sprintf("no worker that matches is available (%d unavailable)", unavailable)}
	default:
		return operators.Why{Code: "workers_busy", Text: fmt.Sprintf("all workers that match are busy (%d); %d jobs of queue %s are ahead", busy, j.queue.jobs.ahead(j.sortKey), j.QueueID)}
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
	q := s.queues[queueID]
	if q == nil || q.dist.Mode.BypassSelectors {
		return nil
	}
	const maxJobs, maxExamined = 100_000, 500_000
	examined := 0
	known := map[*class]bool{} // whether some worker could take the jobs of the class
	var out []string
	n := 0
	for j := range q.jobs.all {
		if n++; len(out) >= limit || n > maxJobs || examined > maxExamined {
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
	return out
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
