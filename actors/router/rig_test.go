package router_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/actors/router"
	"weir/actors/supervise"
	routing "weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// rig is a running router on a store, with shorthands.
type rig struct {
	*router.Router
	t testing.TB

	mu       sync.Mutex
	watching []func([]journal.Event)
}

// Watch calls see with the events of each later commit.
func (r *rig) Watch(see func([]journal.Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watching = append(r.watching, see)
}

func (r *rig) publish(events []journal.Event) {
	r.mu.Lock()
	list := r.watching
	r.mu.Unlock()
	for _, see := range list {
		see(events)
	}
}

// start runs a router until the test ends.
func start(t testing.TB, store router.Store, change func(*router.Options)) *rig {
	t.Helper()
	r := &rig{t: t}
	o := router.Options{Store: store, Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})), Watch: r.publish}
	if change != nil {
		change(&o)
	}
	o.System = supervise.NewSystem(o.Logger)
	t.Cleanup(func() { supervise.Shutdown(o.System) })
	var err error
	if r.Router, err = router.Start(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// do applies a command and returns its events.
func (r *rig) do(c routing.Command) []journal.Event {
	r.t.Helper()
	events, err := r.try(c)
	if err != nil {
		r.t.Fatalf("%T: %v", c, err)
	}
	return events
}

func (r *rig) try(c routing.Command) (events []journal.Event, err error) {
	return do(context.Background(), r.Router, c)
}

func do(ctx context.Context, r *router.Router, c routing.Command) (events []journal.Event, err error) {
	err = r.Do(ctx, func(*routing.State, time.Time) (routing.Command, error) { return c, nil },
		func(_ *routing.State, list []journal.Event) { events = list })
	return events, err
}

// bytes returns the snapshot of the whole state.
func (r *rig) bytes() string {
	r.t.Helper()
	var data []byte
	err := errors.New("it was not looked at")
	if e := r.View(r.t.Context(), func(s *routing.State, _ time.Time) { data, err = s.Snapshot() }); e != nil || err != nil {
		r.t.Fatal(e, err)
	}
	return string(data)
}

// furnish creates a queue and workers that serve it.
func (r *rig) furnish(workers int) {
	r.t.Helper()
	r.do(routing.PutDistribution{ID: "d", Spec: resource.DistributionSpec{OfferExpiresAfterSeconds: 3600}})
	r.do(routing.PutQueue{ID: "q", Spec: resource.QueueSpec{DistributionPolicyID: "d"}})
	for i := range workers {
		r.do(routing.PutWorker{ID: "w" + strconv.Itoa(i), Spec: worker()})
	}
}

func worker() resource.WorkerSpec {
	return resource.WorkerSpec{
		Queues: []string{"q"}, Capacity: 1, AvailableForOffers: true,
		Labels:   label.Set{"language": label.Text("es"), "level": label.Number(7)},
		Channels: []resource.Channel{{ChannelID: "voice", CapacityCostPerJob: 1}},
	}
}

func job() resource.JobSpec {
	return resource.JobSpec{
		ChannelID: "voice", QueueID: "q", Labels: label.Set{"topic": label.Text("visa")},
		RequestedWorkerSelectors: []resource.WorkerSelector{{Key: "level", Operator: label.GreaterThan, Value: label.Number(5)}},
	}
}

// find returns the first event of a type.
func find[E journal.Event](events []journal.Event) (e E, ok bool) {
	for _, event := range events {
		if e, ok = event.(E); ok {
			return e, true
		}
	}
	return e, false
}

// apply builds and applies a command.
func apply(ctx context.Context, r *router.Router, build func(*routing.State) routing.Command, events *[]journal.Event) error {
	return r.Do(ctx, func(s *routing.State, _ time.Time) (routing.Command, error) { return build(s), nil },
		func(_ *routing.State, list []journal.Event) { *events = list })
}

// stopped reports whether an error means that the router no longer answers.
func stopped(err error) bool {
	code := weir.CodeOf(err)
	return code == weir.CodeUnavailable || code == weir.CodeDraining
}
