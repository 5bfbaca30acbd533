package ownersim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"weir"
	"weir/persistence/ownership"
)

const (
	channel   = weir.ChannelID(7)
	lease     = 5 * time.Second
	faultTime = 70 * time.Second // of a run, from its begin
	maxFault  = 30 * time.Second // how long one lasts
	ownedIn   = 3 * lease        // after the last fault there is an owner: a lease, a watch, and as much again
	endedIn   = 15 * time.Minute // … and everything has ended
)

// Result is what a run has shown.
type Result struct {
	Failure string // of an invariant; empty: none
	Last    []string
	Takes   int // how often the database was taken
	Calls   int // of the provider
	Unknown int // contacts that became unknown
}

// Run simulates one run.
func Run(seed uint64, rules Rules) Result {
	w := newWorld(seed, rules)
	for w.failure == "" && w.step() {
	}
	if w.failure != "" {
		w.failure = fmt.Sprintf("seed %d, %v after its begin: %s", seed, w.now.Sub(begin()), w.failure)
	}
	last := make([]string, 0, len(w.last))
	for i := range w.last {
		if line := w.last[(w.lines+i)%len(w.last)]; line != "" {
			last = append(last, line)
		}
	}
	return Result{Failure: w.failure, Last: last, Takes: w.takes, Calls: w.provider.calls, Unknown: w.unknown}
}

func begin() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) }

// event is something that happens at an instant, in a process or outside.
type event struct {
	at  time.Time
	seq int
	p   *process // nil: outside
	do  func()
}

type events []*event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if !e[i].at.Equal(e[j].at) {
		return e[i].at.Before(e[j].at)
	}
	return e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(*event)) } //nolint:forcetypeassert // container/heap
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

// world is one run.
type world struct {
	rules     Rules
	chance    *rand.Rand
	now       time.Time
	queue     events
	seq       int
	store     *store
	provider  *provider
	processes []*process
	requests  []*request
	capacity  int
	planned   bool // only joins and SIGTERMs
	faults    bool // there are faults now
	quietAt   time.Time
	failure   string
	last      [80]string
	lines     int
	takes     int
	unknown   int
}

func newWorld(seed uint64, rules Rules) *world {
	w := &world{rules: rules, chance: rand.New(rand.NewPCG(seed, 1)), now: begin(), faults: true, planned: seed%8 == 0}
	w.capacity = 2 + w.chance.IntN(5)
	w.store = &store{w: w, up: true, owner: ownership.Row{Epoch: 1}, meta: 1, fences: map[int64]int64{}, rows: map[batchID]bool{}, contacts: map[weir.ContactID]weir.Contact{}, handled: map[int]int{}}
	w.provider = &provider{w: w, answers: w.chance.IntN(2) == 0, had: map[weir.ContactID]int{}, open: map[weir.AttemptRef]bool{}}
	n := 2 + w.chance.IntN(4)
	for i := range n {
		w.after(time.Duration(i)*w.between(0, 2*time.Second), nil, w.join)
	}
	w.after(w.between(3*time.Second, 10*time.Second), nil, w.trouble)
	w.after(faultTime, nil, w.calm)
	w.after(time.Second, nil, w.post)
	return w
}

// step lets the next event happen; false: everything has ended.
func (w *world) step() bool {
	if len(w.queue) == 0 {
		return false
	}
	e := heap.Pop(&w.queue).(*event) //nolint:forcetypeassert // all are
	w.now = e.at
	switch {
	case e.p == nil || e.p.state == running:
		e.do()
	case e.p.state == stopped:
		e.p.deferred = append(e.p.deferred, e.do)
	}
	return !w.hasEnded()
}

func (w *world) after(d time.Duration, p *process, do func()) {
	w.seq++
	heap.Push(&w.queue, &event{w.now.Add(max(0, d)), w.seq, p, do})
}

func (w *world) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.chance.Int64N(int64(high-low)))
}

// sometimes is true once in n times, while there are faults that nobody planned.
func (w *world) sometimes(n int) bool { return w.faults && !w.planned && w.chance.IntN(n) == 0 }

func (w *world) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

func (w *world) logf(format string, args ...any) {
	w.last[w.lines%len(w.last)] = fmt.Sprintf("%10.3fs  ", w.now.Sub(begin()).Seconds()) + fmt.Sprintf(format, args...)
	w.lines++
}

// hasEnded checks what has to be at the end, once it is there.
func (w *world) hasEnded() bool {
	since := w.now.Sub(w.quietAt)
	if w.faults || since < ownedIn {
		return false
	}
	owners := 0
	for _, p := range w.processes {
		if p.state == running && p.epoch != 0 && p.core != nil {
			owners++
		}
	}
	if owners != 1 {
		w.fail("%d processes serve as the owner, %v after the last fault", owners, since)
		return true
	}
	var open *weir.Contact
	for id := weir.ContactID(1); int(id) <= len(w.store.contacts) && open == nil; id++ {
		if c := w.store.contacts[id]; c.State != weir.Done {
			open = &c
		}
	}
	for _, r := range w.requests {
		if !r.over && since > endedIn {
			w.fail("request %d has no answer", r.id)
		}
	}
	if open != nil && since > endedIn {
		w.fail("contact %d is still %v", open.ID, open.State)
	}
	if open != nil || w.provider.inUse > 0 {
		return w.failure != ""
	}
	for _, r := range w.requests {
		if r.over && r.is == nothingDone && w.store.handled[r.id] > 0 {
			w.fail("request %d was answered that nothing was done, and is stored", r.id)
		}
	}
	return true
}

// join starts a process.
func (w *world) join() {
	p := &process{w: w, start: int64(len(w.processes) + 1), generation: -1, drift: w.between(-10*time.Second, 10*time.Second)}
	w.processes = append(w.processes, p)
	w.logf("process %d joins", p.start)
	p.watchRow()
	p.beat()
}

// pick returns a process by chance that keep accepts; nil: there is none.
func (w *world) pick(keep func(*process) bool) *process {
	var list []*process
	for _, p := range w.processes {
		if p.state != dead && keep(p) {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[w.chance.IntN(len(list))]
}

// trouble makes one fault after the other.
func (w *world) trouble() {
	if !w.faults {
		return
	}
	w.after(w.between(time.Second, 12*time.Second), nil, w.trouble)
	p := w.pick(func(p *process) bool { return p.state == running })
	if owner := w.pick(func(p *process) bool { return p.state == running && p.epoch != 0 }); owner != nil && w.chance.IntN(2) == 0 {
		p = owner
	}
	if p == nil {
		return
	}
	what := w.chance.IntN(11)
	if w.planned {
		what %= 2
	}
	switch what {
	case 0:
		if len(w.processes) < 12 {
			w.join()
		}
	case 1, 2:
		if !w.planned || w.canSpare() {
			p.terminate()
		}
	case 3:
		p.die("killed")
	case 4:
		p.stop(w.between(200*time.Millisecond, 15*time.Second))
	case 5:
		p.cut(&p.noDatabase, "the database", w.between(time.Second, 25*time.Second))
	case 6:
		p.cut(&p.noPeers, "its peers", w.between(time.Second, 15*time.Second))
	case 7:
		p.drift = w.between(-10*time.Second, 10*time.Second)
		w.logf("the clock of process %d steps", p.start)
	case 8:
		w.restartDatabase(w.between(100*time.Millisecond, 12*time.Second))
	case 9:
		p.jam(w.between(5*time.Second, 30*time.Second))
	case 10:
		w.store.skew -= w.between(ownership.MaxLease+lease, 2*time.Hour) // by less, a database without an owner waits that long
		w.logf("the clock of the database goes back to %v behind", -w.store.skew)
	}
}

// canSpare reports whether a rolling restart may go on.
func (w *world) canSpare() bool {
	known := 0
	for _, p := range w.processes {
		switch {
		case p.state == dead:
		case p.leaving:
			return false
		case p.sight.epoch != 0:
			known++
		}
	}
	return known > 1
}

// restartDatabase ends all connections, for a while. Another server may take over, whose
// clock differs a little.
func (w *world) restartDatabase(d time.Duration) {
	if !w.store.up {
		return
	}
	w.logf("the database is down for %v", d)
	w.store.up = false
	w.store.generation++
	w.after(d, nil, func() {
		w.logf("the database is up")
		w.store.up = true
		w.store.skew += w.between(-100*time.Millisecond, 100*time.Millisecond)
	})
}

// calm ends the faults; what has begun ends by itself.
func (w *world) calm() {
	w.faults = false
	w.quietAt = w.now.Add(maxFault)
	w.logf("no more faults")
}
