package router

import (
	"fmt"
	"slices"

	"weir/router/journal"
	"weir/router/resource"
)

// applier applies events to the entities and keeps everything that is derived from them: the index,
// the timers and the agenda. It decides nothing, so that a replay has the same result.
type applier struct {
	entities

	timers    [timerKinds]heap
	agenda    agenda
	executing bool      // an Execute is running; otherwise events are being replayed
	snapshot  *Snapshot // the unfinished snapshot; copies jobs before they change
}

// Replay applies events that Execute made, in order. A gap or a repetition is an
// error, after which the state must not be used.
func (s *applier) Replay(events ...journal.Event) error {
	for _, e := range events {
		h := e.Head()
		if h.Seq != s.seq+1 {
			return fmt.Errorf("event %d follows event %d", h.Seq, s.seq)
		}
		s.apply(e)
	}
	return nil
}

// apply applies one event and advances the clock.
func (s *applier) apply(e journal.Event) {
	// The unfinished snapshot shares jobs with the state; it copies a job before its first
	// change.
	if s.snapshot != nil {
		s.snapshot.before(e)
	}
	h := e.Head()
	s.seq = h.Seq
	if h.At.After(s.now) {
		s.now = h.At
	}
	s.dispatch(e)
	s.measure(e)
}

// dispatch dispatches an event to the entity that it changes.
func (s *applier) dispatch(e journal.Event) {
	switch e := e.(type) {
	case *journal.JobReceivedEvent:
		s.applyJobReceived(e)
	case *journal.JobDeletedEvent, *journal.JobForgottenEvent:
		s.removeJob(e.Subject())
	case *journal.DeclineLapsedEvent:
		s.applyDeclineLapsed(e)
	case *journal.OfferIssuedEvent:
		s.applyOfferIssued(e)
	case *journal.OfferAcceptedEvent:
		s.applyOfferAccepted(e)
	case *journal.OfferDeclinedEvent:
		s.applyOfferDeclined(e)
	case *journal.OfferRevokedEvent:
		s.applyOfferRevoked(e)
	case *journal.OfferExpiredEvent:
		s.endOffer(s.offers[e.OfferID], &e.Header)
	case *journal.WorkerPutEvent:
		s.applyWorkerPut(e)
	case *journal.WorkerRegisteredEvent:
		s.applyWorkerRegistered(e)
	case *journal.WorkerUpdatedEvent:
		s.workers[e.WorkerID].touch(&e.Header)
	case *journal.WorkerDeregisteredEvent:
		s.applyWorkerDeregistered(e)
	case *journal.WorkerDrainedEvent:
		s.applyWorkerDrained(e)
	case *journal.WorkerDeletedEvent:
		s.applyWorkerDeleted(e)
	case *journal.QueuePutEvent:
		s.applyQueuePut(e)
	case *journal.DistributionPutEvent:
		s.applyDistributionPut(e)
	case *journal.ClassificationPutEvent:
		setPolicy(s.classifications, e.ID, e.Spec, &e.Header)
	case *journal.ExceptionPutEvent:
		s.applyExceptionPut(e)
	case *journal.PoolPutEvent:
		s.applyPoolPut(e)
	case *journal.DeletedEvent:
		s.applyDeleted(e)
	default: // about a job
		j := s.jobs[e.Subject()]
		j.touch(e.Head())
		s.applyJobEvent(j, e)
		s.measureJob(j)
		s.reindexJob(j)
	}
}

func (s *applier) applyWorkerPut(e *journal.WorkerPutEvent) {
	w := s.workers[e.WorkerID]
	if w == nil {
		// Only an active worker has a position; registering it assigns one.
		w = &worker{position: -1}
		w.ID, w.State, w.Created = e.WorkerID, resource.WorkerInactive, e.Seq
		w.idleTimer = timer{kind: timerIdle, order: e.Seq, work: w}
		s.workers[e.WorkerID] = w
	}
	w.touch(&e.Header)
	// An available worker keeps its position among the others.
	pos := w.position
	if pos >= 0 {
		s.index.removeWorker(w)
	}
	// Between the two calls of the index: it forgets the worker by its old labels and queues.
	w.WorkerSpec = e.Spec
	w.rebuildChannels()
	if pos >= 0 {
		s.index.addWorkerAt(w, pos)
		s.joinPools(w)
		s.markWorker(w)
	}
	s.setIdleTimer(w)
}

// removeFromIndex removes an active worker from the index and the pools.
func (s *applier) removeFromIndex(w *worker) {
	s.index.removeWorker(w)
	w.updatePools()
}

// rebuildChannels rebuilds the worker's channels and counts the jobs on each.
func (w *worker) rebuildChannels() {
	w.channels = w.channels[:0]
	for _, c := range w.Channels {
		use := channelUse{Channel: c}
		for _, a := range w.assigned {
			if a.ChannelID == c.ChannelID {
				use.jobs++
			}
		}
		for _, o := range w.offers {
			if o.job.ChannelID == c.ChannelID {
				use.jobs++
			}
		}
		w.channels = append(w.channels, use)
	}
}

func (s *applier) applyWorkerRegistered(e *journal.WorkerRegisteredEvent) {
	w := s.workers[e.WorkerID]
	w.touch(&e.Header)
	w.State, w.Registered = resource.WorkerActive, e.Seq
	// AvailableSeq orders workers that became available at the same instant.
	w.AvailableSince, w.AvailableSeq, w.ActiveAt = e.At, e.Seq, e.At
	s.index.addWorker(w)
	s.joinPools(w)
	s.markWorker(w)
	s.setIdleTimer(w)
}

func (s *applier) applyWorkerDeregistered(e *journal.WorkerDeregisteredEvent) {
	w := s.workers[e.WorkerID]
	w.touch(&e.Header)
	s.removeFromIndex(w)
	w.AvailableForOffers, w.State = false, resource.WorkerInactive
	// A draining worker keeps its jobs until they are closed, and gets no offers meanwhile.
	if len(w.assigned) > 0 {
		w.State = resource.WorkerDraining
	}
	s.setIdleTimer(w)
}

func (s *applier) applyWorkerDrained(e *journal.WorkerDrainedEvent) {
	w := s.workers[e.WorkerID]
	w.touch(&e.Header)
	w.State = resource.WorkerInactive
}

func (s *applier) applyWorkerDeleted(e *journal.WorkerDeletedEvent) {
	w := s.workers[e.WorkerID]
	if w.position >= 0 {
		s.removeFromIndex(w)
	}
	s.timers[timerIdle].remove(&w.idleTimer)
	delete(s.workers, e.WorkerID)
}

// removeAssignment frees what an assignment holds.
func (s *applier) removeAssignment(a *assignment, h *journal.Header) {
	w := a.worker
	w.assigned = slices.DeleteFunc(w.assigned, func(o *assignment) bool { return o == a })
	w.assignedCost -= a.Cost
	w.addJobs(a.ChannelID, -1)
	w.touch(h)
	// Whoever finishes a job goes to the end of the line (longestIdle).
	w.AvailableSince, w.AvailableSeq, w.ActiveAt = h.At, h.Seq, h.At
	if w.position >= 0 {
		s.index.moveToEnd(w)
	}
	s.loadChanged(w)
}

// addJobs changes the number of jobs on one of a worker's channels by n.
func (w *worker) addJobs(channel string, n int) {
	if c := w.channel(channel); c != nil {
		c.jobs += n
	}
}

func (s *applier) applyDeleted(e *journal.DeletedEvent) {
	if e.Resource == resource.Queue {
		s.index.queue(e.ID).closed = false
	}
	if e.Resource == resource.Pool {
		for _, w := range s.workers {
			w.memberships = slices.DeleteFunc(w.memberships, func(m membership) bool { return m.pool.ID == e.ID })
		}
	}
	s.of(e.Resource).remove(e.ID)
}

func (s *applier) applyQueuePut(e *journal.QueuePutEvent) {
	q := s.queues[e.ID]
	if q == nil {
		q = &queue{ranks: map[int]int{}}
		q.ID = e.ID
		s.queues[e.ID] = q
	}
	q.touch(&e.Header)
	q.QueueSpec = e.Spec
	s.queueChanged(q)
}

// queueChanged updates derived state after a change of a queue or of its policies.
func (s *applier) queueChanged(q *queue) {
	bypass, maxOffers := q.dist.Mode.BypassSelectors, q.maxOffers()
	q.dist = resource.DistributionSpec{OfferExpiresAfterSeconds: resource.DefaultOfferSeconds}
	if d := s.distributions[q.DistributionPolicyID]; d != nil {
		q.dist = d.Spec
	}
	x := s.index.queue(q.ID)
	// Compared before the index is changed: only the transition makes offers possible again.
	opened := x.closed && q.Closed == resource.Open
	x.closed = q.Closed != resource.Open
	classes := bypass != q.dist.Mode.BypassSelectors
	if classes || maxOffers != q.maxOffers() || q.ExceptionPolicyID != "" || q.hadExceptions {
		for j := range q.jobs.all {
			if classes {
				s.leaveClass(j)
			}
			s.reindexClass(j)
			s.setTimers(j)
		}
	}
	q.hadExceptions = q.ExceptionPolicyID != ""
	// Nothing else would look at the waiting jobs: neither they nor the workers have changed.
	if opened {
		for _, w := range x.workersByID {
			s.markWorker(w)
		}
	}
}

func (s *applier) applyDistributionPut(e *journal.DistributionPutEvent) {
	setPolicy(s.distributions, e.ID, e.Spec, &e.Header)
	for _, q := range s.queues {
		if q.DistributionPolicyID == e.ID {
			s.queueChanged(q)
		}
	}
}

// setPolicy replaces a policy as a whole, because snapshots share it.
func setPolicy[T any](policies map[string]*Named[T], id string, spec T, h *journal.Header) {
	policies[id] = &Named[T]{id, spec, Version(h.Seq), h.At}
}

func (s *applier) applyExceptionPut(e *journal.ExceptionPutEvent) {
	setPolicy(s.exceptions, e.ID, e.Spec, &e.Header)
	for _, q := range s.queues {
		if q.ExceptionPolicyID == e.ID {
			s.queueChanged(q)
		}
	}
}

// joinPools recomputes a worker's pool memberships, counting it into pools that it
// joins and out of pools that it leaves.
func (s *applier) joinPools(w *worker) {
	before := w.memberships
	w.memberships = nil
	for _, p := range s.pools {
		i := slices.IndexFunc(before, func(b membership) bool { return b.pool == p })
		was := i >= 0 && before[i].counted
		if w.passes(p) {
			w.memberships = append(w.memberships, membership{p, was})
		} else if was {
			p.Count++
			p.depth--
		}
	}
	w.updatePools()
}

func (s *applier) applyPoolPut(e *journal.PoolPutEvent) {
	p := s.pools[e.ID]
	if p == nil {
		p = &pool{ID: e.ID, Count: e.Spec.CountFrom}
		s.pools[e.ID] = p
	}
	p.touch(&e.Header)
	p.PoolSpec = e.Spec
	s.recountPool(p)
}

// recountPool recounts the workers of a pool; this does not change the pool's version.
func (s *applier) recountPool(p *pool) {
	p.depth = 0
	for _, w := range s.workers {
		w.memberships = slices.DeleteFunc(w.memberships, func(m membership) bool { return m.pool == p })
		if w.position < 0 || !w.passes(p) {
			continue
		}
		in := w.hasRoom(p.ChannelID)
		w.memberships = append(w.memberships, membership{p, in})
		if in {
			p.depth++
		}
	}
}
