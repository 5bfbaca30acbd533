package router_test

import (
	"strings"
	"testing"
	"time"

	"weir/operators"
	routing "weir/router"
	"weir/router/label"
	"weir/router/resource"
)

// why checks why a job waits: the code, and a part of the sentence.
func (r *testRouter) why(job string, code operators.WhyCode, part string) *testRouter {
	r.t.Helper()
	if got, ok := r.s.Why(job); !ok || got.Code != code || !strings.Contains(got.Text(), part) {
		r.t.Errorf("job %s waits because of %q: %q; want %q: %q", job, got.Code, got.Text(), code, part)
	}
	return r
}

// Every job that waits has the reason that applies to it, whatever it waits for.
func TestWhy(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	_, known := r.s.Why("none")
	if known {
		t.Error("a job that does not exist has a reason")
	}
	r.chat("1").why("1", "no_worker", "no worker of queue q serves channel chat")
	r.agent("a", skills("X"))
	r.why("1", "offer_pending", "offered to worker a; the offer expires at 2026-03-01")
	r.chat("2", is("Y")).why("2", "no_match", "no worker of queue q matches")
	r.chat("3", is("X")).chat("4", is("X")).why("4", "workers_busy", "busy (1); 3 jobs of queue q are ahead")
	r.do(routing.DeclineOffer{WorkerID: "a", OfferID: r.offer("1", "a")}).why("1", "workers_busy", "busy (1); 0 jobs")
	r.do(routing.DeclineOffer{WorkerID: "a", OfferID: r.offer("3", "a")}).do(routing.CancelJob{ID: "4"})
	r.why("3", "declined", "(1) declined the job").why("4", "", "")
	r.do(routing.SetAvailable{Workers: []string{"a"}}).why("3", "workers_away", "(1 unavailable)")
	r.agent("a", skills("X"))
	id := r.accept("1", "a")
	r.why("1", "", "").do(routing.CompleteJob{JobID: "1", AssignmentID: id}).why("1", "closing", "not closed yet")
	r.do(routing.PutQueue{ID: "q", Spec: resource.QueueSpec{DistributionPolicyID: "of q", Closed: resource.ClosedHold}}).why("3", "queue_closed", "queue q is closed")

	mode := func(id string, m resource.MatchingMode) {
		spec := chatSpec()
		spec.MatchingMode = m
		r.do(routing.PutJob{ID: id, Spec: spec})
	}
	mode("s", resource.MatchingMode{Kind: resource.Suspend})
	r.why("s", "suspended", "matching is suspended")
	mode("later", resource.MatchingMode{Kind: resource.ScheduleAndSuspend, ScheduleAt: r.now.Add(time.Minute)})
	r.why("later", "scheduled", "scheduled for 2026-03-01").wait(time.Minute).why("later", "activation", "waiting for activation")
}

// A selector that no worker can ever satisfy is named: it is a mistake, not a lack of workers.
func TestWhy_NamesASelectorThatNeverHolds(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("a", label.Set{"Skill": label.Bool(true)})
	const never = "; no worker ever can: Skill greaterThan needs a number"
	for id, value := range map[string]label.Value{"truth": label.Bool(true), "text": label.Text("5"), "none": {}} {
		r.chat(id, is("Skill"), where("Skill", label.GreaterThan, value)).why(id, "no_match", never)
	}
	r.chat("empty", where("Skill", label.Equal, label.Value{})).why("empty", "no_match", "; no worker ever can: Skill equal needs a value")
	r.chat("number", where("Skill", label.GreaterThan, label.Number(5)))
	r.chat("other", where("Skill", label.Equal, label.Text("5")), where("Skill", label.NotEqual, label.Bool(true)))
	for _, id := range []string{"number", "other"} {
		if got, _ := r.s.Why(id); got.Code != "no_match" || strings.Contains(got.Text(), "ever") {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

func TestWhy_WaitsForFunctions(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{Kind: resource.BestWorker, ScoringRule: rule(resource.RuleFunction, "https://f")})
	r.agent("a", nil).agent("b", nil).chat("j").why("j", "scoring", "scores of a scoring function")
	c := classified(t, resource.ClassificationSpec{PrioritizationRule: rule(resource.RuleFunction, "https://f")})
	c.submit(nil)
	c.why("j", "classification", "being classified")
	lost := classified(t, resource.ClassificationSpec{})
	lost.do(routing.PutClassification{ID: "c", Spec: resource.ClassificationSpec{}}).submit(nil)
	lost.why("j", "classification_failed", "classification failed")
}

// A job that only one worker may take has a reason that concerns that worker.
func TestWhy_OfAJobForOneWorker(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("other", nil)
	r.chat("j", where("Id", label.Equal, label.Text("me"))).why("j", "no_match", "")
	r.do(routing.PutWorker{ID: "me", Spec: resource.WorkerSpec{
		Queues: []string{"q"}, Capacity: 1, Channels: []resource.Channel{{ChannelID: "chat", CapacityCostPerJob: 1}},
	}}).why("j", "workers_away", "(1 unavailable)")
}
