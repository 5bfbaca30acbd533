package routing

import (
	"fmt"
	"weir/routing/label"
	"weir/routing/resource"

	"weir/ops"
)

// maxWhyLooks bounds the workers that are examined to explain a job.
const maxWhyLooks = 100_000

// Why explains why a job waits; ok is false if there is no such job. The reason is
// zero for a job that a worker has and for a finished one. It uses the predicates
// of the matcher.
func (s *State) Why(id string) (_ ops.Why, ok bool) {
	j := s.jobs[id]
	if j == nil {
		return ops.Why{}, false
	}
	switch {
	case j.Status == resource.JobScheduled || j.Status == resource.JobPendingSchedule:
		return ops.Why{Code: "scheduled", Text: "scheduled for " + ops.WhyAt(j.ScheduledAt)}, true
	case j.Status == resource.JobWaitingForActivation:
		return ops.Why{Code: "activation", Text: "waiting for activation: its matching mode is set to queue and match it"}, true
	case j.Status == resource.JobCreated || j.Status == resource.JobPendingClassification:
		return ops.Why{Code: "classification", Text: "its classification is under way"}, true
	case j.Status == resource.JobClassificationFailed:
		return ops.Why{Code: "classification_failed", Text: "its classification failed: reclassify it, or change its labels, queue or policy"}, true
	case j.Status == resource.JobCompleted:
		return ops.Why{Code: "closing", Text: "completed, and not closed yet"}, true
	case j.queue == nil:
		return ops.Why{}, true
	case len(j.Offers) > 0:
		o := j.Offers[0]
		return ops.Why{Code: "offer_pending", Text: fmt.Sprintf("offered to worker %s; the offer expires at %s", o.WorkerID, ops.WhyAt(o.ExpiresAt))}, true
	case j.MatchingMode.Kind == resource.Suspend:
		return ops.Why{Code: "suspended", Text: "its matching is suspended: set its matching mode to queue and match it"}, true
	case j.kin.queue.closed:
		return ops.Why{Code: "queue_closed", Text: fmt.Sprintf("queue %s is closed", j.QueueID)}, true
	case j.Asks == AskScores:
		return ops.Why{Code: "scoring", Text: "a scoring function is being asked which worker suits it best"}, true
	}
	return s.whyUnmatched(j), true
}

// whyUnmatched explains why no worker is offered a job that waits in its queue.
func (s *State) whyUnmatched(j *job) ops.Why {
	looks := 0
	if !s.anybodyFor(j, &looks) {
		if !s.anybodyListens(j) {
			return ops.Why{Code: "no_worker", Text: fmt.Sprintf("no worker of queue %s serves channel %s", j.QueueID, j.ChannelID)}
		}
		return ops.Why{Code: "no_match", Text: fmt.Sprintf("no worker of queue %s matches the selectors of the job", j.QueueID)}
	}
	p := &pool{PoolSpec: resource.PoolSpec{QueueID: j.QueueID, Selectors: j.activeSelectors()}}
	away, busy, excluded := 0, 0, 0
	for _, w := range s.workers {
		if looks++; looks > maxWhyLooks {
			break
		}
		switch {
		case !w.passes(p) || w.cost(j.ChannelID) == 0:
		case w.pos < 0:
			away++
		case !w.hasRoom(j.ChannelID):
			busy++
		case j.excludes(w, s.now):
			excluded++
		}
	}
	switch {
	case busy == 0 && excluded > 0:
		return ops.Why{Code: "declined", Text: fmt.Sprintf("all available workers who could take it declined it or let its offer expire (%d)", excluded)}
	case busy == 0 && away > 0:
		return ops.Why{Code: "workers_away", Text: fmt.Sprintf("no worker who could take it is available for work (%d are not)", away)}
	default:
		return ops.Why{Code: "workers_busy", Text: fmt.Sprintf("all workers who could take it are busy (%d); %d jobs of queue %s go first", busy, j.queue.line.ahead(j.place), j.QueueID)}
	}
}

// anybodyListens reports whether any worker serves the queue and the channel of a
// job.
func (s *State) anybodyListens(j *job) bool {
	p := &pool{PoolSpec: resource.PoolSpec{QueueID: j.QueueID}}
	for _, w := range s.workers {
		if w.passes(p) && w.cost(j.ChannelID) > 0 {
			return true
		}
	}
	return false
}

// Unmatchable lists the waiting jobs of a queue that no worker could take even
// if every worker were registered and free, at most limit, in queue order. It
// examines a bounded number of jobs and workers, because it blocks the engine
// meanwhile.
func (s *State) Unmatchable(queueID string, limit int) []string {
	q := s.queues[queueID]
	if q == nil || q.bypass() {
		return nil
	}
	const most, mostLooks = 100_000, 500_000
	looks := 0
	known := map[*class]bool{} // whether some worker could take the jobs of the class
	var out []string
	n := 0
	for j := range q.line.all {
		if n++; len(out) >= limit || n > most || looks > mostLooks {
			break
		}
		if j.kin == nil || len(j.Offers) > 0 {
			continue
		}
		able, seen := known[j.kin]
		if !seen {
			able = s.anybodyFor(j, &looks)
			known[j.kin] = able
		}
		if !able {
			out = append(out, j.ID)
		}
	}
	return out
}

// anybodyFor reports whether any worker, registered or not, has the queue, the
// channel and the labels that a job requires.
func (s *State) anybodyFor(j *job, looks *int) bool {
	p := &pool{PoolSpec: resource.PoolSpec{QueueID: j.QueueID}}
	can := func(w *worker) bool {
		*looks++
		return w != nil && w.passes(p) && w.cost(j.ChannelID) > 0
	}
	only, direct := "", false // a job may require one particular worker
	for _, list := range [][]resource.WorkerSelector{j.RequestedWorkerSelectors, j.Attached} {
		for _, sel := range list {
			if sel.Active() {
				p.Selectors = append(p.Selectors, sel)
				if id, is := sel.Value.Text(); is && sel.Key == "Id" && sel.Operator == label.Equal {
					only, direct = id, true
				}
			}
		}
	}
	if direct {
		return can(s.workers[only])
	}
	for _, w := range s.workers {
		if can(w) {
			return true
		}
	}
	return false
}
