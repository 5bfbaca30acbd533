package acd_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/router"
	"weir/router/acd"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
	"weir/router/routertest"
)

// Capabilities of the contact ACD, one test for each feature of the table.

func allSkills(t *testing.T) {
	d := newCallCenter(t).agent("es", "English", "Support").agent("ss", "Spanish", "Support").agent("esb", "English", "Spanish", "Billing")
	d.call("1", "English", "Support").has("es", "1").call("2", "English", "Billing").has("esb", "2").call("3", "French").has("", "3")
}

func firstComeFirstServed(t *testing.T) {
	d := newCallCenter(t)
	const calls = 1000
	for i := range calls {
		d.wait(time.Millisecond).call(fmt.Sprint(i), "English")
	}
	d.agent("a", "English")
	for i := range calls {
		if id := fmt.Sprint(i); !t.Failed() {
			d.has("a", id).finish(id)
		}
	}
}

func longestAvailable(t *testing.T) {
	d := newCallCenter(t).agent("1", "X").wait(time.Second).agent("2").wait(time.Second).agent("3", "X").wait(time.Second)
	d.agent("2", "X") // R8: learned later; AvailableSince stays
	for i := range 3 {
		d.call(fmt.Sprint("c", i), "X").has(fmt.Sprint(i+1), fmt.Sprint("c", i))
	}
}

func agentsChange(t *testing.T) {
	d := newCallCenter(t).agent("a", "English").agent("b", "Spanish")
	before := d.worker("a").AvailableSince
	d.wait(time.Minute)
	renamed := acd.Agent("Another Name", "F", "English")
	d.e.Must(router.PutWorker{ID: "a", Spec: renamed})
	if w := d.worker("a"); w.Tags["name"] != label.Text("Another Name") || !w.AvailableSince.Equal(before) {
		t.Errorf("renamed: %+v", w)
	}
	depth := func(pool string, want int) {
		t.Helper()
		if got := d.pool(pool).Depth; got != want {
			t.Errorf("%s: depth %d, not %d", pool, got, want)
		}
	}
	d.agent("a", "English", "French")
	depth("Q#French#F", 1) // joins at once
	d.agent("a", "French")
	depth("Q#English#F", 0) // and leaves at once
	d.call("waits", "Klingon").call("served", "Spanish").has("b", "served")
	d.call("later", "Spanish")
	d.agent("b")
	depth("Q#Spanish#F", 0)
	d.see(func(s *router.State) {
		if diff := cmp.Diff([]string{"waits", "later"}, s.Unmatchable(acd.Callers, 10)); diff != "" {
			t.Errorf("unmatchable: %s", diff)
		}
	})
	d.e.Must(router.DeleteWorker{ID: "a"})
	depth("Q#French#F", 0)
}

func sameStateAgain(t *testing.T) {
	d := newCallCenter(t).agent("a", "X")
	at := d.worker("a").AvailableSince
	events := d.wait(time.Minute).e.Must(router.PutWorker{ID: "a", Spec: acd.Agent("Agent a", "F", "X")})
	if w := d.worker("a"); len(events) != 0 || !w.AvailableSince.Equal(at) {
		t.Errorf("%d events, available since %v", len(events), w.AvailableSince)
	}
}

// open sets whether the callers' queue is open or how it is closed.
func (d *callCenter) open(c resource.Closed) *callCenter {
	spec := acd.Setup().Queues[acd.Callers]
	spec.Closed = c
	d.e.Must(router.PutQueue{ID: acd.Callers, Spec: spec})
	return d
}

func openAndClosed(t *testing.T) {
	d := newCallCenter(t).agent("a").open(resource.ClosedHold).call("1").has("", "1")
	d.agent("late").has("", "1").e.Reopen() // R12: the state is durable
	d.has("", "1").open(resource.Open).has("a", "1").open(resource.ClosedRefuse)
	d.refused(weir.CodeConflict, router.PutJob{ID: "2", Spec: resource.JobSpec{ChannelID: acd.Channel, QueueID: acd.Callers}})
	d.open(resource.Open).call("3").has("late", "3") // an agent who arrived while it was closed is available, too
}

func abandons(t *testing.T) {
	d := newCallCenter(t).call("1", "X").call("2", "X")
	d.e.Must(router.CancelJob{ID: "1", DispositionCode: "Abandoned"})
	if n := d.waiting(); n != 1 {
		t.Errorf("%d wait", n)
	}
	d.agent("a", "X").has("", "1").has("a", "2").status("1", resource.JobCancelled)
	// A caller who hangs up during the call frees the agent at once.
	d.call("3", "X").e.Must(router.CancelJob{ID: "2", DispositionCode: "Abandoned"})
	d.has("a", "3")
}

func finishedIsKept(t *testing.T) {
	if kept := router.DefaultSettings().KeepFinished; kept < time.Hour {
		t.Errorf("kept for %v", kept)
	}
	d := newCallCenter(t).agent("a").call("1").finish("1").wait(59*time.Minute).status("1", resource.JobClosed)
	if _, ok := d.wait(router.DefaultSettings().KeepFinished).e.Job("1"); ok {
		t.Error("it is kept for ever")
	}
}

// Several dispatchers at once, none of them special.
func manyDispatchers(t *testing.T) {
	const dispatchers, calls, agents = 8, 10_000, 40
	d := newCallCenter(t)
	for i := range agents {
		d.agent(fmt.Sprint("a", i), []string{"X", "Y"}[i%2])
	}
	served := make([]map[string]string, dispatchers)
	var all sync.WaitGroup
	for k := range dispatchers {
		served[k] = map[string]string{}
		all.Go(func() {
			for i := k; i < calls && !t.Failed(); i += dispatchers {
				id := fmt.Sprint(i)
				d.call(id, []string{"X", "Y"}[i/dispatchers%2])
				d.see(func(s *router.State) { served[k][id] = holder(s, id) })
				d.finish(id)
			}
		})
	}
	all.Wait()
	n := 0
	for _, m := range served {
		n += len(m)
	}
	d.see(func(s *router.State) {
		for i := range calls {
			if j, ok := s.Job(fmt.Sprint(i)); !ok || j.Status != resource.JobClosed || len(j.Assignments) != 1 {
				t.Errorf("call %d: %s with %d assignments", i, j.Status, len(j.Assignments))
				return
			}
		}
	})
	if free := d.free(); n != calls || free != agents || d.waiting() != 0 {
		t.Errorf("%d calls, %d agents free, %d wait", n, free, d.waiting())
	}
	neverTwice(t, d.e.Log())
}

func (d *callCenter) free() (n int) {
	d.see(func(s *router.State) {
		n = len(s.AvailableWorkers(resource.PoolSpec{QueueID: acd.Callers, ChannelID: acd.Channel}, false))
	})
	return n
}

// neverTwice checks a log: no agent ever has two calls, and no call two agents.
func neverTwice(t *testing.T, log [][]journal.Event) {
	t.Helper()
	agents, calls := map[string]int{}, map[string]int{}
	for _, e := range slices.Concat(log...) {
		switch e := e.(type) {
		case *journal.OfferAcceptedEvent:
			agents[e.WorkerID]++
			calls[e.JobID]++
			if agents[e.WorkerID] > 1 || calls[e.JobID] > 1 {
				t.Fatalf("call %s went to %s, who had one, or to a second agent", e.JobID, e.WorkerID)
			}
		case *journal.JobClosedEvent:
			agents[e.WorkerID]--
		}
	}
}

// No polling: an assignment happens in the same write that makes it possible,
// and no timer is due while nothing changes.
func wokenAtOnce(t *testing.T) {
	d := newCallCenter(t).agent("a", "X").call("1", "X").call("2", "X")
	d.see(func(s *router.State) {
		if at, ok := s.NextWake(); ok && at.Sub(*d.clock.Load()) < 24*time.Hour {
			t.Errorf("something is due at %v though no caller came", at)
		}
	})
	d.finish("1")
	writes := d.e.Log()
	var kinds []string
	for _, e := range writes[len(writes)-1] {
		kinds = append(kinds, e.Kind())
	}
	if got := strings.Join(kinds, " "); !strings.Contains(got, "obClosed") || !strings.Contains(got, "OfferAccepted") {
		t.Errorf("the last write holds %s", got)
	}
}

// A crash at any write boundary recovers to the state before or after that
// write, and the work in progress continues to the same end.
func crashAnywhere(t *testing.T) {
	play := func(d *callCenter, from int) {
		steps := []func(){
			func() { d.agent("a", "X") }, func() { d.call("1", "X") }, func() { d.call("2", "X") }, func() { d.finish("1") },
			func() { d.agent("b", "X") }, func() { d.finish("2") }, func() { d.call("3", "X") },
		}
		for i := from; i < len(steps); i++ {
			steps[i]()
		}
	}
	whole := newCallCenter(t)
	play(whole, 0)
	log := whole.e.Log()
	for n := range len(log) + 1 {
		s := router.New(router.DefaultSettings())
		for _, events := range log[:n] {
			if err := s.Replay(events...); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range s.IDs(resource.Job, "", 10) { // no call is between two states, and no agent is busy without a call
			j, _ := s.Job(id)
			if h := holder(s, id); (j.Status == resource.JobAssigned || j.Status == resource.JobCompleted) != (h != "") {
				t.Errorf("after %d writes call %s is %s and with %q", n, id, j.Status, h)
			}
		}
		for _, id := range s.IDs(resource.Worker, "", 10) {
			w, _ := s.Worker(id)
			for _, a := range w.AssignedJobs {
				if holder(s, a.JobID) != id {
					t.Errorf("after %d writes agent %s has call %s, which another agent has", n, id, a.JobID)
				}
			}
		}
	}
	for _, fault := range []routertest.Fault{routertest.LosesWrite, routertest.LosesAnswer} {
		d := newCallCenter(t).agent("a", "X")
		d.call("waits", "X").call("next", "X")
		d.e.Fail(fault)
		j, _ := d.e.Job("waits")
		for id := range j.Assignments {
			d.refused(weir.CodeUnavailable, router.CompleteJob{JobID: "waits", AssignmentID: id})
		}
		d.e.Reopen()
		want := map[routertest.Fault]resource.JobStatus{routertest.LosesWrite: resource.JobAssigned, routertest.LosesAnswer: resource.JobCompleted}[fault]
		d.status("waits", want).has("a", "waits").status("next", resource.JobQueued)
	}
}
