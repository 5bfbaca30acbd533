package router_test

import (
	"fmt"
	"testing"
	"time"
	routing "weir/router"
	"weir/router/label"
	"weir/router/resource"
)

// guarded returns a router with a queue q that has one exception rule, and a
// queue "other".
func guarded(t *testing.T, trigger resource.Trigger, actions ...resource.Action) *testRouter {
	t.Helper()
	r := newRouter(t).queue("q", resource.Mode{}).queue("other", resource.Mode{})
	r.do(routing.PutClassification{ID: "c", Spec: resource.ClassificationSpec{
		FallbackQueueID: "other", PrioritizationRule: rule(resource.RuleExpression, `If(job.Urgent = true, 9, 2)`),
	}})
	r.do(routing.PutException{ID: "e", Spec: resource.ExceptionSpec{ExceptionRules: []resource.ExceptionRule{{ID: "r", Trigger: trigger, Actions: actions}}}})
	return r.do(routing.PutQueue{ID: "q", Spec: resource.QueueSpec{DistributionPolicyID: "of q", ExceptionPolicyID: "e"}})
}

func full() resource.Trigger {
	return resource.Trigger{Kind: resource.TriggerQueueLength, Threshold: 10}
}

func slow() resource.Trigger {
	return resource.Trigger{Kind: resource.TriggerWaitTime, ThresholdSeconds: 10}
}

// "threshold 10, ten jobs stay, the eleventh fires. With cancel the job never
// joins."
func TestException_QueueLengthCancel(t *testing.T) {
	t.Parallel()
	r := guarded(t, full(), resource.Action{Kind: resource.ActionCancel, Note: "full", DispositionCode: "Overflow"})
	for i := range 10 {
		r.chat(fmt.Sprint(i)).saw("RouterJobReceived", "RouterJobQueued")
	}
	r.chat("j").saw("RouterJobReceived", "RouterJobExceptionTriggered", "RouterJobCancelled").status("j", resource.JobCancelled)
	if j := r.job("j"); j.DispositionCode != "Overflow" || j.Notes[0].Message != "full" {
		t.Errorf("%+v", j)
	}
	if st, _ := r.s.Statistics("q", r.now); st.Length != 10 {
		t.Errorf("length %d", st.Length)
	}
	// A job that goes to the front has no jobs ahead, and a canceled job frees
	// a place.
	first := chatSpec()
	first.Priority = new(50)
	r.do(routing.PutJob{ID: "first", Spec: first}).status("first", resource.JobQueued)
	r.do(routing.CancelJob{ID: "first"}).do(routing.CancelJob{ID: "3"}).chat("k").status("k", resource.JobQueued)
}

// "manualReclassify sets what it names and appends its selectors to
// requestedWorkerSelectors", for both triggers.
func TestException_ManualReclassify(t *testing.T) {
	t.Parallel()
	action := resource.Action{Kind: resource.ActionManualReclassify, QueueID: "other", Priority: new(8), WorkerSelectors: []resource.WorkerSelector{is("B")}}
	check := func(r *testRouter) {
		t.Helper()
		j := r.job("j")
		if j.QueueID != "other" || *j.Priority != 8 || len(j.RequestedWorkerSelectors) != 2 || j.Status != resource.JobQueued {
			t.Errorf("%+v", j)
		}
	}
	r := guarded(t, resource.Trigger{Kind: resource.TriggerQueueLength}, action).chat("j", is("A"))
	r.saw("RouterJobReceived", "RouterJobExceptionTriggered", "jobUpdated", "RouterJobQueued")
	check(r)
	r = guarded(t, slow(), action).agent("w", skills("A")).chat("j", is("A")).offeredTo("j", "w")
	r.wait(10*time.Second).saw("RouterJobExceptionTriggered", "RouterWorkerOfferRevoked", "jobUpdated", "RouterJobQueued")
	check(r)
}

// "reclassify merges labelsToUpsert into the labels, sets the policy if named,
// and classifies again."
func TestException_ReclassifyAction(t *testing.T) {
	t.Parallel()
	r := guarded(t, slow(), resource.Action{Kind: resource.ActionReclassify, ClassificationPolicyID: "c", LabelsToUpsert: skills("Urgent")})
	r.do(routing.PutJob{ID: "j", Spec: resource.JobSpec{ChannelID: "chat", QueueID: "q", Labels: skills("Old")}})
	if at, _ := r.s.NextWake(); !at.Equal(r.now.Add(10 * time.Second)) {
		t.Errorf("wakes at %v", at)
	}
	r.wait(10*time.Second).saw("RouterJobExceptionTriggered", "jobUpdated", "RouterJobClassified", "RouterJobQueued")
	if j := r.job("j"); *j.Priority != 9 || len(j.Labels) != 2 || j.ClassificationPolicyID != "c" || j.QueueID != "q" {
		t.Errorf("%+v", j)
	}
	// "Once per rule and queue."
	r.wait(time.Hour).saw()
}

// "waitTime: fires when a job has been waiting in the queue for the threshold;
// not for assigned jobs."
func TestException_WaitTime(t *testing.T) {
	t.Parallel()
	r := guarded(t, slow(), resource.Action{Kind: resource.ActionCancel}).agent("w", nil).chat("taken").chat("waiting")
	a := r.accept("taken", "w")
	r.wait(9*time.Second).status("waiting", resource.JobQueued)
	r.wait(time.Second).saw("RouterJobExceptionTriggered", "RouterJobCancelled").status("taken", resource.JobAssigned)
	// An unassigned job does not count the time during which it was assigned.
	r.wait(time.Minute).do(routing.UnassignJob{JobID: "taken", AssignmentID: a}).wait(9*time.Second).status("taken", resource.JobQueued)
	r.wait(time.Second).status("taken", resource.JobCancelled)
	// After its rules are removed, a job no longer waits for them.
	r.chat("late").do(routing.PutQueue{ID: "q", Spec: resource.QueueSpec{}}).wait(time.Hour)
	r.status("late", resource.JobQueued).do(routing.PutQueue{ID: "q", Spec: resource.QueueSpec{ExceptionPolicyID: "e"}}).status("late", resource.JobCancelled)
}

// Two queues that send each other's overflow in circles come to rest.
func TestException_OverflowLoopEnds(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).queue("p", resource.Mode{})
	for from, to := range map[string]string{"q": "p", "p": "q"} {
		r.do(routing.PutException{ID: from, Spec: resource.ExceptionSpec{ExceptionRules: []resource.ExceptionRule{
			{ID: "r", Trigger: resource.Trigger{Kind: resource.TriggerQueueLength}, Actions: []resource.Action{{Kind: resource.ActionManualReclassify, QueueID: to}}},
		}}})
		r.do(routing.PutQueue{ID: from, Spec: resource.QueueSpec{ExceptionPolicyID: from}})
	}
	r.chat("j").saw("RouterJobReceived", "RouterJobExceptionTriggered", "jobUpdated", "RouterJobExceptionTriggered", "jobUpdated", "RouterJobQueued")
	if got := r.job("j").QueueID; got != "q" {
		t.Errorf("it rests in %s", got)
	}
}

// "After expiresAt the selector has status expired, no longer restricts
// matching, and RouterJobWorkerSelectorsExpired is sent."
func TestException_SelectorExpiry(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("w", label.Set{"Skill": label.Number(3)})
	sel := where("Skill", label.GreaterThan, label.Number(10))
	sel.ExpiresAfterSeconds = 300
	r.chat("j", sel).offeredTo("j").wait(299 * time.Second).saw()
	r.wait(time.Second).saw("RouterJobWorkerSelectorsExpired", "RouterWorkerOfferIssued").offeredTo("j", "w")
	if e := r.job("j").RequestedWorkerSelectors[0]; e.Status != resource.SelectorExpired {
		t.Errorf("%+v", e)
	}
	// The router alone states status and expiry: what a client sends of them is ignored.
	sel.Status, sel.ExpiresAt = resource.SelectorExpired, r.now.Add(-time.Hour)
	r.chat("k", sel).offeredTo("k")
	if e := r.job("k").RequestedWorkerSelectors[0]; !e.Active() || !e.ExpiresAt.Equal(r.now.Add(5*time.Minute)) {
		t.Errorf("%+v", e)
	}
	// Sending the resource back does not restart the clock.
	c, err := r.s.Patch(resource.Job, "j", []byte(`{"tags":{"a":1}}`), routing.If{})
	if err != nil {
		t.Fatal(err)
	}
	r.do(c).saw("jobUpdated").offeredTo("j", "w")
}

// "length counts queued jobs, offered ones included"; estimates are whole
// minutes, one at least.
func TestException_Statistics(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("w", nil)
	for i := range 4 {
		id := fmt.Sprint("d", i)
		r.chat(id)
		r.finish(id, r.accept(id, "w")).wait(2 * time.Minute)
	}
	r.agent("w", nil).chat("a").chat("b").wait(30 * time.Second)
	high := chatSpec()
	high.Priority = new(5)
	r.do(routing.PutJob{ID: "c", Spec: high})
	st, ok := r.s.Statistics("q", r.now)
	if !ok || st.Length != 3 || st.EstimatedWaitTimeMinutes[5] != 2 || st.EstimatedWaitTimeMinutes[1] != 6 || *st.LongestJobWaitTimeMinutes != 0.5 {
		t.Errorf("%+v", st)
	}
	if p, _ := r.s.Position("b", r.now); p.Position != 3 || p.EstimatedWaitTimeMinutes != 6 {
		t.Errorf("%+v", p)
	}
	r.queue("idle", resource.Mode{})
	if st, ok := r.s.Statistics("idle", r.now); !ok || st.QueueID != "idle" || st.Length != 0 || st.LongestJobWaitTimeMinutes != nil {
		t.Errorf("%+v of an empty queue, %v", st, ok)
	}
	if _, ok := r.s.Statistics("nowhere", r.now); ok {
		t.Error("statistics of no queue")
	}
}

// An estimate has a basis only while jobs are being assigned: not before the second
// assignment, and no longer once they have paused for longer than their pace explains.
func TestStatistics_EstimatesRestOnRecentAssignments(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("w", nil)
	paced := func(want bool) {
		t.Helper()
		st, _ := r.s.Statistics("q", r.now)
		p, _ := r.s.Position("last", r.now)
		if st.Paced != want || p.Paced != want {
			t.Errorf("the queue %v, the job %v; want %v", st.Paced, p.Paced, want)
		}
	}
	r.chat("a").chat("b").chat("c").chat("last")
	paced(false)
	id := r.accept("a", "w")
	paced(false) // the first: there is no interval yet
	r.wait(5*time.Minute).finish("a", id)
	id = r.accept("b", "w")
	paced(true)
	r.wait(20 * time.Minute)
	paced(true)
	r.wait(time.Second)
	paced(false)
	r.finish("b", id)
	r.accept("c", "w")
	paced(true)
}
