package routing

import (
	"fmt"
	"time"
)

// Why explains why a job waits: a stable code and one sentence. It is zero for a
// job that a worker has, and for one that is over.
type Why struct {
	Code string `json:"whyCode,omitempty"`
	Text string `json:"why,omitempty"`
}

// mostWhyLooks bounds the workers that are looked at for a reason.
const mostWhyLooks = 100_000

// Why explains why a job waits; false if there is no such job. It asks the same
// predicates as the matching.
func (s *State) Why(id string) (_ Why, ok bool) {
	j := s.jobs[id]
	if j == nil {
		return Why{}, false
	}
	switch {
	case j.Status == JobScheduled || j.Status == JobPendingSchedule:
		return Why{"scheduled", "scheduled for " + whyAt(j.ScheduledAt)}, true
	case j.Status == JobWaitingForActivation:
		return Why{"activation", "waiting for activation: its matching mode is set to queue and match it"}, true
	case j.Status == JobCreated || j.Status == JobPendingClassification:
		return Why{"classification", "its classification is under way"}, true
	case j.Status == JobCompleted:
		return Why{"closing", "completed, and not closed yet"}, true
	case j.queue == nil:
		return Why{}, true
	case len(j.Offers) > 0:
		o := j.Offers[0]
		return Why{"offer_pending", fmt.Sprintf("offered to worker %s; the offer expires at %s", o.WorkerID, whyAt(o.ExpiresAt))}, true
	case j.MatchingMode.Kind == Suspend:
		return Why{"suspended", "its matching is suspended: set its matching mode to queue and match it"}, true
	case j.kin.queue.closed:
		return Why{"queue_closed", fmt.Sprintf("queue %s is closed", j.QueueID)}, true
	case j.Asks == AskScores:
		return Why{"scoring", "a scoring function is being asked which worker suits it best"}, true
	}
	return s.whyNobody(j), true
}

// whyNobody explains why no worker is offered a job that waits in its queue.
func (s *State) whyNobody(j *job) Why {
	looks := 0
	if !s.anybodyFor(j, &looks) {
		if !s.anybodyListens(j) {
			return Why{"no_worker", fmt.Sprintf("no worker of queue %s serves channel %s", j.QueueID, j.ChannelID)}
		}
		return Why{"no_match", fmt.Sprintf("no worker of queue %s matches the selectors of the job", j.QueueID)}
	}
	p := &pool{PoolSpec: PoolSpec{QueueID: j.QueueID, Selectors: j.activeSelectors()}}
	away, busy, excluded := 0, 0, 0
	for _, w := range s.workers {
		if looks++; looks > mostWhyLooks {
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
	case busy > 0:
		return Why{"workers_busy", fmt.Sprintf("all workers who could take it are busy (%d); %d jobs of queue %s go first", busy, j.queue.line.ahead(j.place), j.QueueID)}
	case excluded > 0:
		return Why{"declined", fmt.Sprintf("all available workers who could take it declined it or let its offer expire (%d)", excluded)}
	case away > 0:
		return Why{"workers_away", fmt.Sprintf("no worker who could take it is available for work (%d are not)", away)}
	default:
		return Why{"turn", fmt.Sprintf("%d jobs of queue %s go first", j.queue.line.ahead(j.place), j.QueueID)}
	}
}

// anybodyListens reports whether any worker serves the queue and the channel of a
// job.
func (s *State) anybodyListens(j *job) bool {
	p := &pool{PoolSpec: PoolSpec{QueueID: j.QueueID}}
	for _, w := range s.workers {
		if w.passes(p) && w.cost(j.ChannelID) > 0 {
			return true
		}
	}
	return false
}

func whyAt(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
