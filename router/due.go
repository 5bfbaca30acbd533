package router

import (
	"time"

	"weir/router/journal"
	"weir/router/resource"
)

// Dispositions of jobs that the router itself cancels.
const (
	NoWorkerAvailable = "NobodyAvailable" // a NoWait job found no worker
	ExpiredJob        = "Expired"         // not assigned by NotAfter, or the maximum life was reached
)

// fire decides what follows from a timer that is due; false if nothing does yet, so that the timers
// of its job have to be set again.
func (ds *decisions) fire(t *timer) bool {
	switch t.kind {
	case timerJob:
		return ds.fireJob(t.job)
	case timerLife:
		ds.expireJob(t.job)
	case timerForget:
		ds.emit(&journal.JobForgottenEvent{JobID: t.job.ID})
	case timerIdle:
		ds.deregister(t.work)
	case timerKinds:
	}
	return true
}

// fireJob handles what is due for one job; false if nothing is.
func (ds *decisions) fireJob(j *job) bool {
	switch {
	case due(j.NotAfter, ds.view.now) && j.awaitsAssignment():
		ds.cancel(j, "", ExpiredJob)
	case ds.fireOffers(j), ds.fireClose(j):
	case j.Status == resource.JobScheduled && due(j.MatchingMode.ScheduleAt, ds.view.now):
		ds.emit(&journal.JobWaitingForActivationEvent{
			JobHead: ds.view.jobHead(j), Priority: j.EffectivePriority(), Requested: j.RequestedWorkerSelectors,
			Attached: j.Attached, ScheduledAt: j.ScheduledAt,
		})
	case j.Status == resource.JobQueued && (ds.fireDeclines(j) || ds.fireSelectors(j) || ds.fireWaits(j)):
	default:
		return false
	}
	return true
}

func due(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

func (ds *decisions) fireOffers(j *job) bool {
	for _, o := range j.Offers {
		if due(o.ExpiresAt, ds.view.now) {
			w := o.worker
			ds.emit(&journal.OfferExpiredEvent{OfferHead: ds.view.offerHead(j, w, o.ID)})
			// As the API documents it: a worker that lets an offer expire is taken for absent.
			// Declining has no such effect.
			ds.deregister(w)
			return true
		}
	}
	return false
}

func (ds *decisions) fireClose(j *job) bool {
	for _, a := range j.Assignments {
		if a.ClosedAt.IsZero() && due(a.CloseAt, ds.view.now) {
			ds.closeNow(j, a, a.DispositionCode, "")
			return true
		}
	}
	return false
}

func (ds *decisions) fireDeclines(j *job) bool {
	for _, d := range j.Declines {
		if due(d.Until, ds.view.now) {
			ds.emit(&journal.DeclineLapsedEvent{JobID: j.ID, WorkerID: d.WorkerID})
			return true
		}
	}
	return false
}

func (ds *decisions) fireSelectors(j *job) bool {
	_, requested := resource.Expire(j.RequestedWorkerSelectors, ds.view.now)
	_, attached := resource.Expire(j.Attached, ds.view.now)
	if requested == nil && attached == nil {
		return false
	}
	ds.emit(&journal.JobWorkerSelectorsExpiredEvent{JobHead: ds.view.jobHead(j), Requested: requested, Attached: attached})
	return true
}

func (ds *decisions) fireWaits(j *job) bool {
	for _, r := range ds.view.rulesOf(j.queue) {
		if r.Trigger.Kind == resource.TriggerWaitTime && !j.hasFired(j.QueueID, r.ID) &&
			due(j.WaitsSince.Add(resource.Seconds(r.Trigger.ThresholdSeconds)), ds.view.now) {
			ds.fireRule(j, r)
			return true
		}
	}
	return false
}

// expireJob ends a job that has reached its maximum life.
func (ds *decisions) expireJob(j *job) {
	if j.Status == resource.JobPendingSchedule || j.Status == resource.JobScheduled {
		ds.emit(&journal.JobSchedulingFailedEvent{
			JobHead: ds.view.jobHead(j), Priority: j.EffectivePriority(), Requested: j.RequestedWorkerSelectors,
			Attached: j.Attached, ScheduledAt: j.ScheduledAt, FailureReason: "Expired Job",
		})
		return
	}
	ds.cancel(j, "", ExpiredJob)
}

// cancelNoWait cancels a new NoWait job that found no worker.
func (ds *decisions) cancelNoWait() {
	if ds.noWaitJob == nil {
		return
	}
	j := ds.noWaitJob
	ds.noWaitJob = nil
	// A job that awaits a function stays: whether a worker is there is not known yet.
	if ds.view.jobs[j.ID] == j && !j.Status.Finished() && j.Awaits == AwaitNothing && len(j.Offers) == 0 && len(j.Assignments) == 0 {
		ds.cancel(j, "", NoWorkerAvailable)
	}
}
