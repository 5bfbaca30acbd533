package events

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"weir/events"
)

// maxHoldUp is how long a delivery may take before the events behind it in the log
// no longer wait for it.
const maxHoldUp = 2 * time.Second

// maxLane is the max number of events of one lane in the window.
const maxLane = 256

// maxStreak is how many deliveries in a row may fail before the pauses between them grow.
const maxStreak = 5

// entry is one event that a receiver has yet to get.
type entry struct {
	id       int64
	order    string
	event    *events.Event // nil: must be read from the log
	at       time.Time     // of the event; zero until it was read
	tries    int
	nextAt   time.Time
	inFlight bool
	since    time.Time // start of the delivery in flight
	done     bool
	deferred bool
	group    *group
}

// group holds the events delivered to one place, for a receiver that stands for
// several. A place that does not answer leaves the others their share of the
// concurrency.
type group struct {
	name     string
	entries  int
	ready    []*entry
	inFlight int
	failing  bool // the latest delivery to finish failed
	listed   bool // is in turns
}

// schedule tracks which events a receiver has yet to get, and in which order. It is
// pure.
//
// The head of each lane is in exactly one place: ready in its group, later, or
// in flight.
type schedule struct {
	groupOf     func(order string) string
	concurrency int // max in flight
	maxDeferred int
	giveUp      time.Duration
	webhook     bool // if it fails, all of its events wait; what is given up can be replayed

	written  int64 // the cursor of the last step
	read     int64 // position up to which the log was read
	window   []*entry
	lanes    map[string][]*entry
	deferred map[int64]*entry
	groups   map[string]*group
	turns    []*group // groups that may start a delivery, in turn
	later    laterHeap
	inFlight int

	changed   map[int64]*entry // deferred entries whose stored state is out of date
	done      []int64          // deferred in the store only, to be deleted there
	abandoned []events.Deferred

	streak      int       // failures since the last success, of a webhook
	pausedUntil time.Time // until then nothing is started
}

func newSchedule(p events.Progress, now time.Time, r *Receiver, o *Options) *schedule {
	b := &schedule{
		groupOf: r.Group, concurrency: cmp.Or(r.concurrency, o.Concurrency), maxDeferred: cmp.Or(r.MaxDeferred, o.MaxDeferred), giveUp: o.GiveUp, groups: map[string]*group{}, written: p.Cursor, read: p.Cursor,
		webhook: r.hook != nil,
		lanes:   map[string][]*entry{}, deferred: map[int64]*entry{}, changed: map[int64]*entry{},
	}
	for _, a := range p.Deferred {
		e := &entry{id: a.Event, order: a.Order, tries: a.Tries, nextAt: a.NextAt, deferred: true}
		b.deferred[e.id] = e
		b.add(e, now)
	}
	return b
}

// addNew adds a wanted event from the log.
func (b *schedule) addNew(ev events.Event, order string, now time.Time) {
	e := &entry{id: ev.ID, order: order, event: &ev, at: ev.At}
	b.window = append(b.window, e)
	b.add(e, now)
}

func (b *schedule) add(e *entry, now time.Time) {
	name := ""
	if b.groupOf != nil {
		name = b.groupOf(e.order)
	}
	if e.group = b.groups[name]; e.group == nil {
		e.group = &group{name: name}
		b.groups[name] = e.group
	}
	e.group.entries++
	lane := append(b.lanes[e.order], e)
	b.lanes[e.order] = lane
	if len(lane) == 1 {
		b.enqueue(e, now)
	}
}

func (b *schedule) enqueue(e *entry, now time.Time) {
	if e.nextAt.After(now) {
		heap.Push(&b.later, e)
		return
	}
	e.group.ready = append(e.group.ready, e)
	b.offer(e.group)
}

// offer gives a group its turn if it may start a delivery.
func (b *schedule) offer(g *group) {
	most := b.concurrency
	switch {
	case b.groupOf == nil:
	case g.failing:
		// A place that fails gets an eighth, any other one at most three quarters: none takes all
		// deliveries from the others.
		most = max(1, most/8)
	default:
		most -= most / 4
	}
	if !g.listed && len(g.ready) > 0 && g.inFlight < most {
		g.listed = true
		b.turns = append(b.turns, g)
	}
}

// start returns the next event that may be delivered and marks it in flight; nil
// if there is none.
func (b *schedule) start(now time.Time) *entry {
	if now.Before(b.pausedUntil) {
		return nil
	}
	for len(b.later) > 0 && !b.later[0].nextAt.After(now) {
		b.enqueue(heap.Pop(&b.later).(*entry), now)
	}
	if len(b.turns) == 0 {
		return nil
	}
	g := b.turns[0]
	b.turns, g.listed = b.turns[1:], false
	e := g.ready[0]
	g.ready = g.ready[1:]
	e.inFlight, e.since = true, now
	b.inFlight++
	g.inFlight++
	b.offer(g)
	return e
}

// nextAt returns when the next event is due that is not ready, or may not be started yet;
// zero if there is none.
func (b *schedule) nextAt() (at time.Time) {
	if len(b.later) > 0 {
		at = b.later[0].nextAt
	}
	if len(b.turns) > 0 && !b.pausedUntil.IsZero() || !at.IsZero() && at.Before(b.pausedUntil) {
		at = b.pausedUntil
	}
	return at
}

// worked records that the receiver works, and the place to which an event went.
func (b *schedule) worked(e *entry) { b.streak, b.pausedUntil, e.group.failing = 0, time.Time{}, false }

// refused records a failure of the receiver. pause returns for how long nothing is sent
// after the nth failure in a row that counts; demanded is the receiver's Retry-After.
func (b *schedule) refused(now time.Time, demanded time.Duration, pause func(n int) time.Duration) {
	if !b.webhook {
		return
	}
	if b.streak++; b.streak >= maxStreak {
		demanded = max(demanded, pause(b.streak-maxStreak+1))
	}
	if until := now.Add(demanded); demanded > 0 && until.After(b.pausedUntil) {
		b.pausedUntil = until
	}
}

// finish marks an event as done and schedules the next one of its lane.
func (b *schedule) finish(e *entry, now time.Time) {
	b.landed(e)
	b.leaveGroup(e)
	e.done, e.event = true, nil
	if e.deferred {
		delete(b.deferred, e.id)
		delete(b.changed, e.id)
		b.done = append(b.done, e.id)
	}
	lane := b.lanes[e.order][1:]
	if len(lane) == 0 {
		delete(b.lanes, e.order)
		return
	}
	b.lanes[e.order] = lane
	b.enqueue(lane[0], now)
}

// leaveGroup removes an event from its group.
func (b *schedule) leaveGroup(e *entry) {
	if e.group.entries--; e.group.entries == 0 {
		delete(b.groups, e.group.name)
	}
}

// fail schedules an event's retry after pause. The event is dead if it is too old
// for that.
func (b *schedule) fail(e *entry, now time.Time, pause time.Duration) (dead bool) {
	e.group.failing = true
	if now.Sub(e.at) >= b.giveUp {
		if b.webhook {
			b.abandoned = append(b.abandoned, events.Deferred{Event: e.id, Order: e.order, Tries: e.tries + 1, NextAt: now})
		}
		b.finish(e, now)
		return true
	}
	b.landed(e)
	e.tries++
	e.nextAt = now.Add(pause)
	if e.deferred {
		// A deferred event may wait for hours: it is read again when it is due.
		e.event = nil
		b.changed[e.id] = e
	}
	b.enqueue(e, now)
	return false
}

func (b *schedule) landed(e *entry) {
	e.inFlight = false
	b.inFlight--
	e.group.inFlight--
	b.offer(e.group)
}

// heldUp reports whether a lane is held up, so that its events are deferred. A
// crowded lane is held up too: it would fill the window alone.
func (b *schedule) heldUp(order string, now time.Time) bool {
	lane := b.lanes[order]
	head := lane[0]
	return len(lane) > maxLane || head.deferred || head.tries > 0 || head.inFlight && now.Sub(head.since) >= maxHoldUp
}

// step returns the progress to be written; ok is false if there is none.
func (b *schedule) step(now time.Time) (s events.Step, ok bool) {
	for len(b.window) > 0 {
		e := b.window[0]
		if !e.done {
			if len(b.deferred) >= b.maxDeferred || !b.heldUp(e.order, now) {
				break
			}
			e.deferred = true
			if !e.inFlight {
				e.event = nil // it is read again when it is due
			}
			b.deferred[e.id], b.changed[e.id] = e, e
		}
		b.window = b.window[1:]
	}
	s.Cursor = b.read
	if len(b.window) > 0 {
		s.Cursor = b.window[0].id - 1
	}
	if s.Cursor == b.written && len(b.changed) == 0 && len(b.done) == 0 && len(b.abandoned) == 0 {
		return s, false
	}
	for _, e := range b.changed {
		s.Put = append(s.Put, events.Deferred{Event: e.id, Order: e.order, Tries: e.tries, NextAt: e.nextAt})
	}
	slices.SortFunc(s.Put, func(x, y events.Deferred) int { return int(x.Event - y.Event) })
	s.Done, s.Abandoned = b.done, b.abandoned
	clear(b.changed)
	b.done, b.abandoned, b.written = nil, nil, s.Cursor
	return s, true
}

// oldest returns the time of the oldest event that is not done; zero if there is
// none, or if it was not read yet.
func (b *schedule) oldest() (at time.Time) {
	look := func(e *entry) {
		if !e.done && !e.at.IsZero() && (at.IsZero() || e.at.Before(at)) {
			at = e.at
		}
	}
	for _, e := range b.deferred {
		look(e)
	}
	for _, e := range b.window {
		look(e)
	}
	return at
}

// laterHeap has the entry that is due first at its top.
type laterHeap []*entry

func (h laterHeap) Len() int           { return len(h) }
func (h laterHeap) Less(i, j int) bool { return h[i].nextAt.Before(h[j].nextAt) }
func (h laterHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *laterHeap) Push(x any) { *h = append(*h, x.(*entry)) }

// Pop implements [heap.Interface].
func (h *laterHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
