package routing

import (
	"weir/routing/label"
	"weir/routing/resource"
)

// scorer returns the function that scores workers for a job; higher is better.
func (s *State) scorer(j *job, mode *resource.Mode) func(*worker) float64 {
	sign := 1.0
	if o := mode.ScoringRuleOptions; o != nil && o.DescendingOrder != nil && !*o.DescendingOrder {
		sign = -1
	}
	rule := mode.ScoringRule
	if rule == nil {
		return func(w *worker) float64 { return sign * resource.DefaultScore(j.Labels, j.activeSelectors(), w.Labels) }
	}
	if rule.Remote() {
		return func(w *worker) float64 { return sign * s.work.scores[w.ID] }
	}
	if rule.Kind != resource.RuleExpression {
		return func(*worker) float64 { return 0 } // the same for every worker
	}
	expr, err := label.ParseExpression(rule.Expression)
	if err != nil {
		return func(*worker) float64 { return 0 }
	}
	return func(w *worker) float64 {
		v, err := expr.Eval(label.Scope{Job: j.Labels, Worker: w.Labels})
		f, ok := v.Number()
		if err != nil || !ok {
			return 0 // a failing rule scores 0
		}
		return sign * f
	}
}

func (j *job) activeSelectors() []resource.WorkerSelector {
	var out []resource.WorkerSelector
	for _, list := range [][]resource.WorkerSelector{j.RequestedWorkerSelectors, j.Attached} {
		for _, s := range list {
			if s.Active() {
				out = append(out, s)
			}
		}
	}
	return out
}
