package router

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/actors/supervise"
	"weir/ops"
	"weir/routing"
	"weir/routing/eventlog"
)

// Router is the running router, the interface for the rest of the program. Its
// methods are safe for concurrent use.
type Router struct {
	o           Options
	log         *slog.Logger
	metrics     *Metrics
	root        *actor.RootContext
	endSystem   func()
	role        *supervise.Role
	pid         *actor.PID
	dispatcher  *dispatcher
	spawned     chan struct{} // closed once pid is set
	generations atomic.Int64  // of states; results of an earlier one are ignored
	callers     atomic.Int64
	draining    atomic.Bool
	watchers    watchers
	functions   *functions
	published   published
	phase       phases
	calls       sync.Pool // answered calls, for reuse

	ctx    context.Context // ends when all work must stop
	kill   context.CancelFunc
	tasks  sync.WaitGroup
	closed sync.Once
}

var _ routing.Engine = (*Router)(nil)

// Start starts the router. It acquires the role and loads the state in the
// background; calls wait for that, or are refused while another process has the
// role.
func Start(o Options) (*Router, error) {
	o = withDefaults(o)
	r := &Router{o: o, log: o.Logger, metrics: o.Metrics, dispatcher: newDispatcher(), spawned: make(chan struct{})}
	r.ctx, r.kill = context.WithCancel(context.Background())
	if o.Watch != nil {
		r.Watch(o.Watch)
	}
	r.functions = newFunctions(r)
	r.role = supervise.NewRole(o.Store, ops.RoleRouter, o.LeaseTTL, o.Logger)
	system, endSystem := supervise.SystemOr(o.System, o.Logger)
	r.root, r.endSystem = system.Root, endSystem
	middleware := append([]actor.ReceiverMiddleware{supervise.Guard(o.Logger, o.Metrics.panics)}, o.Middleware...)
	props := actor.PropsFromProducer(func() actor.Actor { return &routerActor{Router: r} },
		actor.WithReceiverMiddleware(middleware...), actor.WithGuardian(supervise.NewRestarter(func(string) { o.Metrics.restarts.Inc() })),
		actor.WithDispatcher(r.dispatcher))
	var err error
	if r.pid, err = r.root.SpawnNamed(props, "router"); err != nil {
		r.kill()
		r.dispatcher.close()
		return nil, fmt.Errorf("start the router: %w", err)
	}
	close(r.spawned)
	r.metrics.live.set(r.figures)
	return r, nil
}

// Do implements [routing.Engine].
func (r *Router) Do(ctx context.Context, build func(*routing.State, time.Time) (routing.Command, error), see func(*routing.State, []eventlog.Event)) error {
	c := r.newCall()
	c.build, c.see = build, see
	return r.ask(ctx, c)
}

// View implements [routing.Engine].
func (r *Router) View(ctx context.Context, see func(*routing.State, time.Time)) error {
	c := r.newCall()
	c.view = see
	return r.ask(ctx, c)
}

// Watch registers a function that is called with the events of each commit, in
// order, after they became durable. Events that became durable although the
// store's reply was lost or late are delivered after the journal was read again.
// The function must not block. It may keep the events and must not change them.
// A watch ends only with the router.
func (r *Router) Watch(see func([]eventlog.Event)) { r.watchers.add(see) }

// published is how much of the journal the watchers have received. Only the actor
// uses it, one instance after the other.
type published struct {
	upTo    uint64 // the last event passed to the watchers
	written uint64 // the last event that this process may have written
}

type watchers struct {
	mu   sync.Mutex
	list atomic.Pointer[[]func([]eventlog.Event)]
}

func (w *watchers) add(see func([]eventlog.Event)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []func([]eventlog.Event)
	if old := w.list.Load(); old != nil {
		list = slices.Clone(*old)
	}
	list = append(list, see)
	w.list.Store(&list)
}

func (w *watchers) publish(events []eventlog.Event) {
	if list := w.list.Load(); list != nil {
		for _, see := range *list {
			see(events)
		}
	}
}

// ask sends a call to the actor and waits for the answer.
func (r *Router) ask(ctx context.Context, c *call) error {
	if r.draining.Load() {
		return errDraining()
	}
	if r.callers.Add(1) > maxCallers {
		r.callers.Add(-1)
		r.metrics.refused.Inc()
		return unavailable("too many requests wait for the router; try again", time.Second, nil)
	}
	defer r.callers.Add(-1)
	c.late.Reset(replyTimeout)
	r.root.Send(r.pid, c)
	var cause error
	select {
	case err := <-c.answer:
		r.keep(c)
		return err
	case <-r.ctx.Done():
		cause = context.Cause(r.ctx)
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-c.late.C:
		cause = context.DeadlineExceeded
	}
	c.late.Stop()
	c.abandon()
	select {
	case err := <-c.answer: // it arrived in time
		return err
	default:
		return unavailable("the outcome is unknown", time.Second, cause)
	}
}

// Drain stops accepting calls, waits until everything applied is durable, saves
// a snapshot and releases the role; then it closes the router. When ctx ends it
// stops waiting: the next start recovers everything that was acknowledged.
func (r *Router) Drain(ctx context.Context) error {
	r.draining.Store(true)
	defer r.Close()
	done := make(chan struct{})
	r.root.Send(r.pid, drain{done})
	select {
	case <-done:
		return nil
	case <-r.ctx.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the router is still writing: %w", context.Cause(ctx))
	}
}

// Close stops everything at once. It may be called again.
func (r *Router) Close() {
	r.closed.Do(func() {
		r.draining.Store(true)
		r.kill()
		_ = r.root.StopFuture(r.pid).Wait()
		r.dispatcher.close()
		r.tasks.Wait()
		r.endSystem()
	})
}

// task runs do outside the actor, until the router closes.
func (r *Router) task(do func(ctx context.Context)) {
	if r.ctx.Err() != nil {
		return
	}
	r.tasks.Go(func() { do(r.ctx) })
}

// post sends a message to the actor while it exists. A task that the actor
// starts may finish before the actor's address is known, so post waits for the
// address.
func (r *Router) post(message any) {
	select {
	case <-r.ctx.Done():
		return
	case <-r.spawned:
	}
	if r.ctx.Err() == nil {
		r.root.Send(r.pid, message)
	}
}

func unavailable(message string, after time.Duration, cause error) error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: message, RetryAfter: after, Cause: cause}
}

func errDraining() error {
	return &weir.Error{Code: weir.CodeDraining, Message: "the program is shutting down", RetryAfter: 5 * time.Second}
}

func errElsewhere() error {
	return unavailable("the router runs in another process", elsewhereRetry, nil)
}

// Phase names a phase of the router of this process.
type Phase string

// The phases.
const (
	Replaying Phase = "replaying" // acquires the role and loads the state
	Standby   Phase = "standby"   // another process has the role
	Serving   Phase = "serving"
	Stopping  Phase = "stopping"
)

// Phase returns the current phase. Only a serving router answers calls.
func (r *Router) Phase() Phase { return r.phase.Load() }

// phases holds the current phase.
type phases struct{ now atomic.Value }

// Store sets the phase.
func (p *phases) Store(now Phase) { p.now.Store(now) }

// Load returns the phase.
func (p *phases) Load() Phase {
	now, ok := p.now.Load().(Phase)
	if !ok {
		return Replaying
	}
	return now
}

// refusal returns the error for calls to a router without a state.
func (p Phase) refusal() error {
	if p == Replaying {
		return errReplaying()
	}
	return errElsewhere()
}

func errReplaying() error {
	return unavailable("the router is reading its state", time.Second, nil)
}

// refuseSoon limits how long callers wait while the state is loading: after
// loadPatience they get an error and can retry.
func (d *routerActor) refuseSoon() {
	d.slow = false
	gen := d.gen
	time.AfterFunc(loadPatience, func() { d.post(loadIsSlow{gen}) })
}

// dispatcher runs the actor on one permanent goroutine whose stack has already grown
// to the size that the engine needs. The library would start a goroutine
// whenever a message finds the mailbox empty: thousands of times a second.
type dispatcher struct {
	work   chan func()
	closed chan struct{} // closed at the end
}

var _ actor.Dispatcher = (*dispatcher)(nil)

// throughput is the max number of messages that the actor handles before it
// yields.
const throughput = 300

func newDispatcher() *dispatcher {
	t := &dispatcher{work: make(chan func(), 1), closed: make(chan struct{})}
	go t.run()
	return t
}

func (t *dispatcher) run() {
	for {
		select {
		case work := <-t.work:
			work()
		case <-t.closed:
			return
		}
	}
}

// close stops the goroutine. No work that matters may be scheduled afterwards.
func (t *dispatcher) close() { close(t.closed) }

// Schedule implements actor.Dispatcher. A mailbox schedules at most one
// function beside the running one, which may be about to end.
func (t *dispatcher) Schedule(work func()) {
	select {
	case t.work <- work:
	default:
		go work()
	}
}

// Throughput implements actor.Dispatcher.
func (t *dispatcher) Throughput() int { return throughput }
