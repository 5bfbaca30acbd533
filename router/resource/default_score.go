package resource

import (
	"math"

	"weir/router/label"
)

// DefaultScore is the score of best worker without a rule. It is the sum of two
// terms: the share of the job's labels that the worker has with equal values,
// and the mean of how well the worker meets each selector.
func DefaultScore(job label.Set, selectors []WorkerSelector, worker label.Set) float64 {
	return labelScore(job, worker) + selectorScore(selectors, worker)
}

func labelScore(job, worker label.Set) float64 {
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

func selectorScore(selectors []WorkerSelector, worker label.Set) float64 {
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
func (s WorkerSelector) score(value label.Value) float64 {
	if s.Operator == label.Equal || s.Operator == label.NotEqual {
		if s.Operator.Holds(value, s.Value) {
			return 1
		}
		return 0
	}
	have, ok := value.Number()
	want, ok2 := s.Value.Number()
	if !ok || !ok2 {
		return 0
	}
	x := have - want
	if s.Operator == label.LessThan || s.Operator == label.LessOrEqual {
		x = -x
	}
	if want != 0 {
		x /= want
	}
	return 1 / (1 + math.Exp(-x))
}
