package router_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weir"
	routing "weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// classified returns a router with queues north, south and fallback.
func classified(t *testing.T, p resource.ClassificationSpec) *testRouter {
	t.Helper()
	r := newRouter(t)
	for _, q := range []string{"north", "south", "fallback"} {
		r.do(routing.PutQueue{ID: q, Spec: resource.QueueSpec{Labels: label.Set{"Region": label.Text(q)}}})
	}
	p.FallbackQueueID = "fallback"
	return r.do(routing.PutClassification{ID: "c", Spec: p})
}

func (r *testRouter) submit(labels label.Set) routing.Job {
	r.t.Helper()
	r.do(routing.PutJob{ID: "j", Spec: resource.JobSpec{ChannelID: "chat", ClassificationPolicyID: "c", Labels: labels}})
	if got := last[*journal.JobReceivedEvent](r).Status; got != resource.JobPendingClassification {
		r.t.Fatalf("received as %s", got)
	}
	return r.job("j")
}

func rule(kind resource.RuleKind, v any) *resource.Rule {
	switch v := v.(type) {
	case string:
		if kind == resource.RuleStatic {
			return &resource.Rule{Kind: kind, Value: label.Text(v)}
		}
		return &resource.Rule{Kind: kind, Expression: v, FunctionURI: v}
	case bool:
		return &resource.Rule{Kind: kind, Value: label.Bool(v)}
	case int:
		return &resource.Rule{Kind: kind, Value: label.Number(float64(v))}
	}
	return &resource.Rule{Kind: kind}
}

// All kinds of queue attachments. "No match gives fallbackQueueId. passThrough
// takes the value from the job label of the same key; a job without that label:
// no queue matches."
func TestClassify_QueueAttachments(t *testing.T) {
	t.Parallel()
	region := func(q string) *resource.QueueSelector {
		return &resource.QueueSelector{Key: "Region", Operator: label.Equal, Value: label.Text(q)}
	}
	south := []resource.QueueSelector{*region("south")}
	for name, c := range map[string]struct {
		a      resource.QueueAttachment
		labels label.Set
		want   string
	}{
		"static":              {resource.QueueAttachment{Kind: resource.AttachStatic, QueueSelector: region("south")}, nil, "south"},
		"static, none":        {resource.QueueAttachment{Kind: resource.AttachStatic, QueueSelector: region("west")}, nil, "fallback"},
		"conditional, true":   {resource.QueueAttachment{Kind: resource.AttachConditional, Condition: rule(resource.RuleExpression, `job.Urgent = true`), QueueSelectors: south}, skills("Urgent"), "south"},
		"conditional, false":  {resource.QueueAttachment{Kind: resource.AttachConditional, Condition: rule(resource.RuleExpression, `job.Urgent = true`), QueueSelectors: south}, nil, "fallback"},
		"conditional, static": {resource.QueueAttachment{Kind: resource.AttachConditional, Condition: rule(resource.RuleStatic, true), QueueSelectors: south}, nil, "south"},
		"pass-through":        {resource.QueueAttachment{Kind: resource.AttachPassThrough, Key: "Region", Operator: label.Equal}, label.Set{"Region": label.Text("north")}, "north"},
		"pass-through, none":  {resource.QueueAttachment{Kind: resource.AttachPassThrough, Key: "Region", Operator: label.NotEqual}, nil, "fallback"},
		"rule engine, static": {resource.QueueAttachment{Kind: resource.AttachRuleEngine, Rule: rule(resource.RuleStatic, `[{"key":"Region","labelOperator":"equal","value":"south"}]`)}, nil, "south"},
		"rule engine, map":    {resource.QueueAttachment{Kind: resource.AttachRuleEngine, Rule: rule(resource.RuleDirectMap, nil)}, label.Set{"Region": label.Text("south")}, "south"},
		"weighted":            {resource.QueueAttachment{Kind: resource.AttachWeighted, Allocations: []resource.QueueAllocation{{Weight: 0, QueueSelectors: []resource.QueueSelector{*region("north")}}, {Weight: 1, QueueSelectors: south}}}, nil, "south"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := classified(t, resource.ClassificationSpec{QueueSelectorAttachments: []resource.QueueAttachment{c.a}})
			j := r.submit(c.labels)
			if j.QueueID != c.want || j.Status != resource.JobQueued {
				t.Errorf("queue %s, %s; want %s", j.QueueID, j.Status, c.want)
			}
			r.saw("RouterJobReceived", "RouterJobClassified", "RouterJobQueued")
		})
	}
}

// All kinds of worker attachments; their selectors are attached, not requested.
func TestClassify_WorkerAttachments(t *testing.T) {
	t.Parallel()
	en := is("English")
	for name, c := range map[string]struct {
		a      resource.WorkerAttachment
		labels label.Set
		want   []resource.WorkerSelector
	}{
		"static":             {resource.WorkerAttachment{Kind: resource.AttachStatic, WorkerSelector: &en}, nil, []resource.WorkerSelector{en}},
		"conditional, true":  {resource.WorkerAttachment{Kind: resource.AttachConditional, Condition: rule(resource.RuleStatic, true), WorkerSelectors: []resource.WorkerSelector{en}}, nil, []resource.WorkerSelector{en}},
		"conditional, false": {resource.WorkerAttachment{Kind: resource.AttachConditional, Condition: rule(resource.RuleStatic, false), WorkerSelectors: []resource.WorkerSelector{en}}, nil, nil},
		"pass-through":       {resource.WorkerAttachment{Kind: resource.AttachPassThrough, Key: "Skill", Operator: label.GreaterThan}, label.Set{"Skill": label.Number(3)}, []resource.WorkerSelector{where("Skill", label.GreaterThan, label.Number(3))}},
		"pass-through, none": {resource.WorkerAttachment{Kind: resource.AttachPassThrough, Key: "Skill", Operator: label.GreaterThan}, nil, nil},
		"rule engine":        {resource.WorkerAttachment{Kind: resource.AttachRuleEngine, Rule: rule(resource.RuleDirectMap, nil)}, skills("A", "B"), []resource.WorkerSelector{is("A"), is("B")}},
		"weighted":           {resource.WorkerAttachment{Kind: resource.AttachWeighted, Allocations: []resource.WorkerAllocation{{Weight: 1, WorkerSelectors: []resource.WorkerSelector{en}}}}, nil, []resource.WorkerSelector{en}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := classified(t, resource.ClassificationSpec{WorkerSelectorAttachments: []resource.WorkerAttachment{c.a}})
			j := r.submit(c.labels)
			for i := range c.want {
				c.want[i].Status = resource.SelectorActive
			}
			if diff := cmp.Diff(c.want, j.AttachedWorkerSelectors, cmpopts.EquateComparable(label.Value{}), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if len(j.RequestedWorkerSelectors) > 0 {
				t.Error("the attached ones are requested")
			}
		})
	}
}

// "Priority: the rule's number, otherwise the job's own."
func TestClassify_PriorityRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule *resource.Rule
		want int
	}{
		{nil, 1},
		{rule(resource.RuleStatic, 7), 7},
		{rule(resource.RuleStatic, 1000), 100},
		{rule(resource.RuleStatic, true), 1},
		{rule(resource.RuleDirectMap, nil), 1},
		{rule(resource.RuleExpression, `If(job.Vip = true, 10, 5)`), 10},
		{rule(resource.RuleExpression, `If(job.Country = "fr", 10, 5)`), 5},
		{rule(resource.RuleExpression, `If(job.Vip, job.Weight * 2 + 1)`), 9},
	} {
		r := classified(t, resource.ClassificationSpec{PrioritizationRule: c.rule})
		j := r.submit(label.Set{"Vip": label.Bool(true), "Weight": label.Number(4)})
		if *j.Priority != c.want {
			t.Errorf("%+v: priority %d, want %d", c.rule, *j.Priority, c.want)
		}
	}
}

// "weightedAllocation picks one allocation with probability weight / sum."
func TestClassify_Weights(t *testing.T) {
	t.Parallel()
	alloc := func(w float64, q string) resource.QueueAllocation {
		return resource.QueueAllocation{Weight: w, QueueSelectors: []resource.QueueSelector{{Key: "Region", Operator: label.Equal, Value: label.Text(q)}}}
	}
	r := classified(t, resource.ClassificationSpec{QueueSelectorAttachments: []resource.QueueAttachment{{
		Kind: resource.AttachWeighted, Allocations: []resource.QueueAllocation{alloc(0.3, "north"), alloc(0.7, "south")},
	}}})
	count := map[string]int{}
	const n = 10_000
	for i := range n {
		id := fmt.Sprint(i)
		r.do(routing.PutJob{ID: id, Spec: resource.JobSpec{ChannelID: "chat", ClassificationPolicyID: "c"}})
		count[r.job(id).QueueID]++
	}
	if share := float64(count["north"]) / n; math.Abs(share-0.3) > 0.02 || count["north"]+count["south"] != n {
		t.Errorf("shares %v", count)
	}
}

// Function rules are requested and answered; "anything but 200 fails the
// classification".
func TestClassify_FunctionRules(t *testing.T) {
	t.Parallel()
	r := classified(t, resource.ClassificationSpec{
		PrioritizationRule:        rule(resource.RuleFunction, "https://f"),
		WorkerSelectorAttachments: []resource.WorkerAttachment{{Kind: resource.AttachRuleEngine, Rule: rule(resource.RuleFunction, "https://g")}},
	})
	if j := r.submit(nil); j.Status != resource.JobPendingClassification || j.Awaits != routing.AwaitRules {
		t.Fatalf("%+v", j)
	}
	asked := last[*journal.JobRulesRequestedEvent](r)
	answer := routing.SupplyRules{JobID: "j", Round: asked.Seq, Results: map[string]routing.Result{}}
	r.refused(weir.CodeConflict, routing.SupplyRules{JobID: "j", Round: asked.Seq - 1})
	answer.Results[asked.Rules[0].Path] = routing.Result{Value: label.Number(9)}
	answer.Results[asked.Rules[1].Path] = routing.Result{Workers: []resource.WorkerSelector{is("A")}}
	r.do(answer).saw("RouterJobClassified", "RouterJobQueued")
	if j := r.job("j"); *j.Priority != 9 || len(j.AttachedWorkerSelectors) != 1 || j.QueueID != "fallback" {
		t.Errorf("%+v", j)
	}
	r.refused(weir.CodeConflict, answer)
	r.do(routing.ReclassifyJob{ID: "j"}).status("j", resource.JobPendingClassification)
	asked = last[*journal.JobRulesRequestedEvent](r)
	r.do(routing.SupplyRules{JobID: "j", Round: asked.Seq, Failure: &journal.Failure{Code: "Status500", Message: "m"}})
	r.saw("RouterJobClassificationFailed").status("j", resource.JobClassificationFailed)
	if len(r.s.AwaitingJobs()) != 0 {
		t.Error("it asks still")
	}
	// The job can be classified again or canceled.
	r.do(routing.ReclassifyJob{ID: "j"}).do(routing.CancelJob{ID: "j"}).status("j", resource.JobCancelled)
}

// A job that is changed while the functions of its policy are called is classified
// again: their answers would be about the job as it was.
func TestFunctionRules_OfAJobThatChanges(t *testing.T) {
	t.Parallel()
	r := classified(t, resource.ClassificationSpec{PrioritizationRule: rule(resource.RuleFunction, "https://f")})
	r.submit(nil)
	before := last[*journal.JobRulesRequestedEvent](r)
	spec := r.job("j").JobSpec
	spec.RequestedWorkerSelectors = []resource.WorkerSelector{is("A")}
	r.do(routing.PutJob{ID: "j", Spec: spec}).saw("jobUpdated", "jobRulesAsked")
	again := last[*journal.JobRulesRequestedEvent](r)
	answer := map[string]routing.Result{before.Rules[0].Path: {Value: label.Number(9)}}
	r.refused(weir.CodeConflict, routing.SupplyRules{JobID: "j", Round: before.Seq, Results: answer})
	r.do(routing.SupplyRules{JobID: "j", Round: again.Seq, Results: answer}).saw("RouterJobClassified", "RouterJobQueued")
}

// "A label change of a job that has a policy classifies it again"; "no queue
// at all fails".
func TestClassify_Reclassification(t *testing.T) {
	t.Parallel()
	r := classified(t, resource.ClassificationSpec{QueueSelectorAttachments: []resource.QueueAttachment{{Kind: resource.AttachPassThrough, Key: "Region", Operator: label.Equal}}})
	spec := resource.JobSpec{ChannelID: "chat", ClassificationPolicyID: "c", Labels: label.Set{"Region": label.Text("north")}}
	r.do(routing.PutJob{ID: "j", Spec: spec})
	c, err := r.s.Patch(resource.Job, "j", []byte(`{"labels":{"Region":"south"}}`), routing.If{})
	if err != nil {
		t.Fatal(err)
	}
	r.do(c).saw("jobUpdated", "RouterJobClassified", "RouterJobQueued")
	if got := last[*journal.JobClassifiedEvent](r).Queue.ID; got != "south" || r.job("j").QueueID != "south" {
		t.Errorf("queue %s", got)
	}
	lost := classified(t, resource.ClassificationSpec{})
	lost.do(routing.PutClassification{ID: "c", Spec: resource.ClassificationSpec{}})
	lost.submit(nil)
	lost.status("j", resource.JobClassificationFailed)
}

// The documented scores: A 1, 0.5, 0.5; 0.5, 1, 0.5; 0.667, 0.707, 0.675.
func TestClassify_DefaultScore(t *testing.T) {
	t.Parallel()
	eq, ne, gt, lt := label.Equal, label.NotEqual, label.GreaterThan, label.LessThan
	num := label.Number
	for _, c := range []struct {
		job       label.Set
		selectors []resource.WorkerSelector
		worker    label.Set
		want      float64
	}{
		{skills("a", "b"), nil, skills("a", "b", "c"), 1},
		{skills("a", "b"), nil, skills("b"), 0.5},
		{nil, []resource.WorkerSelector{where("a", eq, num(1)), where("b", ne, num(1))}, label.Set{"a": num(1)}, 1},
		{nil, []resource.WorkerSelector{where("a", eq, num(1)), where("b", eq, num(1))}, label.Set{"a": num(1)}, 0.5},
		{nil, []resource.WorkerSelector{where("a", gt, num(10))}, label.Set{"a": num(20)}, 0.731},
		{nil, []resource.WorkerSelector{where("a", lt, num(10))}, label.Set{"a": num(20)}, 0.269},
		{nil, []resource.WorkerSelector{where("a", gt, num(0))}, label.Set{"a": num(0)}, 0.5},
		{nil, []resource.WorkerSelector{where("a", gt, num(0))}, nil, 0},
		{skills("a"), []resource.WorkerSelector{is("a")}, skills("a"), 2},
	} {
		if got := resource.DefaultScore(c.job, c.selectors, c.worker); math.Abs(got-c.want) > 0.001 {
			t.Errorf("%v %v %v: %v, want %v", c.job, c.selectors, c.worker, got, c.want)
		}
	}
}

// Best worker by expression, by static rule and by the scores of a function.
func TestClassify_BestWorker(t *testing.T) {
	t.Parallel()
	mode := resource.Mode{Kind: resource.BestWorker, ScoringRule: rule(resource.RuleExpression, `If(worker.Gold = true, 10, worker.Age)`)}
	agents := func(mode resource.Mode) *testRouter {
		return newRouter(t).queue("q", mode).agent("a", label.Set{"Age": label.Number(3)}).
			agent("b", skills("Gold")).agent("c", label.Set{"Age": label.Number(5)}).agent("d", nil)
	}
	r := agents(mode)
	for _, want := range []string{"b", "c", "a", "d"} {
		r.chat(want).offeredTo(want, want)
	}
	mode.ScoringRuleOptions = &resource.ScoringOptions{DescendingOrder: new(false)}
	agents(mode).chat("j").offeredTo("j", "d")
	mode.ScoringRule = rule(resource.RuleStatic, 3)
	agents(mode).chat("j").offeredTo("j", "a")

	// Equal scores: the worker with the lower load ratio, whichever has waited longer.
	capacity := map[string]int{"large": 5, "small": 3}
	for _, order := range [][]string{{"large", "small"}, {"small", "large"}} {
		r = newRouter(t).queue("q", resource.Mode{Kind: resource.BestWorker, ScoringRule: rule(resource.RuleStatic, 3)})
		for _, id := range order {
			r.do(routing.PutWorker{ID: id, Spec: agentSpec(capacity[id], label.Set{"Id": label.Text(id)})})
			for i := range capacity[id] - 1 {
				job := fmt.Sprint(id, i)
				r.chat(job, where("Id", label.Equal, label.Text(id))).accept(job, id)
			}
		}
		r.chat("tie").offeredTo("tie", "small")
	}

	r = agents(resource.Mode{Kind: resource.BestWorker, MaxConcurrentOffers: 2, ScoringRule: rule(resource.RuleFunction, "https://f")})
	r.chat("j").saw("RouterJobReceived", "RouterJobQueued", "jobScoresAsked").offeredTo("j")
	asked := last[*journal.JobScoresRequestedEvent](r)
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, asked.Workers); diff != "" {
		t.Error(diff)
	}
	r.refused(weir.CodeConflict, routing.SupplyScores{JobID: "j", Round: 1})
	r.do(routing.SupplyScores{JobID: "j", Round: asked.Seq, Scores: map[string]float64{"d": 3, "c": 2, "a": 1}}).offeredTo("j", "d", "c")
	// After a restart, unanswered requests are issued again.
	r.chat("k")
	restored, err := routing.Restore(snapshot(t, r.s))
	if err != nil || len(restored.AwaitingJobs()) != 1 {
		t.Errorf("%v asked for after a restart, %v", restored.AwaitingJobs(), err)
	}
	r.wait(time.Second)
}

// A job whose classification failed is queued when its policy is taken off and it has a
// queue. One that is queued already stays where it is.
func TestClassification_PolicyTakenOff(t *testing.T) {
	t.Parallel()
	failed := classified(t, resource.ClassificationSpec{})
	failed.do(routing.PutClassification{ID: "c", Spec: resource.ClassificationSpec{}})
	failed.do(routing.PutJob{ID: "j", Spec: resource.JobSpec{ChannelID: "chat", ClassificationPolicyID: "c"}}).status("j", resource.JobClassificationFailed)
	spec := resource.JobSpec{ChannelID: "chat", QueueID: "north"}
	failed.do(routing.PutJob{ID: "j", Spec: spec}).saw("jobUpdated", "RouterJobQueued").status("j", resource.JobQueued)

	queued := classified(t, resource.ClassificationSpec{})
	queued.submit(nil)
	spec = queued.status("j", resource.JobQueued).job("j").JobSpec
	spec.ClassificationPolicyID = ""
	queued.do(routing.PutJob{ID: "j", Spec: spec}).saw("jobUpdated").status("j", resource.JobQueued)

	// The failed one has had its queue from the beginning.
	both := classified(t, resource.ClassificationSpec{PrioritizationRule: rule(resource.RuleFunction, "https://f")})
	spec = resource.JobSpec{ChannelID: "chat", ClassificationPolicyID: "c", QueueID: "north"}
	both.do(routing.PutJob{ID: "j", Spec: spec})
	asked := last[*journal.JobRulesRequestedEvent](both)
	both.do(routing.SupplyRules{JobID: "j", Round: asked.Seq, Failure: &journal.Failure{Code: "Status500", Message: "m"}}).status("j", resource.JobClassificationFailed)
	spec.ClassificationPolicyID = ""
	both.do(routing.PutJob{ID: "j", Spec: spec}).saw("jobUpdated", "RouterJobQueued").status("j", resource.JobQueued)
}
