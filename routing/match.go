package routing

import (
	"weir/routing/eventlog"
	"weir/routing/resource"
)

// match makes every possible offer. The next offer is always for the first job
// that any worker can take.
func (s *State) match() {
	for len(s.agenda.heap) > 0 {
		c := s.agenda.pop()
		if c.worker != nil {
			s.matchWorker(c)
			continue
		}
		if c.class != nil {
			s.matchClass(c)
			continue
		}
		j := c.job
		j.onAgenda = false
		if !j.wantsOffer {
			continue
		}
		if j.sortKey != c.sortKey {
			s.markJob(j)
			continue
		}
		if s.offerTo(j) && j.wantsOffer {
			s.markJob(j)
		}
	}
}

// matchWorker finds the first job that a worker can take. If it has the sort key
// with which the worker was on the agenda, the worker's turn has come;
// otherwise the worker goes back with the new sort key. Within a match a worker
// only loses jobs, so sort keys on the agenda are never too late.
func (s *State) matchWorker(c candidate) {
	w := c.worker
	many := s.agenda.workers > s.index.limits.individual
	w.onAgenda = false
	s.agenda.workers--
	if w.position < 0 || !w.hasAnyRoom() {
		return
	}
	if many {
		s.markClasses(w)
		return
	}
	j := s.firstJob(w)
	if j == nil {
		return
	}
	if j.sortKey == c.sortKey && !s.offerTo(j) {
		return
	}
	w.onAgenda = true
	s.agenda.workers++
	s.agenda.push(candidate{sortKey: j.sortKey, worker: w})
}

// markClasses puts the classes that a worker can take on the agenda instead of
// the worker. When many workers get room at once all of them match the same first
// jobs, and each offer would make all the others search again.
func (s *State) markClasses(w *worker) {
	for _, q := range w.queueIndexes {
		s.markIn(w, q.classes)
	}
	for _, p := range w.predicates {
		s.markIn(w, p.classes)
	}
}

func (s *State) markIn(w *worker, classes []*class) {
	for i := len(classes) - 1; i >= 0; i-- {
		c := classes[i]
		head := c.jobs.first()
		if c.queue.closed || c.onAgenda && c.cursor <= head.sortKey {
			continue
		}
		if !c.matches(w) {
			c.moveAnchor(w)
			continue
		}
		s.listClass(c, head.sortKey)
	}
}

func (s *State) listClass(c *class, key uint64) {
	c.onAgenda, c.cursor = true, key
	s.agenda.push(candidate{sortKey: key, class: c})
}

// matchClass offers the first job of a class from a sort key on. If no worker can
// take it and it has no offers and no declines, no worker can take a later job
// of the class either: declines and offers only narrow the choice. The class is
// then finished. With offers or declines of its own it proves nothing about
// later jobs, so the next sort key is listed.
func (s *State) matchClass(at candidate) {
	c := at.class
	if c.cursor == at.sortKey {
		c.onAgenda = false
	}
	if c.queue.closed {
		return
	}
	for j := range c.jobs.from(at.sortKey) {
		switch {
		case j.sortKey > at.sortKey:
			s.listClass(c, j.sortKey)
		case s.offerTo(j):
			s.listClass(c, at.sortKey)
		case len(j.Offers)+len(j.Declines) > 0:
			s.listClass(c, at.sortKey+1)
		}
		return
	}
}

// firstJob returns the first job that a worker can take now, nil if there is
// none.
func (s *State) firstJob(w *worker) (best *job) {
	for _, q := range w.queueIndexes {
		best = s.firstOf(w, best, q.classes)
	}
	for _, p := range w.predicates {
		best = s.firstOf(w, best, p.classes)
	}
	return best
}

// firstOf returns the earlier of best and the first job that the worker can
// take in classes. It iterates from the end, because a class that moves away
// leaves its slot to the last one.
func (s *State) firstOf(w *worker, best *job, classes []*class) *job {
	for i := len(classes) - 1; i >= 0; i-- {
		c := classes[i]
		head := c.jobs.first()
		if best != nil && head.sortKey >= best.sortKey || c.queue.closed {
			continue
		}
		if !c.matches(w) {
			c.moveAnchor(w)
			continue
		}
		for j := range c.jobs.all {
			if best != nil && j.sortKey >= best.sortKey {
				break
			}
			if !j.excludes(w, s.now) {
				best = j
				break
			}
		}
	}
	return best
}

// offerTo offers a job to the worker that its queue's policy prefers and
// reports whether there was one. It may ask for scores instead of making an
// offer; that also counts as true.
func (s *State) offerTo(j *job) bool {
	if j.class.queue.closed {
		return false
	}
	w, ask := s.choose(j, s.supplied)
	if ask != nil {
		s.emit(ask)
		return true
	}
	if w == nil {
		return false
	}
	s.issue(j, w)
	return true
}

func (s *State) issue(j *job, w *worker) {
	q := j.queue
	head := s.offerHead(j, w, s.newID("o-"))
	s.emit(&eventlog.OfferIssuedEvent{
		OfferHead: head, OfferData: offerData(j, w),
		Cost: w.cost(j.ChannelID), ExpiresAt: s.now.Add(resource.Seconds(q.dist.OfferExpiresAfterSeconds)),
	})
	if q.dist.AutoAccept {
		s.accept(s.offers[head.OfferID])
	}
}

func (s *State) accept(o *offer) {
	j, w := o.job, o.worker
	s.emit(&eventlog.OfferAcceptedEvent{
		OfferHead: s.offerHead(j, w, o.ID), OfferData: offerData(j, w), AssignmentID: s.newID("a-"),
	})
	s.revokeAll(j.Offers, true)
}
