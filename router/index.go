package router

import (
	"encoding/binary"
	"slices"

	"weir/router/label"
	"weir/router/resource"
)

// The index answers two questions without examining jobs that no worker can
// take and without walking all workers: who can take this job, and what is the
// first job that this worker can take. It is derived from the entities and
// rebuilt with them; nothing in it is stored.

type index struct {
	predicates map[predicateKey]*predicate
	ranges     map[string][]*predicate              // by label: all that are not equalities
	nRanges    int                                  // total number
	labels     map[string]map[label.Value][]*worker // of active workers
	classes    map[string]*class
	sweepAt    int // number of classes that triggers a sweep
	queues     map[string]*queueIndex
	channels   map[string]*channelIndex
	loads      []*load   // by rising load ratio
	workers    []*worker // by position; nil where no worker is any more
	active     int
	ids        uint32 // last id given to a predicate, queue or channel

	limits     limits
	draft      class // the class that classOf looks up
	scratch    []byte
	scratchIDs []uint32
	scratchAll []*bitset
}

// limits bound what the index keeps. They change the cost of a match and never
// its result.
type limits struct {
	ranges     int // max indexed range predicates; more are checked one by one
	classes    int // classes, unused ones included, before a sweep
	loads      int // load sets, empty ones included, before the empty ones are dropped
	individual int // max workers that look for jobs one by one when they get room at once
	gaps       int // max vacated positions, beyond one for each worker
}

func newIndex() index {
	return index{
		predicates: map[predicateKey]*predicate{}, ranges: map[string][]*predicate{},
		labels: map[string]map[label.Value][]*worker{}, classes: map[string]*class{}, sweepAt: 8192,
		queues: map[string]*queueIndex{}, channels: map[string]*channelIndex{},
		limits: limits{ranges: 512, classes: 8192, loads: 64, individual: 16, gaps: 4096},
	}
}

func (x *index) queue(id string) *queueIndex {
	q := x.queues[id]
	if q == nil {
		x.ids++
		q = &queueIndex{id: x.ids}
		x.queues[id] = q
	}
	return q
}

func (x *index) channel(id string) *channelIndex {
	c := x.channels[id]
	if c == nil {
		x.ids++
		c = &channelIndex{id: x.ids}
		x.channels[id] = c
	}
	return c
}

// predicate returns the predicate for a condition and makes it if needed. It
// returns nil for a range if there are too many ranges already.
func (x *index) predicate(name string, op label.Operator, v label.Value) *predicate {
	key := predicateKey{name, op, v}
	p := x.predicates[key]
	if p != nil {
		return p
	}
	if op != label.Equal {
		// Each range is compared with every new value of its label, so their number is bounded;
		// equal is a look-up, and needs no bound.
		if x.nRanges >= x.limits.ranges {
			return nil
		}
		x.nRanges++
	}
	x.ids++
	p = &predicate{key: key, id: x.ids}
	x.predicates[key] = p
	x.populate(p)
	return p
}

// populate fills a new predicate from the labels of active workers.
func (x *index) populate(p *predicate) {
	values := x.labels[p.key.label]
	if p.key.op == label.Equal {
		for _, w := range values[p.key.value] {
			p.members.set(w.position)
			w.predicates = append(w.predicates, p)
		}
		return
	}
	x.ranges[p.key.label] = append(x.ranges[p.key.label], p)
	for v, workers := range values {
		if !p.key.op.Holds(v, p.key.value) {
			continue
		}
		for _, w := range workers {
			p.members.set(w.position)
			w.predicates = append(w.predicates, p)
		}
	}
}

// classOf returns the class of a job and makes it if needed. bypass ignores the
// selectors.
func (x *index) classOf(queue, channel string, bypass bool, lists ...[]resource.WorkerSelector) *class {
	q, ch := x.queue(queue), x.channel(channel)
	// The draft and the scratch slices are reused: most jobs find their class and allocate
	// nothing.
	c := &x.draft
	*c = class{queue: q, channel: ch, all: c.all[:0], none: c.none[:0], unindexed: c.unindexed[:0]}
	ids := x.scratchIDs[:0]
	if !bypass {
		for _, list := range lists {
			for i := range list {
				ids = x.addSelector(c, &list[i], ids)
			}
		}
	}
	// The same selectors in another order, or twice, are the same class.
	slices.Sort(ids)
	ids = slices.Compact(ids)
	x.scratchIDs = ids
	key := binary.LittleEndian.AppendUint32(x.scratch[:0], q.id)
	key = binary.LittleEndian.AppendUint32(key, ch.id)
	key = binary.LittleEndian.AppendUint32(key, uint32(len(ids)))
	for _, id := range ids {
		key = binary.LittleEndian.AppendUint32(key, id)
	}
	for _, s := range c.unindexed {
		key = append(append(append(key, 0xff), s.Key...), 0)
		key, _ = s.Value.AppendJSON(append(append(key, s.Operator...), 0))
	}
	x.scratch = key
	if found := x.classes[string(key)]; found != nil {
		return found
	}
	return x.newClass(string(key))
}

// addSelector adds one selector to the draft of a class.
func (x *index) addSelector(c *class, s *resource.WorkerSelector, ids []uint32) []uint32 {
	if !s.Active() {
		return ids
	}
	if s.Operator == label.NotEqual {
		p := x.predicate(s.Key, label.Equal, s.Value)
		c.none = append(c.none, p)
		return append(ids, p.id<<1|1)
	}
	p := x.predicate(s.Key, s.Operator, s.Value)
	if p == nil {
		c.unindexed = append(c.unindexed, s.Stated())
		return ids
	}
	c.all = append(c.all, p)
	return append(ids, p.id<<1)
}

// newClass makes the class that the draft describes.
func (x *index) newClass(key string) *class {
	d := &x.draft
	c := &class{key: key, queue: d.queue, channel: d.channel}
	c.all, c.none, c.unindexed = slices.Clone(d.all), slices.Clone(d.none), slices.Clone(d.unindexed)
	c.query.all = append(c.query.all, &c.channel.withRoom, &c.queue.members)
	for _, p := range c.all {
		p.uses++
		c.query.all = append(c.query.all, &p.members)
		// The predicate with the fewest members is the cheapest anchor: the
		// fewest workers examine the class in vain.
		if c.anchor == nil || p.members.n < c.anchor.members.n {
			c.anchor = p
		}
	}
	for _, p := range c.none {
		p.uses++
		c.query.none = append(c.query.none, &p.members)
	}
	if len(x.classes) >= x.sweepAt {
		x.sweep()
		// Twice what survived: if most classes are in use, sweeping at every new one would walk
		// all of them.
		x.sweepAt = max(x.limits.classes, 2*len(x.classes))
	}
	x.classes[key] = c
	return c
}

// sweep drops classes without jobs, and predicates that no class uses any more.
func (x *index) sweep() {
	for key, c := range x.classes {
		if c.refs > 0 {
			continue
		}
		delete(x.classes, key)
		for _, p := range c.all {
			p.uses--
		}
		for _, p := range c.none {
			p.uses--
		}
	}
	for key, p := range x.predicates {
		if p.uses > 0 {
			continue
		}
		delete(x.predicates, key)
		if key.op != label.Equal {
			x.nRanges--
			x.ranges[key.label] = slices.DeleteFunc(x.ranges[key.label], func(o *predicate) bool { return o == p })
		}
	}
	for _, w := range x.workers {
		if w != nil {
			w.predicates = slices.DeleteFunc(w.predicates, func(p *predicate) bool { return p.uses == 0 })
		}
	}
}

// add puts a job into its class, and lists a class that was empty at its anchor.
func (c *class) add(key uint64, j *job) {
	c.jobs.add(key, j)
	if c.anchorSlot == 0 {
		c.link()
	}
}

func (c *class) remove(key uint64) {
	c.jobs.remove(key)
	if c.jobs.n == 0 && c.anchorSlot > 0 {
		c.unlink()
	}
}

// anchorList returns the list in which workers find the class.
func (c *class) anchorList() *[]*class {
	if c.anchor != nil {
		return &c.anchor.classes
	}
	return &c.queue.classes
}

func (c *class) link() {
	list := c.anchorList()
	*list = append(*list, c)
	c.anchorSlot = len(*list)
}

func (c *class) unlink() {
	list := c.anchorList()
	i, last := c.anchorSlot-1, len(*list)-1
	(*list)[i] = (*list)[last]
	(*list)[i].anchorSlot = i + 1
	(*list)[last] = nil
	*list = (*list)[:last]
	c.anchorSlot = 0
}

// moveAnchor moves a class that a worker examined in vain to a predicate that
// this worker fails and that has fewer members. The best anchor is unknown when a
// class is made before its workers arrive.
func (c *class) moveAnchor(w *worker) {
	for _, p := range c.all {
		if p.members.n < c.anchor.members.n && !p.members.has(w.position) {
			c.unlink()
			c.anchor = p
			c.link()
			return
		}
	}
}

// matches reports whether a worker in the index can take jobs of the class.
func (c *class) matches(w *worker) bool {
	for _, b := range c.query.all {
		if !b.has(w.position) {
			return false
		}
	}
	for _, b := range c.query.none {
		if b.has(w.position) {
			return false
		}
	}
	return c.passesUnindexed(w)
}

func (c *class) passesUnindexed(w *worker) bool {
	for _, s := range c.unindexed {
		if !s.Operator.Holds(w.Labels[s.Key], s.Value) {
			return false
		}
	}
	return true
}
