package router

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"

	"weir"
)

// classify sets a job's queue, priority and attached selectors, or asks the
// caller for the results of the remote rules that the policy needs.
func (ds *decisions) classify(j *job) {
	policy := ds.view.classifications[j.ClassificationPolicyID]
	if rules := remoteRules(&policy.Spec); len(rules) > 0 {
		ds.emit(&journal.JobRulesRequestedEvent{JobHead: ds.view.jobHead(j), Rules: rules})
		return
	}
	ds.classifyWith(j, nil)
}

func (c SupplyRules) decide(ds *decisions) error {
	j := ds.view.jobs[c.JobID]
	if j == nil {
		return notFound("job", c.JobID)
	}
	// The answer is to an earlier question: labels or policy changed since, or a restarted router
	// asked again and both answers arrived.
	if j.Awaits != AwaitRules || j.Round != c.Round {
		return conflict("job %q does not wait for the rules of round %d", c.JobID, c.Round)
	}
	if c.Failure != nil {
		ds.classificationFailed(j, *c.Failure)
		return nil
	}
	ds.classifyWith(j, c.Results)
	return nil
}

func (c SupplyScores) decide(ds *decisions) error {
	j := ds.view.jobs[c.JobID]
	if j == nil {
		return notFound("job", c.JobID)
	}
	if j.Awaits != AwaitScores || j.Round != c.Round {
		return conflict("job %q does not wait for the scores of round %d", c.JobID, c.Round)
	}
	ds.supplied = suppliedScores{j, c.Scores}
	ds.emit(&journal.JobScoredEvent{JobHead: ds.view.jobHead(j)})
	return nil
}

func (ds *decisions) classificationFailed(j *job, f journal.Failure) {
	ds.emit(&journal.JobClassificationFailedEvent{JobHead: ds.view.jobHead(j), ClassificationPolicyID: j.ClassificationPolicyID, Errors: []journal.Failure{f}})
}

// classifier evaluates a policy for one job.
type classifier struct {
	labels  label.Set
	results map[string]Result
	random  func(path string) float64 // in [0, 1)
}

func (ds *decisions) classifyWith(j *job, results map[string]Result) {
	policy := ds.view.classifications[j.ClassificationPolicyID]
	c := classifier{labels: j.Labels, results: results, random: func(path string) float64 {
		// Chance is a hash of job, try and place: the engine has no source of randomness, and a
		// replay has to draw the same allocation.
		h := fnv.New64a()
		fmt.Fprintf(h, "%s\x00%d\x00%s", j.ID, j.Tries, path)
		return float64(mix(h.Sum64())>>11) / (1 << 53)
	}}
	priority, f := c.priority(policy.Spec.PrioritizationRule, j.EffectivePriority())
	if f == nil {
		var workers []resource.WorkerSelector
		if workers, f = c.workerSelectors(&policy.Spec); f == nil {
			var queue string
			if queue, f = c.queue(ds.view.queues, policy, j); f == nil {
				ds.classified(j, queue, priority, workers)
				return
			}
		}
	}
	ds.classificationFailed(j, *f)
}

// mix spreads the bits of a hash whose inputs differ little.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (ds *decisions) classified(j *job, queue string, priority int, workers []resource.WorkerSelector) {
	head := ds.view.jobHead(j)
	head.QueueID = queue
	ds.emit(&journal.JobClassifiedEvent{
		JobHead: head, ClassificationPolicyID: j.ClassificationPolicyID, Priority: priority,
		Attached: resource.KeepExpiry(workers, nil), Queue: ds.view.queueInfo(queue),
	})
	ds.enqueue(j)
}

// queue returns the queue whose labels satisfy all selectors, or the
// one with the smallest id if several do; otherwise the fallback queue. A
// policy that yields no queue selectors leaves the job in its own queue.
func (c *classifier) queue(queues table[queue], policy *classification, j *job) (string, *journal.Failure) {
	selectors, f := c.queueSelectors(&policy.Spec)
	if f != nil {
		return "", f
	}
	if len(selectors) == 0 && queues[j.QueueID] != nil {
		return j.QueueID, nil
	}
	// The API leaves open which of several queues it takes; the smallest id makes it repeatable.
	found := ""
	for id, q := range queues {
		if len(selectors) > 0 && (found == "" || id < found) && holdAll(selectors, q.Labels) {
			found = id
		}
	}
	if found != "" {
		return found, nil
	}
	if queues[policy.Spec.FallbackQueueID] != nil {
		return policy.Spec.FallbackQueueID, nil
	}
	return "", &journal.Failure{Code: "QueueNotFound", Message: "no queue matches and there is no fallback queue", Target: policy.ID}
}

func holdAll(selectors []resource.QueueSelector, labels label.Set) bool {
	return !slices.ContainsFunc(selectors, func(q resource.QueueSelector) bool { return !q.Operator.Holds(labels[q.Key], q.Value) })
}

func (c *classifier) priority(rule *resource.Rule, own int) (int, *journal.Failure) {
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
	// A rule that yields no number (NaN is none) leaves the job its own priority; it fails
	// nothing.
	if !ok || n != n {
		return own, nil
	}
	return int(min(max(n, resource.MinPriority), resource.MaxPriority)), nil
}

// eval returns the result of a rule for the job.
func (c *classifier) eval(rule *resource.Rule, path string) (Result, *journal.Failure) {
	switch rule.Kind {
	case resource.RuleStatic:
		return Result{Value: rule.Value}, nil
	case resource.RuleExpression:
		expr, err := label.ParseExpression(rule.Expression)
		if err == nil {
			var v label.Value
			if v, err = expr.Eval(label.Scope{Job: c.labels}); err == nil {
				return Result{Value: v}, nil
			}
		}
		return Result{}, &journal.Failure{Code: "ExpressionFailed", Message: err.Error(), Target: path}
	case resource.RuleDirectMap:
		return c.directMap(), nil
	case resource.RuleFunction, resource.RuleWebhook:
		if r, ok := c.results[path]; ok {
			return r, nil
		}
	}
	return Result{}, &journal.Failure{Code: "RuleFailed", Message: "the rule has no result", Target: path}
}

// directMap turns every label of the job into a selector for an equal label.
func (c *classifier) directMap() (r Result) {
	for _, k := range slices.SortedFunc(maps.Keys(c.labels), strings.Compare) {
		r.Queues = append(r.Queues, resource.QueueSelector{Key: k, Operator: label.Equal, Value: c.labels[k]})
		r.Workers = append(r.Workers, resource.WorkerSelector{Key: k, Operator: label.Equal, Value: c.labels[k]})
	}
	return r
}

// selectorsIn decodes a JSON array of selectors from the text that a rule
// yielded.
func selectorsIn[T any](v label.Value, path string) ([]T, *journal.Failure) {
	text, ok := v.Text()
	if !ok {
		return nil, &journal.Failure{Code: "RuleFailed", Message: "the rule yields no selectors", Target: path}
	}
	var out []T
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, &journal.Failure{Code: "RuleFailed", Message: "the rule's text is no list of selectors", Target: path}
	}
	return out, nil
}

// collect returns the selectors of all attachments. resultOf picks the selectors of
// a rule's result; passThrough makes those of a label, and reports whether they
// replace all others.
func collect[S interface{ Validate() error }](
	c *classifier, list []resource.Attachment[S], resultOf func(Result) []S, passThrough func(*resource.Attachment[S]) (_ []S, only bool),
) (out []S, f *journal.Failure) {
	for _, a := range list {
		switch a.Kind {
		case resource.AttachStatic:
			out = append(out, *a.Selector)
		case resource.AttachConditional:
			r, f := c.eval(a.Condition, a.Path+"/condition")
			if f != nil {
				return nil, f
			}
			if r.Value.IsTrue() {
				out = append(out, a.Selectors...)
			}
		case resource.AttachPassThrough:
			made, only := passThrough(&a)
			if only {
				return made, nil
			}
			out = append(out, made...)
		case resource.AttachRuleEngine:
			r, f := c.eval(a.Rule, a.Path+"/rule")
			made := resultOf(r)
			if f == nil && made == nil && !r.Value.IsZero() {
				made, f = selectorsIn[S](r.Value, a.Path)
			}
			if f != nil {
				return nil, f
			}
			out = append(out, made...)
		case resource.AttachWeighted:
			out = append(out, draw(a.Allocations, c.random(a.Path))...)
		}
	}
	for _, s := range out {
		if e, invalid := errors.AsType[*weir.Error](s.Validate()); invalid {
			return out, &journal.Failure{Code: string(weir.CodeInvalid), Message: "a rule's selector is invalid: " + e.Fields[0].Detail}
		}
	}
	return out, nil
}

// queueSelectors collects the queue selectors of a policy. A pass-through of a label
// that the job lacks compares with the empty value, so that no queue matches.
func (c *classifier) queueSelectors(policy *resource.ClassificationSpec) ([]resource.QueueSelector, *journal.Failure) {
	return collect(c, policy.QueueAttachments(), func(r Result) []resource.QueueSelector { return r.Queues },
		func(a *resource.Attachment[resource.QueueSelector]) ([]resource.QueueSelector, bool) {
			v, ok := c.labels[a.Key]
			if !ok {
				return []resource.QueueSelector{{Key: a.Key, Operator: label.Equal}}, true
			}
			return []resource.QueueSelector{{Key: a.Key, Operator: a.Operator, Value: v}}, false
		})
}

// workerSelectors collects the worker selectors of a policy. A pass-through of a
// label that the job lacks attaches nothing.
func (c *classifier) workerSelectors(policy *resource.ClassificationSpec) ([]resource.WorkerSelector, *journal.Failure) {
	return collect(c, policy.WorkerAttachments(), func(r Result) []resource.WorkerSelector { return r.Workers },
		func(a *resource.Attachment[resource.WorkerSelector]) (made []resource.WorkerSelector, _ bool) {
			if v, ok := c.labels[a.Key]; ok {
				made = []resource.WorkerSelector{{Key: a.Key, Operator: a.Operator, Value: v, ExpiresAfterSeconds: a.ExpiresAfterSeconds}}
			}
			return made, false
		})
}

// remoteRules returns the rules of a policy that only the caller can evaluate.
func remoteRules(c *resource.ClassificationSpec) (out []journal.RequestedRule) {
	add := func(r *resource.Rule, path string) {
		if r.Remote() {
			out = append(out, journal.RequestedRule{Path: path, Rule: *r})
		}
	}
	add(c.PrioritizationRule, "prioritizationRule")
	for _, a := range c.QueueAttachments() {
		add(a.Condition, a.Path+"/condition")
		add(a.Rule, a.Path+"/rule")
	}
	for _, a := range c.WorkerAttachments() {
		add(a.Condition, a.Path+"/condition")
		add(a.Rule, a.Path+"/rule")
	}
	return out
}

// draw returns the selectors of the allocation that a number in [0, 1) falls on.
func draw[S any](list []resource.Allocation[S], at float64) []S {
	sum := 0.0
	for _, a := range list {
		sum += a.Weight
	}
	at *= sum
	for _, a := range list {
		if at -= a.Weight; at < 0 {
			return a.Selectors
		}
	}
	// Reached by rounding only: the weights are above 0 in sum.
	return list[len(list)-1].Selectors
}
