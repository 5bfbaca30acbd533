package routing

import (
	"fmt"
	"slices"
)

func (c PutClassification) decide(s *State) error {
	old := s.classes[c.ID]
	var st *stamp
	if old != nil {
		st = &old.stamp
	}
	if err := c.If.check(st); err != nil {
		return err
	}
	if err := s.validateClassification(c.ID, &c.Spec); err != nil {
		return err
	}
	if old == nil || !alike(old.ClassificationSpec, c.Spec) {
		s.emit(&ClassificationPutEvent{ID: c.ID, Spec: c.Spec})
	}
	return nil
}

func (s *State) validateClassification(id string, c *ClassificationSpec) error {
	var m mistakes
	m.id("/id", id)
	m.text("/name", c.Name, maxText)
	if c.FallbackQueueID != "" && s.queues[c.FallbackQueueID] == nil {
		m.add("/fallbackQueueId", "not_found", "there is no queue %q", c.FallbackQueueID)
	}
	m.rule("/prioritizationRule", c.PrioritizationRule)
	m.count("/queueSelectorAttachments", len(c.QueueSelectorAttachments))
	for i, a := range c.QueueSelectorAttachments {
		at := "/" + queuePath(i)
		m.attachment(at, attachment{a.Kind, a.QueueSelector != nil, a.Condition, a.Rule, a.Key, a.Operator, weightsOf(a.Allocations)})
		if a.QueueSelector != nil {
			m.queueSelectors(at+"/queueSelector", []QueueSelector{*a.QueueSelector})
		}
		m.queueSelectors(at+"/queueSelectors", a.QueueSelectors)
		for _, w := range a.Allocations {
			m.queueSelectors(at+"/allocations", w.QueueSelectors)
		}
	}
	m.count("/workerSelectorAttachments", len(c.WorkerSelectorAttachments))
	for i, a := range c.WorkerSelectorAttachments {
		at := "/" + workerPath(i)
		var weights []float64
		for _, w := range a.Allocations {
			weights = append(weights, w.Weight)
			m.workerSelectors(at+"/allocations", w.WorkerSelectors)
		}
		m.attachment(at, attachment{a.Kind, a.WorkerSelector != nil, a.Condition, a.Rule, a.Key, a.Operator, weights})
		if a.WorkerSelector != nil {
			m.workerSelectors(at+"/workerSelector", []WorkerSelector{*a.WorkerSelector})
		}
		m.workerSelectors(at+"/workerSelectors", a.WorkerSelectors)
		m.seconds(at+"/expiresAfterSeconds", a.ExpiresAfterSeconds)
	}
	return m.err()
}

// attachment is the common part of queue and worker attachments.
type attachment struct {
	kind      AttachmentKind
	selector  bool
	condition *Rule
	rule      *Rule
	key       string
	operator  Operator
	weights   []float64
}

func weightsOf(list []QueueAllocation) (out []float64) {
	for _, a := range list {
		out = append(out, a.Weight)
	}
	return out
}

func (m *mistakes) attachment(at string, a attachment) {
	m.rule(at+"/condition", a.condition)
	m.rule(at+"/rule", a.rule)
	missing := func(what string, is bool) {
		if is {
			m.add(at+"/"+what, "required", "an attachment of kind %s needs it", a.kind)
		}
	}
	switch a.kind {
	case AttachStatic:
		missing("selector", !a.selector)
	case AttachConditional:
		missing("condition", a.condition == nil)
	case AttachPassThrough:
		checkSelector(m, at, a.key, a.operator, Value{})
	case AttachRuleEngine:
		missing("rule", a.rule == nil)
	case AttachWeighted:
		sum := 0.0
		for _, w := range a.weights {
			sum += w
		}
		if slices.ContainsFunc(a.weights, func(w float64) bool { return !(w >= 0) }) || !(sum > 0) || !Number(sum).valid() {
			m.add(at+"/allocations", "range", "weights are 0 or more, and some weight is above 0")
		}
	default:
		m.add(at+"/kind", "unknown", "there is no attachment %q", a.kind)
	}
}

func (m *mistakes) queueSelectors(pointer string, list []QueueSelector) {
	m.count(pointer, len(list))
	for i, q := range list {
		checkSelector(m, fmt.Sprintf("%s/%d", pointer, i), q.Key, q.Operator, q.Value)
	}
}

func (s *State) validateException(id string, x *ExceptionSpec) error {
	var m mistakes
	m.id("/id", id)
	m.text("/name", x.Name, maxText)
	m.count("/exceptionRules", len(x.ExceptionRules))
	for i, r := range x.ExceptionRules {
		at := fmt.Sprintf("/exceptionRules/%d", i)
		m.id(at+"/id", r.ID)
		if slices.ContainsFunc(x.ExceptionRules[:i], func(o ExceptionRule) bool { return o.ID == r.ID }) {
			m.add(at+"/id", "duplicate", "the rule is there twice")
		}
		switch r.Trigger.Kind {
		case TriggerQueueLength:
			m.between(at+"/trigger/threshold", r.Trigger.Threshold, 0, maxNumber)
		case TriggerWaitTime:
			m.seconds(at+"/trigger/thresholdSeconds", r.Trigger.ThresholdSeconds)
		default:
			m.add(at+"/trigger/kind", "unknown", "there is no trigger %q", r.Trigger.Kind)
		}
		m.count(at+"/actions", len(r.Actions))
		for k, a := range r.Actions {
			s.validateAction(&m, fmt.Sprintf("%s/actions/%d", at, k), &a)
		}
	}
	return m.err()
}

func (s *State) validateAction(m *mistakes, at string, a *Action) {
	m.text(at+"/id", a.ID, maxID)
	switch a.Kind {
	case ActionCancel:
		m.text(at+"/note", a.Note, maxText)
		m.text(at+"/dispositionCode", a.DispositionCode, maxText)
	case ActionManualReclassify:
		if a.QueueID != "" && s.queues[a.QueueID] == nil {
			m.add(at+"/queueId", "not_found", "there is no queue %q", a.QueueID)
		}
		m.priority(at+"/priority", a.Priority)
		m.workerSelectors(at+"/workerSelectors", a.WorkerSelectors)
	case ActionReclassify:
		if a.ClassificationPolicyID != "" && s.classes[a.ClassificationPolicyID] == nil {
			m.add(at+"/classificationPolicyId", "not_found", "there is no classification policy %q", a.ClassificationPolicyID)
		}
		m.labels(at+"/labelsToUpsert", a.LabelsToUpsert)
	default:
		m.add(at+"/kind", "unknown", "there is no action %q", a.Kind)
	}
}
