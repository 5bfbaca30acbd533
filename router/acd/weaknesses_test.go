package acd_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"weir"
	"weir/router"
	"weir/router/acd"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
	"weir/router/routertest"
)

// Weaknesses of the two systems, each with a test that Weir does not have it.

// R1: a crash while a waiting call is being assigned loses nothing.
func crashWhileAssigning(t *testing.T) {
	d := newCallCenter(t).call("1", "X")
	d.e.Fail(routertest.LosesWrite)
	d.refused(weir.CodeUnavailable, router.PutWorker{ID: "a", Spec: acd.Agent("A", "F", "X")})
	d.e.Reopen()
	d.status("1", resource.JobQueued).agent("a", "X").has("a", "1")
}

// R4: a call without requirements gets any agent, and a refused call blocks no
// other call.
func poison(t *testing.T) {
	d := newCallCenter(t).agent("a").call("1").has("a", "1").agent("b", "X")
	d.refused(weir.CodeInvalid, router.PutJob{ID: "bad", Spec: resource.JobSpec{
		ChannelID: acd.Channel, QueueID: acd.Callers, RequestedWorkerSelectors: []resource.WorkerSelector{{Key: "X", Operator: "resembles"}},
	}})
	d.call("2", "X").has("b", "2")
}

// R5: a waiting job is not dropped because of its age before its maximum life.
func waitingOutlivesFinished(t *testing.T) {
	d := newCallCenter(t).agent("a").call("over").finish("over").call("waits", "Klingon")
	d.wait(router.DefaultSettings().KeepFinished+time.Hour).call("new", "Klingon").status("waits", resource.JobQueued)
	if _, ok := d.e.Job("over"); ok {
		t.Error("the finished one is still there")
	}
	d.agent("k", "Klingon").has("k", "waits")
}

// R6: a job keeps its position however long it waits.
func positionIsKept(t *testing.T) {
	d := newCallCenter(t).call("A", "X")
	for range 60 {
		d.wait(time.Second).e.Must(router.Tick{})
	}
	d.call("B", "X").agent("a", "X").has("a", "A").finish("A").has("a", "B")
}

// R7: however many jobs wait for an agent who is absent, a job that can be
// served is served in the same turn.
func unservedCallersBlockNone(t *testing.T) {
	d := newCallCenter(t)
	for i := range 10_000 {
		d.call(fmt.Sprint(i), "Klingon")
	}
	quickest := time.Hour // the minimum of several, because this machine may be busy
	for i := range 5 {
		call, agent := fmt.Sprint("served", i), fmt.Sprint("a", i)
		d.call(call, "X")
		began := time.Now()
		d.agent(agent, "X")
		quickest = min(quickest, time.Since(began))
		d.has(agent, call)
	}
	if quickest > 50*time.Millisecond {
		t.Errorf("it took %v", quickest)
	}
}

// R9: an agent without skills is available like any other.
func withoutSkills(t *testing.T) {
	d := newCallCenter(t).agent("a")
	if w := d.worker("a"); w.State != resource.WorkerActive || w.AvailableSince.IsZero() {
		t.Errorf("%+v", w)
	}
	d.call("1").has("a", "1")
}

// R10, R11: a new call and its assignment are one write.
func oneWrite(t *testing.T) {
	d := newCallCenter(t).agent("a", "X", "Y")
	before := len(d.e.Log())
	d.call("1", "X", "Y").has("a", "1")
	if n := len(d.e.Log()) - before; n != 1 {
		t.Errorf("%d writes", n)
	}
	for _, fault := range []routertest.Fault{routertest.LosesWrite, routertest.LosesAnswer} {
		d = newCallCenter(t).agent("a", "X")
		d.e.Fail(fault)
		d.refused(weir.CodeUnavailable, router.PutJob{ID: "1", Spec: resource.JobSpec{ChannelID: acd.Channel, QueueID: acd.Callers}})
		d.e.Reopen()
		j, known := d.e.Job("1")
		if taken := len(d.worker("a").AssignedJobs) == 1; known != taken || known && j.Status != resource.JobAssigned {
			t.Errorf("fault %d: known %v, %s, the agent is taken: %v", fault, known, j.Status, taken)
		}
	}
}

// R13: changing all agents at once is one write, and its events name the agents
// that changed.
func everybodyAtOnce(t *testing.T) {
	d := newCallCenter(t)
	for i := range 50 {
		d.agent(fmt.Sprint(i))
	}
	before := len(d.e.Log())
	if events := d.e.Must(router.SetAvailable{}); len(events) < 50 || len(d.e.Log()) != before+1 || d.free() != 0 {
		t.Errorf("%d events in %d writes; %d are free", len(events), len(d.e.Log())-before, d.free())
	}
}

// R14: an agent in a call is not deleted.
func notDeletedInACall(t *testing.T) {
	d := newCallCenter(t).agent("a").call("1")
	d.refused(weir.CodeConflict, router.DeleteWorker{ID: "a"})
	d.has("a", "1").finish("1").e.Must(router.DeleteWorker{ID: "a"})
}

// R15, D12: every refusal has its code, also for resources that do not exist.
func refusalsHaveCodes(t *testing.T) {
	d := newCallCenter(t).agent("a").call("1").finish("1")
	for _, c := range []router.Command{
		router.DeleteWorker{ID: "x"}, router.CancelJob{ID: "x"}, router.AcceptOffer{WorkerID: "a", OfferID: "x"},
		router.CloseJob{JobID: "1", AssignmentID: "x"}, router.SetAvailable{Workers: []string{"x"}}, router.Delete{Resource: resource.Pool, ID: "x"},
	} {
		d.refused(weir.CodeNotFound, c)
	}
	d.refused(weir.CodeConflict, router.CancelJob{ID: "1"})
	d.refused(weir.CodeInvalid, router.PutWorker{ID: ""})
	d.refused(weir.CodeInvalid, router.PutJob{ID: "2", Spec: resource.JobSpec{ChannelID: acd.Channel, QueueID: "x"}})
}

// R16: skills are a set.
func skillsAreASet(t *testing.T) {
	d := newCallCenter(t).agent("a", "X", "X").agent("a", "X", "X")
	d.agent("a")
	if _, there := d.worker("a").Labels["X"]; there {
		t.Error("it is still there")
	}
}

// R17: a finished call is not counted as waiting.
func depthCountsWaiting(t *testing.T) {
	d := newCallCenter(t)
	for i := range 10 {
		d.call(fmt.Sprint(i))
	}
	d.e.Must(router.CancelJob{ID: "4"})
	if d.agent("a").waiting() != 8 {
		t.Errorf("%d wait", d.waiting())
	}
}

// R18: a write based on stale state is refused.
func staleWritesAreRefused(t *testing.T) {
	d := newCallCenter(t).agent("a", "X")
	seen := d.worker("a").Version
	d.agent("a", "Y")
	spec := acd.Agent("A", "F")
	d.refused(weir.CodePrecondition, router.PutWorker{ID: "a", Spec: spec, If: router.If{Version: seen}})
	d.e.Must(router.PutWorker{ID: "a", Spec: spec, If: router.If{Version: d.worker("a").Version}})
}

// R19: every acknowledged change is durable.
func answeredIsDurable(t *testing.T) {
	d := newCallCenter(t).agent("a", "X").call("1", "X").call("2", "X")
	d.e.Reopen()
	d.has("a", "1").status("2", resource.JobQueued)
}

// R21, D8: the order is that of arrival, whatever the clocks show.
func clocksDoNotMatter(t *testing.T) {
	d := newCallCenter(t).call("1", "X")
	d.wait(-time.Hour).call("2", "X") // the end of daylight saving
	d.at(d.clock.Load().In(time.FixedZone("elsewhere", 7*3600)))
	d.call("3", "X").agent("a", "X")
	for _, id := range []string{"1", "2", "3"} {
		d.has("a", id).finish(id)
	}
	if at := mustJob(t, d, "3").EnqueuedAt; at.Location() != time.UTC {
		t.Errorf("enqueued at %v", at)
	}
}

// R22: agents are notified of offers and may accept, decline, or let them
// expire.
func agentsAreTold(t *testing.T) {
	d := newCallCenter(t)
	p := acd.Setup().Distribution[acd.Policy]
	p.AutoAccept = false
	d.e.Must(router.PutDistribution{ID: acd.Policy, Spec: p})
	var told []*journal.OfferIssuedEvent
	d.e.Watch(func(events []journal.Event) {
		for _, e := range events {
			if o, ok := e.(*journal.OfferIssuedEvent); ok && journal.Public(e) {
				told = append(told, o)
			}
		}
	})
	d.agent("a").wait(time.Second).agent("b").call("1")
	d.e.Must(router.DeclineOffer{WorkerID: "a", OfferID: told[0].OfferID})
	d.wait(61 * time.Second).e.Must(router.Tick{}) // b does not answer
	if d.worker("b").State != resource.WorkerInactive || len(told) != 2 || told[0].WorkerID != "a" || told[1].WorkerID != "b" {
		t.Fatalf("told %d times", len(told))
	}
	d.agent("c")
	d.e.Must(router.AcceptOffer{WorkerID: "c", OfferID: told[2].OfferID})
	d.has("c", "1")
}

// D4: agents who become available at the same instant are all counted, in their
// order.
func sameInstant(t *testing.T) {
	d := newCallCenter(t).agent("a", "English").agent("b", "English").agent("c", "English")
	if p := d.pool("Q#English#F"); p.Depth != 3 {
		t.Errorf("%+v", p)
	}
	for i, want := range []string{"a", "b", "c", ""} {
		if got := d.ask(fmt.Sprint(i), "English"); got != want {
			t.Errorf("%d: %q, not %q", i, got, want)
		}
	}
}

// D5: two agents of the same name are two agents.
func namesakes(t *testing.T) {
	d := newCallCenter(t)
	for _, id := range []string{"john-1", "john-2"} {
		d.e.Must(router.PutWorker{ID: id, Spec: acd.Agent("John", "M", "English")})
	}
	if d.ask("1", "Q#English#M") != "john-1" || d.ask("2", "Q#English#M") != "john-2" {
		t.Error("one John is missing")
	}
}

// D6: attributes are data.
func anyAttribute(t *testing.T) {
	d := newCallCenter(t)
	d.e.Must(router.PutWorker{ID: "a", Spec: acd.Agent("A", "T", "Xhosa")})
	if got := d.ask("1", "Q#Xhosa#T"); got != "a" {
		t.Errorf("got %q", got)
	}
}

// D9: one filter with several conditions on one attribute, and ranges.
func richQuestions(t *testing.T) {
	d := newCallCenter(t)
	spec := acd.Agent("A", "F", "English", "Spanish", "French")
	spec.Labels["level"] = label.Number(4)
	d.e.Must(router.PutWorker{ID: "a", Spec: spec})
	if got := d.ask("1", "language=English,language=Spanish,language!=Klingon,level>=3,level<5,gender!=M"); got != "a" {
		t.Errorf("got %q", got)
	}
}

// D10: a change of an agent changes only the agent's own queues.
func otherQueuesDoNotChange(t *testing.T) {
	d := newCallCenter(t).agent("a", "English").agent("b", "French")
	before := d.pool("Q#French#F")
	d.ask("1", "English")
	d.finish("1").agent("a", "English", "Spanish")
	if got := d.pool("Q#French#F"); got != before {
		t.Errorf("%+v became %+v", before, got)
	}
}

// D11: every list is bounded and continues where it stopped.
func listsAreBounded(t *testing.T) {
	d := newCallCenter(t)
	for i := range 100 {
		d.agent(fmt.Sprintf("a%03d", i), "X").call(fmt.Sprint("c", i), "Klingon")
	}
	d.see(func(s *router.State) {
		if n := len(s.AvailableWorkers(resource.PoolSpec{ChannelID: acd.Channel}, false)); n != 100 {
			t.Errorf("%d are available", n)
		}
		var all []string
		for page := s.IDs(resource.Worker, "", 30); len(page) > 0; page = s.IDs(resource.Worker, all[len(all)-1], 30) {
			all = append(all, page...)
		}
		if len(all) != 100 || !slices.IsSorted(all) {
			t.Errorf("%d agents", len(all))
		}
		jobs, next := s.Jobs(0, 60, nil)
		more, end := s.Jobs(next, 60, nil)
		if len(jobs) != 60 || len(more) != 40 || end != 0 {
			t.Errorf("%d and %d calls", len(jobs), len(more))
		}
	})
}
