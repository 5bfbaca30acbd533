package routing

import (
	"time"

	"weir/routing/eventlog"
	"weir/routing/resource"
)

// It is the limit of the API (unassign: at most three times).
const maxUnassignments = 3

func (c AcceptOffer) decide(s *State) error {
	o, err := s.openOffer(c.WorkerID, c.OfferID)
	if err != nil {
		if s.AssignmentOf(c.WorkerID, c.OfferID) != "" {
			return nil // accepted before; the response may have been lost
		}
		return err
	}
	s.accept(o)
	return nil
}

func (c DeclineOffer) decide(s *State) error {
	o, err := s.openOffer(c.WorkerID, c.OfferID)
	if err != nil {
		return err
	}
	retry := c.RetryOfferAt
	if !retry.IsZero() {
		// The precision of Execute and of stored events: the state has to equal its replay.
		retry = retry.UTC().Truncate(time.Microsecond)
		if !retry.After(s.now) {
			retry = s.now // eligible again at once
		}
	}
	s.emit(&eventlog.OfferDeclinedEvent{OfferHead: s.offerHead(o.job, o.worker, o.ID), RetryAt: retry})
	return nil
}

// requireOpen returns a conflict unless an assignment is open and its job has a status.
func requireOpen(j *job, a *assignment, status resource.JobStatus) error {
	if j.Status != status || !a.ClosedAt.IsZero() {
		return conflict("job %q is %s", j.ID, j.Status)
	}
	return nil
}

func (c CompleteJob) decide(s *State) error {
	j, a, err := s.assignmentOf(c.JobID, c.AssignmentID)
	// A client that lost the response repeats the request and gets the same answer.
	if err != nil || !a.CompletedAt.IsZero() {
		return err
	}
	if err := requireOpen(j, a, resource.JobAssigned); err != nil {
		return err
	}
	s.emit(&eventlog.JobCompletedEvent{JobHead: s.jobHead(j), AssignmentID: a.ID, WorkerID: a.WorkerID, Note: c.Note})
	return nil
}

func (c CloseJob) decide(s *State) error {
	j, a, err := s.assignmentOf(c.JobID, c.AssignmentID)
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
	if at := c.CloseAt.UTC().Truncate(time.Microsecond); at.After(s.now) {
		s.emit(&eventlog.JobCloseArrangedEvent{
			JobHead: s.jobHead(j), AssignmentID: a.ID, WorkerID: a.WorkerID,
			DispositionCode: c.DispositionCode, CloseAt: at, Note: c.Note,
		})
		return nil
	}
	s.closeNow(j, a, c.DispositionCode, c.Note)
	return nil
}

func (c UnassignJob) decide(s *State) error {
	j, a, err := s.assignmentOf(c.JobID, c.AssignmentID)
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
	s.emit(&eventlog.JobUnassignedEvent{JobHead: s.jobHead(j), AssignmentID: a.ID, WorkerID: a.WorkerID, Suspended: c.SuspendMatching})
	s.finishDraining(w)
	s.enqueue(j)
	return nil
}

func offerData(j *job, w *worker) eventlog.OfferData {
	return eventlog.OfferData{
		JobPriority: j.EffectivePriority(), JobLabels: j.Labels, JobTags: j.Tags,
		WorkerLabels: w.Labels, WorkerTags: w.Tags,
	}
}
