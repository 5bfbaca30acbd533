package router

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"weir/router/internal/codec"
	"weir/router/journal"
)

// Snapshot returns the encoded state. Equal states give equal bytes. It contains
// secrets: the credentials of rules.
func (s *applier) Snapshot() ([]byte, error) { return s.CopySnapshot().Encode() }

// Snapshot is a copy of a state at one instant. It does not change with the state.
// Once it is complete, another goroutine may encode it.
type Snapshot struct {
	head    snapshotHead
	records []record

	state       *applier            // nil once the snapshot is complete
	next        uint64              // all jobs created before this event are copied
	copiedEarly map[uint64]struct{} // later jobs that were copied early, just before they changed
}

// CopySnapshot copies everything that a snapshot holds, at once.
func (s *applier) CopySnapshot() *Snapshot {
	c := s.newSnapshot()
	c.Step(len(s.jobs) + 1)
	return c
}

// BeginSnapshot starts a snapshot of this instant. It copies everything except the
// jobs, because there are many; [Snapshot.Step] copies those. Later changes do not
// show in it. An unfinished earlier snapshot is abandoned and must not be used.
func (s *applier) BeginSnapshot() *Snapshot {
	s.snapshot = s.newSnapshot()
	return s.snapshot
}

// newSnapshot copies every entity except the jobs. Policies and the parts of a
// specification are immutable and replaced as a whole, so they are shared; the
// rest is copied.
func (s *applier) newSnapshot() *Snapshot {
	c := &Snapshot{
		head:  snapshotHead{snapshotFormat, snapshotVersion, s.seq, s.now, s.settings},
		state: s, copiedEarly: map[uint64]struct{}{}, records: make([]record, 0, s.Size()),
	}
	add := func(r record) { c.records = append(c.records, r) }
	for _, d := range s.distributions {
		add(record{Distribution: d})
	}
	for _, p := range s.classifications {
		add(record{Classification: p})
	}
	for _, x := range s.exceptions {
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
	return c
}

// Step copies at most n more jobs and reports whether the snapshot is complete.
func (c *Snapshot) Step(n int) (complete bool) {
	s := c.state
	if s == nil {
		return true
	}
	for j := range s.jobsByAge.from(c.next) {
		if j.Created > c.head.Seq {
			break
		}
		if n == 0 {
			return false
		}
		n--
		c.copyJob(j)
		c.next = j.Created + 1
	}
	c.state, c.copiedEarly = nil, nil
	if s.snapshot == c {
		s.snapshot = nil
	}
	return true
}

// Size returns the number of entities in a snapshot of the state.
func (s *applier) Size() int {
	return len(s.distributions) + len(s.classifications) + len(s.exceptions) + len(s.queues) + len(s.workers) + len(s.pools) + len(s.jobs)
}

// Len returns the number of entities copied so far.
func (c *Snapshot) Len() int { return len(c.records) }

func (c *Snapshot) copyJob(j *job) {
	if _, done := c.copiedEarly[j.Created]; done {
		return
	}
	d := new(j.jobData)
	d.Offers, d.Assignments = copies(d.Offers), copies(d.Assignments)
	c.records = append(c.records, record{Job: d})
}

// before copies the job that an event is about to change.
func (c *Snapshot) before(e journal.Event) {
	j := c.state.jobs[e.Subject()]
	if j == nil || j.Created < c.next || j.Created > c.head.Seq {
		return
	}
	c.copyJob(j)
	c.copiedEarly[j.Created] = struct{}{}
}

func copies[T any](in []*T) []*T {
	out := make([]*T, len(in))
	for i, p := range in {
		out[i] = new(*p)
	}
	return out
}

// Encode returns the form that [Restore] reads; an entity comes before the ones
// that refer to it. The snapshot must be complete.
func (c *Snapshot) Encode() ([]byte, error) {
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

// appendRecord appends a record as encoding/json writes it. Jobs, most of a
// snapshot, are written by hand to save CPU, because the router keeps working
// meanwhile.
func appendRecord(b []byte, r *record) ([]byte, error) {
	if r.Job != nil {
		w := &codec.Writer{Buf: b}
		writeJob(w, r.Job)
		if !w.Unusual {
			return append(w.Buf, "}}\n"...), nil
		}
	}
	text, err := json.Marshal(r)
	return append(append(b, text...), '\n'), err
}

func writeJob(w *codec.Writer, j *jobData) {
	w.Unusual = len(j.Offers)+len(j.Declines)+len(j.Taken)+len(j.Fired) > 0 || j.Awaits != AwaitNothing
	w.Text(`{"job":{"id":`, j.ID)
	w.Uint(`,"version":`, uint64(j.Version))
	w.Time(`,"changedAt":`, j.ChangedAt)
	w.JobSpec(`,"channelId":`, &j.JobSpec)
	w.Selectors(`,"attached":`, j.Attached)
	w.Text(`,"status":`, string(j.Status))
	w.Time(`,"createdAt":`, j.CreatedAt)
	w.Uint(`,"created":`, j.Created)
	w.OptionalTime(`,"enqueuedAt":`, j.EnqueuedAt)
	w.OptionalUint(`,"enqueued":`, j.Enqueued)
	w.OptionalTime(`,"waitsSince":`, j.WaitsSince)
	w.OptionalText(`,"waitsIn":`, j.WaitsIn)
	w.OptionalTime(`,"scheduledAt":`, j.ScheduledAt)
	w.OptionalTime(`,"finishedAt":`, j.FinishedAt)
	writeAssignments(w, j.Assignments)
	w.OptionalUint(`,"unassigned":`, uint64(j.Unassigned))
	w.OptionalUint(`,"round":`, j.Round)
	w.OptionalUint(`,"tries":`, j.Tries)
}

func writeAssignments(w *codec.Writer, list []*assignment) {
	for i, a := range list {
		key := `,{"id":`
		if i == 0 {
			key = `,"assignments":[{"id":`
		}
		w.Text(key, a.ID)
		w.Text(`,"offer":`, a.OfferID)
		w.Text(`,"worker":`, a.WorkerID)
		w.Text(`,"channel":`, a.ChannelID)
		w.Int(`,"cost":`, a.Cost)
		w.Time(`,"assignedAt":`, a.AssignedAt)
		w.OptionalTime(`,"completedAt":`, a.CompletedAt)
		w.OptionalTime(`,"closeAt":`, a.CloseAt)
		w.OptionalText(`,"dispositionCode":`, a.DispositionCode)
		w.OptionalTime(`,"closedAt":`, a.ClosedAt)
		w.Buf = append(w.Buf, '}')
	}
	if len(list) > 0 {
		w.Buf = append(w.Buf, ']')
	}
}

// readJob decodes the job of a line that [appendRecord] wrote by hand; ok is false for
// a line in another form, which encoding/json must decode.
func readJob(r *codec.Reader, line []byte) (_ *jobData, ok bool) {
	r.Buf, r.Unusual = line, !bytes.HasPrefix(line, []byte(`{"job":{"id":`))
	j := &jobData{}
	var version, unassigned uint64
	r.Text(`{"job":{"id":`, &j.ID)
	r.Uint(`,"version":`, &version)
	r.Time(`,"changedAt":`, &j.ChangedAt)
	r.JobSpec(&j.JobSpec)
	r.Selectors(`,"attached":`, &j.Attached)
	codec.Name(r, `,"status":`, &j.Status)
	r.Time(`,"createdAt":`, &j.CreatedAt)
	r.Uint(`,"created":`, &j.Created)
	r.Time(`,"enqueuedAt":`, &j.EnqueuedAt)
	r.Uint(`,"enqueued":`, &j.Enqueued)
	r.Time(`,"waitsSince":`, &j.WaitsSince)
	codec.Name(r, `,"waitsIn":`, &j.WaitsIn)
	r.Time(`,"scheduledAt":`, &j.ScheduledAt)
	r.Time(`,"finishedAt":`, &j.FinishedAt)
	readAssignments(r, &j.Assignments)
	r.Uint(`,"unassigned":`, &unassigned)
	r.Uint(`,"round":`, &j.Round)
	r.Uint(`,"tries":`, &j.Tries)
	j.Version, j.Unassigned = Version(version), int(unassigned)
	r.Unusual = r.Unusual || unassigned > 1e9
	return j, r.Has("}}\n") && len(r.Buf) == 0
}

func readAssignments(r *codec.Reader, into *[]*assignment) {
	r.List(`,"assignments":`, func() {
		a := &assignment{}
		var cost uint64
		r.Text(`"id":`, &a.ID)
		r.Text(`,"offer":`, &a.OfferID)
		codec.Name(r, `,"worker":`, &a.WorkerID)
		codec.Name(r, `,"channel":`, &a.ChannelID)
		r.Uint(`,"cost":`, &cost)
		r.Unusual = r.Unusual || cost > 1e9
		a.Cost = int(cost)
		r.Time(`,"assignedAt":`, &a.AssignedAt)
		r.Time(`,"completedAt":`, &a.CompletedAt)
		r.Time(`,"closeAt":`, &a.CloseAt)
		codec.Name(r, `,"dispositionCode":`, &a.DispositionCode)
		r.Time(`,"closedAt":`, &a.ClosedAt)
		*into = append(*into, a)
	})
}

// A snapshot is one line of JSON per entity, after a header line and before a
// line with the number of records, so that a truncated snapshot is never taken
// for a complete one.

const snapshotVersion = 1

type snapshotHead struct {
	Format   string    `json:"format"`
	Version  int       `json:"version"`
	Seq      uint64    `json:"seq"`
	Now      time.Time `json:"now,omitzero"`
	Settings Settings  `json:"settings"`
}

// record holds one entity.
type record struct {
	Distribution   *distribution   `json:"distribution,omitempty"`
	Classification *classification `json:"classification,omitempty"`
	Exception      *exception      `json:"exception,omitempty"`
	Queue          *queueData      `json:"queue,omitempty"`
	Worker         *workerData     `json:"worker,omitempty"`
	Pool           *pool           `json:"pool,omitempty"`
	Job            *jobData        `json:"job,omitempty"`
	End            *int            `json:"end,omitempty"` // number of records
}

const snapshotFormat = "weir-routing"
