package routing

import (
	"cmp"
	"encoding/json"
	"slices"
	"weir/routing/eventlog"
)

// Snapshot returns the whole state. Equal states give equal bytes. It contains
// secrets: the credentials of rules.
func (s *State) Snapshot() ([]byte, error) { return s.Cut().Encode() }

// Cut is a copy of a state at one instant. It does not change with the state.
// Once it is whole, another goroutine may encode it.
type Cut struct {
	head    snapshotHead
	records []record

	state *State              // nil once the cut is whole
	next  uint64              // all jobs created before this event are copied
	early map[uint64]struct{} // later jobs that were copied early, just before they changed
}

// Cut copies everything that a snapshot holds, at once.
func (s *State) Cut() *Cut {
	c := s.newCut()
	c.Step(len(s.jobs) + 1)
	return c
}

// BeginCut starts a snapshot of this instant. It copies everything except the
// jobs, because there are many; [Cut.Step] copies those. Later changes do not
// show in the cut. An unfinished earlier cut is abandoned and must not be used.
func (s *State) BeginCut() *Cut {
	s.cutting = s.newCut()
	return s.cutting
}

func (s *State) newCut() *Cut {
	c := &Cut{
		head:  snapshotHead{snapshotFormat, snapshotVersion, s.seq, s.now, s.settings},
		state: s, early: map[uint64]struct{}{},
	}
	c.records = make([]record, 0, s.Size())
	s.copyTo(c)
	return c
}

// copyTo copies every entity except the jobs. Policies and the parts of a
// specification are immutable and replaced as a whole, so they are shared; the
// rest is copied.
func (s *State) copyTo(c *Cut) {
	add := func(r record) { c.records = append(c.records, r) }
	for _, d := range s.dists {
		add(record{Distribution: d})
	}
	for _, p := range s.classes {
		add(record{Classification: p})
	}
	for _, x := range s.excepts {
		add(record{Exception: x})
	}
	for _, q := range s.queues {
		add(record{Queue: new(q.queueData)})
	}
	for _, w := range s.workers {
		add(record{Worker: new(w.workerData)})
	}
	for _, p := range s.pools {
		add(record{Pool: new(*p)})
	}
}

// Step copies at most n more jobs and reports whether the cut is whole.
func (c *Cut) Step(n int) (whole bool) {
	s := c.state
	if s == nil {
		return true
	}
	for j := range s.byAge.from(c.next) {
		if j.Created > c.head.Seq {
			break
		}
		if n == 0 {
			return false
		}
		n--
		c.copy(j)
		c.next = j.Created + 1
	}
	c.state, c.early = nil, nil
	if s.cutting == c {
		s.cutting = nil
	}
	return true
}

// Size returns the number of entities in a snapshot of the state.
func (s *State) Size() int {
	return len(s.dists) + len(s.classes) + len(s.excepts) + len(s.queues) + len(s.workers) + len(s.pools) + len(s.jobs)
}

// Len returns the number of entities copied so far.
func (c *Cut) Len() int { return len(c.records) }

func (c *Cut) copy(j *job) {
	if _, done := c.early[j.Created]; done {
		return
	}
	d := new(j.jobData)
	d.Offers, d.Assignments = copies(d.Offers), copies(d.Assignments)
	c.records = append(c.records, record{Job: d})
}

// before copies the job that an event is about to change.
func (c *Cut) before(e eventlog.Event) {
	j := c.state.jobs[e.Subject()]
	if j == nil || j.Created < c.next || j.Created > c.head.Seq {
		return
	}
	c.copy(j)
	c.early[j.Created] = struct{}{}
}

func copies[T any](in []*T) []*T {
	if len(in) == 0 {
		return nil
	}
	out := make([]*T, len(in))
	for i, p := range in {
		out[i] = new(*p)
	}
	return out
}

// Encode returns the form that [Restore] reads; an entity comes before the ones
// that refer to it. The cut must be whole.
func (c *Cut) Encode() ([]byte, error) {
	slices.SortFunc(c.records, compareRecords)
	b, err := json.Marshal(c.head)
	b = append(b, '\n')
	for i := 0; i < len(c.records) && err == nil; i++ {
		b, err = appendRecord(b, &c.records[i])
	}
	if err != nil {
		return nil, err
	}
	return appendRecord(b, &record{End: new(len(c.records))})
}

func compareRecords(a, b record) int {
	kind, id, created := a.order()
	kindB, idB, createdB := b.order()
	return cmp.Or(cmp.Compare(kind, kindB), cmp.Compare(created, createdB), cmp.Compare(id, idB))
}

// order returns the sort key: kind and id, or for jobs kind and age.
func (r *record) order() (kind int, id string, created uint64) {
	switch {
	case r.Distribution != nil:
		return 0, r.Distribution.ID, 0
	case r.Classification != nil:
		return 1, r.Classification.ID, 0
	case r.Exception != nil:
		return 2, r.Exception.ID, 0
	case r.Queue != nil:
		return 3, r.Queue.ID, 0
	case r.Worker != nil:
		return 4, r.Worker.ID, 0
	case r.Pool != nil:
		return 5, r.Pool.ID, 0
	default:
		return 6, "", r.Job.Created
	}
}
