package routing

import (
	"slices"
	"strings"
	"weir/routing/label"
	"weir/routing/resource"
)

// channelUse is a worker's channel as the index sees it.
type channelUse struct {
	resource.Channel
	index *channelIndex
	jobs  int  // open assignments and open offers on it
	can   bool // the worker has room for one more
}

// enter gives an active worker a position in the index, after all others.
func (x *index) enter(w *worker) {
	if len(x.at) > 2*x.active+x.limits.gaps {
		x.compact()
	}
	x.at = append(x.at, nil)
	x.enterAt(w, len(x.at)-1)
}

// enterAt gives a worker a vacant position.
func (x *index) enterAt(w *worker, pos int) {
	x.active++
	w.pos = pos
	x.at[pos] = w
	for i := range w.channels {
		w.channels[i].index = x.channel(w.channels[i].ChannelID)
	}
	for _, id := range w.Queues {
		q := x.queue(id)
		if slices.Contains(w.listens, q) {
			continue
		}
		w.listens = append(w.listens, q)
		q.members.set(w.pos)
		i, _ := slices.BinarySearchFunc(q.ring, w.ID, byWorkerID)
		q.ring = slices.Insert(q.ring, i, w)
	}
	for key, v := range w.Labels {
		x.enterLabel(w, key, v)
	}
	x.reload(w)
}

func byWorkerID(w *worker, id string) int { return strings.Compare(w.ID, id) }

func (x *index) enterLabel(w *worker, key string, v label.Value) {
	values := x.labels[key]
	if values == nil {
		values = map[label.Value][]*worker{}
		x.labels[key] = values
	}
	values[v] = append(values[v], w)
	if p := x.predicates[predicateKey{key, label.Equal, v}]; p != nil {
		w.satisfies = append(w.satisfies, p)
		p.members.set(w.pos)
	}
	for _, p := range x.ranges[key] {
		if p.key.op.Holds(v, p.key.value) {
			w.satisfies = append(w.satisfies, p)
			p.members.set(w.pos)
		}
	}
}

// leave removes a worker. The worker must still have the labels, queues and
// channels with which it entered.
func (x *index) leave(w *worker) {
	x.active--
	for _, q := range w.listens {
		q.members.clear(w.pos)
		i, ok := slices.BinarySearchFunc(q.ring, w.ID, byWorkerID)
		if ok {
			q.ring = slices.Delete(q.ring, i, i+1)
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
	for _, p := range w.satisfies {
		p.members.clear(w.pos)
	}
	for i := range w.channels {
		w.channels[i].can = false
		w.channels[i].index.can.clear(w.pos)
	}
	if w.load != nil {
		w.load.members.clear(w.pos)
	}
	x.at[w.pos] = nil
	w.pos, w.load, w.listens, w.satisfies = -1, nil, nil, nil
}

// last moves a worker behind all others, because it has just become available.
func (x *index) last(w *worker) {
	if w.pos == len(x.at)-1 {
		return
	}
	x.at[w.pos] = nil
	x.at = append(x.at, w)
	x.shift(w, len(x.at)-1)
	if len(x.at) > 2*x.active+x.limits.gaps {
		x.compact()
	}
}

func (x *index) shift(w *worker, to int) {
	from := w.pos
	w.pos = to
	for _, q := range w.listens {
		q.members.clear(from)
		q.members.set(to)
	}
	for _, p := range w.satisfies {
		p.members.clear(from)
		p.members.set(to)
	}
	for i := range w.channels {
		if c := &w.channels[i]; c.can {
			c.index.can.clear(from)
			c.index.can.set(to)
		}
	}
	w.load.members.clear(from)
	w.load.members.set(to)
}

// compact closes the gaps. Positions only fall, so no worker lands on one that
// is still taken.
func (x *index) compact() {
	n := 0
	for _, w := range x.at {
		if w == nil {
			continue
		}
		if w.pos != n {
			x.shift(w, n)
		}
		x.at[n] = w
		n++
	}
	clear(x.at[n:])
	x.at = x.at[:n]
}

// reload updates the sets that depend on a worker's load and reports whether
// the worker gained room on some channel.
func (x *index) reload(w *worker) (more bool) {
	room := w.MaxConcurrentOffers == 0 || len(w.offers) < w.MaxConcurrentOffers
	free := w.Capacity - w.assignedCost - w.offeredCost
	for i := range w.channels {
		c := &w.channels[i]
		can := room && c.CapacityCostPerJob <= free && (c.MaxNumberOfJobs == 0 || c.jobs < c.MaxNumberOfJobs)
		if can == c.can {
			continue
		}
		c.can = can
		more = more || can
		c.index.can.put(w.pos, can)
	}
	if l := w.load; l == nil || l.num*w.Capacity != w.assignedCost*l.den {
		if l != nil {
			l.members.clear(w.pos)
		}
		w.load = x.load(w.assignedCost, w.Capacity)
		w.load.members.set(w.pos)
	}
	return more
}

// load returns the set of workers with a load ratio and makes it if needed. A
// worker without capacity counts as full.
func (x *index) load(num, den int) *load {
	if den <= 0 {
		num, den = 1, 1
	}
	i, ok := slices.BinarySearchFunc(x.loads, load{num: num, den: den}, func(a *load, b load) int {
		return a.num*b.den - b.num*a.den
	})
	if ok {
		return x.loads[i]
	}
	if len(x.loads) >= x.limits.loads {
		x.loads = slices.DeleteFunc(x.loads, func(l *load) bool { return l.members.n == 0 })
		return x.insertLoad(num, den)
	}
	l := &load{num: num, den: den}
	x.loads = slices.Insert(x.loads, i, l)
	return l
}

func (x *index) insertLoad(num, den int) *load {
	l := &load{num: num, den: den}
	i := slices.IndexFunc(x.loads, func(o *load) bool { return o.num*den > num*o.den })
	if i < 0 {
		i = len(x.loads)
	}
	x.loads = slices.Insert(x.loads, i, l)
	return l
}
