package router

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir/actors/supervise"
	"weir/router"
	"weir/router/journal"
)

// Start starts the router. It loads the state in the background; calls wait for that.
func Start(o Options) (*Router, error) {
	o = withDefaults(o)
	r := &Router{o: o, log: o.Logger, metrics: o.Metrics, dispatcher: newDispatcher(), spawned: make(chan struct{})}
	r.ctx, r.kill = context.WithCancel(context.Background())
	r.functions = newFunctions(r)
	r.root = o.System.Root
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

// Do implements [router.Engine].
func (r *Router) Do(ctx context.Context, build func(*router.State, time.Time) (router.Command, error), see func(*router.State, []journal.Event)) error {
	c := r.newCall()
	c.build, c.see = build, see
	return r.ask(ctx, c)
}

// View implements [router.Engine].
func (r *Router) View(ctx context.Context, see func(*router.State, time.Time)) error {
	c := r.newCall()
	c.view = see
	return r.ask(ctx, c)
}

// ask sends a call to the actor and waits for the answer.
func (r *Router) ask(ctx context.Context, c *call) error {
	if r.draining.Load() {
		return errDraining()
	}
	if r.callers.Add(1) > maxCallers {
		r.callers.Add(-1)
		r.metrics.refused.Inc()
		return unavailable("too many requests wait for the router; try again", nil)
	}
	defer r.callers.Add(-1)
	c.late.Reset(replyTimeout)
	r.root.Send(r.pid, c)
	var cause error
	select {
	case err := <-c.answer:
		// Only an answered call is reused: the actor may still hold one that was given up.
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
		return unavailable("the outcome is unknown", cause)
	}
}

// Drain stops accepting calls, waits until everything applied is durable, and saves
// a snapshot if that is fast; then it closes the router. When ctx ends it
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
		// Not earlier: the actor stops on the dispatcher's goroutine.
		r.dispatcher.close()
		r.tasks.Wait()
	})
}

// figures requests the figures from the actor. ok is false if the actor does not
// answer within 2 s.
func (r *Router) figures() (figures, bool) {
	answer := make(chan figures, 1)
	r.post(figuresQuery{answer})
	late := time.NewTimer(2 * time.Second)
	defer late.Stop()
	select {
	case f := <-answer:
		return f, true
	case <-late.C:
	case <-r.ctx.Done():
	}
	return figures{}, false
}

// FailingFunctions lists the functions whose last call by this process failed, in
// the order of their policies.
func (r *Router) FailingFunctions() []router.FailingFunction {
	f := &r.functions.failing
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []router.FailingFunction
	for _, e := range f.known {
		if !e.recovered {
			list = append(list, e.FailingFunction)
		}
	}
	slices.SortFunc(list, func(a, b router.FailingFunction) int {
		return cmp.Or(cmp.Compare(a.PolicyKind, b.PolicyKind), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Host, b.Host), a.Since.Compare(b.Since))
	})
	return list
}
