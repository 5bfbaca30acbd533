package routing_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weir"
	"weir/routing"
)

// classified returns a router with queues north, south and fallback.
func classified(t *testing.T, p routing.ClassificationSpec) *router {
	t.Helper()
	r := newRouter(t)
	for _, q := range []string{"north", "south", "fallback"} {
		r.do(routing.PutQueue{ID: q, Spec: routing.QueueSpec{Labels: routing.Labels{"Region": routing.Text(q)}}})
	}
	p.FallbackQueueID = "fallback"
	return r.do(routing.PutClassification{ID: "c", Spec: p})
}

func (r *router) submit(labels routing.Labels) routing.Job {
	r.t.Helper()
	r.do(routing.PutJob{ID: "j", Spec: routing.JobSpec{ChannelID: "chat", ClassificationPolicyID: "c", Labels: labels}})
	if got := last[*routing.JobReceivedEvent](r).Status; got != routing.JobPendingClassification {
		r.t.Fatalf("received as %s", got)
	}
	return r.job("j")
}

func rule(kind routing.RuleKind, v any) *routing.Rule {
	switch v := v.(type) {
	case string:
		if kind == routing.RuleStatic {
			return &routing.Rule{Kind: kind, Value: routing.Text(v)}
		}
		return &routing.Rule{Kind: kind, Expression: v, FunctionURI: v}
	case bool:
		return &routing.Rule{Kind: kind, Value: routing.Bool(v)}
	case int:
		return &routing.Rule{Kind: kind, Value: routing.Number(float64(v))}
	}
	return &routing.Rule{Kind: kind}
}

// All kinds of queue attachments. "No match gives fallbackQueueId. passThrough
// takes the value from the job label of the same key; a job without that label:
// no queue matches."
func TestQueueAttachments(t *testing.T) {
	t.Parallel()
	region := func(q string) *routing.QueueSelector {
		return &routing.QueueSelector{Key: "Region", Operator: routing.Equal, Value: routing.Text(q)}
	}
	south := []routing.QueueSelector{*region("south")}
	for name, c := range map[string]struct {
		a      routing.QueueAttachment
		labels routing.Labels
		want   string
	}{
		"static":              {routing.QueueAttachment{Kind: routing.AttachStatic, QueueSelector: region("south")}, nil, "south"},
		"static, none":        {routing.QueueAttachment{Kind: routing.AttachStatic, QueueSelector: region("west")}, nil, "fallback"},
		"conditional, true":   {routing.QueueAttachment{Kind: routing.AttachConditional, Condition: rule(routing.RuleExpression, `job.Urgent = true`), QueueSelectors: south}, skills("Urgent"), "south"},
		"conditional, false":  {routing.QueueAttachment{Kind: routing.AttachConditional, Condition: rule(routing.RuleExpression, `job.Urgent = true`), QueueSelectors: south}, nil, "fallback"},
		"conditional, static": {routing.QueueAttachment{Kind: routing.AttachConditional, Condition: rule(routing.RuleStatic, true), QueueSelectors: south}, nil, "south"},
		"pass-through":        {routing.QueueAttachment{Kind: routing.AttachPassThrough, Key: "Region", Operator: routing.Equal}, routing.Labels{"Region": routing.Text("north")}, "north"},
		"pass-through, none":  {routing.QueueAttachment{Kind: routing.AttachPassThrough, Key: "Region", Operator: routing.NotEqual}, nil, "fallback"},
		"rule engine, static": {routing.QueueAttachment{Kind: routing.AttachRuleEngine, Rule: rule(routing.RuleStatic, `[{"key":"Region","labelOperator":"equal","value":"south"}]`)}, nil, "south"},
		"rule engine, map":    {routing.QueueAttachment{Kind: routing.AttachRuleEngine, Rule: rule(routing.RuleDirectMap, nil)}, routing.Labels{"Region": routing.Text("south")}, "south"},
		"weighted":            {routing.QueueAttachment{Kind: routing.AttachWeighted, Allocations: []routing.QueueAllocation{{Weight: 0, QueueSelectors: []routing.QueueSelector{*region("north")}}, {Weight: 1, QueueSelectors: south}}}, nil, "south"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := classified(t, routing.ClassificationSpec{QueueSelectorAttachments: []routing.QueueAttachment{c.a}})
			j := r.submit(c.labels)
			if j.QueueID != c.want || j.Status != routing.JobQueued {
				t.Errorf("queue %s, %s; want %s", j.QueueID, j.Status, c.want)
			}
			r.saw("RouterJobReceived", "RouterJobClassified", "RouterJobQueued")
		})
	}
}

// All kinds of worker attachments; their selectors are attached, not requested.
func TestWorkerAttachments(t *testing.T) {
	t.Parallel()
	en := is("English")
	for name, c := range map[string]struct {
		a      routing.WorkerAttachment
		labels routing.Labels
		want   []routing.WorkerSelector
	}{
		"static":             {routing.WorkerAttachment{Kind: routing.AttachStatic, WorkerSelector: &en}, nil, []routing.WorkerSelector{en}},
		"conditional, true":  {routing.WorkerAttachment{Kind: routing.AttachConditional, Condition: rule(routing.RuleStatic, true), WorkerSelectors: []routing.WorkerSelector{en}}, nil, []routing.WorkerSelector{en}},
		"conditional, false": {routing.WorkerAttachment{Kind: routing.AttachConditional, Condition: rule(routing.RuleStatic, false), WorkerSelectors: []routing.WorkerSelector{en}}, nil, nil},
		"pass-through":       {routing.WorkerAttachment{Kind: routing.AttachPassThrough, Key: "Skill", Operator: routing.GreaterThan}, routing.Labels{"Skill": routing.Number(3)}, []routing.WorkerSelector{where("Skill", routing.GreaterThan, routing.Number(3))}},
		"pass-through, none": {routing.WorkerAttachment{Kind: routing.AttachPassThrough, Key: "Skill", Operator: routing.GreaterThan}, nil, nil},
		"rule engine":        {routing.WorkerAttachment{Kind: routing.AttachRuleEngine, Rule: rule(routing.RuleDirectMap, nil)}, skills("A", "B"), []routing.WorkerSelector{is("A"), is("B")}},
		"weighted":           {routing.WorkerAttachment{Kind: routing.AttachWeighted, Allocations: []routing.WorkerAllocation{{Weight: 1, WorkerSelectors: []routing.WorkerSelector{en}}}}, nil, []routing.WorkerSelector{en}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := classified(t, routing.ClassificationSpec{WorkerSelectorAttachments: []routing.WorkerAttachment{c.a}})
			j := r.submit(c.labels)
			for i := range c.want {
				c.want[i].Status = routing.SelectorActive
			}
			if diff := cmp.Diff(c.want, j.AttachedWorkerSelectors, cmpopts.EquateComparable(routing.Value{}), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if len(j.RequestedWorkerSelectors) > 0 {
				t.Error("the attached ones are requested")
			}
		})
	}
}

// "Priority: the rule's number, otherwise the job's own."
func TestPriorityRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule *routing.Rule
		want int
	}{
		{nil, 1},
		{rule(routing.RuleStatic, 7), 7},
		{rule(routing.RuleStatic, 1000), 100},
		{rule(routing.RuleStatic, true), 1},
		{rule(routing.RuleDirectMap, nil), 1},
		{rule(routing.RuleExpression, `If(job.Vip = true, 10, 5)`), 10},
		{rule(routing.RuleExpression, `If(job.Country = "fr", 10, 5)`), 5},
		{rule(routing.RuleExpression, `If(job.Vip, job.Weight * 2 + 1)`), 9},
	} {
		r := classified(t, routing.ClassificationSpec{PrioritizationRule: c.rule})
		j := r.submit(routing.Labels{"Vip": routing.Bool(true), "Weight": routing.Number(4)})
		if *j.Priority != c.want {
			t.Errorf("%+v: priority %d, want %d", c.rule, *j.Priority, c.want)
		}
	}
}

// "weightedAllocation picks one allocation with probability weight / sum."
func TestWeights(t *testing.T) {
	t.Parallel()
	alloc := func(w float64, q string) routing.QueueAllocation {
		return routing.QueueAllocation{Weight: w, QueueSelectors: []routing.QueueSelector{{Key: "Region", Operator: routing.Equal, Value: routing.Text(q)}}}
	}
	r := classified(t, routing.ClassificationSpec{QueueSelectorAttachments: []routing.QueueAttachment{{
		Kind: routing.AttachWeighted, Allocations: []routing.QueueAllocation{alloc(0.3, "north"), alloc(0.7, "south")},
	}}})
	count := map[string]int{}
	const n = 10_000
	for i := range n {
		id := fmt.Sprint(i)
		r.do(routing.PutJob{ID: id, Spec: routing.JobSpec{ChannelID: "chat", ClassificationPolicyID: "c"}})
		count[r.job(id).QueueID]++
	}
	if share := float64(count["north"]) / n; math.Abs(share-0.3) > 0.02 || count["north"]+count["south"] != n {
		t.Errorf("shares %v", count)
	}
}

// Function rules are requested and answered; "anything but 200 fails the
// classification".
func TestFunctionRules(t *testing.T) {
	t.Parallel()
	r := classified(t, routing.ClassificationSpec{
		PrioritizationRule:        rule(routing.RuleFunction, "https://f"),
		WorkerSelectorAttachments: []routing.WorkerAttachment{{Kind: routing.AttachRuleEngine, Rule: rule(routing.RuleFunction, "https://g")}},
	})
	if j := r.submit(nil); j.Status != routing.JobPendingClassification || j.Asks != routing.AskRules {
		t.Fatalf("%+v", j)
	}
	asked := last[*routing.JobRulesAskedEvent](r)
	answer := routing.SupplyRules{JobID: "j", Round: asked.Seq, Results: map[string]routing.Result{}}
	r.refused(weir.CodeConflict, routing.SupplyRules{JobID: "j", Round: asked.Seq - 1})
	answer.Results[asked.Rules[0].Path] = routing.Result{Value: routing.Number(9)}
	answer.Results[asked.Rules[1].Path] = routing.Result{Workers: []routing.WorkerSelector{is("A")}}
	r.do(answer).saw("RouterJobClassified", "RouterJobQueued")
	if j := r.job("j"); *j.Priority != 9 || len(j.AttachedWorkerSelectors) != 1 || j.QueueID != "fallback" {
		t.Errorf("%+v", j)
	}
	r.refused(weir.CodeConflict, answer)
	r.do(routing.ReclassifyJob{ID: "j"}).status("j", routing.JobPendingClassification)
	asked = last[*routing.JobRulesAskedEvent](r)
	r.do(routing.SupplyRules{JobID: "j", Round: asked.Seq, Failure: &routing.Failure{Code: "Status500", Message: "m"}})
	r.saw("RouterJobClassificationFailed").status("j", routing.JobClassificationFailed)
	if len(r.s.Asked()) != 0 {
		t.Error("it asks still")
	}
	// The job can be classified again or canceled.
	r.do(routing.ReclassifyJob{ID: "j"}).do(routing.CancelJob{ID: "j"}).status("j", routing.JobCancelled)
}

// "A label change of a job that has a policy classifies it again"; "no queue
// at all fails".
func TestReclassification(t *testing.T) {
	t.Parallel()
	r := classified(t, routing.ClassificationSpec{QueueSelectorAttachments: []routing.QueueAttachment{{Kind: routing.AttachPassThrough, Key: "Region", Operator: routing.Equal}}})
	spec := routing.JobSpec{ChannelID: "chat", ClassificationPolicyID: "c", Labels: routing.Labels{"Region": routing.Text("north")}}
	r.do(routing.PutJob{ID: "j", Spec: spec})
	c, err := r.s.Patch(routing.ResourceJob, "j", []byte(`{"labels":{"Region":"south"}}`), routing.If{})
	if err != nil {
		t.Fatal(err)
	}
	r.do(c).saw("jobUpdated", "RouterJobClassified", "RouterJobQueued")
	if got := last[*routing.JobClassifiedEvent](r).Queue.ID; got != "south" || r.job("j").QueueID != "south" {
		t.Errorf("queue %s", got)
	}
	lost := classified(t, routing.ClassificationSpec{})
	lost.do(routing.PutClassification{ID: "c", Spec: routing.ClassificationSpec{}})
	lost.submit(nil)
	lost.status("j", routing.JobClassificationFailed)
}

// The documented scores: A 1, 0.5, 0.5; 0.5, 1, 0.5; 0.667, 0.707, 0.675.
func TestDefaultScore(t *testing.T) {
	t.Parallel()
	eq, ne, gt, lt := routing.Equal, routing.NotEqual, routing.GreaterThan, routing.LessThan
	num := routing.Number
	for _, c := range []struct {
		job       routing.Labels
		selectors []routing.WorkerSelector
		worker    routing.Labels
		want      float64
	}{
		{skills("a", "b"), nil, skills("a", "b", "c"), 1},
		{skills("a", "b"), nil, skills("b"), 0.5},
		{nil, []routing.WorkerSelector{where("a", eq, num(1)), where("b", ne, num(1))}, routing.Labels{"a": num(1)}, 1},
		{nil, []routing.WorkerSelector{where("a", eq, num(1)), where("b", eq, num(1))}, routing.Labels{"a": num(1)}, 0.5},
		{nil, []routing.WorkerSelector{where("a", gt, num(10))}, routing.Labels{"a": num(20)}, 0.731},
		{nil, []routing.WorkerSelector{where("a", lt, num(10))}, routing.Labels{"a": num(20)}, 0.269},
		{nil, []routing.WorkerSelector{where("a", gt, num(0))}, routing.Labels{"a": num(0)}, 0.5},
		{nil, []routing.WorkerSelector{where("a", gt, num(0))}, nil, 0},
		{skills("a"), []routing.WorkerSelector{is("a")}, skills("a"), 2},
	} {
		if got := routing.DefaultScore(c.job, c.selectors, c.worker); math.Abs(got-c.want) > 0.001 {
			t.Errorf("%v %v %v: %v, want %v", c.job, c.selectors, c.worker, got, c.want)
		}
	}
}

// Best worker by expression, by static rule and by the scores of a function.
func TestBestWorker(t *testing.T) {
	t.Parallel()
	mode := routing.Mode{Kind: routing.BestWorker, ScoringRule: rule(routing.RuleExpression, `If(worker.Gold = true, 10, worker.Age)`)}
	agents := func(mode routing.Mode) *router {
		return newRouter(t).queue("q", mode).agent("a", routing.Labels{"Age": routing.Number(3)}).
			agent("b", skills("Gold")).agent("c", routing.Labels{"Age": routing.Number(5)}).agent("d", nil)
	}
	r := agents(mode)
	for _, want := range []string{"b", "c", "a", "d"} {
		r.chat(want).offeredTo(want, want)
	}
	mode.ScoringRuleOptions = &routing.ScoringOptions{DescendingOrder: new(false)}
	agents(mode).chat("j").offeredTo("j", "d")
	mode.ScoringRule = rule(routing.RuleStatic, 3)
	agents(mode).chat("j").offeredTo("j", "a")

	r = agents(routing.Mode{Kind: routing.BestWorker, MaxConcurrentOffers: 2, ScoringRule: rule(routing.RuleFunction, "https://f")})
	r.chat("j").saw("RouterJobReceived", "RouterJobQueued", "jobScoresAsked").offeredTo("j")
	asked := last[*routing.JobScoresAskedEvent](r)
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, asked.Workers); diff != "" {
		t.Error(diff)
	}
	r.refused(weir.CodeConflict, routing.SupplyScores{JobID: "j", Round: 1})
	r.do(routing.SupplyScores{JobID: "j", Round: asked.Seq, Scores: map[string]float64{"d": 3, "c": 2, "a": 1}}).offeredTo("j", "d", "c")
	// After a restart, unanswered requests are issued again.
	r.chat("k")
	restored, err := routing.Restore(snapshot(t, r.s))
	if err != nil || len(restored.Asked()) != 1 {
		t.Errorf("%v asked for after a restart, %v", restored.Asked(), err)
	}
	r.wait(time.Second)
}
