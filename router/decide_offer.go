package router

import (
	"time"

	"weir/router/journal"
	"weir/router/resource"
)

// It is the limit of the API (unassign: at most three times).
const maxUnassignments = 3

func (c AcceptOffer) decide(ds *decisions) error {
	o, err := ds.view.openOffer(c.WorkerID, c.OfferID)
	if err != nil {
		if ds.view.AssignmentOf(c.WorkerID, c.OfferID) != "" {
			return nil // accepted before; the response may have been lost
		}
		return err
	}
	ds.accept(o)
	return nil
}

func (c DeclineOffer) decide(ds *decisions) error {
	o, err := ds.view.openOffer(c.WorkerID, c.OfferID)
	if err != nil {
		return err
	}
	retry := c.RetryOfferAt
	if !retry.IsZero() {
		// The precision of Execute and of stored events: the state has to equal its replay.
		retry = retry.UTC().Truncate(time.Microsecond)
		if !retry.After(ds.view.now) {
			retry = ds.view.now // eligible again at once
		}
	}
	ds.emit(&journal.OfferDeclinedEvent{OfferHead: ds.view.offerHead(o.job, o.worker, o.ID), RetryAt: retry})
	return nil
}

// requireOpen returns a conflict unless an assignment is open and its job has a status.
func requireOpen(j *job, a *assignment, status resource.JobStatus) error {
	if j.Status != status || !a.ClosedAt.IsZero() {
		return conflict("job %q is %s", j.ID, j.Status)
	}
	return nil
}

func (c CompleteJob) decide(ds *decisions) error {
	j, a, err := ds.view.assignmentOf(c.JobID, c.AssignmentID)
	// A client that lost the response repeats the request and gets the same answer.
	if err != nil || !a.CompletedAt.IsZero() {
		return err
	}
	if err := requireOpen(j, a, resource.JobAssigned); err != nil {
		return err
	}
	ds.emit(&journal.JobCompletedEvent{JobHead: ds.view.jobHead(j), AssignmentID: a.ID, WorkerID: a.WorkerID, Note: c.Note})
	return nil
}

func (c CloseJob) decide(ds *decisions) error {
	j, a, err := ds.view.assignmentOf(c.JobID, c.AssignmentID)
	if err != nil {
		return err
	}
	// Repeated, as above.
	if j.Status == resource.JobClosed && !a.ClosedAt.IsZero() && (c.DispositionCode == "" || c.DispositionCode == j.DispositionCode) {
		return nil
	}
	if err := requireOpen(j, a, resource.JobCompleted); err != nil {
		return err
	}
	if at := c.CloseAt.UTC().Truncate(time.Microsecond); at.After(ds.view.now) {
		ds.emit(&journal.JobCloseArrangedEvent{
			JobHead: ds.view.jobHead(j), AssignmentID: a.ID, WorkerID: a.WorkerID,
			DispositionCode: c.DispositionCode, CloseAt: at, Note: c.Note,
		})
		return nil
	}
	ds.closeNow(j, a, c.DispositionCode, c.Note)
	return nil
}

func (c UnassignJob) decide(ds *decisions) error {
	j, a, err := ds.view.assignmentOf(c.JobID, c.AssignmentID)
	if err != nil {
		return err
	}
	if err := requireOpen(j, a, resource.JobAssigned); err != nil {
		return err
	}
	if j.Unassigned >= maxUnassignments {
		return conflict("job %q was unassigned %d times", c.JobID, j.Unassigned)
	}
	w := a.worker
	ds.emit(&journal.JobUnassignedEvent{JobHead: ds.view.jobHead(j), AssignmentID: a.ID, WorkerID: a.WorkerID, Suspended: c.SuspendMatching})
	ds.finishDraining(w)
	ds.enqueue(j)
	return nil
}

func offerData(j *job, w *worker) journal.OfferData {
	return journal.OfferData{
		JobPriority: j.EffectivePriority(), JobLabels: j.Labels, JobTags: j.Tags,
		WorkerLabels: w.Labels, WorkerTags: w.Tags,
	}
}

func (ds *decisions) issue(j *job, w *worker) {
	q := j.queue
	head := ds.view.offerHead(j, w, ds.view.newID("o-"))
	ds.emit(&journal.OfferIssuedEvent{
		OfferHead: head, OfferData: offerData(j, w),
		Cost: w.cost(j.ChannelID), ExpiresAt: ds.view.now.Add(resource.Seconds(q.dist.OfferExpiresAfterSeconds)),
	})
	if q.dist.AutoAccept {
		ds.accept(ds.view.offers[head.OfferID])
	}
}

func (ds *decisions) accept(o *offer) {
	j, w := o.job, o.worker
	ds.emit(&journal.OfferAcceptedEvent{
		OfferHead: ds.view.offerHead(j, w, o.ID), OfferData: offerData(j, w), AssignmentID: ds.view.newID("a-"),
	})
	ds.revokeAll(j.Offers, true)
}

func (ds *decisions) closeNow(j *job, a *assignment, code, note string) {
	ds.emit(&journal.JobClosedEvent{JobHead: ds.view.jobHead(j), AssignmentID: a.ID, WorkerID: a.WorkerID, DispositionCode: code, Note: note})
	ds.finishDraining(a.worker)
}
