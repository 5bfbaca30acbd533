package routing

import (
	"bytes"
	"encoding/json"
	"weir/routing/internal/codec"
)

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
	w.Unusual = len(j.Offers)+len(j.Declines)+len(j.Taken)+len(j.Fired) > 0 || j.Asks != AskNothing
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
