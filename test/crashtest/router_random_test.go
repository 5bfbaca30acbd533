package crashtest_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

const (
	routerWorkers  = 6
	workerCapacity = 2
	offerSeconds   = 1.5
	waitSeconds    = 1.0
	routerBacklog  = 30 // jobs that are not closed yet
)

// TestRouter_KeepsEveryAcknowledgedChangeDespiteKills kills the program at random moments while workers take jobs
// over the signed API: every acknowledged change is kept.
func TestRouter_KeepsEveryAcknowledgedChangeDespiteKills(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			w := newRouterWorld(t, database(t, store), from)
			chance := rand.New(rand.NewPCG(from, 6))
			w.begin()
			for w.kills < size().routerKills {
				w.killOnce(chance)
			}
			w.settle(store)
		})
	}
}

// routerWorld is a router, its clients and a receiver of its events.
type routerWorld struct {
	t            *testing.T
	broker       *broker
	api          *routerClient
	events       *receiver
	from         uint64
	kills        int
	points, hits int

	stop, done chan struct{} // stop ends the creation of jobs; done ends the workers
	work       sync.WaitGroup
	makers     sync.WaitGroup

	mu      sync.Mutex
	next    int
	open    int                    // jobs that are not closed yet
	jobs    map[string]*routedFact // jobs that workers take
	due     map[string]time.Time   // scheduled jobs that were acknowledged
	waiting map[string]time.Time   // jobs that no worker takes until their maximum wait has passed
	ignored map[string]string      // offers that were left to expire: their jobs
	fresh   []string               // jobs with answers since the last check
	refused int                    // accepts that were too late
}

// routedFact holds the answers about a job.
type routedFact struct {
	assignment, worker, offer string
	accepted                  int // accepts that were answered 200
	completed, closed         bool
}

func newRouterWorld(t *testing.T, database string, from uint64) *routerWorld {
	t.Helper()
	w := &routerWorld{
		t: t, broker: newBroker(t, database), events: newReceiver(t), from: from,
		stop: make(chan struct{}), done: make(chan struct{}), jobs: map[string]*routedFact{}, due: map[string]time.Time{},
		waiting: map[string]time.Time{}, ignored: map[string]string{},
	}
	w.broker.env = append(w.broker.env, "JOB_ROUTER_ACCESS_KEYS="+routerKey(), "JOB_ROUTER_EVENT_SUBSCRIPTIONS="+w.events.url)
	w.api = newRouterClient(t, w.broker.url)
	w.broker.start("")
	w.broker.up()
	w.put("distributionPolicies/d", map[string]any{
		"offerExpiresAfterSeconds": offerSeconds, "mode": map[string]any{"kind": "longestIdle", "maxConcurrentOffers": 2},
	})
	w.put("exceptionPolicies/e", map[string]any{"exceptionRules": []any{map[string]any{
		"id": "long", "trigger": map[string]any{"kind": "waitTime", "thresholdSeconds": waitSeconds},
		"actions": []any{map[string]any{"id": "a", "kind": "cancel", "dispositionCode": "TooLong"}},
	}}})
	w.put("queues/q", map[string]any{"distributionPolicyId": "d"})
	w.put("queues/x", map[string]any{"distributionPolicyId": "d", "exceptionPolicyId": "e"})
	for i := range routerWorkers {
		w.put(worker(i), map[string]any{
			"queues": []string{"q"}, "capacity": workerCapacity, "availableForOffers": true,
			"channels": []any{map[string]any{"channelId": "chat", "capacityCostPerJob": 1}},
		})
	}
	return w
}

func worker(i int) string { return fmt.Sprint("workers/w", i) }

func (w *routerWorld) put(path string, body any) { w.api.must(http.MethodPatch, path, body, nil) }

// begin starts the goroutines that create jobs and the goroutines that work on them.
func (w *routerWorld) begin() {
	w.t.Cleanup(w.end)
	w.makers.Go(func() {
		chance := rand.New(rand.NewPCG(w.from, 7))
		for rest(w.stop, 20*time.Millisecond) {
			w.make(chance)
		}
	})
	for i := range routerWorkers {
		chance := rand.New(rand.NewPCG(w.from, uint64(100+i)))
		w.work.Go(func() {
			for rest(w.done, time.Duration(10+chance.IntN(30))*time.Millisecond) {
				w.attend(i, chance)
			}
		})
	}
}

// end stops all of them. It may be called again.
func (w *routerWorld) end() {
	for _, c := range []chan struct{}{w.stop, w.done} {
		select {
		case <-c:
		default:
			close(c)
		}
	}
	w.makers.Wait()
	w.work.Wait()
}

// make creates a job: mostly one for the workers, otherwise one that is scheduled for
// an instant, or one that no worker can take.
func (w *routerWorld) make(chance *rand.Rand) {
	w.mu.Lock()
	n, open := w.next, w.open
	w.next++
	w.mu.Unlock()
	id := fmt.Sprint("j", n)
	body := map[string]any{"channelId": "chat", "queueId": "q", "priority": 1 + chance.IntN(3)}
	switch kind := chance.IntN(10); {
	case kind == 0:
		at := time.Now().Add(time.Duration(300+chance.IntN(2500)) * time.Millisecond).UTC()
		body["matchingMode"] = map[string]any{"kind": "scheduleAndSuspend", "scheduleAt": at.Format(time.RFC3339Nano)}
		w.api.must(http.MethodPatch, "jobs/"+id, body, nil)
		w.note(func() { w.due[id] = at })
	case kind == 1:
		body["queueId"] = "x"
		w.api.must(http.MethodPatch, "jobs/"+id, body, nil)
		w.note(func() { w.waiting[id] = time.Now() })
	case open < routerBacklog:
		w.api.must(http.MethodPatch, "jobs/"+id, body, nil)
		w.note(func() {
			w.jobs[id] = &routedFact{}
			w.open++
			w.fresh = append(w.fresh, id)
		})
	}
}

func (w *routerWorld) note(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// attend makes a worker process its offers and its jobs.
func (w *routerWorld) attend(i int, chance *rand.Rand) {
	var me routedWorker
	a := w.api.once(w.t.Context(), http.MethodGet, worker(i), nil)
	if a.status != http.StatusOK || decode(w.t, a.body, &me) != nil {
		return
	}
	taken := 0
	for _, j := range me.AssignedJobs {
		taken += j.CapacityCost
	}
	if taken > workerCapacity {
		w.t.Errorf("%s has jobs of %d; its capacity is %d", me.ID, taken, workerCapacity)
	}
	if !me.Available { // an offer expired
		w.put(worker(i), map[string]any{"availableForOffers": true})
	}
	for _, o := range me.Offers {
		switch fate := whim(o.OfferID); {
		case fate < 6:
			w.note(func() { w.ignored[o.OfferID] = o.JobID })
		case fate < 14:
			w.api.ask(http.MethodPost, worker(i)+"/offers/"+o.OfferID+":decline", map[string]any{})
		default:
			w.accept(me.ID, o)
		}
	}
	for _, j := range me.AssignedJobs {
		if chance.IntN(3) == 0 {
			w.finish(j.JobID, j.AssignmentID)
		}
	}
}

// accept accepts an offer, unless the offer is gone or another worker has the job.
func (w *routerWorld) accept(worker string, o routedOffer) {
	a := w.api.ask(http.MethodPost, "workers/"+worker+"/offers/"+o.OfferID+":accept", map[string]any{})
	var got struct{ AssignmentID, JobID, WorkerID string }
	switch {
	case a.status == http.StatusNotFound || a.status == http.StatusConflict:
		w.note(func() { w.refused++ })
		return
	case a.status != http.StatusOK || decode(w.t, a.body, &got) != nil:
		w.t.Errorf("accept: %d %s", a.status, a.body)
		return
	}
	w.note(func() {
		f := w.jobs[o.JobID]
		if f == nil { // the answer to the creation of the job is still on its way
			f = &routedFact{}
			w.jobs[o.JobID] = f
			w.open++
		}
		if f.accepted++; f.accepted > 1 && (f.offer != o.OfferID || f.assignment != got.AssignmentID) || got.JobID != o.JobID || got.WorkerID != worker {
			w.t.Errorf("%s was accepted by %s as %+v; before by %s as %s", o.JobID, worker, got, f.worker, f.assignment)
		}
		f.offer, f.worker, f.assignment = o.OfferID, worker, got.AssignmentID
		w.fresh = append(w.fresh, o.JobID)
	})
}

// finish completes and closes a job. If an answer was lost, the state of the job
// shows whether the step was done.
func (w *routerWorld) finish(job, assignment string) {
	path := "jobs/" + job + "/assignments/" + assignment
	for _, step := range []string{"complete", "close"} {
		a := w.api.ask(http.MethodPost, path+":"+step, map[string]any{})
		var is routedJob
		switch a.status {
		case http.StatusOK:
		case http.StatusConflict:
			w.api.must(http.MethodGet, "jobs/"+job, nil, &is)
		default:
			w.t.Errorf("%s %s: %d %s", step, job, a.status, a.body)
			return
		}
		w.note(func() {
			f := w.jobs[job]
			if f == nil {
				return
			}
			f.completed = f.completed || step == "complete" && a.status == http.StatusOK
			if !f.closed && step == "close" && (a.status == http.StatusOK || is.Status == "closed") {
				f.closed = true
				w.open--
			}
			w.fresh = append(w.fresh, job)
		})
	}
}
