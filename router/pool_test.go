package router_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// The first worker of the list gets the next job, in both orders.
func TestPool_AvailableWorkers(t *testing.T) {
	t.Parallel()
	for _, newest := range []bool{false, true} {
		mode := resource.LongestIdle
		if newest {
			mode = resource.ShortestIdle
		}
		r := newRouter(t).queue("q", resource.Mode{Kind: mode}).agent("a", skills("X")).wait(time.Second).agent("b", nil).agent("c", skills("X"))
		p := resource.PoolSpec{QueueID: "q", ChannelID: "chat", Selectors: []resource.WorkerSelector{is("X")}}
		for _, id := range []string{"1", "2"} {
			next := r.s.AvailableWorkers(p, newest)[0]
			if want := r.worker(next.WorkerID).AvailableSince; !next.Since.Equal(want) {
				t.Errorf("%+v, but since %v", next, want)
			}
			r.chat(id, is("X")).offeredTo(id, next.WorkerID)
		}
		if got := r.s.AvailableWorkers(p, newest); got != nil {
			t.Errorf("newest %v: %v are left", newest, got)
		}
	}
}

// Exactly the jobs that no worker at all could take are found.
func TestPool_Unmatchable(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("busy", skills("X")).chat("1", is("X")).chat("2", is("X")).chat("3", is("Y")).chat("4", is("Y"))
	if diff := cmp.Diff([]string{"3", "4"}, r.s.Unmatchable("q", 10)); diff != "" {
		t.Error(diff)
	}
	r.agent("busy", nil)
	if diff := cmp.Diff([]string{"2", "3"}, r.s.Unmatchable("q", 2)); diff != "" {
		t.Error(diff)
	}
	r.do(router.DeleteWorker{ID: "busy"})
	if got := r.s.Unmatchable("q", 10); len(got) != 4 || r.s.Unmatchable("none", 1) != nil {
		t.Errorf("without workers: %v", got)
	}
}

// A job not assigned by its limit is canceled at that very instant; an assigned
// job is not, until it is unassigned.
func TestPool_NotAfter(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("w", skills("X"))
	limited := func(id string, after time.Duration, s ...resource.WorkerSelector) {
		spec := chatSpec(s...)
		spec.NotAfter = r.now.Add(after)
		r.do(router.PutJob{ID: id, Spec: spec})
	}
	limited("taken", time.Minute, is("X"))
	a := r.accept("taken", "w")
	limited("waits", 30*time.Second)
	r.wait(29*time.Second).status("waits", resource.JobQueued).wait(2*time.Second).status("waits", resource.JobCancelled)
	if j := r.job("waits"); j.DispositionCode != router.ExpiredJob || last[*journal.JobCancelledEvent](r).At != start().Add(30*time.Second) {
		t.Errorf("%+v", j)
	}
	r.wait(time.Hour).status("taken", resource.JobAssigned)
	r.do(router.UnassignJob{JobID: "taken", AssignmentID: a}).status("taken", resource.JobCancelled)
	limited("offered", time.Second, is("X"))
	offer := r.offer("offered", "w")
	r.wait(time.Second).refused(weir.CodeNotFound, router.AcceptOffer{WorkerID: "w", OfferID: offer})
	limited("moved", time.Minute)
	spec := chatSpec()
	spec.NotAfter = r.now.Add(2 * time.Hour)
	r.do(router.PutJob{ID: "moved", Spec: spec}).wait(time.Hour).status("moved", resource.JobQueued)
}

// Unmatchable blocks the engine, so it must stop early however many agents
// there are, each with jobs of its own.
func TestPool_UnmatchableIsBounded(t *testing.T) {
	t.Parallel()
	s, now := router.New(router.DefaultSettings()), time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	do := func(c router.Command) {
		t.Helper()
		if _, err := s.Execute(c, now); err != nil {
			t.Fatal(err)
		}
	}
	do(router.PutQueue{ID: "q"})
	const agents, jobs = 3000, 4000
	for i := range agents {
		do(router.PutWorker{ID: strconv.Itoa(i), Spec: resource.WorkerSpec{
			Queues: []string{"q"}, Capacity: 1, Channels: []resource.Channel{{ChannelID: "c", CapacityCostPerJob: 1}},
			Labels: label.Set{"desk": label.Number(float64(i))},
		}})
	}
	for _, key := range []string{"Id", "desk"} {
		for i := range jobs {
			value := label.Number(float64(i % agents))
			if key == "Id" {
				value = label.Text(strconv.Itoa(i % agents))
			}
			do(router.PutJob{ID: key + strconv.Itoa(i), Spec: resource.JobSpec{ChannelID: "c", QueueID: "q", RequestedWorkerSelectors: []resource.WorkerSelector{
				where(key, label.Equal, value), where("n", label.NotEqual, label.Number(float64(i))),
			}}})
		}
	}
	got, examined := router.Unmatchable(s, "q", 10)
	if len(got) != 0 {
		t.Errorf("no worker could take %v", got)
	}
	if examined <= agents || examined > router.MaxUnmatchableExamined+agents {
		t.Errorf("it examined %d of about %d pairs", examined, jobs*agents/2)
	}
}
