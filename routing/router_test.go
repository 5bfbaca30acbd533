package routing_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/routing"
	"weir/routing/eventlog"
	"weir/routing/label"
	"weir/routing/resource"
)

// router is an engine with a clock that the test moves.
type router struct {
	t      testing.TB
	s      *routing.State
	now    time.Time
	events []eventlog.Event // of the last command
}

func newRouter(t testing.TB) *router {
	t.Helper()
	return &router{t: t, s: routing.New(routing.DefaultSettings()), now: start()}
}

// do applies a command that must succeed.
func (r *router) do(c routing.Command) *router {
	r.t.Helper()
	events, err := r.s.Execute(c, r.now)
	if err != nil {
		r.t.Fatalf("%T: %v", c, err)
	}
	r.events = events
	return r
}

// refused applies a command that must be refused with a code.
func (r *router) refused(code weir.Code, c routing.Command) *router {
	r.t.Helper()
	r.refusal(code, c)
	return r
}

// refusal is refused, and returns the details. A refusal must change nothing.
func (r *router) refusal(code weir.Code, c routing.Command) []weir.FieldError {
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
func (r *router) wait(d time.Duration) *router {
	r.t.Helper()
	r.now = r.now.Add(d)
	return r.do(routing.Tick{})
}

// saw compares the kinds of the events of the last command.
func (r *router) saw(kinds ...string) *router {
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
func last[E eventlog.Event](r *router) E {
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

func (r *router) job(id string) routing.Job {
	r.t.Helper()
	j, ok := r.s.Job(id)
	if !ok {
		r.t.Fatalf("there is no job %q", id)
	}
	return j
}

func (r *router) worker(id string) routing.Worker {
	r.t.Helper()
	w, ok := r.s.Worker(id)
	if !ok {
		r.t.Fatalf("there is no worker %q", id)
	}
	return w
}

func (r *router) status(id string, want resource.JobStatus) *router {
	r.t.Helper()
	if got := r.job(id).Status; got != want {
		r.t.Fatalf("job %s is %s; want %s", id, got, want)
	}
	return r
}

func (r *router) state(id string, want resource.WorkerState) *router {
	r.t.Helper()
	if got := r.worker(id).State; got != want {
		r.t.Fatalf("worker %s is %s; want %s", id, got, want)
	}
	return r
}

// queue creates a queue with a mode.
func (r *router) queue(id string, mode resource.Mode) *router {
	r.t.Helper()
	r.do(routing.PutDistribution{ID: "of " + id, Spec: resource.DistributionSpec{OfferExpiresAfterSeconds: 60, Mode: mode}})
	return r.do(routing.PutQueue{ID: id, Spec: resource.QueueSpec{DistributionPolicyID: "of " + id}})
}

// agent creates a registered worker on queue q for one chat at a time.
func (r *router) agent(id string, labels label.Set) *router {
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
func (r *router) chat(id string, selectors ...resource.WorkerSelector) *router {
	r.t.Helper()
	return r.do(routing.PutJob{ID: id, Spec: chatSpec(selectors...)})
}

func chatSpec(selectors ...resource.WorkerSelector) resource.JobSpec {
	return resource.JobSpec{ChannelID: "chat", QueueID: "q", RequestedWorkerSelectors: selectors}
}

// offered returns the workers with an open offer of a job.
func (r *router) offered(job string) (workers []string) {
	r.t.Helper()
	for _, o := range r.job(job).Offers {
		workers = append(workers, o.WorkerID)
	}
	return workers
}

func (r *router) offeredTo(job string, workers ...string) *router {
	r.t.Helper()
	if diff := cmp.Diff(workers, r.offered(job)); diff != "" {
		r.t.Fatalf("workers with an offer of %s (-want +got):\n%s", job, diff)
	}
	return r
}

// accept lets a worker accept its offer of a job and returns the assignment.
func (r *router) accept(job, worker string) string {
	r.t.Helper()
	r.do(routing.AcceptOffer{WorkerID: worker, OfferID: r.offer(job, worker)})
	return last[*eventlog.OfferAcceptedEvent](r).AssignmentID
}

func (r *router) offer(job, worker string) string {
	r.t.Helper()
	for _, o := range r.job(job).Offers {
		if o.WorkerID == worker {
			return o.OfferID
		}
	}
	r.t.Fatalf("worker %s has no offer of job %s", worker, job)
	return ""
}

func (r *router) finish(job, assignment string) *router {
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
