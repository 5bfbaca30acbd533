package resource

import (
	"fmt"

	"weir/router/label"
)

// Attachment is the common form of queue and worker selector attachments.
type Attachment[S any] struct {
	// Results of remote rules are keyed by the path of their rule, so it is the same in the
	// question and when the answer is applied.
	Path                string // in its policy
	Kind                AttachmentKind
	Selector            *S
	Condition           *Rule
	Selectors           []S
	Key                 string
	Operator            label.Operator
	ExpiresAfterSeconds float64
	Rule                *Rule
	Allocations         []Allocation[S]
}

// Allocation is one choice of a weighted allocation.
type Allocation[S any] struct {
	Weight    float64
	Selectors []S
}

// QueueAttachments returns the queue selector attachments in the common form.
func (c *ClassificationSpec) QueueAttachments() []Attachment[QueueSelector] {
	out := make([]Attachment[QueueSelector], len(c.QueueSelectorAttachments))
	for i, a := range c.QueueSelectorAttachments {
		out[i] = Attachment[QueueSelector]{
			Path: fmt.Sprintf("queueSelectorAttachments/%d", i), Kind: a.Kind, Selector: a.QueueSelector,
			Condition: a.Condition, Selectors: a.QueueSelectors, Key: a.Key, Operator: a.Operator, Rule: a.Rule,
		}
		for _, w := range a.Allocations {
			out[i].Allocations = append(out[i].Allocations, Allocation[QueueSelector]{w.Weight, w.QueueSelectors})
		}
	}
	return out
}

// WorkerAttachments returns the worker selector attachments in the common form.
func (c *ClassificationSpec) WorkerAttachments() []Attachment[WorkerSelector] {
	out := make([]Attachment[WorkerSelector], len(c.WorkerSelectorAttachments))
	for i, a := range c.WorkerSelectorAttachments {
		out[i] = Attachment[WorkerSelector]{
			Path: fmt.Sprintf("workerSelectorAttachments/%d", i), Kind: a.Kind, Selector: a.WorkerSelector,
			Condition: a.Condition, Selectors: a.WorkerSelectors, Key: a.Key, Operator: a.Operator,
			ExpiresAfterSeconds: a.ExpiresAfterSeconds, Rule: a.Rule,
		}
		for _, w := range a.Allocations {
			out[i].Allocations = append(out[i].Allocations, Allocation[WorkerSelector]{w.Weight, w.WorkerSelectors})
		}
	}
	return out
}
