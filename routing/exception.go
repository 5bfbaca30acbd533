package routing

import (
	"maps"
	"slices"
	"weir/routing/eventlog"
	"weir/routing/label"
	"weir/routing/resource"
)

// rulesOf returns the exception rules of a queue.
func (s *State) rulesOf(q *queue) []resource.ExceptionRule {
	if q == nil {
		return nil
	}
	if x := s.excepts[q.ExceptionPolicyID]; x != nil {
		return x.ExceptionRules
	}
	return nil
}

// tooLong returns the queue-length rule that fires when a job joins its queue,
// nil if there is none. Each rule fires once per queue, so that jobs that are
// sent in circles come to rest.
func (s *State) tooLong(j *job) *resource.ExceptionRule {
	q := s.queues[j.QueueID]
	if q == nil || j.WaitsIn == j.QueueID {
		return nil
	}
	for _, r := range s.rulesOf(q) {
		if r.Trigger.Kind != resource.TriggerQueueLength || j.hasFired(q.ID, r.ID) {
			continue
		}
		seq := j.Enqueued
		if seq == 0 {
			seq = s.seq + 1
		}
		if q.line.ahead(placeOf(j.expedited(), j.EffectivePriority(), seq)) >= r.Trigger.Threshold {
			return &r
		}
	}
	return nil
}

// trigger fires a rule. Its actions change the job in order; then the job is
// classified, queued or left where it was.
func (s *State) trigger(j *job, r resource.ExceptionRule) {
	waiting := j.Status == resource.JobQueued
	s.emit(&eventlog.JobExceptionTriggeredEvent{JobHead: s.jobHead(j), RuleKey: r.ID, RuleID: r.ID})
	spec, changed, classifies := j.JobSpec, false, false
	for _, a := range r.Actions {
		switch a.Kind {
		case resource.ActionCancel:
			code := a.DispositionCode
			if code == "" {
				code = "Cancelled"
			}
			s.cancel(j, a.Note, code)
			return
		case resource.ActionManualReclassify:
			changed = true
			s.reclassifyByHand(&spec, &a)
		case resource.ActionReclassify:
			changed = true
			classifies = classifies || a.ClassificationPolicyID != "" || spec.ClassificationPolicyID != ""
			if a.ClassificationPolicyID != "" {
				spec.ClassificationPolicyID = a.ClassificationPolicyID
			}
			labels := maps.Clone(spec.Labels)
			if labels == nil {
				labels = label.Set{}
			}
			maps.Copy(labels, a.LabelsToUpsert)
			spec.Labels = labels
		}
	}
	switch {
	case classifies && s.classes[spec.ClassificationPolicyID] != nil:
		s.reclassify(j, spec)
	case changed:
		s.revokeAll(j)
		s.updated(j, spec, resource.JobCreated)
		s.enqueue(j)
	case !waiting:
		s.enqueue(j)
	}
}

// reclassifyByHand sets the members that the action names and appends its
// selectors. A queue that was deleted meanwhile is ignored.
func (s *State) reclassifyByHand(spec *resource.JobSpec, a *resource.Action) {
	if s.queues[a.QueueID] != nil {
		spec.QueueID = a.QueueID
	}
	if a.Priority != nil {
		spec.Priority = a.Priority
	}
	added := resource.KeepExpiry(a.WorkerSelectors, nil)
	spec.RequestedWorkerSelectors = slices.Concat(spec.RequestedWorkerSelectors, added)
}
