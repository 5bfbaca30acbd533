package routing

import (
	"slices"
	"weir/routing/eventlog"
	"weir/routing/resource"
)

func (s *State) applyWorkerPut(e *eventlog.WorkerPutEvent) {
	w := s.workers[e.WorkerID]
	if w == nil {
		w = &worker{pos: -1}
		w.ID, w.State, w.Created = e.WorkerID, resource.WorkerInactive, e.Seq
		w.idle = timer{kind: timerIdle, order: e.Seq, work: w}
		s.workers[e.WorkerID] = w
	}
	w.touch(&e.Header)
	// An available worker keeps its position among the others.
	pos := w.pos
	if pos >= 0 {
		s.index.leave(w)
	}
	w.WorkerSpec = e.Spec
	w.uses()
	if pos >= 0 {
		s.index.enterAt(w, pos)
		s.seat(w)
		s.markWorker(w)
	}
	s.rest(w)
}

// withdraw removes an active worker from the index and the pools.
func (s *State) withdraw(w *worker) {
	s.index.leave(w)
	w.reseat()
}

// uses rebuilds the worker's channels and counts the jobs on each.
func (w *worker) uses() {
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

func (s *State) applyWorkerRegistered(e *eventlog.WorkerRegisteredEvent) {
	w := s.workers[e.WorkerID]
	w.touch(&e.Header)
	w.State, w.Registered = resource.WorkerActive, e.Seq
	w.AvailableSince, w.Place, w.ActiveAt = e.At, e.Seq, e.At
	s.index.enter(w)
	s.seat(w)
	s.markWorker(w)
	s.rest(w)
}

func (s *State) applyWorkerDeregistered(e *eventlog.WorkerDeregisteredEvent) {
	w := s.workers[e.WorkerID]
	w.touch(&e.Header)
	s.withdraw(w)
	w.AvailableForOffers, w.State = false, resource.WorkerInactive
	if len(w.assigned) > 0 {
		w.State = resource.WorkerDraining
	}
	s.rest(w)
}

func (s *State) applyWorkerDrained(e *eventlog.WorkerDrainedEvent) {
	w := s.workers[e.WorkerID]
	w.touch(&e.Header)
	w.State = resource.WorkerInactive
}

func (s *State) applyWorkerDeleted(e *eventlog.WorkerDeletedEvent) {
	w := s.workers[e.WorkerID]
	if w.pos >= 0 {
		s.withdraw(w)
	}
	s.timers[timerIdle].remove(&w.idle)
	delete(s.workers, e.WorkerID)
}

// release frees what an assignment holds.
func (s *State) release(a *assignment, h *eventlog.Header) {
	w := a.worker
	w.assigned = slices.DeleteFunc(w.assigned, func(o *assignment) bool { return o == a })
	w.assignedCost -= a.Cost
	w.use(a.ChannelID, -1)
	w.touch(h)
	w.AvailableSince, w.Place, w.ActiveAt = h.At, h.Seq, h.At
	if w.pos >= 0 {
		s.index.last(w)
	}
	s.loaded(w)
}

// use changes the number of jobs on one of a worker's channels by n.
func (w *worker) use(channel string, n int) {
	for i := range w.channels {
		if w.channels[i].ChannelID == channel {
			w.channels[i].jobs += n
		}
	}
}

func (w *worker) cost(channel string) int {
	for i := range w.channels {
		if w.channels[i].ChannelID == channel {
			return w.channels[i].CapacityCostPerJob
		}
	}
	return 0
}

func (w *worker) hasRoom(channel string) bool {
	for i := range w.channels {
		if w.channels[i].ChannelID == channel {
			return w.channels[i].can
		}
	}
	return false
}

func (s *State) applyDeleted(e *eventlog.DeletedEvent) {
	switch e.Resource {
	case resource.Queue:
		s.index.queue(e.ID).closed = false
		delete(s.queues, e.ID)
	case resource.Distribution:
		delete(s.dists, e.ID)
	case resource.Classification:
		delete(s.classes, e.ID)
	case resource.Exception:
		delete(s.excepts, e.ID)
	case resource.Pool:
		p := s.pools[e.ID]
		delete(s.pools, e.ID)
		for _, w := range s.workers {
			w.seats = slices.DeleteFunc(w.seats, func(seat seat) bool { return seat.pool == p })
		}
	case resource.Worker, resource.Job:
	}
}

func (s *State) applyQueuePut(e *eventlog.QueuePutEvent) {
	q := s.queues[e.ID]
	if q == nil {
		q = &queue{ranks: map[int]int{}}
		q.ID = e.ID
		s.queues[e.ID] = q
	}
	q.touch(&e.Header)
	q.QueueSpec = e.Spec
	s.refit(q)
}

// refit updates derived state after a change of a queue or of its policies.
func (s *State) refit(q *queue) {
	bypass, most := q.bypass(), q.maxOffers()
	q.dist = s.dists[q.DistributionPolicyID]
	x := s.index.queue(q.ID)
	opened := x.closed && q.Closed == resource.Open
	x.closed = q.Closed != resource.Open
	classes := bypass != q.bypass()
	if classes || most != q.maxOffers() || q.ExceptionPolicyID != "" || q.hadException {
		for j := range q.line.all {
			if classes {
				s.disown(j)
			}
			s.settleClass(j)
			s.arm(j)
		}
	}
	q.hadException = q.ExceptionPolicyID != ""
	if opened {
		for _, w := range x.ring {
			s.markWorker(w)
		}
	}
}

func (s *State) applyDistributionPut(e *eventlog.DistributionPutEvent) {
	d := &distribution{ID: e.ID, DistributionSpec: e.Spec}
	d.touch(&e.Header)
	s.dists[e.ID] = d
	for _, q := range s.queues {
		if q.DistributionPolicyID == e.ID {
			s.refit(q)
		}
	}
}

func (s *State) applyClassificationPut(e *eventlog.ClassificationPutEvent) {
	c := &classification{ID: e.ID, ClassificationSpec: e.Spec}
	c.touch(&e.Header)
	s.classes[e.ID] = c
}

func (s *State) applyExceptionPut(e *eventlog.ExceptionPutEvent) {
	x := &exception{ID: e.ID, ExceptionSpec: e.Spec}
	x.touch(&e.Header)
	s.excepts[e.ID] = x
	for _, q := range s.queues {
		if q.ExceptionPolicyID == e.ID {
			s.refit(q)
		}
	}
}
