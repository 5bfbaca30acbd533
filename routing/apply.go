package routing

import (
	"fmt"
	"time"
	"weir/routing/eventlog"
	"weir/routing/resource"
)

// Fold applies events that Apply made, in order. A gap or a repetition is an
// error, after which the state must not be used.
func (s *State) Fold(events ...eventlog.Event) error {
	for _, e := range events {
		h := e.Head()
		if h.Seq != s.seq+1 {
			return fmt.Errorf("event %d follows event %d", h.Seq, s.seq)
		}
		s.take(e)
	}
	return nil
}

// take folds one event and advances the clock.
func (s *State) take(e eventlog.Event) {
	if s.cutting != nil {
		s.cutting.before(e)
	}
	h := e.Head()
	s.seq = h.Seq
	if h.At.After(s.now) {
		s.now = h.At
	}
	s.change(e)
}

// change dispatches an event to the entity that it changes.
func (s *State) change(e eventlog.Event) {
	switch e := e.(type) {
	case *eventlog.JobReceivedEvent:
		s.applyJobReceived(e)
	case *eventlog.JobDeletedEvent, *eventlog.JobForgottenEvent:
		s.drop(e.Subject())
	case *eventlog.DeclineLapsedEvent:
		s.applyDeclineLapsed(e)
	case *eventlog.OfferIssuedEvent:
		s.applyOfferIssued(e)
	case *eventlog.OfferAcceptedEvent:
		s.applyOfferAccepted(e)
	case *eventlog.OfferDeclinedEvent:
		s.applyOfferDeclined(e)
	case *eventlog.OfferRevokedEvent:
		s.applyOfferRevoked(e)
	case *eventlog.OfferExpiredEvent:
		s.applyOfferExpired(e)
	case *eventlog.WorkerPutEvent:
		s.applyWorkerPut(e)
	case *eventlog.WorkerRegisteredEvent:
		s.applyWorkerRegistered(e)
	case *eventlog.WorkerUpdatedEvent:
		s.workers[e.WorkerID].touch(&e.Header)
	case *eventlog.WorkerDeregisteredEvent:
		s.applyWorkerDeregistered(e)
	case *eventlog.WorkerDrainedEvent:
		s.applyWorkerDrained(e)
	case *eventlog.WorkerDeletedEvent:
		s.applyWorkerDeleted(e)
	case *eventlog.QueuePutEvent:
		s.applyQueuePut(e)
	case *eventlog.DistributionPutEvent:
		s.applyDistributionPut(e)
	case *eventlog.ClassificationPutEvent:
		s.applyClassificationPut(e)
	case *eventlog.ExceptionPutEvent:
		s.applyExceptionPut(e)
	case *eventlog.PoolPutEvent:
		s.applyPoolPut(e)
	case *eventlog.DeletedEvent:
		s.applyDeleted(e)
	default: // about a job
		j := s.jobs[e.Subject()]
		j.touch(e.Head())
		s.changeJob(j, e)
		s.settle(j)
	}
}

// emit numbers an event, folds it and adds it to the output of Apply.
func (s *State) emit(e eventlog.Event) {
	h := e.Head()
	h.Seq, h.At = s.seq+1, s.now
	s.take(e)
	s.out = append(s.out, e)
}

// settle updates everything derived from a job: its place in the queue and in
// its class, and its timers.
func (s *State) settle(j *job) {
	s.count(j, j.Status)
	var q *queue
	var place uint64
	if j.Status == resource.JobQueued {
		q = s.queues[j.QueueID]
		place = placeOf(j.expedited(), j.EffectivePriority(), j.Enqueued)
	}
	if q != j.queue || place != j.place {
		s.unplace(j)
		if q != nil {
			j.queue, j.place = q, place
			q.line.add(place, j)
			q.ranks[j.EffectivePriority()]++
		}
	}
	s.settleClass(j)
	s.arm(j)
}

// unplace removes a job from its queue and class.
func (s *State) unplace(j *job) {
	if j.queue == nil {
		return
	}
	if j.wants {
		j.wants = false
		j.kin.remove(j.place)
	}
	j.queue.line.remove(j.place)
	rank := resource.MaxPriority - int(j.place<<1>>(seqBits+1))
	if j.queue.ranks[rank]--; j.queue.ranks[rank] == 0 {
		delete(j.queue.ranks, rank)
	}
	j.queue, j.place = nil, 0
}

// disown drops a job's class because the conditions that define it have
// changed.
func (s *State) disown(j *job) {
	if j.kin == nil {
		return
	}
	if j.wants {
		j.wants = false
		j.kin.remove(j.place)
	}
	j.kin.refs--
	j.kin = nil
}

func (s *State) settleClass(j *job) {
	if j.queue == nil {
		s.disown(j)
		return
	}
	wants := j.MatchingMode.Kind == resource.QueueAndMatch && j.Asks == AskNothing && len(j.Offers) < j.queue.maxOffers()
	if j.kin == nil {
		j.kin = s.index.classOf(j.QueueID, j.ChannelID, j.queue.bypass(), j.RequestedWorkerSelectors, j.Attached)
		j.kin.refs++
	}
	if wants == j.wants {
		return
	}
	j.wants = wants
	if wants {
		j.kin.add(j.place, j)
		s.markJob(j)
	} else {
		j.kin.remove(j.place)
	}
}

// arm sets a job's timers to its nearest deadlines.
func (s *State) arm(j *job) {
	kind, at := timerLife, j.CreatedAt.Add(s.settings.JobLife)
	if j.Status.Finished() {
		kind, at = timerForget, time.Time{}
		if s.settings.KeepFinished > 0 {
			at = j.FinishedAt.Add(s.settings.KeepFinished)
		}
	}
	if j.life.kind != kind {
		s.timers[j.life.kind].remove(&j.life)
		j.life.kind = kind
	}
	s.timers[kind].set(&j.life, at)
	s.timers[timerJob].set(&j.due, s.deadline(j))
}

// unclaimed reports whether the job is open and not assigned or completed.
func (j *job) unclaimed() bool {
	return !j.Status.Finished() && j.Status != resource.JobAssigned && j.Status != resource.JobCompleted
}

// deadline returns the first instant at which something about a job is due,
// apart from the end of its life.
func (s *State) deadline(j *job) time.Time {
	var at time.Time
	for _, o := range j.Offers {
		at = sooner(at, o.ExpiresAt)
	}
	for _, a := range j.Assignments {
		if a.ClosedAt.IsZero() {
			at = sooner(at, a.CloseAt)
		}
	}
	if j.unclaimed() {
		at = sooner(at, j.NotAfter)
	}
	switch j.Status {
	case resource.JobScheduled:
		at = sooner(at, j.MatchingMode.ScheduleAt)
	case resource.JobQueued:
		for _, d := range j.Declines {
			at = sooner(at, d.Until)
		}
		for _, sel := range j.RequestedWorkerSelectors {
			if sel.Active() {
				at = sooner(at, sel.ExpiresAt)
			}
		}
		for _, sel := range j.Attached {
			if sel.Active() {
				at = sooner(at, sel.ExpiresAt)
			}
		}
		at = sooner(at, s.nextWait(j))
	default:
	}
	return at
}

// nextWait returns when the next wait-time rule fires for a queued job.
func (s *State) nextWait(j *job) (at time.Time) {
	if j.queue == nil || j.queue.ExceptionPolicyID == "" {
		return at
	}
	for _, r := range s.rulesOf(j.queue) {
		if r.Trigger.Kind == resource.TriggerWaitTime && !j.hasFired(j.QueueID, r.ID) {
			at = sooner(at, j.WaitsSince.Add(resource.Seconds(r.Trigger.ThresholdSeconds)))
		}
	}
	return at
}

func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// rest sets the idle timer of a worker that has no offers and no assignments.
func (s *State) rest(w *worker) {
	var at time.Time
	if w.State == resource.WorkerActive && len(w.offers) == 0 && len(w.assigned) == 0 && s.settings.IdleLife > 0 {
		at = w.ActiveAt.Add(s.settings.IdleLife)
	}
	s.timers[timerIdle].set(&w.idle, at)
}

// loaded updates the derived state after a worker's load changed.
func (s *State) loaded(w *worker) {
	s.rest(w)
	if w.pos < 0 {
		return
	}
	if s.index.reload(w) {
		s.markWorker(w)
	}
	w.reseat()
}
