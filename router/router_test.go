package router_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	routing "weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// testRouter is an engine with a clock that the test moves.
type testRouter struct {
	t      testing.TB
	s      *routing.State
	now    time.Time
	events []journal.Event // of the last command
}

func newRouter(t testing.TB) *testRouter {
	t.Helper()
	return &testRouter{t: t, s: routing.New(routing.DefaultSettings()), now: start()}
}

// do applies a command that must succeed.
func (r *testRouter) do(c routing.Command) *testRouter {
	r.t.Helper()
	events, err := r.s.Execute(c, r.now)
	if err != nil {
		r.t.Fatalf("%T: %v", c, err)
	}
	r.events = events
	return r
}

// refused applies a command that must be refused with a code.
func (r *testRouter) refused(code weir.Code, c routing.Command) *testRouter {
	r.t.Helper()
	r.refusal(code, c)
	return r
}

// refusal is refused, and returns the details. A refusal must change nothing.
func (r *testRouter) refusal(code weir.Code, c routing.Command) []weir.FieldError {
	r.t.Helper()
	before := snapshot(r.t, r.s)
	events, err := r.s.Execute(c, r.now)
	if weir.CodeOf(err) != code || len(events) > 0 {
		r.t.Fatalf("%T: error %v and %d events; want %s and none", c, err, len(events), code)
	}
	if diff := cmp.Diff(string(before), string(snapshot(r.t, r.s))); diff != "" {
		r.t.Fatalf("%T was refused and changed something:\n%s", c, diff)
	}
	e, _ := errors.AsType[*weir.Error](err)
	return e.Fields
}

// wait lets time pass.
func (r *testRouter) wait(d time.Duration) *testRouter {
	r.t.Helper()
	r.now = r.now.Add(d)
	return r.do(routing.Tick{})
}

// saw compares the kinds of the events of the last command.
func (r *testRouter) saw(kinds ...string) *testRouter {
	r.t.Helper()
	var got []string
	for _, e := range r.events {
		got = append(got, e.Kind())
	}
	if diff := cmp.Diff(kinds, got); diff != "" {
		r.t.Fatalf("events (-want +got):\n%s", diff)
	}
	return r
}

// last returns the last event of a kind among the events of the last command.
func last[E journal.Event](r *testRouter) E {
	r.t.Helper()
	for _, e := range slices.Backward(r.events) {
		if e, ok := e.(E); ok {
			return e
		}
	}
	var none E
	r.t.Fatalf("no %T among the events", none)
	return none
}

func (r *testRouter) job(id string) routing.Job {
	r.t.Helper()
	j, ok := r.s.Job(id)
	if !ok {
		r.t.Fatalf("there is no job %q", id)
	}
	return j
}

func (r *testRouter) worker(id string) routing.Worker {
	r.t.Helper()
	w, ok := r.s.Worker(id)
	if !ok {
		r.t.Fatalf("there is no worker %q", id)
	}
	return w
}

func (r *testRouter) status(id string, want resource.JobStatus) *testRouter {
	r.t.Helper()
	if got := r.job(id).Status; got != want {
		r.t.Fatalf("job %s is %s; want %s", id, got, want)
	}
	return r
}

func (r *testRouter) state(id string, want resource.WorkerState) *testRouter {
	r.t.Helper()
	if got := r.worker(id).State; got != want {
		r.t.Fatalf("worker %s is %s; want %s", id, got, want)
	}
	return r
}

// queue creates a queue with a mode.
func (r *testRouter) queue(id string, mode resource.Mode) *testRouter {
	r.t.Helper()
	r.do(routing.PutDistribution{ID: "of " + id, Spec: resource.DistributionSpec{OfferExpiresAfterSeconds: 60, Mode: mode}})
	return r.do(routing.PutQueue{ID: id, Spec: resource.QueueSpec{DistributionPolicyID: "of " + id}})
}

// agent creates a registered worker on queue q for one chat at a time.
func (r *testRouter) agent(id string, labels label.Set) *testRouter {
	r.t.Helper()
	return r.do(routing.PutWorker{ID: id, Spec: agentSpec(1, labels)})
}

func agentSpec(capacity int, labels label.Set) resource.WorkerSpec {
	return resource.WorkerSpec{
		Queues: []string{"q"}, Capacity: capacity, Labels: labels, AvailableForOffers: true,
		Channels: []resource.Channel{{ChannelID: "chat", CapacityCostPerJob: 1}, {ChannelID: "voice", CapacityCostPerJob: 2}},
	}
}

// chat submits a job on queue q.
func (r *testRouter) chat(id string, selectors ...resource.WorkerSelector) *testRouter {
	r.t.Helper()
	return r.do(routing.PutJob{ID: id, Spec: chatSpec(selectors...)})
}

func chatSpec(selectors ...resource.WorkerSelector) resource.JobSpec {
	return resource.JobSpec{ChannelID: "chat", QueueID: "q", RequestedWorkerSelectors: selectors}
}

// offered returns the workers with an open offer of a job.
func (r *testRouter) offered(job string) (workers []string) {
	r.t.Helper()
	for _, o := range r.job(job).Offers {
		workers = append(workers, o.WorkerID)
	}
	return workers
}

func (r *testRouter) offeredTo(job string, workers ...string) *testRouter {
	r.t.Helper()
	if diff := cmp.Diff(workers, r.offered(job)); diff != "" {
		r.t.Fatalf("workers with an offer of %s (-want +got):\n%s", job, diff)
	}
	return r
}

// accept lets a worker accept its offer of a job and returns the assignment.
func (r *testRouter) accept(job, worker string) string {
	r.t.Helper()
	r.do(routing.AcceptOffer{WorkerID: worker, OfferID: r.offer(job, worker)})
	return last[*journal.OfferAcceptedEvent](r).AssignmentID
}

func (r *testRouter) offer(job, worker string) string {
	r.t.Helper()
	for _, o := range r.job(job).Offers {
		if o.WorkerID == worker {
			return o.OfferID
		}
	}
	r.t.Fatalf("worker %s has no offer of job %s", worker, job)
	return ""
}

func (r *testRouter) finish(job, assignment string) *testRouter {
	r.t.Helper()
	r.do(routing.CompleteJob{JobID: job, AssignmentID: assignment})
	return r.do(routing.CloseJob{JobID: job, AssignmentID: assignment})
}

func where(key string, op label.Operator, v label.Value) resource.WorkerSelector {
	return resource.WorkerSelector{Key: key, Operator: op, Value: v}
}

// is requires a label to be true.
func is(key string) resource.WorkerSelector { return where(key, label.Equal, label.Bool(true)) }

func skills(names ...string) label.Set {
	l := label.Set{}
	for _, n := range names {
		l[n] = label.Bool(true)
	}
	return l
}
