package router_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/router"
	"weir/router/journal"
	"weir/router/resource"
)

const (
	racers  = 3 // workers with an offer of the same job
	races   = 200
	expires = 200 * time.Millisecond
)

// deed is an operation on a job.
type deed struct {
	what   string // accept, decline, expire, cancel; or the observed final state: won, over
	worker int
}

// fate is the model's state of a job.
type fate struct {
	open      [racers]bool
	winner    int // from 1; 0: none
	cancelled bool
}

// judge is the model: it returns the next state and whether the operation is
// allowed.
func judge(f fate, o operation[deed, bool]) (fate, bool) {
	w := o.input.worker
	next, ok := f, false
	switch o.input.what {
	case "accept":
		switch {
		case f.winner == w+1 && !f.cancelled: // again
			ok = true
		case f.open[w]:
			ok, next.winner, next.open = true, w+1, [racers]bool{}
		}
	case "decline":
		ok, next.open[w] = f.open[w], false
	case "expire":
		if !f.open[w] {
			return f, false
		}
		ok, next.open[w] = true, false
	case "cancel":
		if ok = !f.cancelled; ok {
			next.cancelled, next.open = true, [racers]bool{}
		}
	case "won":
		ok = f.winner == w+1
	case "over":
		ok = f.cancelled
	}
	if !ok {
		next = f
	}
	return next, o.maybe || ok == o.output
}

// race is one job and the operations on it.
type race struct {
	id     string
	offers [racers]string
	issued int64

	mu      sync.Mutex
	history []operation[deed, bool]
}

func (x *race) add(o operation[deed, bool]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.history = append(x.history, o)
}

// TestRaces_AreLinearizable lets workers accept and decline, offers expire and
// clients cancel, all at the same instants, through the actor and a journal
// whose commits fail now and then. For each job there must be an order of these
// operations in which every answer is right, and the final state must be the
// result of that order.
func TestRaces_AreLinearizable(t *testing.T) {
	for name, failing := range map[string]bool{"a journal that works": false, "a journal that fails now and then": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runRaces(t, failing) })
		})
	}
}

func runRaces(t *testing.T, failing bool) {
	store := newGate(newDiary())
	r := start(t, store, nil)
	var clock atomic.Int64
	all := map[string]*race{}
	var mu sync.Mutex
	r.Watch(func(events []journal.Event) {
		for _, e := range events {
			if e, ok := e.(*journal.OfferExpiredEvent); ok {
				mu.Lock()
				x := all[e.JobID]
				mu.Unlock()
				x.add(operation[deed, bool]{input: deed{"expire", number(e.WorkerID)}, output: true, called: x.issued, returned: clock.Add(1)})
			}
		}
	})
	for i := range races {
		x := prepare(t, r, &clock, i)
		mu.Lock()
		all[x.id] = x
		mu.Unlock()
	}
	if failing {
		store.set(func(n int) verdict {
			if n%7 == 3 {
				return refuse
			}
			return pass
		})
	}
	var wait sync.WaitGroup
	now := instants()
	for id, x := range all {
		x.run(r, &clock, &wait, now, rand.New(rand.NewPCG(5, uint64(number(id)))))
	}
	wait.Wait()
	store.set(always(pass))
	time.Sleep(time.Minute) // until every offer has expired
	synctest.Wait()
	outcomes := map[string]int{}
	for _, x := range all {
		outcomes[x.check(t, r, clock.Add(1))]++
	}
	for _, x := range all {
		for _, o := range x.history {
			if o.input.what == "expire" {
				outcomes["expire"]++
			}
			if o.maybe {
				outcomes["unknown"]++
			}
		}
	}
	t.Log(outcomes)
	if outcomes["won"] < races/20 || outcomes["cancelled"] < races/20 || outcomes["expire"] < races/20 || (outcomes["unknown"] > 0) != failing {
		t.Errorf("the races were too much alike: %v", outcomes)
	}
}

// number returns the number at the end of an id.
func number(id string) int {
	n, _ := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	return n
}

// prepare creates a queue with workers that all have an offer of its job.
func prepare(t *testing.T, r *rig, clock *atomic.Int64, i int) *race {
	t.Helper()
	x := &race{id: "job-" + strconv.Itoa(i), issued: clock.Add(1)}
	q := "q" + strconv.Itoa(i)
	if i == 0 {
		r.do(router.PutDistribution{ID: "d", Spec: resource.DistributionSpec{
			OfferExpiresAfterSeconds: expires.Seconds(), Mode: resource.Mode{Kind: resource.LongestIdle, MinConcurrentOffers: racers, MaxConcurrentOffers: racers},
		}})
	}
	r.do(router.PutQueue{ID: q, Spec: resource.QueueSpec{DistributionPolicyID: "d"}})
	for w := range racers {
		spec := worker()
		spec.Queues = []string{q}
		r.do(router.PutWorker{ID: fmt.Sprintf("w-%d-%d", i, w), Spec: spec})
	}
	spec := job()
	spec.QueueID = q
	for _, e := range r.do(router.PutJob{ID: x.id, Spec: spec}) {
		if o, ok := e.(*journal.OfferIssuedEvent); ok {
			x.offers[number(o.WorkerID)] = o.OfferID
		}
	}
	return x
}

// instants returns channels that are closed one after the other until the
// offers expire, the last at that moment. A timer for each operation would be a
// thousand timers firing at once.
func instants() [7]chan struct{} {
	var all [7]chan struct{}
	for i := range all {
		c := make(chan struct{})
		all[i] = c
		time.AfterFunc(time.Duration(i)*expires/6, func() { close(c) })
	}
	return all
}

// run starts all operations at nearly the same time.
func (x *race) run(r *rig, clock *atomic.Int64, wait *sync.WaitGroup, now [7]chan struct{}, random *rand.Rand) {
	act := func(d deed, c router.Command) {
		turn := now[min(6, random.IntN(12))]
		wait.Go(func() {
			<-turn
			o := operation[deed, bool]{input: d, called: clock.Add(1)}
			_, err := do(context.Background(), r.Router, c)
			o.returned, o.output, o.maybe = clock.Add(1), err == nil, stopped(err)
			x.add(o)
		})
	}
	for w := range racers {
		id := fmt.Sprintf("w-%d-%d", number(x.id), w)
		accept := router.AcceptOffer{WorkerID: id, OfferID: x.offers[w]}
		act(deed{"accept", w}, accept)
		if random.IntN(2) == 0 {
			act(deed{"accept", w}, accept)
		}
		if random.IntN(2) == 0 {
			act(deed{"decline", w}, router.DeclineOffer{WorkerID: id, OfferID: x.offers[w]})
		}
	}
	if random.IntN(2) == 0 {
		act(deed{"cancel", 0}, router.CancelJob{ID: x.id})
	}
}

// check compares the final state of a job with the answers.
func (x *race) check(t *testing.T, r *rig, now int64) string {
	t.Helper()
	var j router.Job
	if err := r.View(t.Context(), func(s *router.State, _ time.Time) { j, _ = s.Job(x.id) }); err != nil {
		t.Fatal(err)
	}
	open := 0
	x.add(operation[deed, bool]{input: deed{what: "over"}, output: j.Status == resource.JobCancelled, called: now, returned: now})
	for w := range racers {
		won := false
		for _, a := range j.Assignments {
			won = won || number(a.WorkerID) == w
		}
		x.add(operation[deed, bool]{input: deed{"won", w}, output: won, called: now, returned: now})
	}
	for _, a := range j.Assignments {
		if a.ClosedAt.IsZero() {
			open++
		}
	}
	if open > 1 || len(j.Assignments) > 1 {
		t.Errorf("job %s has %d assignments, %d of them open", x.id, len(j.Assignments), open)
	}
	begin := fate{open: [racers]bool{true, true, true}}
	if !linearizable(begin, judge, x.history) {
		t.Errorf("no order explains what happened to job %s:\n%+v", x.id, x.history)
	}
	switch {
	case j.Status == resource.JobCancelled:
		return "cancelled"
	case open == 1:
		return "won"
	}
	return "open"
}
