package routing

import (
	"time"

	"weir/routing/eventlog"
)

// agenda holds what may have become possible since the last match: jobs that
// newly may get an offer and workers that newly have room. Between two commands
// nothing is possible, so other pairs need not be examined.
type agenda struct {
	heap    []candidate // by sort key
	workers int         // workers on the heap
	scores  map[string]float64
	scored  *job // the job that the scores belong to
}

// candidate is a job on the agenda; or a worker with the first job that it
// could take when last examined; or a class with the sort key from which on some
// worker might take one of its jobs.
type candidate struct {
	sortKey uint64
	job     *job
	worker  *worker
	class   *class
}

func (s *State) markJob(j *job) {
	if s.executing && !j.onAgenda {
		j.onAgenda = true
		s.agenda.push(candidate{sortKey: j.sortKey, job: j})
	}
}

// markWorker puts a worker on the agenda. The job that it could take is found
// when its turn comes.
func (s *State) markWorker(w *worker) {
	if s.executing && !w.onAgenda && w.position >= 0 {
		w.onAgenda = true
		s.agenda.workers++
		s.agenda.push(candidate{worker: w})
	}
}

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

// excludes reports whether the job must not be offered to an otherwise suitable
// worker: the worker has an open offer of the job, or declined it.
func (j *job) excludes(w *worker, now time.Time) bool {
	for _, o := range j.Offers {
		if o.worker == w {
			return true
		}
	}
	for _, d := range j.Declines {
		if d.WorkerID == w.ID && d.Registered == w.Registered && (d.Until.IsZero() || d.Until.After(now)) {
			return true
		}
	}
	return false
}

// offerTo offers a job to the worker that its queue's policy prefers and
// reports whether there was one. It may ask for scores instead of making an
// offer; that also counts as true.
func (s *State) offerTo(j *job) bool {
	if j.class.queue.closed {
		return false
	}
	w, waits := s.choose(j)
	if waits {
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
	head := s.offerHead(j, w, s.offerID())
	s.emit(&eventlog.OfferIssuedEvent{
		OfferHead: head, OfferData: offerData(j, w),
		Cost: w.cost(j.ChannelID), ExpiresAt: s.now.Add(q.offerLife()),
	})
	if q.dist != nil && q.dist.AutoAccept {
		s.accept(s.offers[head.OfferID])
	}
}

func (s *State) offerHead(j *job, w *worker, offerID string) eventlog.OfferHead {
	return eventlog.OfferHead{
		WorkerID: w.ID, JobID: j.ID, ChannelReference: j.ChannelReference,
		ChannelID: j.ChannelID, QueueID: j.QueueID, OfferID: offerID,
	}
}

func offerData(j *job, w *worker) eventlog.OfferData {
	return eventlog.OfferData{
		JobPriority: j.EffectivePriority(), JobLabels: j.Labels, JobTags: j.Tags,
		WorkerLabels: w.Labels, WorkerTags: w.Tags,
	}
}

func (c candidate) before(o candidate) bool {
	if c.sortKey != o.sortKey {
		return c.sortKey < o.sortKey
	}
	return c.job != nil && o.job == nil
}

func (a *agenda) push(c candidate) {
	a.heap = append(a.heap, c)
	i := len(a.heap) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !c.before(a.heap[p]) {
			break
		}
		a.heap[i] = a.heap[p]
		i = p
	}
	a.heap[i] = c
}

func (a *agenda) pop() candidate {
	h := a.heap
	top, last := h[0], h[len(h)-1]
	h[len(h)-1] = candidate{}
	h = h[:len(h)-1]
	a.heap = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(last) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = last
	return top
}

func (w *worker) hasAnyRoom() bool {
	for i := range w.channels {
		if w.channels[i].hasRoom {
			return true
		}
	}
	return false
}
