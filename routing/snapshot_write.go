package routing

import "encoding/json"

// appendRecord appends a record as encoding/json writes it. Jobs, most of a
// snapshot, are written by hand to save CPU, because the router keeps working
// meanwhile.
func appendRecord(b []byte, r *record) ([]byte, error) {
	if r.Job != nil {
		w := eventWriter{b: b}
		w.jobData(r.Job)
		if !w.odd {
			return append(w.b, "}}\n"...), nil
		}
	}
	text, err := json.Marshal(r)
	return append(append(b, text...), '\n'), err
}

func (w *eventWriter) jobData(j *jobData) {
	w.odd = len(j.Offers)+len(j.Declines)+len(j.Taken)+len(j.Fired) > 0 || j.Asks != AskNothing
	w.text(`{"job":{"id":`, j.ID)
	w.number64(`,"version":`, uint64(j.Version))
	w.instant(`,"changedAt":`, j.ChangedAt)
	w.wishes(`,"channelId":`, &j.JobSpec)
	w.selectors(`,"attached":`, j.Attached)
	w.text(`,"status":`, string(j.Status))
	w.instant(`,"createdAt":`, j.CreatedAt)
	w.number64(`,"created":`, j.Created)
	w.some(`,"enqueuedAt":`, j.EnqueuedAt)
	w.optional64(`,"enqueued":`, j.Enqueued)
	w.some(`,"waitsSince":`, j.WaitsSince)
	w.optional(`,"waitsIn":`, j.WaitsIn)
	w.some(`,"scheduledAt":`, j.ScheduledAt)
	w.some(`,"finishedAt":`, j.FinishedAt)
	w.assignments(j.Assignments)
	w.optional64(`,"unassigned":`, uint64(j.Unassigned))
	w.optional64(`,"round":`, j.Round)
	w.optional64(`,"tries":`, j.Tries)
}

func (w *eventWriter) assignments(list []*assignment) {
	for i, a := range list {
		key := `,{"id":`
		if i == 0 {
			key = `,"assignments":[{"id":`
		}
		w.text(key, a.ID)
		w.text(`,"offer":`, a.OfferID)
		w.text(`,"worker":`, a.WorkerID)
		w.text(`,"channel":`, a.ChannelID)
		w.integer(`,"cost":`, a.Cost)
		w.instant(`,"assignedAt":`, a.AssignedAt)
		w.some(`,"completedAt":`, a.CompletedAt)
		w.some(`,"closeAt":`, a.CloseAt)
		w.optional(`,"dispositionCode":`, a.DispositionCode)
		w.some(`,"closedAt":`, a.ClosedAt)
		w.b = append(w.b, '}')
	}
	if len(list) > 0 {
		w.b = append(w.b, ']')
	}
}

func (w *eventWriter) optional64(key string, n uint64) {
	if n != 0 {
		w.number64(key, n)
	}
}
