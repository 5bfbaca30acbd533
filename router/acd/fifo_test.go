package acd_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir"
	"weir/router"
	"weir/router/acd"
	"weir/router/label"
	"weir/router/resource"
	"weir/router/routertest"
)

// Features of the article's filtered queues, apart from its worked example.

// An agent is in all its queues or in none.
func allQueuesOrNone(t *testing.T) {
	for fault, want := range map[routertest.Fault]int{routertest.LosesWrite: 0, routertest.LosesAnswer: 3} {
		d := newCallCenter(t)
		d.e.Fail(fault)
		d.refused(weir.CodeUnavailable, router.PutWorker{ID: "a", Spec: acd.Agent("A", "M", "English", "French", "Spanish")})
		d.e.Reopen()
		if got := d.pool("Q#English#M").Depth + d.pool("Q#French#M").Depth + d.pool("Q#Spanish#M").Depth; got != want {
			t.Errorf("fault %d: in %d queues, not %d", fault, got, want)
		}
	}
}

// Each change of a queue increments its version, a stale version is refused,
// and of several writers with the same version exactly one wins.
func versionsOfQueues(t *testing.T) {
	d := newCallCenter(t)
	before := d.pool("Q#English#F").Version
	d.agent("a", "English").agent("b", "English")
	if got := d.pool("Q#English#F"); got.Version != before+2 || got.Depth != 2 {
		t.Errorf("%+v", got)
	}
	seen := d.pool("Q#English#F").Version
	var won, lost int
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			err := d.e.Do(t.Context(), func(s *router.State, _ time.Time) (router.Command, error) {
				if s.PoolDepth("Q#English#F").Version != seen {
					return nil, weir.Errorf(weir.CodePrecondition, "the pool has changed")
				}
				return router.PutJob{ID: fmt.Sprint(i), Spec: resource.JobSpec{
					ChannelID: acd.Channel, QueueID: acd.Agents, RequestedWorkerSelectors: selectors(t, "Q#English#F"),
				}}, nil
			}, nil)
			mu.Lock()
			defer mu.Unlock()
			switch weir.CodeOf(err) {
			case "":
				won++
			case weir.CodePrecondition:
				lost++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won != 1 || lost != 7 {
		t.Errorf("%d won, %d lost", won, lost)
	}
	w := d.worker("b")
	spec := acd.Agent("B", "F", "English")
	d.e.Must(router.PutWorker{ID: "b", Spec: spec, If: router.If{Version: w.Version}})
	spec.Tags = nil
	d.refused(weir.CodePrecondition, router.PutWorker{ID: "b", Spec: spec, If: router.If{Version: w.Version}})
}

// Depth always equals the number of free agents, whatever happens, and is never
// negative.
func depthIsTrue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newCallCenter(t)
		for i := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			id := fmt.Sprint("a", rapid.IntRange(0, 5).Draw(rt, "agent"))
			switch rapid.IntRange(0, 6).Draw(rt, "step") {
			case 0, 1:
				spec := acd.Agent("A", rapid.SampledFrom([]string{"F", "M", "T"}).Draw(rt, "sex"), rapid.SliceOfDistinct(rapid.SampledFrom([]string{"English", "French", "Spanish"}), func(s string) string { return s }).Draw(rt, "languages")...)
				spec.AvailableForOffers = rapid.Bool().Draw(rt, "available")
				d.e.Must(router.PutWorker{ID: id, Spec: spec})
			case 2, 3:
				d.ask(fmt.Sprint("ask", i), rapid.SampledFrom([]string{"Q#English#F", "Q#Spanish#M", "French", "gender!=T"}).Draw(rt, "filter"))
			case 4:
				d.finish(fmt.Sprint("ask", rapid.IntRange(0, i).Draw(rt, "call")))
			case 5:
				_ = d.do(router.DeleteWorker{ID: id})
			default:
				d.e.Reopen()
			}
			d.see(func(s *router.State) {
				for _, p := range pools(s) {
					spec, _ := s.Pool(p.ID)
					if n := countFree(s, spec.Spec); n != p.Depth {
						rt.Fatalf("%s: depth %d, and %d agents", p.ID, p.Depth, n)
					}
				}
			})
		}
	})
}

// countFree counts by examining every agent.
func countFree(s *router.State, p resource.PoolSpec) (n int) {
	for _, id := range s.IDs(resource.Worker, "", 1000) {
		w, _ := s.Worker(id)
		if w.State == resource.WorkerActive && len(w.AssignedJobs)+len(w.Offers) == 0 && acd.Holds(p.Selectors, w.Labels) {
			n++
		}
	}
	return n
}

// Available, queued, attending; release is per call and can be repeated; the
// bulk reset does not free agents in a call.
func stateOfAgents(t *testing.T) {
	d := newCallCenter(t).agent("a", "X").agent("b", "X").call("1", "X").has("a", "1")
	d.e.Must(router.SetAvailable{})
	d.e.Must(router.SetAvailable{Available: true})
	if a, b := d.worker("a"), d.worker("b"); a.State != resource.WorkerDraining || b.State != resource.WorkerActive {
		t.Errorf("after the reset: %s, %s", a.State, b.State)
	}
	d.has("a", "1").finish("1")
	for id := range mustJob(t, d, "1").Assignments { // D13
		d.refused(weir.CodeConflict, router.CloseJob{JobID: "1", AssignmentID: id, DispositionCode: "another"})
		d.e.Must(router.CloseJob{JobID: "1", AssignmentID: id}) // repeated: the response was lost
	}
	d.e.Must(router.SetAvailable{Available: true, Workers: []string{"a"}})
	if d.free() != 2 {
		t.Errorf("%d are free", d.free())
	}
}

func mustJob(t *testing.T, d *callCenter, id string) router.Job {
	t.Helper()
	j, ok := d.e.Job(id)
	if !ok {
		t.Fatalf("there is no call %s", id)
	}
	return j
}

// Ids are unique although names collide, every agent speaks a language, and a
// seed determines the agents.
func seededAgents(t *testing.T) {
	x := acd.Seed(100, 7)
	ids, shared := map[string]bool{}, map[string]int{}
	for _, a := range x.Agents {
		name, _ := a.Spec.Tags["name"].Text()
		ids[a.ID] = true
		shared[name]++
		if n := len(a.Spec.Labels) - 1; n < 1 || n > 3 {
			t.Errorf("%s speaks %d languages", a.ID, n)
		}
	}
	if len(ids) != 100 || len(shared) > 50 {
		t.Errorf("%d ids, %d names", len(ids), len(shared))
	}
	same := cmp.Comparer(func(a, b label.Value) bool { return a == b })
	if diff := cmp.Diff(x, acd.Seed(100, 7), same); diff != "" || cmp.Equal(x, acd.Seed(100, 8), same) {
		t.Errorf("the seed does not say who: %s", diff)
	}
	d := newCallCenter(t)
	for _, c := range acd.Seed(5, 0).Commands() {
		d.e.Must(c)
	}
	if _, items := d.table(); items < 5+6+5 {
		t.Errorf("%d items", items)
	}
}

// Both forms of a filter mean the same.
func filterForms(t *testing.T) {
	same := cmp.Comparer(func(a, b label.Value) bool { return a == b })
	for _, text := range []string{"language=Spanish,gender=M", "Spanish,gender=M", " skill=Spanish , gender=M "} {
		if diff := cmp.Diff(selectors(t, "Q#Spanish#M"), selectors(t, text), same); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for _, bad := range []string{"Q#", "Q#Spanish", "Q#Spanish#", "Q##M", "Q#a#b#c", ""} {
		if _, err := acd.ParseFilter(bad); weir.CodeOf(err) != weir.CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// More than a hundred combinations: fifty labels, thirty selectors.
func manyCombinations(t *testing.T) {
	d := newCallCenter(t)
	var skills []string
	for i := range 50 {
		skills = append(skills, fmt.Sprint("skill", i))
	}
	d.agent("half", skills[:25]...).agent("whole", skills...).call("1", skills[10:40]...).has("whole", "1")
}

// A caller who finds no agent waits and is served when an agent comes: the
// callers of each filter in order, and none starves.
func callersWait(t *testing.T) {
	d := newCallCenter(t)
	chance := rand.New(rand.NewPCG(1, 2))
	skills := []string{"English", "French", "Spanish"}
	wants := map[string][]string{}
	for i := range 300 {
		s := skills[chance.IntN(len(skills))]
		id := fmt.Sprint(i)
		wants[s] = append(wants[s], id)
		d.wait(time.Second).call(id, s)
	}
	for _, s := range skills {
		d.agent(s, s)
	}
	for _, s := range skills {
		for _, id := range wants[s] {
			d.has(s, id).finish(id)
		}
	}
	if d.waiting() != 0 {
		t.Errorf("%d wait", d.waiting())
	}
}
