package ownersim

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"weir"
	core "weir/actors/contacts"
	"weir/persistence/ownership"
)

var (
	errDown     = errors.New("the database does not answer")
	errNotOwner = errors.New("another process owns the database")
)

// store is the database: what is in it survives, connections do not.
type store struct {
	w          *world
	up         bool
	generation int           // of connections: a restart ends all of them
	skew       time.Duration // of its clock
	owner      ownership.Row
	meta       int64           // the epoch that transactions beside the writer read
	fences     map[int64]int64 // of writers, by the start of their process
	rows       map[batchID]bool
	contacts   map[weir.ContactID]weir.Contact
	handled    map[int]int // how often a request was
	released   time.Time
}

// batchID is the id of the row that a batch writes.
type batchID struct{ start, number int64 }

func (s *store) now() int64 { return s.w.now.Add(s.skew).UnixMicro() }

func (s *store) row() ownership.Row {
	r := s.owner
	r.Now = s.now()
	return r
}

// take is the transaction by which a process becomes the owner that has seen a row; 0: another one is.
func (s *store) take(p *process, seen ownership.Row) int64 {
	if !s.w.rules.MayTake(s.row(), seen, lease, p.start) {
		return 0
	}
	w := s.w
	for _, other := range w.processes {
		if other == p || other.state == dead {
			continue
		}
		if other.valid() {
			w.fail("process %d takes the database while process %d may act for another %v", p.start, other.start, other.until.Sub(w.now))
		}
		if other.epoch != 0 && other.start == s.owner.Start && !other.releasing && !other.excused() {
			w.fail("process %d takes the database from process %d, which has lost nothing but its connections", p.start, other.start)
		}
	}
	if waited := w.now.Sub(s.released); w.planned && !s.released.IsZero() && waited >= ownership.YieldFor {
		w.fail("process %d takes the database %v after its release, and the successor did not", p.start, waited)
	}
	s.owner.Start, s.owner.Expires = p.start, s.now()+lease.Microseconds()
	if w.rules.RaiseEpoch {
		s.owner.Epoch++
	}
	if w.rules.RaiseMeta {
		s.meta = s.owner.Epoch
	}
	if w.rules.RaiseFence {
		for start := range s.fences {
			s.fences[start]++
		}
	}
	if _, ok := s.fences[p.start]; !ok {
		s.fences[p.start] = 0
	}
	w.logf("process %d takes the database, epoch %d", p.start, s.owner.Epoch)
	return s.owner.Epoch
}

// renew extends the lease of an owner; false: it is none.
func (s *store) renew(p *process) bool {
	if s.owner.Start != p.start || s.owner.Epoch != p.epoch {
		return false
	}
	s.owner.Expires = s.now() + lease.Microseconds()
	return true
}

func (s *store) release(p *process) {
	if s.owner.Start == p.start && s.owner.Epoch == p.epoch {
		s.w.logf("process %d releases the database", p.start)
		s.owner.Start, s.owner.Expires = 0, 0
		s.released = s.w.now
	}
}

// commits notes that a process writes.
func (s *store) commits(p *process, what string) {
	if s.owner.Start != p.start {
		s.w.fail("process %d commits a %s, and process %d owns the database", p.start, what, s.owner.Start)
	}
}

// learn returns the fence of a writer, if its process is still the owner.
func (s *store) learn(p *process) (fence int64, err error) {
	if s.meta != p.epoch {
		return 0, errNotOwner
	}
	return s.fences[p.start], nil
}

// batch is the transaction of a writer; false: its fence was raised. It deletes the rows of all
// batches before, whoever wrote them.
func (s *store) batch(p *process, number, fence int64, list []*write) bool {
	if s.fences[p.start] != fence {
		return false
	}
	s.commits(p, "batch")
	clear(s.rows)
	if s.w.rules.KeepRow {
		s.rows[batchID{p.start, number}] = true
	}
	for _, one := range list {
		one.apply()
	}
	return true
}

// look raises the fence, so that a batch in doubt cannot be committed later, and reports
// whether it was.
func (s *store) look(p *process, number int64) bool {
	s.fences[p.start]++
	return s.rows[batchID{p.start, number}]
}

// beside is a transaction beside the writer.
func (s *store) beside(p *process, r *request) error {
	if s.meta != p.epoch && s.w.rules.CheckMeta {
		return errNotOwner
	}
	if !s.owner.Free() { // its COMMIT may be late, as long as nobody else has begun
		s.commits(p, "transaction beside the writer")
	}
	s.handle(r)
	return nil
}

func (s *store) handle(r *request) {
	s.handled[r.id]++
	if s.handled[r.id] > 1 {
		s.w.fail("request %d is handled twice", r.id)
	}
}

// accept writes the contacts of a request, the first n of them claimed.
func (s *store) accept(r *request, n int, now time.Time) []weir.Contact {
	s.handle(r)
	list := make([]weir.Contact, len(r.specs))
	for i := range list {
		c := weir.Contact{Ref: weir.Ref{Channel: channel, ID: weir.ContactID(len(s.contacts) + 1)}, Spec: r.specs[i], QueuedAt: now, Progress: weir.NewProgress(now, time.Time{})}
		if i < n {
			c.Progress, _ = c.Claim(now)
		}
		s.contacts[c.ID], list[i] = c, c
	}
	return list
}

// apply writes a transition, or returns false if the contact has changed.
func (s *store) apply(t *weir.Transition) bool {
	if row := s.contacts[t.Contact.ID]; row.Rev != t.From || row.State != t.Was {
		return false
	}
	s.contacts[t.Contact.ID] = t.Contact
	if t.Contact.State == weir.Unknown {
		s.w.unknown++
	}
	if t.Contact.State == weir.Unknown || t.Contact.Outcome == weir.Lost {
		s.w.logf("contact %d is %v %s: %s", t.Contact.ID, t.Contact.State, t.Contact.Outcome, t.Contact.Reason)
		if s.w.planned {
			s.w.fail("contact %d is %v %s, and no process has crashed", t.Contact.ID, t.Contact.State, t.Contact.Outcome)
		}
	}
	return true
}

func (s *store) list(keep func(*weir.Contact) bool) []weir.Contact {
	var list []weir.Contact
	for _, c := range s.contacts {
		if keep(&c) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b weir.Contact) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// snapshot is what a broker starts from.
func (s *store) snapshot() core.Snapshot {
	snap := core.Snapshot{Channel: weir.Channel{ID: channel, Name: "c", Type: "simulated", Capacity: s.w.capacity, Settings: weir.Settings{}}}
	if s.w.rules.ReadLog {
		snap.InFlight = s.list(func(c *weir.Contact) bool { return c.State.InFlight() })
	}
	snap.Lanes, snap.Queued = s.lanes()
	return snap
}

func (s *store) lanes() (lanes []weir.Lane, queued int64) {
	for _, c := range s.list(func(c *weir.Contact) bool { return c.State.Waiting() }) {
		queued++
		if c.State == weir.Queued {
			lanes = append(lanes, c.Lane())
		}
	}
	slices.Sort(lanes)
	return slices.Compact(lanes), queued
}

func (s *store) page(p core.Page) []weir.Contact {
	list := s.list(func(c *weir.Contact) bool { return c.State == weir.Queued && c.Lane() == p.Lane && c.ID > p.After })
	return list[:min(len(list), p.Limit)]
}

func (s *store) due(q core.Read) (list []weir.Contact, next time.Time) {
	list = s.list(func(c *weir.Contact) bool { return c.State == weir.Delayed })
	slices.SortStableFunc(list, func(a, b weir.Contact) int { return a.DueAt.Compare(b.DueAt) })
	for i := range list {
		if list[i].DueAt.After(q.Until) {
			return list[:i], list[i].DueAt
		}
	}
	return list, next
}
