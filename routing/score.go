package routing

import "math"

// scorer returns the function that scores workers for a job; higher is better.
func (s *State) scorer(j *job, mode *Mode) func(*worker) float64 {
	sign := 1.0
	if o := mode.ScoringRuleOptions; o != nil && o.DescendingOrder != nil && !*o.DescendingOrder {
		sign = -1
	}
	rule := mode.ScoringRule
	if rule == nil {
		return func(w *worker) float64 { return sign * DefaultScore(j.Labels, j.activeSelectors(), w.Labels) }
	}
	if rule.remote() {
		return func(w *worker) float64 { return sign * s.work.scores[w.ID] }
	}
	if rule.Kind != RuleExpression {
		return func(*worker) float64 { return 0 } // the same for every worker
	}
	expr, err := ParseExpression(rule.Expression)
	if err != nil {
		return func(*worker) float64 { return 0 }
	}
	return func(w *worker) float64 {
		v, err := expr.eval(scope{job: j.Labels, worker: w.Labels})
		f, ok := v.Number()
		if err != nil || !ok {
			return 0 // a failing rule scores 0
		}
		return sign * f
	}
}

func (j *job) activeSelectors() []WorkerSelector {
	var out []WorkerSelector
	for _, list := range [][]WorkerSelector{j.RequestedWorkerSelectors, j.Attached} {
		for _, s := range list {
			if s.active() {
				out = append(out, s)
			}
		}
	}
	return out
}

// DefaultScore is the score of best worker without a rule. It is the sum of two
// terms: the share of the job's labels that the worker has with equal values,
// and the mean of how well the worker meets each selector.
func DefaultScore(job Labels, selectors []WorkerSelector, worker Labels) float64 {
	return labelScore(job, worker) + selectorScore(selectors, worker)
}

func labelScore(job, worker Labels) float64 {
	if len(job) == 0 {
		return 0
	}
	alike := 0
	for k, v := range job {
		if worker[k] == v {
			alike++
		}
	}
	return float64(alike) / float64(len(job))
}

func selectorScore(selectors []WorkerSelector, worker Labels) float64 {
	if len(selectors) == 0 {
		return 0
	}
	sum := 0.0
	for _, s := range selectors {
		sum += s.score(worker[s.Key])
	}
	return sum / float64(len(selectors))
}

// score is 1 or 0 for the equality operators. For the inequalities it is the
// distance of the label beyond the selector's value (relative to that value
// unless it is 0), mapped into 0 to 1 by the logistic function.
func (s WorkerSelector) score(label Value) float64 {
	if s.Operator == Equal || s.Operator == NotEqual {
		if s.Operator.Holds(label, s.Value) {
			return 1
		}
		return 0
	}
	have, ok := label.Number()
	want, ok2 := s.Value.Number()
	if !ok || !ok2 {
		return 0
	}
	x := have - want
	if s.Operator == LessThan || s.Operator == LessOrEqual {
		x = -x
	}
	if want != 0 {
		x /= want
	}
	return 1 / (1 + math.Exp(-x))
}
