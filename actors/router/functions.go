package router

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"weir/events"
	"weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

func newFunctions(r *Router) *functions {
	return &functions{
		Router: r, addresses: addresses{known: map[string]*address{}}, failing: failing{known: map[functionUse]*failure{}},
		rulings: turns{queues: map[string]*turnQueue{}}, ratings: turns{queues: map[string]*turnQueue{}},
	}
}

// add queues an ask; it is processed when its turn comes.
func (f *functions) add(t *turns, a ask) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[a.at]
	if q == nil {
		q = &turnQueue{}
		t.queues[a.at] = q
	}
	q.asks = append(q.asks, a)
	// The goroutines of an address end when nothing waits for it.
	if q.running < maxAsks {
		q.running++
		f.task(func(ctx context.Context) { f.work(ctx, t, a.at) })
	}
}

// work processes the asks of an address until none waits. Asks of an earlier
// generation are dropped; the current one issues them again.
func (f *functions) work(ctx context.Context, t *turns, at string) {
	for a, ok := t.next(ctx, at); ok; a, ok = t.next(ctx, at) {
		if f.o.Hold != nil {
			if ended, _ := f.o.Hold(ctx); ended.After(a.asked) {
				a.asked = ended // the time of the hold does not count toward the limits
			}
		}
		if a.gen == generation(f.generations.Load()) {
			f.post(supplied{a.gen, a.do(ctx, a.asked)})
		}
	}
}

func (t *turns) next(ctx context.Context, at string) (a ask, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[at]
	if len(q.asks) == 0 || ctx.Err() != nil {
		if q.running--; q.running == 0 {
			delete(t.queues, at)
		}
		return a, false
	}
	a, q.asks[0] = q.asks[0], ask{}
	q.asks = q.asks[1:]
	return a, true
}

// issue starts processing an event that asks for results. It reads the state here
// and does not keep it.
func (f *functions) issue(gen generation, s *router.State, e journal.Event) {
	asked := time.Now()
	switch e := e.(type) {
	case *journal.JobRulesRequestedEvent:
		j, _ := s.Job(e.JobID)
		f.add(&f.rulings, ask{gen, addressesOf(e.Rules), asked, func(ctx context.Context, asked time.Time) router.Command {
			return f.rules(ctx, e, j.ClassificationPolicyID, asked)
		}})
	case *journal.JobScoresRequestedEvent:
		workers := make([]map[string]label.Value, len(e.Workers))
		for i, id := range e.Workers {
			w, _ := s.Worker(id)
			workers[i] = w.Labels
		}
		q, _ := s.Queue(e.QueueID)
		f.add(&f.ratings, ask{gen, addressOf(&e.Rule), asked, func(ctx context.Context, asked time.Time) router.Command {
			answer, err := f.scores(ctx, e, workers, asked)
			f.recordResult(functionUse{resource.Distribution, q.Spec.DistributionPolicyID, addressOf(&e.Rule)}, err)
			return answer
		}})
	// A policy that was changed or deleted begins anew.
	case *journal.DistributionPutEvent:
		f.failing.forget(resource.Distribution, e.ID)
	case *journal.ClassificationPutEvent:
		f.failing.forget(resource.Classification, e.ID)
	case *journal.DeletedEvent:
		f.failing.forget(e.Resource, e.ID)
	}
}

// resume issues the unanswered requests of an earlier generation again.
func (f *functions) resume(gen generation, s *router.State) {
	for _, e := range s.PendingRequests() {
		f.issue(gen, s, e)
	}
}

// recordResult records the result of a function for one job and emits an event about it.
func (f *functions) recordResult(u functionUse, failed error) {
	if u.policy == "" || f.ctx.Err() != nil { // its policy was deleted, or the call was cut off
		return
	}
	if f.failing.note(u, failed, time.Now().UTC()) {
		f.task(func(ctx context.Context) {
			for data := f.failing.next(); data != nil; data = f.failing.next() {
				f.emit(ctx, data)
			}
		})
	}
}

func (f *functions) emit(ctx context.Context, d *functionData) {
	if f.o.Events == nil {
		return
	}
	data, err := json.Marshal(d)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, ioTimeout)
		defer cancel()
		err = f.o.Events.Emit(ctx, events.Event{Type: FunctionEvent, Source: source, Subject: "policy/" + d.Policy, At: d.at, Data: data})
	}
	if err != nil {
		f.log.Warn("function event not written", "policy", d.Policy, "state", d.State, "error", err)
	}
}

// rules evaluates concurrently all rules that a classification waits for. A
// rule that fails, or a turn that comes too late, fails the classification;
// otherwise a function that hangs would block all jobs.
func (f *functions) rules(ctx context.Context, e *journal.JobRulesRequestedEvent, policy string, asked time.Time) router.Command {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	if time.Since(asked) > turnWithin {
		cancel()
	}
	defer cancel()
	body := newObject()
	body.labels("job", e.Labels)
	text := body.end()
	results := make([]router.Result, len(e.Rules))
	failures := make([]*journal.Failure, len(e.Rules))
	var wait sync.WaitGroup
	for i := range e.Rules {
		wait.Go(func() {
			answer, err := f.call(ctx, &e.Rules[i].Rule, text)
			if err == nil {
				results[i].Value, err = valueOf(answer)
			}
			f.recordResult(functionUse{resource.Classification, policy, addressOf(&e.Rules[i].Rule)}, err)
			if err != nil {
				failures[i] = &journal.Failure{Code: "FunctionFailed", Message: err.Error(), Target: e.Rules[i].Path}
			}
		})
	}
	wait.Wait()
	answer := router.SupplyRules{JobID: e.JobID, Round: e.Seq, Results: map[string]router.Result{}}
	for i := range e.Rules {
		answer.Results[e.Rules[i].Path] = results[i]
		if failures[i] != nil {
			answer.Failure = failures[i]
			break
		}
	}
	return answer
}

// valueOf decodes a function's answer. Any JSON other than a text, a number or
// a truth value stays text; a list of selectors is decoded from it later.
func valueOf(answer []byte) (label.Value, error) {
	if !json.Valid(answer) {
		return label.Value{}, errAnswer
	}
	var v label.Value
	if err := json.Unmarshal(answer, &v); err == nil {
		return v, nil
	}
	return label.Text(string(answer)), nil
}

// scores requests scores for workers, one or several per call. A worker without
// a score gets 0; the error gives the reason.
func (f *functions) scores(ctx context.Context, e *journal.JobScoresRequestedEvent, workers []map[string]label.Value, asked time.Time) (_ router.Command, first error) {
	// Unlike that of rules, this limit includes the wait for a turn: a job that is matched
	// without scores is better off than one that waits.
	ctx, cancel := context.WithDeadline(ctx, asked.Add(answerWithin))
	defer cancel()
	size := 1
	if o := e.Options; o != nil && o.IsBatchScoringEnabled {
		if size = o.BatchSize; size <= 0 {
			size = batchDefault
		}
		size = min(size, maxBatch)
	}
	answer := router.SupplyScores{JobID: e.JobID, Round: e.Seq, Scores: map[string]float64{}}
	var mu sync.Mutex
	var wait sync.WaitGroup
	room := make(chan struct{}, maxCalls) // goroutines of one job
	for at := 0; at < len(workers); at += size {
		end := min(at+size, len(workers))
		room <- struct{}{}
		wait.Go(func() {
			defer func() { <-room }()
			scores, err := f.score(ctx, e, e.Workers[at:end], workers[at:end])
			mu.Lock()
			defer mu.Unlock()
			if first == nil || err != nil && errors.Is(first, errOpen) {
				first = err
			}
			for i, score := range scores {
				answer.Scores[e.Workers[at+i]] = score
			}
		})
	}
	wait.Wait()
	return answer, first
}

// score returns the scores of some workers in their order, or none after a
// failure.
func (f *functions) score(ctx context.Context, e *journal.JobScoresRequestedEvent, ids []string, workers []map[string]label.Value) ([]float64, error) {
	batch := e.Options != nil && e.Options.IsBatchScoringEnabled
	answer, err := f.call(ctx, &e.Rule, scoreRequest(e, workers, batch))
	if err != nil {
		return nil, err
	}
	if !batch {
		var score float64
		if json.Unmarshal(answer, &score) != nil {
			return nil, errScores
		}
		return []float64{score}, nil
	}
	var list []float64
	if json.Unmarshal(answer, &list) == nil {
		// Microsoft does not publish the answer's format of a batch: a list in the order of the
		// workers and an object keyed by their ids are both read.
		return list[:min(len(list), len(ids))], nil
	}
	var byID map[string]float64
	if json.Unmarshal(answer, &byID) != nil {
		return nil, errScores
	}
	list = make([]float64, len(ids))
	for i, id := range ids {
		list[i] = byID[id]
	}
	return list, nil
}

// scoreRequest builds the body for a scoring function: the job's labels and
// selectors unless the policy omits them, and one worker or several.
func scoreRequest(e *journal.JobScoresRequestedEvent, workers []map[string]label.Value, batch bool) []byte {
	wants := func(parameter string) bool {
		return e.Options == nil || len(e.Options.ScoringParameters) == 0 || slices.Contains(e.Options.ScoringParameters, parameter)
	}
	o := newObject()
	if wants("jobLabels") {
		o.labels("job", e.Labels)
	}
	if wants("workerSelectors") {
		list(&o, "selectors", e.Selectors, func(s *object, selector *resource.WorkerSelector) {
			s.text("key", selector.Key)
			s.text("operator", string(selector.Operator))
			s.key("value")
			s.b = appendValue(s.b, selector.Value)
			if selector.ExpiresAfterSeconds > 0 {
				s.key("expiresAfterSeconds")
				s.b = appendValue(s.b, label.Number(selector.ExpiresAfterSeconds))
			}
		})
	}
	if !batch {
		o.labels("worker", workers[0])
		return o.end()
	}
	array(&o, "workers", workers, func(labels *map[string]label.Value) { o.b = appendLabels(o.b, *labels) })
	return o.end()
}
