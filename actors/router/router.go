package router

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/router"
)

// Router is the running router, the interface for the rest of the program. Its
// methods are safe for concurrent use.
type Router struct {
	o           Options
	log         *slog.Logger
	metrics     *Metrics
	root        *actor.RootContext
	pid         *actor.PID
	dispatcher  *dispatcher
	spawned     chan struct{} // closed once pid is set
	generations atomic.Int64  // of states; results of an earlier one are ignored
	callers     atomic.Int64
	draining    atomic.Bool
	functions   *functions
	published   published
	phase       atomic.Value // a Phase
	calls       sync.Pool    // answered calls, for reuse

	ctx    context.Context // ends when all work must stop
	kill   context.CancelFunc
	tasks  sync.WaitGroup
	closed sync.Once
}

// functions evaluates the remote rules, which only an external service can
// compute.
type functions struct {
	*Router
	warned    atomic.Int64 // time of the last logged failure
	addresses addresses
	failing   failing
	rulings   turns
	ratings   turns
}

// turns are asks of one kind, with a queue for each address.
type turns struct {
	mu     sync.Mutex
	queues map[string]*turnQueue
}

// turnQueue holds the asks that wait for other asks of the same address. It is
// removed when it is empty.
type turnQueue struct {
	asks    []ask
	running int // goroutines that process them
}

// ask is a request of one job to external functions.
type ask struct {
	gen   generation
	at    string // the address, or several joined by addressesOf
	asked time.Time
	do    func(ctx context.Context, asked time.Time) router.Command
}

var _ router.Engine = (*Router)(nil)

// published is how much of the journal Options.Watch has received. Only the actor
// uses it, one instance after the other.
type published struct {
	upTo    uint64 // the last event passed to Watch
	written uint64 // the last event that this process may have written
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

func unavailable(message string, cause error) error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: message, RetryAfter: time.Second, Cause: cause}
}

func errDraining() error {
	return &weir.Error{Code: weir.CodeDraining, Message: "the program is shutting down", RetryAfter: 5 * time.Second}
}

// Phase names a phase of the router of this process.
type Phase string

// The phases.
const (
	Replaying Phase = "replaying" // loads the state
	Serving   Phase = "serving"
	Stopping  Phase = "stopping"
)

// Phase returns the current phase. Only a serving router answers calls.
func (r *Router) Phase() Phase {
	now, _ := r.phase.Load().(Phase)
	return cmp.Or(now, Replaying) // not stored yet
}

func errReplaying() error {
	return unavailable("the router is reading its state", nil)
}

func (r *Router) newCall() *call {
	if c, ok := r.calls.Get().(*call); ok {
		return c
	}
	late := time.NewTimer(replyTimeout)
	late.Stop()
	return &call{answer: make(chan error, 1), late: late}
}

// keep returns an answered call to the pool. Answering is the last thing that
// the actor does with a call, so it can be reused.
func (r *Router) keep(c *call) {
	c.late.Stop()
	c.build, c.see, c.view = nil, nil, nil
	r.calls.Put(c)
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
