package router_test

import (
	"fmt"
	"testing"
	"time"

	"weir"
	routing "weir/router"
	"weir/router/label"
	"weir/router/resource"
)

// "equal/notEqual compare value and type; the other four compare numbers. A
// missing label fails every operator except notEqual, which it satisfies."
func TestMatching_Operators(t *testing.T) {
	t.Parallel()
	none := label.Value{}
	num, text, yes := label.Number, label.Text, label.Bool(true)
	for _, c := range []struct {
		label label.Value
		op    label.Operator
		want  label.Value
		holds bool
	}{
		{num(10), label.Equal, num(10), true},
		{num(10), label.Equal, num(11), false},
		{num(10), label.Equal, text("10"), false},
		{text("a"), label.Equal, text("a"), true},
		{text("a"), label.Equal, text("A"), false},
		{text("true"), label.Equal, yes, false},
		{num(1), label.Equal, yes, false},
		{yes, label.Equal, yes, true},
		{none, label.Equal, yes, false},
		{num(10), label.NotEqual, num(10), false},
		{num(10), label.NotEqual, num(11), true},
		{num(10), label.NotEqual, text("10"), true},
		{none, label.NotEqual, yes, true},
		{num(9), label.LessThan, num(10), true},
		{num(10), label.LessThan, num(10), false},
		{num(10), label.LessOrEqual, num(10), true},
		{num(11), label.LessOrEqual, num(10), false},
		{num(11), label.GreaterThan, num(10), true},
		{num(10), label.GreaterThan, num(10), false},
		{num(10), label.GreaterOrEqual, num(10), true},
		{num(9.5), label.GreaterOrEqual, num(10), false},
		{text("11"), label.GreaterThan, num(10), false},
		{text("b"), label.GreaterThan, text("a"), false},
		{yes, label.GreaterOrEqual, label.Bool(false), false},
		{none, label.LessThan, num(10), false},
		{none, label.LessOrEqual, num(10), false},
		{none, label.GreaterThan, num(-1), false},
		{none, label.GreaterOrEqual, num(-1), false},
	} {
		t.Run(fmt.Sprint(c.label, c.op, c.want), func(t *testing.T) {
			t.Parallel()
			labels := label.Set{}
			if !c.label.IsZero() {
				labels["L"] = c.label
			}
			sel := where("L", c.op, c.want)
			// Once with the worker first, once with the job first.
			r := newRouter(t).queue("q", resource.Mode{}).agent("w", labels).chat("j", sel)
			late := newRouter(t).queue("q", resource.Mode{}).chat("j", sel).agent("w", labels)
			for _, r := range []*testRouter{r, late} {
				if got := len(r.offered("j")) == 1; got != c.holds {
					t.Errorf("matched: %v", got)
				}
			}
		})
	}
}

// "worker active; job's queue among its queues; job's channel among its
// channels; … free capacity; maxNumberOfJobs not reached; maxConcurrentOffers
// not reached."
func TestMatching_Eligibility(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*resource.WorkerSpec){
		"inactive":      func(w *resource.WorkerSpec) { w.AvailableForOffers = false },
		"other queue":   func(w *resource.WorkerSpec) { w.Queues = []string{"elsewhere"} },
		"no queue":      func(w *resource.WorkerSpec) { w.Queues = nil },
		"other channel": func(w *resource.WorkerSpec) { w.Channels[0].ChannelID = "sms" },
		"too costly":    func(w *resource.WorkerSpec) { w.Channels[0].CapacityCostPerJob = 2 },
		"no capacity":   func(w *resource.WorkerSpec) { w.Capacity = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := agentSpec(1, nil)
			change(&spec)
			r := newRouter(t).queue("q", resource.Mode{}).queue("elsewhere", resource.Mode{})
			r.do(routing.PutWorker{ID: "w", Spec: spec}).chat("j").offeredTo("j")
			// Once nothing prevents it, the job is offered.
			r.do(routing.PutWorker{ID: "w", Spec: agentSpec(1, nil)}).offeredTo("j", "w")
		})
	}
	t.Run("maxNumberOfJobs", func(t *testing.T) {
		t.Parallel()
		spec := agentSpec(5, nil)
		spec.Channels[0].MaxNumberOfJobs = 2
		r := newRouter(t).queue("q", resource.Mode{}).do(routing.PutWorker{ID: "w", Spec: spec})
		r.chat("a").chat("b").chat("c").offeredTo("b", "w").offeredTo("c")
		r.finish("a", r.accept("a", "w")).offeredTo("c", "w")
	})
	t.Run("maxConcurrentOffers", func(t *testing.T) {
		t.Parallel()
		spec := agentSpec(5, nil)
		spec.MaxConcurrentOffers = 1
		r := newRouter(t).queue("q", resource.Mode{}).do(routing.PutWorker{ID: "w", Spec: spec})
		r.chat("a").chat("b").offeredTo("b")
		r.accept("a", "w")
		r.offeredTo("b", "w")
	})
	t.Run("bypassSelectors", func(t *testing.T) {
		t.Parallel()
		r := newRouter(t).queue("q", resource.Mode{BypassSelectors: true}).agent("w", nil).chat("j", is("Skill")).offeredTo("j", "w")
		// Removing the bypass affects the jobs that already wait.
		r.chat("k", is("Skill")).queue("q", resource.Mode{}).agent("v", nil).offeredTo("k")
	})
}

// "Capacity 2, voice 2, chat 1: one voice or two chats"; an offer holds
// capacity like an assignment.
func TestMatching_CapacityOfTheExample(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).do(routing.PutWorker{ID: "w", Spec: agentSpec(2, nil)})
	voice := chatSpec()
	voice.ChannelID = "voice"
	r.do(routing.PutJob{ID: "v", Spec: voice}).offeredTo("v", "w")
	r.chat("c1").chat("c2").chat("c3").offeredTo("c1")
	r.do(routing.DeclineOffer{WorkerID: "w", OfferID: r.offer("v", "w")})
	r.offeredTo("c1", "w").offeredTo("c2", "w").offeredTo("c3").offeredTo("v")
	r.accept("c1", "w")
	if got := r.worker("w").LoadRatio; got != 0.5 {
		t.Errorf("load ratio %v: it counts assignments only", got)
	}
}

// "A 3/5 since 5 min, B 3/4 since 3 min, C 3/5 since 7 min, D 0/3 since 2 min;
// order D, C, A, B."
func TestMatching_LongestIdleExample(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	register := func(id string, capacity, busy int) {
		r.do(routing.PutQueue{ID: "own " + id, Spec: resource.QueueSpec{}})
		spec := agentSpec(capacity, nil)
		spec.Queues = []string{"own " + id}
		r.do(routing.PutWorker{ID: id, Spec: spec})
		for i := range busy {
			job := chatSpec()
			job.QueueID = "own " + id
			name := fmt.Sprint(id, i)
			r.do(routing.PutJob{ID: name, Spec: job})
			r.accept(name, id)
		}
		spec.Queues = []string{"q"}
		r.do(routing.PutWorker{ID: id, Spec: spec})
	}
	register("C", 5, 3)
	r.wait(2 * time.Minute)
	register("A", 5, 3)
	r.wait(2 * time.Minute)
	register("B", 4, 3)
	r.wait(time.Minute)
	register("D", 3, 0)
	r.wait(2 * time.Minute)
	for i, want := range []string{"D", "C", "A", "B"} {
		job := fmt.Sprint("j", i)
		r.chat(job).offeredTo(job, want)
		spec := agentSpec(0, nil)
		spec.AvailableForOffers = false
		r.do(routing.CancelJob{ID: job}).do(routing.PutWorker{ID: want, Spec: spec})
	}
}

// "by worker id; start after the worker that got the last offer of this
// queue, wrap round, pass over the ineligible; start with the smallest id."
func TestMatching_RoundRobin(t *testing.T) {
	t.Parallel()
	for _, agents := range []int{4, 300} { // few and many eligible workers take different code paths
		r := newRouter(t).queue("q", resource.Mode{Kind: resource.RoundRobin})
		for i := agents; i > 0; i-- {
			labels := skills("any")
			if i%2 == 0 {
				labels = skills("any", "even")
			}
			r.do(routing.PutWorker{ID: fmt.Sprintf("w%03d", i), Spec: agentSpec(9, labels)})
		}
		for i, want := range []int{1, 2, 3, 4, 5} {
			job := fmt.Sprint("j", i)
			r.chat(job, is("any")).offeredTo(job, fmt.Sprintf("w%03d", (want-1)%agents+1))
		}
		after := (5-1)%agents + 1
		r.chat("even", is("even")).offeredTo("even", fmt.Sprintf("w%03d", after+1))
	}
}

// LIFO: the worker that became available last is first.
func TestMatching_ShortestIdle(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{Kind: resource.ShortestIdle}).agent("a", nil).agent("b", nil).agent("c", nil)
	r.chat("1").offeredTo("1", "c").chat("2").offeredTo("2", "b").chat("3").offeredTo("3", "a")
	r.finish("2", r.accept("2", "b")).finish("3", r.accept("3", "a"))
	r.chat("4").offeredTo("4", "a").chat("5").offeredTo("5", "b")
}

// Jobs with an active expedite selector come first, then higher priority, then the
// earlier enqueuedAt. A job that no worker can take does not block the jobs behind it.
func TestMatching_OrderOfJobs(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	put := func(id string, priority int, sel ...resource.WorkerSelector) {
		spec := chatSpec(sel...)
		spec.Priority = &priority
		r.do(routing.PutJob{ID: id, Spec: spec})
	}
	put("blocked", 100, is("Klingon"))
	put("old", 1)
	put("new", 1)
	put("high", 50)
	push := is("Any")
	push.Expedite = true
	push.ExpiresAfterSeconds = 100
	put("expedited", -100, push)
	put("low", -1)
	for i, id := range []string{"expedited", "blocked", "high", "old", "new", "low"} {
		if p, _ := r.s.Position(id, r.now); p.Position != i+1 || p.QueueLength != 6 {
			t.Errorf("position of %s: %+v", id, p)
		}
	}
	r.agent("w", skills("Any"))
	for _, id := range []string{"expedited", "high", "old", "new", "low"} {
		r.offeredTo(id, "w").finish(id, r.accept(id, "w"))
	}
	r.offeredTo("blocked")
	// An expired selector no longer moves the job to the front.
	put("again", -100, push)
	put("normal", 1)
	r.do(routing.CancelJob{ID: "again"})
	put("third", -100, push)
	r.wait(101 * time.Second)
	if p, _ := r.s.Position("third", r.now); p.Position != 3 {
		t.Errorf("position after the expiry: %+v", p)
	}
}

// "A job has at most maxConcurrentOffers open offers", and "409 if another
// worker accepted the job".
func TestMatching_ConcurrentOffers(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{MaxConcurrentOffers: 2}).agent("a", nil).agent("b", nil).agent("c", nil)
	r.chat("j").offeredTo("j", "a", "b")
	lost := r.offer("j", "a")
	won := r.offer("j", "b")
	a := r.accept("j", "b")
	r.saw("RouterWorkerOfferAccepted", "RouterWorkerOfferRevoked")
	if got := r.refusal(weir.CodeConflict, routing.AcceptOffer{WorkerID: "a", OfferID: lost}); got[0].Code != routing.OfferTaken {
		t.Errorf("the error says %v", got)
	}
	r.refused(weir.CodeConflict, routing.DeclineOffer{WorkerID: "a", OfferID: lost})
	r.refused(weir.CodeNotFound, routing.DeclineOffer{WorkerID: "b", OfferID: won})
	r.refused(weir.CodeNotFound, routing.AcceptOffer{WorkerID: "b", OfferID: "o-zz"})
	r.refused(weir.CodeNotFound, routing.AcceptOffer{WorkerID: "nobody", OfferID: won})
	// A client that lost the response accepts again.
	r.do(routing.AcceptOffer{WorkerID: "b", OfferID: won}).saw()
	if got := r.s.AssignmentOf("b", won); got != a {
		t.Errorf("assignment of the offer: %q, not %q", got, a)
	}
	// Lost offers are remembered until the job is finished, and no longer.
	restart := func() {
		t.Helper()
		restored, err := routing.Restore(snapshot(t, r.s))
		if err != nil {
			t.Fatal(err)
		}
		r.s = restored
	}
	restart()
	r.refused(weir.CodeConflict, routing.AcceptOffer{WorkerID: "a", OfferID: lost})
	r.finish("j", a).refused(weir.CodeNotFound, routing.AcceptOffer{WorkerID: "a", OfferID: lost})
	restart()
	r.refused(weir.CodeNotFound, routing.AcceptOffer{WorkerID: "a", OfferID: lost})
}
