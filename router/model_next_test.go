package router_test

import (
	"math"
	"slices"
	"sort"

	"weir/router/label"
	"weir/router/resource"
)

func (n *model) dist(queue string) resource.DistributionSpec {
	d, ok := n.dists[n.queues[queue].DistributionPolicyID]
	if !ok {
		d.Mode = resource.Mode{Kind: resource.LongestIdle, MaxConcurrentOffers: 1}
	}
	return d
}

// next returns the offer that must come next; ok is false if there is none, and
// the worker is empty if scores must be requested first.
func (n *model) next() (job, worker string, ok bool) {
	var jobs []*modelJob
	for _, j := range n.jobs {
		if j.status == resource.JobQueued && !j.asks && j.spec.MatchingMode.Kind == resource.QueueAndMatch &&
			len(j.offers) < n.dist(j.queue).Mode.MaxConcurrentOffers && n.queues[j.queue].Closed == resource.Open {
			jobs = append(jobs, j)
		}
	}
	sort.Slice(jobs, func(a, b int) bool { return jobs[a].before(jobs[b]) })
	for _, j := range jobs {
		var all []*modelWorker
		for _, w := range n.workers {
			if n.eligible(j, w) {
				all = append(all, w)
			}
		}
		if m := n.dist(j.queue).Mode; len(all) > 1 && m.Kind == resource.BestWorker && m.ScoringRule != nil && n.scored != j.id {
			return j.id, "", true
		}
		if len(all) > 0 {
			return j.id, n.pick(j, all).id, true
		}
	}
	return "", "", false
}

func (j *modelJob) before(o *modelJob) bool {
	if a, b := j.expedited(), o.expedited(); a != b {
		return a
	}
	if a, b := j.priority(), o.priority(); a != b {
		return a > b
	}
	return j.queued < o.queued
}

func (j *modelJob) priority() int {
	if j.spec.Priority == nil {
		return 1
	}
	return *j.spec.Priority
}

func (j *modelJob) selectors() (out []resource.WorkerSelector) {
	for _, s := range slices.Concat(j.requested, j.attached) {
		if s.Status != resource.SelectorExpired {
			out = append(out, s)
		}
	}
	return out
}

func (j *modelJob) expedited() bool {
	return slices.ContainsFunc(j.selectors(), func(s resource.WorkerSelector) bool { return s.Expedite })
}

func (n *model) eligible(j *modelJob, w *modelWorker) bool {
	if !w.active || !slices.Contains(w.spec.Queues, j.queue) {
		return false
	}
	if w.spec.MaxConcurrentOffers > 0 && len(w.offers) >= w.spec.MaxConcurrentOffers {
		return false
	}
	if d, ok := j.declined[w.id]; ok && d.reg == w.reg && (d.until.IsZero() || d.until.After(n.now)) {
		return false
	}
	on := 0
	for _, l := range w.offers {
		if l.job == j.id {
			return false
		}
		if l.channel == j.spec.ChannelID {
			on++
		}
	}
	for _, l := range w.assigned {
		if l.channel == j.spec.ChannelID {
			on++
		}
	}
	i := slices.IndexFunc(w.spec.Channels, func(c resource.Channel) bool { return c.ChannelID == j.spec.ChannelID })
	if i < 0 {
		return false
	}
	c := w.spec.Channels[i]
	if c.MaxNumberOfJobs > 0 && on >= c.MaxNumberOfJobs || c.CapacityCostPerJob > w.spec.Capacity-w.cost(w.assigned)-w.cost(w.offers) {
		return false
	}
	if n.dist(j.queue).Mode.BypassSelectors {
		return true
	}
	return !slices.ContainsFunc(j.selectors(), func(s resource.WorkerSelector) bool { return !modelHolds(s, w.spec.Labels) })
}

// modelHolds is the table of operators, written in another way.
func modelHolds(s resource.WorkerSelector, labels label.Set) bool {
	have, there := labels[s.Key]
	a, isNumber := have.Number()
	b, wantsNumber := s.Value.Number()
	both := there && isNumber && wantsNumber
	switch s.Operator {
	case label.Equal:
		return there && have == s.Value
	case label.NotEqual:
		return !there || have != s.Value
	case label.LessThan:
		return both && a < b
	case label.LessOrEqual:
		return both && a <= b
	case label.GreaterThan:
		return both && a > b
	default:
		return both && a >= b
	}
}

func (w *modelWorker) ratio() float64 {
	if w.spec.Capacity == 0 {
		return 1
	}
	return float64(w.cost(w.assigned)) / float64(w.spec.Capacity)
}

func (n *model) pick(j *modelJob, all []*modelWorker) *modelWorker {
	mode := n.dist(j.queue).Mode
	idle := func(a, b *modelWorker) bool {
		if a.ratio() != b.ratio() {
			return a.ratio() < b.ratio()
		}
		return a.since < b.since
	}
	sort.Slice(all, func(x, y int) bool {
		a, b := all[x], all[y]
		switch mode.Kind {
		case resource.ShortestIdle:
			return a.since > b.since
		case resource.RoundRobin:
			if after := a.id > n.last[j.queue]; after != (b.id > n.last[j.queue]) {
				return after
			}
			return a.id < b.id
		case resource.BestWorker:
			sa, sb := n.score(j, a), n.score(j, b)
			if mode.ScoringRuleOptions != nil && !*mode.ScoringRuleOptions.DescendingOrder {
				sa, sb = -sa, -sb
			}
			if sa != sb {
				return sa > sb
			}
		case resource.LongestIdle:
		}
		return idle(a, b)
	})
	return all[0]
}

// score is the reference's default score, spelled out.
func (n *model) score(j *modelJob, w *modelWorker) float64 {
	if n.dist(j.queue).Mode.ScoringRule != nil {
		return n.scores[w.id]
	}
	total := 0.0
	if len(j.spec.Labels) > 0 {
		same := 0.0
		for k, v := range j.spec.Labels {
			if w.spec.Labels[k] == v {
				same++
			}
		}
		total += same / float64(len(j.spec.Labels))
	}
	selectors := j.selectors()
	sum := 0.0
	for _, s := range selectors {
		have, isNumber := w.spec.Labels[s.Key].Number()
		want, wantsNumber := s.Value.Number()
		unequal := s.Operator != label.Equal && s.Operator != label.NotEqual
		if unequal && !(isNumber && wantsNumber) {
			continue
		}
		switch s.Operator {
		case label.Equal, label.NotEqual:
			if modelHolds(s, w.spec.Labels) {
				sum++
			}
		case label.GreaterThan, label.GreaterOrEqual:
			sum += modelSigmoid(have-want, want)
		default:
			sum += modelSigmoid(want-have, want)
		}
	}
	if len(selectors) > 0 {
		total += sum / float64(len(selectors))
	}
	return total
}

func modelSigmoid(d, by float64) float64 {
	if by != 0 {
		d /= by
	}
	return 1 / (1 + math.Exp(-d))
}
