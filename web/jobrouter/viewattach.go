package jobrouter

import (
	"weir/routing"
	"weir/routing/label"
	"weir/routing/resource"
)

type queueSelectorView struct {
	Key           string      `json:"key"`
	LabelOperator string      `json:"labelOperator"`
	Value         label.Value `json:"value,omitzero"`
}

// queueAttachmentView shows only the members of the attachment's kind.
type queueAttachmentView struct {
	Kind           string                `json:"kind"`
	QueueSelector  *queueSelectorView    `json:"queueSelector,omitzero"`
	Condition      *ruleView             `json:"condition,omitzero"`
	QueueSelectors []queueSelectorView   `json:"queueSelectors,omitzero"`
	Key            string                `json:"key,omitzero"`
	LabelOperator  string                `json:"labelOperator,omitzero"`
	Rule           *ruleView             `json:"rule,omitzero"`
	Allocations    []queueAllocationView `json:"allocations,omitzero"`
}

type queueAllocationView struct {
	Weight         float64             `json:"weight"`
	QueueSelectors []queueSelectorView `json:"queueSelectors"`
}

func viewQueueAttachment(a *resource.QueueAttachment) queueAttachmentView {
	out := queueAttachmentView{Kind: string(a.Kind)}
	switch a.Kind {
	case resource.AttachStatic:
		if a.QueueSelector != nil {
			out.QueueSelector = &viewQueueSelectors([]resource.QueueSelector{*a.QueueSelector})[0]
		}
	case resource.AttachConditional:
		out.Condition, out.QueueSelectors = viewRule(a.Condition), viewQueueSelectors(a.QueueSelectors)
	case resource.AttachPassThrough:
		out.Key, out.LabelOperator = a.Key, string(a.Operator)
	case resource.AttachRuleEngine:
		out.Rule = viewRule(a.Rule)
	case resource.AttachWeighted:
		out.Allocations = make([]queueAllocationView, len(a.Allocations))
		for i, w := range a.Allocations {
			out.Allocations[i] = queueAllocationView{w.Weight, viewQueueSelectors(w.QueueSelectors)}
		}
	}
	return out
}

func viewQueueSelectors(list []resource.QueueSelector) []queueSelectorView {
	out := make([]queueSelectorView, len(list))
	for i, s := range list {
		out[i] = queueSelectorView{s.Key, string(s.Operator), s.Value}
	}
	return out
}

// workerAttachmentView shows only the members of the attachment's kind.
type workerAttachmentView struct {
	Kind                string                 `json:"kind"`
	WorkerSelector      *statedSelectorView    `json:"workerSelector,omitzero"`
	Condition           *ruleView              `json:"condition,omitzero"`
	WorkerSelectors     []statedSelectorView   `json:"workerSelectors,omitzero"`
	Key                 string                 `json:"key,omitzero"`
	LabelOperator       string                 `json:"labelOperator,omitzero"`
	ExpiresAfterSeconds float64                `json:"expiresAfterSeconds,omitzero"`
	Rule                *ruleView              `json:"rule,omitzero"`
	Allocations         []workerAllocationView `json:"allocations,omitzero"`
}

type workerAllocationView struct {
	Weight          float64              `json:"weight"`
	WorkerSelectors []statedSelectorView `json:"workerSelectors"`
}

// statedSelectorView is a selector in a policy. It is not attached to a job, so it
// has no status and no expiry time.
type statedSelectorView struct {
	Key                 string      `json:"key"`
	LabelOperator       string      `json:"labelOperator"`
	Value               label.Value `json:"value,omitzero"`
	ExpiresAfterSeconds float64     `json:"expiresAfterSeconds,omitzero"`
	Expedite            bool        `json:"expedite"`
}

func viewWorkerAttachment(a *resource.WorkerAttachment) workerAttachmentView {
	out := workerAttachmentView{Kind: string(a.Kind)}
	switch a.Kind {
	case resource.AttachStatic:
		if a.WorkerSelector != nil {
			out.WorkerSelector = &viewStated([]resource.WorkerSelector{*a.WorkerSelector})[0]
		}
	case resource.AttachConditional:
		out.Condition, out.WorkerSelectors = viewRule(a.Condition), viewStated(a.WorkerSelectors)
	case resource.AttachPassThrough:
		out.Key, out.LabelOperator, out.ExpiresAfterSeconds = a.Key, string(a.Operator), a.ExpiresAfterSeconds
	case resource.AttachRuleEngine:
		out.Rule = viewRule(a.Rule)
	case resource.AttachWeighted:
		out.Allocations = make([]workerAllocationView, len(a.Allocations))
		for i, w := range a.Allocations {
			out.Allocations[i] = workerAllocationView{w.Weight, viewStated(w.WorkerSelectors)}
		}
	}
	return out
}

func viewStated(list []resource.WorkerSelector) []statedSelectorView {
	out := make([]statedSelectorView, len(list))
	for i, s := range list {
		out[i] = statedSelectorView{s.Key, string(s.Operator), s.Value, s.ExpiresAfterSeconds, s.Expedite}
	}
	return out
}

type exceptionView struct {
	Etag           string              `json:"etag"`
	ID             string              `json:"id"`
	Name           string              `json:"name,omitzero"`
	ExceptionRules []exceptionRuleView `json:"exceptionRules"`
}

type exceptionRuleView struct {
	ID      string       `json:"id"`
	Trigger triggerView  `json:"trigger"`
	Actions []actionView `json:"actions"`
}

type triggerView struct {
	Kind             string   `json:"kind"`
	Threshold        *int     `json:"threshold,omitzero"`
	ThresholdSeconds *float64 `json:"thresholdSeconds,omitzero"`
}

// actionView shows only the members of the action's kind.
type actionView struct {
	Kind                   string               `json:"kind"`
	ID                     string               `json:"id"`
	Note                   string               `json:"note,omitzero"`
	DispositionCode        string               `json:"dispositionCode,omitzero"`
	QueueID                string               `json:"queueId,omitzero"`
	Priority               *int                 `json:"priority,omitzero"`
	WorkerSelectors        []statedSelectorView `json:"workerSelectors,omitzero"`
	ClassificationPolicyID string               `json:"classificationPolicyId,omitzero"`
	LabelsToUpsert         labelsView           `json:"labelsToUpsert,omitzero"`
}

func viewException(x *routing.Named[resource.ExceptionSpec]) exceptionView {
	out := exceptionView{Etag: etag(x.Version), ID: x.ID, Name: x.Spec.Name, ExceptionRules: make([]exceptionRuleView, len(x.Spec.ExceptionRules))}
	for i, r := range x.Spec.ExceptionRules {
		rule := exceptionRuleView{ID: r.ID, Trigger: triggerView{Kind: string(r.Trigger.Kind)}, Actions: make([]actionView, len(r.Actions))}
		if r.Trigger.Kind == resource.TriggerQueueLength {
			rule.Trigger.Threshold = &r.Trigger.Threshold
		} else {
			rule.Trigger.ThresholdSeconds = &r.Trigger.ThresholdSeconds
		}
		for k := range r.Actions {
			rule.Actions[k] = viewAction(&r.Actions[k])
		}
		out.ExceptionRules[i] = rule
	}
	return out
}

func viewAction(a *resource.Action) actionView {
	out := actionView{Kind: string(a.Kind), ID: a.ID}
	switch a.Kind {
	case resource.ActionCancel:
		out.Note, out.DispositionCode = a.Note, a.DispositionCode
	case resource.ActionManualReclassify:
		out.QueueID, out.Priority, out.WorkerSelectors = a.QueueID, a.Priority, viewStated(a.WorkerSelectors)
	case resource.ActionReclassify:
		out.ClassificationPolicyID, out.LabelsToUpsert = a.ClassificationPolicyID, viewLabels(a.LabelsToUpsert)
	}
	return out
}
