package router

import (
	"cmp"
	"maps"
	"slices"

	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"

	"weir"
)

func (c PutJob) decide(ds *decisions) error {
	j := ds.view.jobs[c.ID]
	var last stamp
	if j != nil {
		last = j.stamp
	}
	if err := c.If.check(last.Version, last.ChangedAt); err != nil {
		return err
	}
	spec := c.Spec
	// Only new jobs: what waits in a queue when it closes may still be changed.
	if q := ds.view.queues[spec.QueueID]; j == nil && q != nil && q.Closed == resource.ClosedRefuse {
		return conflict("queue %q is closed", spec.QueueID)
	}
	if err := spec.Validate(c.ID, ds.view.known, j != nil && j.Status.Finished(), ds.view.now); err != nil {
		return err
	}
	if j == nil {
		if err := ds.view.admit(fixedSize + spec.Size()); err != nil {
			return err
		}
		ds.createJob(c, spec)
		return nil
	}
	if err := ds.view.admit(spec.Size() - j.JobSpec.Size()); err != nil {
		return err
	}
	return ds.updateJob(j, spec)
}

func (ds *decisions) createJob(c PutJob, spec resource.JobSpec) {
	// A client cannot set status and expiry of a selector; the router states them at queueing.
	spec.RequestedWorkerSelectors = resource.KeepExpiry(spec.RequestedWorkerSelectors, nil)
	ds.emit(&journal.JobReceivedEvent{JobHead: jobHeadOf(c.ID, &spec), Spec: spec, Status: firstStatus(&spec)})
	j := ds.view.jobs[c.ID]
	// Execute cancels it after matching, in the same call, so that it is never seen waiting.
	if c.NoWait {
		ds.noWaitJob = j
	}
	ds.start(j)
}

// firstStatus returns the status of a job until it is scheduled, classified or
// queued.
func firstStatus(spec *resource.JobSpec) resource.JobStatus {
	switch {
	case spec.MatchingMode.Kind == resource.ScheduleAndSuspend:
		return resource.JobPendingSchedule
	case spec.ClassificationPolicyID != "":
		return resource.JobPendingClassification
	}
	return resource.JobCreated
}

// start schedules, classifies or queues a job that has its first status.
func (ds *decisions) start(j *job) {
	switch {
	case j.MatchingMode.Kind == resource.ScheduleAndSuspend:
		ds.emit(&journal.JobScheduledEvent{JobHead: ds.view.jobHead(j), ScheduledAt: j.MatchingMode.ScheduleAt})
	case j.ClassificationPolicyID != "":
		ds.classify(j)
	default:
		ds.enqueue(j)
	}
}

// updateJob replaces the members of a job that a client stated.
func (ds *decisions) updateJob(j *job, spec resource.JobSpec) error {
	spec.RequestedWorkerSelectors = resource.KeepExpiry(spec.RequestedWorkerSelectors, j.RequestedWorkerSelectors)
	d := ds.compareJobs(&j.JobSpec, &spec)
	finished := j.Status.Finished()
	switch {
	// The same specification again is no event and no new entity tag: clients send whole
	// resources back, and retries repeat them.
	case !d.any:
	case finished && (d.mode || d.routing || d.policy || d.priority):
		return conflict("job %q is finished", j.ID)
	// A worker has it: the change is recorded and matters if the job is unassigned.
	case finished, j.Status == resource.JobAssigned, j.Status == resource.JobCompleted:
		ds.updated(j, spec, j.Status)
	default:
		ds.updateOpen(j, spec, d)
	}
	return nil
}

// updateOpen changes a job that is not assigned yet.
func (ds *decisions) updateOpen(j *job, spec resource.JobSpec, d jobChanges) {
	kind := spec.MatchingMode.Kind
	// Revoked before the job changes, so that their events still show what was offered.
	if (d.mode && kind != resource.QueueAndMatch) || d.routing || d.labels || d.policy {
		ds.revokeAll(j.Offers, false)
	}
	schedules := kind == resource.ScheduleAndSuspend
	switch {
	// It gets a schedule, or its schedule no longer applies.
	case schedules && d.mode, !schedules && j.Status.HasSchedule():
		ds.updated(j, spec, firstStatus(&spec))
		ds.start(j)
	case j.Status.HasSchedule():
		ds.updated(j, spec, j.Status)
	case spec.ClassificationPolicyID != "" && (d.labels || d.policy || d.routing && j.Status == resource.JobPendingClassification):
		ds.updated(j, spec, resource.JobPendingClassification)
		ds.classify(j)
	default:
		ds.updated(j, spec, j.Status)
		// A new queue rescues a job whose classification failed, if its policy was taken off.
		if spec.QueueID != "" && (d.routing || d.labels || d.policy && j.Status == resource.JobClassificationFailed) {
			ds.enqueue(j)
		}
	}
}

func (ds *decisions) updated(j *job, spec resource.JobSpec, status resource.JobStatus) {
	ds.emit(&journal.JobUpdatedEvent{JobHead: jobHeadOf(j.ID, &spec), Spec: spec, Status: status})
}

// jobChanges lists which parts of a job differ.
type jobChanges struct {
	any      bool
	mode     bool
	routing  bool // queue, channel or selectors
	labels   bool
	policy   bool
	priority bool
}

func (ds *decisions) compareJobs(a, b *resource.JobSpec) (d jobChanges) {
	d.mode = a.MatchingMode.Kind != b.MatchingMode.Kind || !a.MatchingMode.ScheduleAt.Equal(b.MatchingMode.ScheduleAt)
	d.routing = a.QueueID != b.QueueID || a.ChannelID != b.ChannelID || !resource.EqualSelectors(a.RequestedWorkerSelectors, b.RequestedWorkerSelectors)
	d.labels = !a.Labels.Equal(b.Labels)
	d.policy = a.ClassificationPolicyID != b.ClassificationPolicyID
	d.priority = a.EffectivePriority() != b.EffectivePriority()
	d.any = d.mode || d.routing || d.labels || d.policy || d.priority || a.ChannelReference != b.ChannelReference ||
		!a.Tags.Equal(b.Tags) || !slices.Equal(a.Notes, b.Notes) || a.DispositionCode != b.DispositionCode || !a.NotAfter.Equal(b.NotAfter)
	return d
}

// enqueue puts a job into its queue, unless a queue-length rule fires and
// cancels or reroutes it.
func (ds *decisions) enqueue(j *job) {
	ds.revokeAll(j.Offers, false)
	if r := ds.queueLengthRule(j); r != nil {
		ds.fireRule(j, *r)
		return
	}
	ds.emit(&journal.JobQueuedEvent{
		JobHead: ds.view.jobHead(j), Priority: j.EffectivePriority(),
		Requested: resource.StartExpiry(j.RequestedWorkerSelectors, ds.view.now), Attached: resource.StartExpiry(j.Attached, ds.view.now),
	})
}

func (c CancelJob) decide(ds *decisions) error {
	j := ds.view.jobs[c.ID]
	if j == nil {
		return notFound("job", c.ID)
	}
	if j.Status.Finished() {
		return conflict("job %q is finished", c.ID)
	}
	ds.cancel(j, c.Note, c.DispositionCode)
	return nil
}

// cancel cancels a job in any open state and frees its worker at once. The default
// of code is that of the API.
func (ds *decisions) cancel(j *job, note, code string) {
	ds.revokeAll(j.Offers, false)
	// Before the event, which closes the assignments.
	drains := openWorkers(j)
	ds.emit(&journal.JobCancelledEvent{JobHead: ds.view.jobHead(j), Note: note, DispositionCode: cmp.Or(code, "Cancelled")})
	for _, w := range drains {
		ds.finishDraining(w)
	}
}

func openWorkers(j *job) (out []*worker) {
	for _, a := range j.Assignments {
		if a.ClosedAt.IsZero() {
			out = append(out, a.worker)
		}
	}
	return out
}

// finishDraining makes a draining worker inactive once its last job is gone.
func (ds *decisions) finishDraining(w *worker) {
	if w.State == resource.WorkerDraining && len(w.assigned) == 0 {
		ds.emit(&journal.WorkerDrainedEvent{WorkerID: w.ID})
	}
}

func (c ReclassifyJob) decide(ds *decisions) error {
	j := ds.view.jobs[c.ID]
	switch {
	case j == nil:
		return notFound("job", c.ID)
	case j.ClassificationPolicyID == "":
		return conflict("job %q has no classification policy", c.ID)
	case j.Status.Finished(), j.Status == resource.JobAssigned, j.Status == resource.JobCompleted, j.Status.HasSchedule():
		return conflict("job %q is %s", c.ID, j.Status)
	}
	ds.reclassify(j, j.JobSpec)
	return nil
}

func (ds *decisions) reclassify(j *job, spec resource.JobSpec) {
	ds.revokeAll(j.Offers, false)
	ds.updated(j, spec, resource.JobPendingClassification)
	ds.classify(j)
}

func (c DeleteJob) decide(ds *decisions) error {
	j := ds.view.jobs[c.ID]
	if j == nil {
		return notFound("job", c.ID)
	}
	if !j.Status.Finished() {
		return weir.Errorf(weir.CodeConflict, "job %q is %s; it needs to be in a termination state", c.ID, j.Status)
	}
	ds.emit(&journal.JobDeletedEvent{JobHead: ds.view.jobHead(j)})
	return nil
}

// queueLengthRule returns the queue-length rule that fires when a job joins its queue,
// nil if there is none. Each rule fires once per queue, so that jobs that are
// rerouted in circles stop.
func (ds *decisions) queueLengthRule(j *job) *resource.ExceptionRule {
	q := ds.view.queues[j.QueueID]
	// Queued again where it waits already: it does not join, so the rule is not asked again.
	if q == nil || j.WaitsIn == j.QueueID {
		return nil
	}
	for _, r := range ds.view.rulesOf(q) {
		if r.Trigger.Kind != resource.TriggerQueueLength || j.hasFired(q.ID, r.ID) {
			continue
		}
		// A job keeps its place in line, so only the jobs before that place are ahead of it.
		seq := cmp.Or(j.Enqueued, ds.view.seq+1)
		if q.jobs.ahead(sortKeyOf(j.expedited(), j.EffectivePriority(), seq)) >= r.Trigger.Threshold {
			return &r
		}
	}
	return nil
}

// fireRule fires a rule. Its actions change the job in order; then the job is
// classified, queued or left where it was.
func (ds *decisions) fireRule(j *job, r resource.ExceptionRule) {
	waiting := j.Status == resource.JobQueued
	// First of all, because it marks the rule as fired: the actions below may queue the job
	// again, in the same queue.
	ds.emit(&journal.JobExceptionTriggeredEvent{JobHead: ds.view.jobHead(j), RuleID: r.ID})
	spec, changed, classifies := j.JobSpec, false, false
	for _, a := range r.Actions {
		switch a.Kind {
		case resource.ActionCancel:
			ds.cancel(j, a.Note, a.DispositionCode)
			return
		case resource.ActionManualReclassify:
			changed = true
			ds.reclassifyManually(&spec, &a)
		case resource.ActionReclassify:
			changed = true
			classifies = classifies || a.ClassificationPolicyID != "" || spec.ClassificationPolicyID != ""
			if a.ClassificationPolicyID != "" {
				spec.ClassificationPolicyID = a.ClassificationPolicyID
			}
			labels := label.Set{}
			maps.Copy(labels, spec.Labels)
			maps.Copy(labels, a.LabelsToUpsert)
			spec.Labels = labels
		}
	}
	switch {
	// The policy of a rule may have been deleted since; then the job is queued as it is.
	case classifies && ds.view.classifications[spec.ClassificationPolicyID] != nil:
		ds.reclassify(j, spec)
	case changed:
		ds.revokeAll(j.Offers, false)
		ds.updated(j, spec, resource.JobCreated)
		ds.enqueue(j)
	case !waiting:
		ds.enqueue(j)
	}
}

// reclassifyManually sets the members that the action names and appends its
// selectors. A queue that was deleted meanwhile is ignored.
func (ds *decisions) reclassifyManually(spec *resource.JobSpec, a *resource.Action) {
	if ds.view.queues[a.QueueID] != nil {
		spec.QueueID = a.QueueID
	}
	if a.Priority != nil {
		spec.Priority = a.Priority
	}
	added := resource.KeepExpiry(a.WorkerSelectors, nil)
	spec.RequestedWorkerSelectors = slices.Concat(spec.RequestedWorkerSelectors, added)
}
