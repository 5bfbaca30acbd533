package router

import (
	"slices"
	"strings"

	"weir/router/label"
)

// addWorker gives an active worker a position in the index, after all others.
func (x *index) addWorker(w *worker) {
	if len(x.workers) > 2*x.active+x.limits.gaps {
		x.compact()
	}
	// Positions only grow, because a worker that becomes available goes to the end.
	x.workers = append(x.workers, nil)
	x.addWorkerAt(w, len(x.workers)-1)
}

// addWorkerAt gives a worker a vacant position.
func (x *index) addWorkerAt(w *worker, pos int) {
	x.active++
	w.position = pos
	x.workers[pos] = w
	for i := range w.channels {
		w.channels[i].index = x.channel(w.channels[i].ChannelID)
	}
	for _, id := range w.Queues {
		q := x.queue(id)
		if slices.Contains(w.queueIndexes, q) {
			continue
		}
		w.queueIndexes = append(w.queueIndexes, q)
		q.members.set(w.position)
		i, _ := slices.BinarySearchFunc(q.workersByID, w.ID, byWorkerID)
		q.workersByID = slices.Insert(q.workersByID, i, w)
	}
	for key, v := range w.Labels {
		x.addLabel(w, key, v)
	}
	x.updateLoad(w)
}

func byWorkerID(w *worker, id string) int { return strings.Compare(w.ID, id) }

func (x *index) addLabel(w *worker, key string, v label.Value) {
	values := x.labels[key]
	if values == nil {
		values = map[label.Value][]*worker{}
		x.labels[key] = values
	}
	values[v] = append(values[v], w)
	if p := x.predicates[predicateKey{key, label.Equal, v}]; p != nil {
		w.predicates = append(w.predicates, p)
		p.members.set(w.position)
	}
	for _, p := range x.ranges[key] {
		if p.key.op.Holds(v, p.key.value) {
			w.predicates = append(w.predicates, p)
			p.members.set(w.position)
		}
	}
}

// removeWorker removes a worker. The worker must still have the labels, queues and
// channels with which it entered.
func (x *index) removeWorker(w *worker) {
	x.active--
	for _, q := range w.queueIndexes {
		q.members.clear(w.position)
		i, ok := slices.BinarySearchFunc(q.workersByID, w.ID, byWorkerID)
		if ok {
			q.workersByID = slices.Delete(q.workersByID, i, i+1)
		}
	}
	for key, v := range w.Labels {
		list := x.labels[key][v]
		if i := slices.Index(list, w); i >= 0 {
			list[i] = list[len(list)-1]
			list[len(list)-1] = nil
			list = list[:len(list)-1]
		}
		if x.labels[key][v] = list; len(list) == 0 {
			delete(x.labels[key], v)
		}
		if len(x.labels[key]) == 0 {
			delete(x.labels, key)
		}
	}
	for _, p := range w.predicates {
		p.members.clear(w.position)
	}
	for i := range w.channels {
		w.channels[i].hasRoom = false
		w.channels[i].index.withRoom.clear(w.position)
	}
	if w.load != nil {
		w.load.members.clear(w.position)
	}
	x.workers[w.position] = nil
	w.position, w.load, w.queueIndexes, w.predicates = -1, nil, nil, nil
}

// moveToEnd moves a worker behind all others, because it has just become available.
func (x *index) moveToEnd(w *worker) {
	if w.position == len(x.workers)-1 {
		return
	}
	x.workers[w.position] = nil
	x.workers = append(x.workers, w)
	x.moveWorker(w, len(x.workers)-1)
	if len(x.workers) > 2*x.active+x.limits.gaps {
		x.compact()
	}
}

func (x *index) moveWorker(w *worker, to int) {
	from := w.position
	w.position = to
	for _, q := range w.queueIndexes {
		q.members.clear(from)
		q.members.set(to)
	}
	for _, p := range w.predicates {
		p.members.clear(from)
		p.members.set(to)
	}
	for i := range w.channels {
		if c := &w.channels[i]; c.hasRoom {
			c.index.withRoom.clear(from)
			c.index.withRoom.set(to)
		}
	}
	w.load.members.clear(from)
	w.load.members.set(to)
}

// compact closes the gaps. Positions only fall, so no worker lands on one that
// is still taken.
func (x *index) compact() {
	n := 0
	for _, w := range x.workers {
		if w == nil {
			continue
		}
		if w.position != n {
			x.moveWorker(w, n)
		}
		x.workers[n] = w
		n++
	}
	clear(x.workers[n:])
	x.workers = x.workers[:n]
}

// updateLoad updates the sets that depend on a worker's load and reports whether
// the worker gained room on some channel.
func (x *index) updateLoad(w *worker) (more bool) {
	room := w.MaxConcurrentOffers == 0 || len(w.offers) < w.MaxConcurrentOffers
	free := w.Capacity - w.assignedCost - w.offeredCost
	for i := range w.channels {
		c := &w.channels[i]
		can := room && c.CapacityCostPerJob <= free && (c.MaxNumberOfJobs == 0 || c.jobs < c.MaxNumberOfJobs)
		if can == c.hasRoom {
			continue
		}
		c.hasRoom = can
		more = more || can
		c.index.withRoom.put(w.position, can)
	}
	// Ratios are compared as products of integers: 1/3 and 2/6 have to be the same load.
	if l := w.load; l == nil || l.num*w.Capacity != w.assignedCost*l.den {
		if l != nil {
			l.members.clear(w.position)
		}
		w.load = x.load(w.assignedCost, w.Capacity)
		w.load.members.set(w.position)
	}
	return more
}

// load returns the set of workers with a load ratio and makes it if needed. A
// worker without capacity counts as full.
func (x *index) load(num, den int) *load {
	if den <= 0 {
		num, den = 1, 1
	}
	order := func(l *load, num int) int { return l.num*den - num*l.den }
	i, ok := slices.BinarySearchFunc(x.loads, num, order)
	if ok {
		return x.loads[i]
	}
	if len(x.loads) >= x.limits.loads {
		x.loads = slices.DeleteFunc(x.loads, func(l *load) bool { return l.members.n == 0 })
		i, _ = slices.BinarySearchFunc(x.loads, num, order)
	}
	l := &load{num: num, den: den}
	x.loads = slices.Insert(x.loads, i, l)
	return l
}
