package routing

import (
	"fmt"

	"weir"
)

// queueSelectors collects the selectors of all attachments. A pass-through of a
// label that the job lacks compares with the empty value, so that no queue
// matches.
func (c *classifier) queueSelectors(list []QueueAttachment) (out []QueueSelector, f *Failure) {
	for i, a := range list {
		path := queuePath(i)
		switch a.Kind {
		case AttachStatic:
			out = append(out, *a.QueueSelector)
		case AttachConditional:
			holds, f := c.holds(a.Condition, path+"/condition")
			if f != nil {
				return nil, f
			}
			if holds {
				out = append(out, a.QueueSelectors...)
			}
		case AttachPassThrough:
			v, ok := c.labels[a.Key]
			if !ok {
				return []QueueSelector{{Key: a.Key, Operator: Equal}}, nil
			}
			out = append(out, QueueSelector{Key: a.Key, Operator: a.Operator, Value: v})
		case AttachRuleEngine:
			r, f := c.eval(a.Rule, path+"/rule")
			if f == nil && r.Queues == nil && !r.Value.IsZero() {
				r.Queues, f = selectorsIn[QueueSelector](r.Value, path)
			}
			if f != nil {
				return nil, f
			}
			out = append(out, r.Queues...)
		case AttachWeighted:
			weights := make([]float64, len(a.Allocations))
			for k, w := range a.Allocations {
				weights[k] = w.Weight
			}
			out = append(out, a.Allocations[drawn(weights, c.random(path))].QueueSelectors...)
		}
	}
	return out, c.sound(len(out), func(i int, m *mistakes) { checkSelector(m, "", out[i].Key, out[i].Operator, out[i].Value) })
}

// workerSelectors collects the selectors of all attachments. A pass-through of
// a label that the job lacks attaches nothing.
func (c *classifier) workerSelectors(list []WorkerAttachment) (out []WorkerSelector, f *Failure) {
	for i, a := range list {
		path := workerPath(i)
		switch a.Kind {
		case AttachStatic:
			out = append(out, *a.WorkerSelector)
		case AttachConditional:
			holds, f := c.holds(a.Condition, path+"/condition")
			if f != nil {
				return nil, f
			}
			if holds {
				out = append(out, a.WorkerSelectors...)
			}
		case AttachPassThrough:
			if v, ok := c.labels[a.Key]; ok {
				out = append(out, WorkerSelector{Key: a.Key, Operator: a.Operator, Value: v, ExpiresAfterSeconds: a.ExpiresAfterSeconds})
			}
		case AttachRuleEngine:
			r, f := c.eval(a.Rule, path+"/rule")
			if f == nil && r.Workers == nil && !r.Value.IsZero() {
				r.Workers, f = selectorsIn[WorkerSelector](r.Value, path)
			}
			if f != nil {
				return nil, f
			}
			out = append(out, r.Workers...)
		case AttachWeighted:
			weights := make([]float64, len(a.Allocations))
			for k, w := range a.Allocations {
				weights[k] = w.Weight
			}
			out = append(out, a.Allocations[drawn(weights, c.random(path))].WorkerSelectors...)
		}
	}
	return out, c.sound(len(out), func(i int, m *mistakes) { checkWorkerSelector(m, "", &out[i]) })
}

// sound checks selectors that rules computed.
func (c *classifier) sound(n int, check func(i int, m *mistakes)) *Failure {
	var m mistakes
	for i := range n {
		check(i, &m)
	}
	if m.err() == nil {
		return nil
	}
	return &Failure{Code: string(weir.CodeInvalid), Message: "a rule's selector is invalid: " + m[0].Detail}
}

func queuePath(i int) string  { return fmt.Sprintf("queueSelectorAttachments/%d", i) }
func workerPath(i int) string { return fmt.Sprintf("workerSelectorAttachments/%d", i) }

// remoteRules returns the rules of a policy that only the caller can evaluate.
func (c *classification) remoteRules() (out []AskedRule) {
	add := func(r *Rule, path string) {
		if r.remote() {
			out = append(out, AskedRule{Path: path, Rule: *r})
		}
	}
	add(c.PrioritizationRule, "prioritizationRule")
	for i, a := range c.QueueSelectorAttachments {
		add(a.Condition, queuePath(i)+"/condition")
		add(a.Rule, queuePath(i)+"/rule")
	}
	for i, a := range c.WorkerSelectorAttachments {
		add(a.Condition, workerPath(i)+"/condition")
		add(a.Rule, workerPath(i)+"/rule")
	}
	return out
}
