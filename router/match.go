package router

// matcher makes the offers that have become possible: it takes jobs, workers and classes from the
// agenda in order. Of the index it changes only where classes are found, which affects the cost of
// a search and never its result.
type matcher struct {
	view      *entities
	agenda    *agenda
	decisions *decisions
}

// match makes every possible offer. The next offer is always for the first job
// that any worker can take.
func (m *matcher) match() {
	for len(m.agenda.heap) > 0 {
		c := m.agenda.pop()
		if c.worker != nil {
			m.matchWorker(c)
			continue
		}
		if c.class != nil {
			m.matchClass(c)
			continue
		}
		j := c.job
		j.onAgenda = false
		if !j.wantsOffer {
			continue
		}
		if j.sortKey != c.sortKey {
			m.agenda.markJob(j)
			continue
		}
		if m.offerTo(j) && j.wantsOffer {
			m.agenda.markJob(j)
		}
	}
}

// matchWorker finds the first job that a worker can take. If it has the sort key
// with which the worker was on the agenda, the worker's turn has come;
// otherwise the worker goes back with the new sort key. Within a match a worker
// only loses jobs, so sort keys on the agenda are never too late.
func (m *matcher) matchWorker(c candidate) {
	w := c.worker
	many := m.agenda.workers > m.view.index.limits.individual
	w.onAgenda = false
	m.agenda.workers--
	if w.position < 0 || !w.hasAnyRoom() {
		return
	}
	if many {
		m.markClasses(w)
		return
	}
	j := m.firstJob(w)
	if j == nil {
		return
	}
	if j.sortKey == c.sortKey && !m.offerTo(j) {
		return
	}
	w.onAgenda = true
	m.agenda.workers++
	m.agenda.push(candidate{sortKey: j.sortKey, worker: w})
}

// markClasses puts the classes that a worker can take on the agenda instead of
// the worker. When many workers get room at once all of them match the same first
// jobs, and each offer would make all the others search again.
func (m *matcher) markClasses(w *worker) {
	for _, q := range w.queueIndexes {
		m.markIn(w, q.classes)
	}
	for _, p := range w.predicates {
		m.markIn(w, p.classes)
	}
}

func (m *matcher) markIn(w *worker, classes []*class) {
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
		m.listClass(c, head.sortKey)
	}
}

func (m *matcher) listClass(c *class, key uint64) {
	c.onAgenda, c.cursor = true, key
	m.agenda.push(candidate{sortKey: key, class: c})
}

// matchClass offers the first job of a class from a sort key on. If no worker can
// take it and it has no offers and no declines, no worker can take a later job
// of the class either: declines and offers only narrow the choice. The class is
// then finished. With offers or declines of its own it proves nothing about
// later jobs, so the next sort key is listed.
func (m *matcher) matchClass(at candidate) {
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
			m.listClass(c, j.sortKey)
		case m.offerTo(j):
			m.listClass(c, at.sortKey)
		case len(j.Offers)+len(j.Declines) > 0:
			m.listClass(c, at.sortKey+1)
		}
		return
	}
}

// firstJob returns the first job that a worker can take now, nil if there is
// none.
func (m *matcher) firstJob(w *worker) (best *job) {
	for _, q := range w.queueIndexes {
		best = m.firstOf(w, best, q.classes)
	}
	for _, p := range w.predicates {
		best = m.firstOf(w, best, p.classes)
	}
	return best
}

// firstOf returns the earlier of best and the first job that the worker can
// take in classes. It iterates from the end, because a class that moves away
// leaves its slot to the last one.
func (m *matcher) firstOf(w *worker, best *job, classes []*class) *job {
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
			if !j.excludes(w, m.view.now) {
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
func (m *matcher) offerTo(j *job) bool {
	if j.class.queue.closed {
		return false
	}
	w, ask := m.view.choose(j, m.decisions.supplied)
	if ask != nil {
		m.decisions.emit(ask)
		return true
	}
	if w == nil {
		return false
	}
	m.decisions.issue(j, w)
	return true
}

// agenda holds what may have become possible since the last match: jobs that
// newly may get an offer and workers that newly have room. Between two commands
// nothing is possible, so other pairs need not be examined.
type agenda struct {
	heap    []candidate // by sort key
	workers int         // workers on the heap
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

// markJob puts a job that may newly get an offer on the agenda.
func (a *agenda) markJob(j *job) {
	if !j.onAgenda {
		j.onAgenda = true
		a.push(candidate{sortKey: j.sortKey, job: j})
	}
}
