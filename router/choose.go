package router

import (
	"cmp"
	"slices"

	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// suppliedScores are the scores that a caller has supplied for a job, by worker.
type suppliedScores struct {
	job    *job
	scores map[string]float64
}

// choose picks the worker for a job's next offer. If ask is not nil, the job has to wait for
// the scores that this event requests.
func (s *entities) choose(j *job, supplied suppliedScores) (w *worker, ask *journal.JobScoresRequestedEvent) {
	mode := &j.queue.dist.Mode
	switch mode.Kind {
	case resource.RoundRobin:
		return s.roundRobin(j), nil
	case resource.BestWorker:
		return s.best(j, mode, supplied)
	case resource.ShortestIdle:
		return s.longestIdle(j, true), nil
	case resource.LongestIdle:
	}
	return s.longestIdle(j, false), nil
}

// longestIdle returns the first worker by load ratio, then by how long it has
// been available. With newest it considers availability only: last in, first
// out.
func (s *entities) longestIdle(j *job, newest bool) *worker {
	if newest {
		q := j.class.query
		for pos := q.prev(len(s.index.workers)); pos >= 0; pos = q.prev(pos) {
			if w := s.index.workers[pos]; s.eligible(j, w) {
				return w
			}
		}
		return nil
	}
	// Loads are in rising order and positions in the order of availability, so that the first
	// worker found is the one to take.
	for _, l := range s.index.loads {
		if l.members.n == 0 {
			continue
		}
		q := query{all: append(append(s.index.scratchAll[:0], &l.members), j.class.query.all...), none: j.class.query.none}
		s.index.scratchAll = q.all
		for pos := q.next(0); pos >= 0; pos = q.next(pos + 1) {
			if w := s.index.workers[pos]; s.eligible(j, w) {
				return w
			}
		}
	}
	return nil
}

// eligible checks the conditions that the sets of a class do not cover.
func (s *entities) eligible(j *job, w *worker) bool {
	return !j.excludes(w, s.now) && j.class.passesUnindexed(w)
}

// roundRobin returns the eligible worker whose id follows that of the worker
// with the queue's last offer; after the greatest id the smallest is next.
func (s *entities) roundRobin(j *job) *worker {
	// If few are eligible, examine all of them; otherwise walk the workers by id, where
	// one of many is found soon.
	const limit = 64
	last := j.queue.LastOffered
	var next, first *worker
	n, q := 0, &j.class.query
	for pos := q.next(0); pos >= 0 && n <= limit; pos = q.next(pos + 1) {
		w := s.index.workers[pos]
		n++
		if !s.eligible(j, w) {
			continue
		}
		if first == nil || w.ID < first.ID {
			first = w
		}
		if w.ID > last && (next == nil || w.ID < next.ID) {
			next = w
		}
	}
	if n <= limit {
		return cmp.Or(next, first)
	}
	workers := j.class.queue.workersByID
	start, found := slices.BinarySearchFunc(workers, last, byWorkerID)
	if found {
		start++
	}
	for i := range workers {
		if w := workers[(start+i)%len(workers)]; j.class.matches(w) && s.eligible(j, w) {
			return w
		}
	}
	return nil
}

// best returns the worker with the highest score; ties go to the worker that
// has been idle longest.
func (s *entities) best(j *job, mode *resource.Mode, supplied suppliedScores) (w *worker, ask *journal.JobScoresRequestedEvent) {
	all := s.allEligible(j)
	switch len(all) {
	case 0:
		return nil, nil
	// One candidate needs no score: a function that fails does not delay it.
	case 1:
		return all[0], nil
	}
	// Scores are valid for this match only: a worker may have got another job before the next.
	if mode.ScoringRule.Remote() && supplied.job != j {
		return nil, s.scoresRequest(j, all)
	}
	score := scorer(j, mode, supplied.scores)
	// Only a higher score replaces the best, so that ties go to the first in this order.
	slices.SortStableFunc(all, compareIdle)
	best, top := all[0], score(all[0])
	for _, w := range all[1:] {
		if x := score(w); x > top {
			best, top = w, x
		}
	}
	return best, nil
}

// allEligible returns the eligible workers in the order of availability.
func (s *entities) allEligible(j *job) (all []*worker) {
	q := &j.class.query
	for pos := q.next(0); pos >= 0; pos = q.next(pos + 1) {
		if w := s.index.workers[pos]; s.eligible(j, w) {
			all = append(all, w)
		}
	}
	return all
}

// compareIdle orders workers by load ratio, then by availability.
func compareIdle(a, b *worker) int {
	if d := a.load.num*b.load.den - b.load.num*a.load.den; d != 0 {
		return d
	}
	return a.position - b.position
}

// scoresRequest returns the event that asks the caller to score workers for a job.
func (s *entities) scoresRequest(j *job, workers []*worker) *journal.JobScoresRequestedEvent {
	mode := &j.queue.dist.Mode
	e := &journal.JobScoresRequestedEvent{
		JobHead: s.jobHead(j), Workers: make([]string, len(workers)), Options: mode.ScoringRuleOptions,
		Selectors: slices.Concat(j.RequestedWorkerSelectors, j.Attached),
	}
	// Its policy may have changed since it was asked first.
	if mode.ScoringRule != nil {
		e.Rule = *mode.ScoringRule
	}
	for i, w := range workers {
		e.Workers[i] = w.ID
	}
	slices.Sort(e.Workers)
	return e
}

// scorer returns the function that scores workers for a job; higher is better.
func scorer(j *job, mode *resource.Mode, scores map[string]float64) func(*worker) float64 {
	sign := 1.0
	if o := mode.ScoringRuleOptions; o != nil && o.DescendingOrder != nil && !*o.DescendingOrder {
		sign = -1
	}
	rule := mode.ScoringRule
	if rule == nil {
		return func(w *worker) float64 { return sign * resource.DefaultScore(j.Labels, j.activeSelectors(), w.Labels) }
	}
	if rule.Remote() {
		return func(w *worker) float64 { return sign * scores[w.ID] }
	}
	expr, err := label.ParseExpression(rule.Expression)
	if rule.Kind != resource.RuleExpression || err != nil {
		return func(*worker) float64 { return 0 } // the same for every worker
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
	all := slices.Concat(j.RequestedWorkerSelectors, j.Attached)
	return slices.DeleteFunc(all, func(s resource.WorkerSelector) bool { return !s.Active() })
}
