package workers

import (
	"strings"
	"time"

	"weir"
	"weir/router"
	"weir/router/resource"
)

// Disposition codes with which this package cancels jobs.
const (
	codeCanceled = "WeirCanceled" // a client canceled the contact
	codeOverdue  = "WeirOverdue"  // a worker had it for too long
)

// usualCancel is the router's default code of a canceled job.
const usualCancel = "cancelled"

// closed returns the outcome of a contact whose job was closed with a code.
// Reasons contain only codes that the settings name, never a worker's own text.
func (s *settings) closed(code string) (weir.Outcome, string) {
	if code, _ = splitCode(code); code == "" {
		return weir.Completed, ""
	}
	o, known := s.outcomes[code]
	_, talked := s.dispositions[code]
	switch {
	case talked && !known:
		return weir.Completed, "closed as " + code
	case known && (o == weir.Completed || code == string(o)):
		return o, ""
	case known:
		return o, "closed as " + code
	case s.other == weir.Completed:
		return s.other, ""
	}
	return s.other, "closed with another code"
}

// cancelled returns the outcome of a contact whose job was canceled with a code.
func (s *settings) cancelled(code string) (weir.Outcome, string) {
	switch code {
	case codeCanceled:
		return weir.Canceled, "canceled at the router"
	case codeOverdue:
		return weir.Failed, "the worker did not finish in time"
	case router.ExpiredJob:
		return weir.Expired, "no worker accepted it in time"
	case router.NoWorkerAvailable:
		return weir.NoAnswer, "no worker was available"
	}
	if code = normal(code); code == "" || code == usualCancel {
		return weir.Canceled, "cancelled at the router"
	}
	if o, known := s.outcomes[code]; known {
		return o, "cancelled as " + code
	}
	return weir.Failed, "cancelled at the router with another code"
}

// ended returns the report of an attempt whose job is done; ok is false while it
// is not.
func (s *settings) ended(a weir.AttemptRef, j *router.Job, now time.Time) (r weir.Report, ok bool) {
	r = weir.Report{Attempt: a, Part: weir.WholeContact, ProviderRef: referenceAt(j), At: now}
	switch j.Status {
	case resource.JobClosed:
		r.Outcome, r.Reason = s.closed(j.DispositionCode)
		r.Result = s.result(j.DispositionCode)
	case resource.JobCancelled:
		r.Outcome, r.Reason = s.cancelled(j.DispositionCode)
	case resource.JobScheduleFailed:
		r.Outcome, r.Reason = weir.Failed, "the job's schedule failed"
	default:
		return r, false
	}
	return r, true
}

// referenceAt returns the router's reference for a job and, once a worker has or
// had it, its last assignment.
func referenceAt(j *router.Job) string {
	var last router.Assignment
	for _, a := range j.Assignments {
		if last.AssignmentID == "" || a.AssignedAt.After(last.AssignedAt) {
			last = a
		}
	}
	if last.AssignmentID == "" {
		return j.ID
	}
	return j.ID + "/" + last.AssignmentID
}

// splitCode separates a disposition code from the instant after an @.
func splitCode(text string) (code string, at time.Time) {
	code, instant, _ := strings.Cut(text, "@")
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(instant))
	if err != nil {
		at = time.Time{}
	}
	return normal(code), at.UTC()
}

// result returns the survey result of a disposition code for the respondent.
func (s *settings) result(text string) weir.Result {
	code, at := splitCode(text)
	switch d := s.dispositions[code]; d {
	case "", noDisposition:
		return weir.Result{}
	case callBack:
		return weir.Result{CallBack: at}
	default:
		return weir.Result{Code: d}
	}
}
