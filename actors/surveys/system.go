package surveys

import (
	"context"
	"fmt"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"weir/actors/supervise"
	"weir/people"
)

const actorName = "survey-broker"

// System is the survey broker, as seen by the rest of the program. Its methods
// are safe for concurrent use.
type System struct {
	*commands
	*reports
	*explainer
	box    *mailbox
	cancel context.CancelFunc
	closed sync.Once
	tasks  *sync.WaitGroup
}

// Start builds the survey broker. It runs nothing by itself before Resume, but
// answers requests of the API at once.
func Start(o Options) (*System, error) {
	o = o.withDefaults()
	io := &access{Options: o, plans: newPlanCache(), findings: &findings{}, brakes: newBrakes(), zones: &people.Zones{}, freed: &freed{}}
	ctx, cancel := context.WithCancel(context.Background())
	box, tasks := &mailbox{system: o.ActorSystem, ctx: ctx}, &sync.WaitGroup{}
	io.messages = &messages{io: io, requestRound: box.hint, turn: make(chan struct{}, 1)}
	s := &System{
		reports: &reports{io: io, requestRound: box.hint}, explainer: &explainer{io: io},
		box: box, cancel: cancel, tasks: tasks,
	}
	s.commands = &commands{io: io, launches: newLaunches(), tasks: tasks, ctx: ctx, changed: s.Changed}
	restarter := supervise.NewRestarter(func(string) { o.Metrics.restarts.Inc() })
	props := actor.PropsFromProducer(func() actor.Actor {
		return &scheduler{io: io, box: box, tasks: tasks, checker: &checker{io}}
	}, actor.WithReceiverMiddleware(supervise.Guard(o.Logger, o.Metrics.panics)), actor.WithGuardian(restarter))
	var err error
	if box.broker, err = o.ActorSystem.Root.SpawnNamed(props, actorName); err != nil {
		cancel()
		return nil, fmt.Errorf("start the survey broker: %w", err)
	}
	o.Store.OnOutboxEntries(box.hint)
	return s, nil
}

// Resume begins to run the surveys.
func (s *System) Resume(context.Context) error {
	if !s.box.resumed.Swap(true) {
		s.box.post(resumeRounds{})
	}
	return nil
}

// Changed reports that a survey's definition, state or respondents, or a
// channel, have changed. It requests a round.
func (s *System) Changed(int64) {
	s.byChannel.Store(nil)
	s.box.hint()
}

// Drain starts no further round, and waits for the running one until ctx ends.
func (s *System) Drain(ctx context.Context) error {
	var err error
	if s.box.ctx.Err() == nil {
		err = s.waitForRound(ctx)
	}
	s.Close()
	return err
}

// waitForRound waits until no round is running.
func (s *System) waitForRound(ctx context.Context) error {
	done := make(chan struct{})
	s.box.system.Root.Send(s.box.broker, drain{done})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the survey broker is still working: %w", context.Cause(ctx))
	}
}

// Close ends all work at once. It is idempotent.
func (s *System) Close() {
	s.closed.Do(func() {
		s.explainer.io.Store.OnOutboxEntries(func() {})
		s.launches.close()
		s.cancel()
		// Stop the actor first, because it starts work; then wait for that
		// work.
		_ = s.box.system.Root.StopFuture(s.box.broker).Wait()
		s.tasks.Wait()
		s.explainer.io.messages.wait()
	})
}
