package router_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	routing "weir/router"
	"weir/router/label"
	"weir/router/resource"
)

// article loads the table of the article on FIFO queues with filters: agents
// with languages and a gender, and one pool for each combination in use, with
// the versions that the article prints.
func article(t *testing.T, mode resource.ModeKind) *testRouter {
	t.Helper()
	r := newRouter(t)
	r.now = time.Date(2022, 1, 5, 14, 0, 0, 0, time.UTC)
	r.do(routing.PutDistribution{ID: "d", Spec: resource.DistributionSpec{AutoAccept: true, Mode: resource.Mode{Kind: mode}}})
	r.do(routing.PutQueue{ID: "q", Spec: resource.QueueSpec{DistributionPolicyID: "d"}})
	for _, a := range []struct{ id, at, gender, languages string }{
		{"Remy", "14:01:19.416341", "T", "E"}, {"Billy", "14:01:29.257873", "M", "EFS"}, {"Christine", "14:01:34.330782", "F", "S"},
		{"Courtney", "14:01:37.370825", "F", "ES"}, {"Ellen", "14:01:39.416341", "F", "EFS"},
	} {
		at, err := time.Parse(time.DateTime, "2022-01-05 "+a.at)
		if err != nil {
			t.Fatal(err)
		}
		r.now = at
		labels := label.Set{"gender": label.Text(a.gender)}
		for _, l := range a.languages {
			labels[string(l)] = label.Bool(true)
		}
		r.agent(a.id, labels)
	}
	// Andrew is in a call, so he is not registered.
	r.do(routing.PutWorker{ID: "Andrew", Spec: resource.WorkerSpec{Labels: label.Set{"gender": label.Text("M"), "E": label.Bool(true), "F": label.Bool(true)}}})
	for id, version := range map[string]uint64{"EF": 12, "EM": 14, "ET": 13, "FF": 44, "FM": 35, "SF": 46, "SM": 15} {
		r.do(routing.PutPool{ID: id, Spec: resource.PoolSpec{QueueID: "q", ChannelID: "chat", Selectors: combination(id), CountFrom: version}})
	}
	return r
}

// combination returns the filter of a pool that is named by language and
// gender.
func combination(id string) []resource.WorkerSelector {
	return []resource.WorkerSelector{is(id[:1]), where("gender", label.Equal, label.Text(id[1:]))}
}

// ask requests an agent of a combination now or not at all.
func (r *testRouter) ask(i int, pool string) string {
	r.t.Helper()
	id := fmt.Sprint("ask", i)
	r.do(routing.PutJob{ID: id, Spec: chatSpec(combination(pool)...), NoWait: true})
	for _, a := range r.job(id).Assignments {
		return a.WorkerID
	}
	return "none"
}

// pools returns version and depth of every pool, and the number of items that
// the article's table would have: agents, pools and messages.
func (r *testRouter) pools() (figures map[string]string, items int) {
	figures = map[string]string{}
	items = 6 + 7
	for _, p := range r.s.Pools() {
		figures[p.ID] = fmt.Sprint(p.Version, "/", p.Depth)
		items += p.Depth
	}
	return figures, items
}

func TestCallcenter_ArticleOnFilteredQueues(t *testing.T) {
	t.Parallel()
	r := article(t, resource.LongestIdle)
	want := map[string]string{"EF": "12/2", "EM": "14/1", "ET": "13/1", "FF": "44/1", "FM": "35/1", "SF": "46/3", "SM": "15/1"}
	check := func(step string, items int) {
		t.Helper()
		got, n := r.pools()
		if diff := cmp.Diff(want, got); diff != "" || n != items {
			t.Fatalf("%s: %d items, want %d\n%s", step, n, items, diff)
		}
	}
	check("at first", 23)
	for i, step := range []struct {
		pool, agent string
		items       int
		change      map[string]string
	}{
		{"SM", "Billy", 20, map[string]string{"EM": "15/0", "FM": "36/0", "SM": "16/0"}},
		{"FM", "none", 20, nil},
		{"SF", "Christine", 19, map[string]string{"SF": "47/2"}},
		{"SF", "Courtney", 17, map[string]string{"EF": "13/1", "SF": "48/1"}},
		{"FF", "Ellen", 14, map[string]string{"EF": "14/0", "FF": "45/0", "SF": "49/0"}},
		{"EF", "none", 14, nil},
		{"ET", "Remy", 13, map[string]string{"ET": "14/0"}},
	} {
		if got := r.ask(i, step.pool); got != step.agent {
			t.Fatalf("%s gave %s, not %s", step.pool, got, step.agent)
		}
		for k, v := range step.change {
			want[k] = v
		}
		check(step.pool, step.items)
	}
	if at := r.worker("Billy").AvailableSince.Format("15:04:05.000000"); at != "14:01:29.257873" {
		t.Errorf("Billy was available since %s", at)
	}
}

func TestCallcenter_ArticleLastInFirstOut(t *testing.T) {
	t.Parallel()
	r := article(t, resource.ShortestIdle)
	for i, want := range []string{"Ellen", "Courtney", "Christine", "none"} {
		if got := r.ask(i, "SF"); got != want {
			t.Errorf("%d: %s, not %s", i, got, want)
		}
	}
	r = article(t, resource.ShortestIdle)
	for i, want := range []string{"Ellen", "Courtney", "none"} {
		if got := r.ask(i, "EF"); got != want {
			t.Errorf("%d: %s, not %s", i, got, want)
		}
	}
}

// An agent who becomes available meanwhile does not change who is first, and an
// agent who becomes available twice is counted once.
func TestCallcenter_ArticleRaces(t *testing.T) {
	t.Parallel()
	r := article(t, resource.LongestIdle)
	andrew := agentSpec(1, label.Set{"gender": label.Text("M"), "E": label.Bool(true), "F": label.Bool(true)})
	r.do(routing.PutWorker{ID: "Andrew", Spec: andrew}).do(routing.PutWorker{ID: "Andrew", Spec: andrew}).saw()
	for i, c := range []struct{ pool, agent string }{{"SM", "Billy"}, {"FM", "Andrew"}, {"EM", "none"}} {
		if got := r.ask(i, c.pool); got != c.agent {
			t.Errorf("%s gave %s, not %s", c.pool, got, c.agent)
		}
	}
	// From an empty state version = depth = agents; two events at the same
	// instant do not conflict.
	r = newRouter(t).queue("q", resource.Mode{})
	r.do(routing.PutPool{ID: "p", Spec: resource.PoolSpec{ChannelID: "chat"}}).agent("x", nil).agent("y", nil)
	if got := r.s.Pools(); got[0] != (routing.PoolDepth{ID: "p", Depth: 2, Version: 2}) {
		t.Errorf("%+v", got)
	}
	r.chat("1").offeredTo("1", "x").chat("2").offeredTo("2", "y")
}

// ACD-1, ACD-3: all skills are required; the longest available agent is first,
// and a skill added later does not change that (R8).
func TestCallcenter_SkillsAndAvailability(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("es", skills("English", "Support")).agent("ss", skills("Spanish", "Support")).
		agent("esb", skills("English", "Spanish", "Billing"))
	r.chat("1", is("English"), is("Support")).offeredTo("1", "es").chat("2", is("English"), is("Billing")).offeredTo("2", "esb")
	r = newRouter(t).queue("q", resource.Mode{}).agent("old", nil).wait(time.Second).agent("new", skills("X"))
	r.wait(time.Second).agent("old", skills("X")).chat("1", is("X")).offeredTo("1", "old")
	// ACD-4: after a skill is deleted everywhere, no agent has it.
	r.agent("old", nil).agent("new", nil).chat("2", is("X")).offeredTo("2")
}

// ACD-6: a closed queue accepts jobs without assigning them, or refuses them.
func TestCallcenter_OpenAndClosed(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("w", nil)
	r.do(routing.PutQueue{ID: "q", Spec: resource.QueueSpec{Closed: resource.ClosedHold}}).chat("a").chat("b").offeredTo("a")
	r.agent("v", nil).offeredTo("a")
	r.do(routing.PutQueue{ID: "q", Spec: resource.QueueSpec{}}).offeredTo("a", "w").offeredTo("b", "v")
	r.do(routing.PutQueue{ID: "q", Spec: resource.QueueSpec{Closed: resource.ClosedRefuse}})
	r.refused(weir.CodeConflict, routing.PutJob{ID: "c", Spec: chatSpec()})
}

// ACD-2, R6, R7: strictly first in, first out however long a job waits,
// skipping jobs that no worker can take.
func TestCallcenter_FirstInFirstOut(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	for i := range 2000 {
		r.chat(fmt.Sprint("blocked", i), is("Klingon"))
	}
	for i := range 300 {
		r.chat(fmt.Sprint(i), is("X")).wait(time.Second)
	}
	r.agent("w", skills("X"))
	for i := range 300 {
		id := fmt.Sprint(i)
		r.offeredTo(id, "w").finish(id, r.accept(id, "w"))
	}
}

// FIFO-7: all workers without a job become available.
func TestCallcenter_SetAvailable(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("a", nil).agent("b", nil).chat("j")
	r.accept("j", "a")
	r.do(routing.SetAvailable{}).state("a", resource.WorkerDraining).state("b", resource.WorkerInactive)
	r.do(routing.SetAvailable{Available: true}).state("a", resource.WorkerDraining).state("b", resource.WorkerActive)
	r.do(routing.SetAvailable{Available: true}).saw()
	r.do(routing.SetAvailable{Available: true, Workers: []string{"a"}}).state("a", resource.WorkerActive)
	r.refused(weir.CodeNotFound, routing.SetAvailable{Workers: []string{"b", "nobody"}})
}

// FIFO-11: more than a hundred combinations, many labels and selectors.
func TestCallcenter_ManyLabelsAndSelectors(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	labels, half := label.Set{}, label.Set{}
	var all []resource.WorkerSelector
	for i := range 50 {
		key := fmt.Sprint("label", i)
		labels[key] = label.Number(float64(i))
		if i < 25 {
			half[key] = label.Number(float64(i))
		}
		if i < 30 {
			op := []label.Operator{label.Equal, label.GreaterOrEqual, label.LessOrEqual}[i%3]
			all = append(all, where(key, op, label.Number(float64(i))))
		}
	}
	for i := range 200 {
		r.do(routing.PutPool{ID: fmt.Sprint(i), Spec: resource.PoolSpec{ChannelID: "chat", Selectors: []resource.WorkerSelector{
			where(fmt.Sprint("label", i%50), label.Equal, label.Number(float64(i%50))), where("label0", label.LessThan, label.Number(float64(i/50))),
		}}})
	}
	r.agent("half", half).agent("whole", labels).chat("j", all...).offeredTo("j", "whole")
	depth := 0
	for _, p := range r.s.Pools() {
		depth += p.Depth
	}
	if depth != 3*25 { // the worker with half of the labels, where label0 < 1, 2, 3
		t.Errorf("%d places in pools", depth)
	}
}

// Pages of jobs are in order of creation and miss no job that stays.
func TestCallcenter_PagesOfJobs(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	for i := range 25 {
		r.chat(fmt.Sprint(i))
	}
	r.do(routing.CancelJob{ID: "7"}).do(routing.DeleteJob{ID: "7"})
	var got []string
	cursor := uint64(0)
	for pages := 1; ; pages++ {
		page, next := r.s.Jobs(cursor, 10, func(j *routing.Job) bool { return j.ID != "8" })
		for _, j := range page {
			got = append(got, j.ID)
		}
		if cursor = next; next == 0 {
			if pages != 3 || len(got) != 23 || got[0] != "0" || got[7] != "9" || got[22] != "24" {
				t.Errorf("%d pages: %v", pages, got)
			}
			return
		}
	}
}
