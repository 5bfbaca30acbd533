package routing

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// classify sets a job's queue, priority and attached selectors, or asks the
// caller for the results of the remote rules that the policy needs.
func (s *State) classify(j *job) {
	policy := s.classes[j.ClassificationPolicyID]
	if asked := policy.remoteRules(); len(asked) > 0 {
		s.emit(&JobRulesAskedEvent{JobHead: s.jobHead(j), Rules: asked})
		return
	}
	s.classifyWith(j, nil)
}

func (c SupplyRules) decide(s *State) error {
	j := s.jobs[c.JobID]
	if j == nil {
		return notFound("job", c.JobID)
	}
	if j.Asks != AskRules || j.Round != c.Round {
		return conflict("job %q does not wait for the rules of round %d", c.JobID, c.Round)
	}
	if c.Failure != nil {
		s.classificationFailed(j, *c.Failure)
		return nil
	}
	s.classifyWith(j, c.Results)
	return nil
}

func (c SupplyScores) decide(s *State) error {
	j := s.jobs[c.JobID]
	if j == nil {
		return notFound("job", c.JobID)
	}
	if j.Asks != AskScores || j.Round != c.Round {
		return conflict("job %q does not wait for the scores of round %d", c.JobID, c.Round)
	}
	s.work.scores, s.work.scored = c.Scores, j
	s.emit(&JobScoredEvent{s.jobHead(j)})
	return nil
}

func (s *State) classificationFailed(j *job, f Failure) {
	s.emit(&JobClassificationFailedEvent{JobHead: s.jobHead(j), ClassificationPolicyID: j.ClassificationPolicyID, Errors: []Failure{f}})
}

// classifier evaluates a policy for one job.
type classifier struct {
	labels  Labels
	results map[string]Result
	random  func(path string) float64 // in [0, 1)
}

func (s *State) classifyWith(j *job, results map[string]Result) {
	policy := s.classes[j.ClassificationPolicyID]
	c := classifier{labels: j.Labels, results: results, random: func(path string) float64 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d\x00%s\x00%d\x00%s", s.settings.Seed, j.ID, j.Tries, path)
		return float64(mix(h.Sum64())>>11) / (1 << 53)
	}}
	priority, f := c.priority(policy.PrioritizationRule, j.priority())
	if f == nil {
		var workers []WorkerSelector
		if workers, f = c.workerSelectors(policy.WorkerSelectorAttachments); f == nil {
			var queue string
			if queue, f = s.classifyQueue(&c, policy, j); f == nil {
				s.classified(j, queue, priority, workers)
				return
			}
		}
	}
	s.classificationFailed(j, *f)
}

// mix spreads the bits of a hash whose inputs differ little.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (s *State) classified(j *job, queue string, priority int, workers []WorkerSelector) {
	head := s.jobHead(j)
	head.QueueID = queue
	s.emit(&JobClassifiedEvent{
		JobHead: head, ClassificationPolicyID: j.ClassificationPolicyID, Priority: priority,
		Attached: keepClocks(workers, nil), Queue: s.queueInfo(queue),
	})
	s.enqueue(j)
}

// classifyQueue returns the queue whose labels satisfy all selectors, or the
// one with the smallest id if several do; otherwise the fallback queue. A
// policy that yields no queue selectors leaves the job in its own queue.
func (s *State) classifyQueue(c *classifier, policy *classification, j *job) (string, *Failure) {
	selectors, f := c.queueSelectors(policy.QueueSelectorAttachments)
	if f != nil {
		return "", f
	}
	if len(selectors) == 0 && s.queues[j.QueueID] != nil {
		return j.QueueID, nil
	}
	found := ""
	for id, q := range s.queues {
		if len(selectors) > 0 && (found == "" || id < found) && holdAll(selectors, q.Labels) {
			found = id
		}
	}
	if found != "" {
		return found, nil
	}
	if s.queues[policy.FallbackQueueID] != nil {
		return policy.FallbackQueueID, nil
	}
	return "", &Failure{Code: "QueueNotFound", Message: "no queue matches and there is no fallback queue", Target: policy.ID}
}

func holdAll(selectors []QueueSelector, labels Labels) bool {
	return !slices.ContainsFunc(selectors, func(q QueueSelector) bool { return !q.Operator.Holds(labels[q.Key], q.Value) })
}

func (c *classifier) priority(rule *Rule, own int) (int, *Failure) {
	if rule == nil {
		return own, nil
	}
	r, f := c.eval(rule, "prioritizationRule")
	if f != nil {
		return 0, f
	}
	n, ok := r.Value.Number()
	if text, isText := r.Value.Text(); isText {
		parsed, err := strconv.ParseFloat(text, 64)
		n, ok = parsed, err == nil
	}
	if !ok || n != n {
		return own, nil
	}
	return int(min(max(n, minPriority), maxPriority)), nil
}

// eval returns the result of a rule for the job.
func (c *classifier) eval(rule *Rule, path string) (Result, *Failure) {
	switch rule.Kind {
	case RuleStatic:
		return Result{Value: rule.Value}, nil
	case RuleExpression:
		expr, err := parseExpression(rule.Expression)
		if err == nil {
			var v Value
			if v, err = expr.eval(scope{job: c.labels}); err == nil {
				return Result{Value: v}, nil
			}
		}
		return Result{}, &Failure{Code: "ExpressionFailed", Message: err.Error(), Target: path}
	case RuleDirectMap:
		return c.directMap(), nil
	case RuleFunction, RuleWebhook:
		if r, ok := c.results[path]; ok {
			return r, nil
		}
	}
	return Result{}, &Failure{Code: "RuleFailed", Message: "the rule has no result", Target: path}
}

// directMap turns every label of the job into a selector for an equal label.
func (c *classifier) directMap() (r Result) {
	for _, k := range slices.SortedFunc(maps.Keys(c.labels), strings.Compare) {
		r.Queues = append(r.Queues, QueueSelector{Key: k, Operator: Equal, Value: c.labels[k]})
		r.Workers = append(r.Workers, WorkerSelector{Key: k, Operator: Equal, Value: c.labels[k]})
	}
	return r
}

func (c *classifier) holds(rule *Rule, path string) (bool, *Failure) {
	r, f := c.eval(rule, path)
	if f != nil {
		return false, f
	}
	return truth(r.Value), nil
}

// truth evaluates a condition: true itself, or a text equal to "true" in any
// case.
func truth(v Value) bool {
	if b, ok := v.Bool(); ok {
		return b
	}
	text, _ := v.Text()
	return strings.EqualFold(text, "true")
}

// selectorsIn decodes a JSON array of selectors from the text that a rule
// yielded.
func selectorsIn[T any](v Value, path string) ([]T, *Failure) {
	text, ok := v.Text()
	if !ok {
		return nil, &Failure{Code: "RuleFailed", Message: "the rule yields no selectors", Target: path}
	}
	var out []T
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, &Failure{Code: "RuleFailed", Message: "the rule's text is no list of selectors", Target: path}
	}
	return out, nil
}

// drawn returns the index of the allocation that a number in [0, 1) falls on.
func drawn(weights []float64, at float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	at *= sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}
