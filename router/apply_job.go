package router

import (
	"slices"
	"time"

	"weir/router/journal"
	"weir/router/resource"
)

func (s *applier) applyJobReceived(e *journal.JobReceivedEvent) {
	j := &job{}
	j.ID, j.JobSpec, j.Status = e.JobID, e.Spec, e.Status
	j.CreatedAt, j.Created = e.At, e.Seq
	// Timers due at the same instant fire in the order in which their jobs were made: a restored
	// state has other heaps, and still emits the same events.
	j.initTimers(e.Seq)
	j.touch(&e.Header)
	s.jobs[j.ID] = j
	s.jobsByAge.add(j.Created, j)
	s.measureJob(j)
	s.reindexJob(j)
}

func (j *job) initTimers(order uint64) {
	j.dueTimer = timer{kind: timerJob, order: order, job: j}
	j.lifeTimer = timer{kind: timerLife, order: order, job: j}
}

// applyJobEvent applies an event to the job that it is about; the caller stamps the job
// and brings everything derived from it up to date.
func (s *applier) applyJobEvent(j *job, e journal.Event) {
	switch e := e.(type) {
	// The class depends on queue, channel and selectors. It has to be left while the job still
	// has the old ones; reindexJob finds the new one.
	case *journal.JobUpdatedEvent:
		if !resource.EqualSelectors(j.RequestedWorkerSelectors, e.Spec.RequestedWorkerSelectors) || j.QueueID != e.Spec.QueueID || j.ChannelID != e.Spec.ChannelID {
			s.leaveClass(j)
		}
		j.JobSpec, j.Status = e.Spec, e.Status
	case *journal.JobRulesRequestedEvent:
		// The number of the event is the round: an answer to an earlier request has another
		// number and is refused.
		j.Awaits, j.Round = AwaitRules, e.Seq
	case *journal.JobScoresRequestedEvent:
		j.Awaits, j.Round = AwaitScores, e.Seq
	case *journal.JobScoredEvent:
		j.Awaits = AwaitNothing
	case *journal.JobClassifiedEvent:
		s.leaveClass(j)
		j.Awaits, j.Priority, j.QueueID, j.Attached = AwaitNothing, new(e.Priority), e.Queue.ID, e.Attached
		j.Tries++
	case *journal.JobClassificationFailedEvent:
		j.Awaits, j.Status = AwaitNothing, resource.JobClassificationFailed
		j.Tries++
	case *journal.JobQueuedEvent:
		s.applyJobQueued(j, e)
	case *journal.JobScheduledEvent:
		j.Status, j.ScheduledAt, j.Awaits = resource.JobScheduled, e.ScheduledAt, AwaitNothing
	case *journal.JobWaitingForActivationEvent:
		j.Status = resource.JobWaitingForActivation
	case *journal.JobSchedulingFailedEvent:
		j.Status, j.FinishedAt = resource.JobScheduleFailed, e.At
	case *journal.JobExceptionTriggeredEvent:
		j.Fired = append(slices.Clip(j.Fired), firedRule{e.QueueID, e.RuleID})
	case *journal.JobWorkerSelectorsExpiredEvent:
		s.leaveClass(j)
		j.RequestedWorkerSelectors, _ = resource.Expire(j.RequestedWorkerSelectors, e.At)
		j.Attached, _ = resource.Expire(j.Attached, e.At)
	case *journal.JobUnassignedEvent:
		s.applyJobUnassigned(j, e)
	case *journal.JobCompletedEvent:
		a := j.Assignments[j.assignment(e.AssignmentID)]
		a.CompletedAt = e.At
		a.worker.touch(&e.Header)
		j.Status = resource.JobCompleted
		j.note(e.Note, e.At)
	case *journal.JobCloseArrangedEvent:
		a := j.Assignments[j.assignment(e.AssignmentID)]
		a.CloseAt, a.DispositionCode = e.CloseAt, e.DispositionCode
		j.note(e.Note, e.At)
	case *journal.JobClosedEvent:
		s.applyJobClosed(j, e)
	case *journal.JobCancelledEvent:
		s.applyJobCancelled(j, e)
	}
}

func (s *applier) applyJobQueued(j *job, e *journal.JobQueuedEvent) {
	s.leaveClass(j)
	j.Status, j.QueueID, j.Awaits = resource.JobQueued, e.QueueID, AwaitNothing
	j.RequestedWorkerSelectors, j.Attached = e.Requested, e.Attached
	// Its place in line survives updates and reclassification; only the first queueing sets it.
	if j.Enqueued == 0 {
		j.Enqueued, j.EnqueuedAt = e.Seq, e.At
	}
	// The clock of wait-time rules starts anew in another queue, and only there.
	if j.WaitsIn != e.QueueID {
		j.WaitsIn, j.WaitsSince = e.QueueID, e.At
	}
}

func (s *applier) applyJobUnassigned(j *job, e *journal.JobUnassignedEvent) {
	i := j.assignment(e.AssignmentID)
	s.removeAssignment(j.Assignments[i], &e.Header)
	j.Assignments = slices.Delete(slices.Clone(j.Assignments), i, i+1)
	j.Unassigned++
	// Unassigned, it begins to wait anew, in whichever queue; it keeps its place in line.
	j.Status, j.WaitsIn = resource.JobCreated, ""
	if e.Suspended {
		j.MatchingMode = resource.MatchingMode{Kind: resource.Suspend}
	}
}

func (s *applier) applyJobClosed(j *job, e *journal.JobClosedEvent) {
	a := j.Assignments[j.assignment(e.AssignmentID)]
	a.ClosedAt = e.At
	s.removeAssignment(a, &e.Header)
	j.Status, j.FinishedAt = resource.JobClosed, e.At
	if e.DispositionCode != "" {
		j.DispositionCode = e.DispositionCode
	}
	j.note(e.Note, e.At)
	s.finishJob(j)
}

func (s *applier) applyJobCancelled(j *job, e *journal.JobCancelledEvent) {
	for _, a := range j.Assignments {
		if a.ClosedAt.IsZero() {
			a.ClosedAt = e.At
			s.removeAssignment(a, &e.Header)
		}
	}
	j.Status, j.FinishedAt, j.Awaits = resource.JobCancelled, e.At, AwaitNothing
	j.DispositionCode = e.DispositionCode
	j.note(e.Note, e.At)
	s.finishJob(j)
}

// finishJob drops what only an open job needs.
func (s *applier) finishJob(j *job) {
	s.forgetTakenOffers(j)
	// A finished job stays readable for KeepFinished, and should use little memory meanwhile.
	j.Declines, j.Fired = nil, nil
}

func (s *applier) forgetTakenOffers(j *job) {
	for _, id := range j.Taken {
		delete(s.takenOffers, id)
	}
	j.Taken = nil
}

func (s *applier) removeJob(id string) {
	j := s.jobs[id]
	s.timers[timerJob].remove(&j.dueTimer)
	// The job is in no queue and no class any more: it is finished (see DeleteJob).
	s.timers[j.lifeTimer.kind].remove(&j.lifeTimer)
	s.jobsByAge.remove(j.Created)
	s.count(j, "")
	s.stored -= j.size
	delete(s.jobs, id)
}

func (s *applier) applyDeclineLapsed(e *journal.DeclineLapsedEvent) {
	j := s.jobs[e.JobID]
	// A clone: a snapshot shares the list, and another goroutine may be encoding it.
	j.Declines = slices.DeleteFunc(slices.Clone(j.Declines), func(d decline) bool { return d.WorkerID == e.WorkerID })
	if w := s.workers[e.WorkerID]; w != nil {
		s.markWorker(w)
	}
	s.reindexJob(j)
}

// note adds a remark, keeping the remarks in order of time.
func (j *job) note(text string, at time.Time) {
	if text == "" {
		return
	}
	j.Notes = append(slices.Clone(j.Notes), resource.Note{Message: text, AddedAt: at})
	resource.SortNotes(j.Notes)
}

func (j *job) assignment(id string) int {
	return slices.IndexFunc(j.Assignments, func(a *assignment) bool { return a.ID == id })
}

func (s *applier) applyOfferIssued(e *journal.OfferIssuedEvent) {
	j, w := s.jobs[e.JobID], s.workers[e.WorkerID]
	o := &offer{ID: e.OfferID, WorkerID: e.WorkerID, Cost: e.Cost, IssuedAt: e.At, ExpiresAt: e.ExpiresAt, job: j, worker: w}
	j.touch(&e.Header)
	w.touch(&e.Header)
	j.Offers = append(j.Offers, o)
	s.offers[o.ID] = o
	// Round robin continues behind this worker, also after a restart: snapshots keep it.
	s.queues[e.QueueID].LastOffered = w.ID
	s.reserve(o)
	s.reindexJob(j)
}

// reserve reserves a worker's capacity for an offer.
func (s *applier) reserve(o *offer) {
	w := o.worker
	w.offers = append(w.offers, o)
	w.offeredCost += o.Cost
	w.addJobs(o.job.ChannelID, 1)
	s.loadChanged(w)
}

// endOffer ends an offer without an assignment.
func (s *applier) endOffer(o *offer, h *journal.Header) {
	s.removeOffer(o, h)
	s.loadChanged(o.worker)
	s.reindexJob(o.job)
}

// removeOffer undoes reserve and forgets the offer. It does not update the worker's load:
// the caller must call loadChanged afterwards.
func (s *applier) removeOffer(o *offer, h *journal.Header) {
	w, j := o.worker, o.job
	w.offers = slices.DeleteFunc(w.offers, func(x *offer) bool { return x == o })
	w.offeredCost -= o.Cost
	w.addJobs(j.ChannelID, -1)
	w.ActiveAt = h.At
	w.touch(h)
	j.touch(h)
	delete(s.offers, o.ID)
	j.Offers = slices.DeleteFunc(j.Offers, func(x *offer) bool { return x == o })
}

func (s *applier) applyOfferAccepted(e *journal.OfferAcceptedEvent) {
	o := s.offers[e.OfferID]
	j, w := o.job, o.worker
	s.removeOffer(o, &e.Header)
	a := &assignment{ID: e.AssignmentID, OfferID: o.ID, WorkerID: w.ID, ChannelID: j.ChannelID, Cost: o.Cost, AssignedAt: e.At, job: j, worker: w}
	j.Assignments = append(j.Assignments, a)
	w.assigned = append(w.assigned, a)
	w.assignedCost += a.Cost
	w.addJobs(a.ChannelID, 1)
	if q := s.queues[e.QueueID]; q != nil {
		q.Pace.assigned(e.At)
	}
	j.Status = resource.JobAssigned
	s.loadChanged(w)
	s.reindexJob(j)
}

func (s *applier) applyOfferDeclined(e *journal.OfferDeclinedEvent) {
	o := s.offers[e.OfferID]
	o.job.Declines = append(slices.Clip(o.job.Declines), decline{o.WorkerID, o.worker.Registered, e.RetryAt})
	s.endOffer(o, &e.Header)
}

func (s *applier) applyOfferRevoked(e *journal.OfferRevokedEvent) {
	o := s.offers[e.OfferID]
	// Kept until the job finishes: who accepts the revoked offer late gets a conflict (another
	// worker has the job) instead of "not found".
	if e.Taken {
		o.job.Taken = append(slices.Clip(o.job.Taken), o.ID)
		s.takenOffers[o.ID] = o.job
	}
	s.endOffer(o, &e.Header)
}
