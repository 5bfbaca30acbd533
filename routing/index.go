package routing

import (
	"encoding/binary"
	"slices"
)

// The index answers two questions without looking at jobs that nobody can
// take and without walking over workers: who can take this job, and what is
// the first job that this worker can take. It is derived from the entities
// and rebuilt with them; nothing in it is stored.

// predicate is a condition on one label, shared by all classes that ask for
// it. Only active workers have a position, so only they are members.
type predicate struct {
	key     predicateKey
	id      uint32
	members bitset
	home    []*class // non-empty classes that are found through it
	uses    int      // classes that name it
}

type predicateKey struct {
	label string
	op    Operator // never notEqual, which is the complement of equal
	value Value
}

// class is a set of waiting jobs that the same workers can take.
type class struct {
	key      string
	queue    *queueIndex
	channel  *channelIndex
	all      []*predicate
	none     []*predicate
	checks   []WorkerSelector // ranges beyond the number that is indexed
	query    query            // all of the above as sets, but for the order
	jobs     line
	refs     int        // queued jobs of the class, those in the line or not
	home     *predicate // where a worker finds it; nil: at its queue
	homeSlot int        // in home's list, plus one; 0 while it is empty
	listed   bool       // on the agenda
	cursor   uint64     // the place with which it is
}

// queueIndex is what the matcher knows of a queue id, whether or not a queue
// of that name exists.
type queueIndex struct {
	id      uint32
	members bitset    // active workers that listen
	ring    []*worker // the same by id, for round robin
	home    []*class  // non-empty classes without a predicate to be found by
	closed  bool
}

type channelIndex struct {
	id  uint32
	can bitset // active workers with room for one more job
}

type index struct {
	predicates map[predicateKey]*predicate
	ranges     map[string][]*predicate        // by label: the ones that are no equality
	nRanges    int                            // all of them
	labels     map[string]map[Value][]*worker // of active workers
	classes    map[string]*class
	sweepAt    int // number of classes at which the empty ones go
	queues     map[string]*queueIndex
	channels   map[string]*channelIndex
	loads      []*load   // by rising load ratio
	at         []*worker // by position; nil where nobody is any more
	active     int
	ids        uint32 // given out to predicates, queues, channels

	limits     limits
	draft      class // what classOf is looking for
	scratch    []byte
	scratchIDs []uint32
	scratchAll []*bitset
}

// load is a set of active workers with the same load ratio.
type load struct {
	num, den int
	members  bitset
}

// limits bound what the index keeps. They change what a match costs and never
// what it decides.
type limits struct {
	ranges  int // indexed range predicates; more are checked one by one
	classes int // kept, unused ones included, before a sweep
	loads   int // kept, empty ones included
	crowd   int // workers that look for jobs one by one when they have room at once
	gaps    int // positions that nobody has any more, beyond one for each worker
}

func newIndex() index {
	return index{
		predicates: map[predicateKey]*predicate{}, ranges: map[string][]*predicate{},
		labels: map[string]map[Value][]*worker{}, classes: map[string]*class{}, sweepAt: 8192,
		queues: map[string]*queueIndex{}, channels: map[string]*channelIndex{},
		limits: limits{ranges: 512, classes: 8192, loads: 64, crowd: 16, gaps: 4096},
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

// predicate finds or makes a predicate; nil when it is a range and there are
// too many of them already.
func (x *index) predicate(label string, op Operator, v Value) *predicate {
	key := predicateKey{label, op, v}
	p := x.predicates[key]
	if p != nil {
		return p
	}
	if op != Equal {
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

// populate finds the members of a new predicate through the labels that
// active workers have.
func (x *index) populate(p *predicate) {
	values := x.labels[p.key.label]
	if p.key.op == Equal {
		for _, w := range values[p.key.value] {
			p.members.set(w.pos)
			w.satisfies = append(w.satisfies, p)
		}
		return
	}
	x.ranges[p.key.label] = append(x.ranges[p.key.label], p)
	for v, workers := range values {
		if !p.key.op.Holds(v, p.key.value) {
			continue
		}
		for _, w := range workers {
			p.members.set(w.pos)
			w.satisfies = append(w.satisfies, p)
		}
	}
}

// classOf finds or makes the class of a job. bypass leaves selectors out.
func (x *index) classOf(queue, channel string, bypass bool, lists ...[]WorkerSelector) *class {
	q, ch := x.queue(queue), x.channel(channel)
	c := &x.draft
	*c = class{queue: q, channel: ch, all: c.all[:0], none: c.none[:0], checks: c.checks[:0]}
	ids := x.scratchIDs[:0]
	if !bypass {
		for _, list := range lists {
			for i := range list {
				ids = x.require(c, &list[i], ids)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	x.scratchIDs = ids
	key := binary.LittleEndian.AppendUint32(x.scratch[:0], q.id)
	key = binary.LittleEndian.AppendUint32(key, ch.id)
	key = binary.LittleEndian.AppendUint32(key, uint32(len(ids)))
	for _, id := range ids {
		key = binary.LittleEndian.AppendUint32(key, id)
	}
	for _, s := range c.checks {
		key = append(append(append(key, 0xff), s.Key...), 0)
		key = append(append(append(key, s.Operator...), 0, byte(s.Value.kind)), s.Value.String()...)
	}
	x.scratch = key
	if found := x.classes[string(key)]; found != nil {
		return found
	}
	return x.newClass(string(key))
}

// require adds one selector to a class that is being described.
func (x *index) require(c *class, s *WorkerSelector, ids []uint32) []uint32 {
	if !s.active() {
		return ids
	}
	if s.Operator == NotEqual {
		p := x.predicate(s.Key, Equal, s.Value)
		c.none = append(c.none, p)
		return append(ids, p.id<<1|1)
	}
	p := x.predicate(s.Key, s.Operator, s.Value)
	if p == nil {
		c.checks = append(c.checks, s.asked())
		return ids
	}
	c.all = append(c.all, p)
	return append(ids, p.id<<1)
}

// newClass makes the class that the draft describes.
func (x *index) newClass(key string) *class {
	d := &x.draft
	c := &class{key: key, queue: d.queue, channel: d.channel}
	c.all, c.none, c.checks = slices.Clone(d.all), slices.Clone(d.none), slices.Clone(d.checks)
	c.query.all = append(c.query.all, &c.channel.can, &c.queue.members)
	for _, p := range c.all {
		p.uses++
		c.query.all = append(c.query.all, &p.members)
		// Where the fewest workers look, it is in nobody's way.
		if c.home == nil || p.members.n < c.home.members.n {
			c.home = p
		}
	}
	for _, p := range c.none {
		p.uses++
		c.query.none = append(c.query.none, &p.members)
	}
	if len(x.classes) >= x.sweepAt {
		x.sweep()
		x.sweepAt = max(x.limits.classes, 2*len(x.classes))
	}
	x.classes[key] = c
	return c
}

// sweep drops the classes that no job belongs to, and the predicates that nobody names
// any more.
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
		if key.op != Equal {
			x.nRanges--
			x.ranges[key.label] = slices.DeleteFunc(x.ranges[key.label], func(o *predicate) bool { return o == p })
		}
	}
	for _, w := range x.at {
		if w != nil {
			w.satisfies = slices.DeleteFunc(w.satisfies, func(p *predicate) bool { return p.uses == 0 })
		}
	}
}

// add puts a job into its class, and the class where workers find it.
func (c *class) add(place uint64, j *job) {
	c.jobs.add(place, j)
	if c.homeSlot == 0 {
		c.show()
	}
}

func (c *class) remove(place uint64) {
	c.jobs.remove(place)
	if c.jobs.n == 0 && c.homeSlot > 0 {
		c.hide()
	}
}

// homes is the list in which workers find the class.
func (c *class) homes() *[]*class {
	if c.home != nil {
		return &c.home.home
	}
	return &c.queue.home
}

func (c *class) show() {
	list := c.homes()
	*list = append(*list, c)
	c.homeSlot = len(*list)
}

func (c *class) hide() {
	list := c.homes()
	i, last := c.homeSlot-1, len(*list)-1
	(*list)[i] = (*list)[last]
	(*list)[i].homeSlot = i + 1
	(*list)[last] = nil
	*list = (*list)[:last]
	c.homeSlot = 0
}

// moveHome takes a class out of the way of a worker that looked at it in vain:
// to a condition that the worker fails and that fewer workers meet. Which one
// that is, is not yet known when a class is made before its workers come.
func (c *class) moveHome(w *worker) {
	for _, p := range c.all {
		if p.members.n < c.home.members.n && !p.members.has(w.pos) {
			c.hide()
			c.home = p
			c.show()
			return
		}
	}
}

// takes says whether a worker that is in the index can take jobs of the class.
func (c *class) takes(w *worker) bool {
	for _, b := range c.query.all {
		if !b.has(w.pos) {
			return false
		}
	}
	for _, b := range c.query.none {
		if b.has(w.pos) {
			return false
		}
	}
	return c.checked(w)
}

func (c *class) checked(w *worker) bool {
	for _, s := range c.checks {
		if !s.Operator.Holds(w.Labels[s.Key], s.Value) {
			return false
		}
	}
	return true
}
