package surveybroker

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"weir/actors/supervise"
)

const actorName = "survey-broker"

// Start builds the survey broker. It runs nothing by itself before Resume, but
// answers requests of the API at once.
func Start(o Options) (*System, error) {
	o = o.withDefaults()
	s := &System{
		o: o, plans: newPlanCache(), launches: newLaunches(),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.system = o.System
	restarter := supervise.NewRestarter(func(string) { o.Metrics.restarts.Inc() })
	props := actor.PropsFromProducer(func() actor.Actor { return &broker{System: s} },
		actor.WithReceiverMiddleware(supervise.Guard(o.Logger, o.Metrics.panics)), actor.WithGuardian(restarter))
	var err error
	if s.broker, err = s.system.Root.SpawnNamed(props, actorName); err != nil {
		s.cancel()
		return nil, fmt.Errorf("start the survey broker: %w", err)
	}
	s.o.Store.OnOutboxEntries(s.hint)
	return s, nil
}

// Resume begins to run the surveys.
func (s *System) Resume(context.Context) error {
	if !s.resumed.Swap(true) {
		s.post(resume{})
	}
	return nil
}

// Changed reports that a survey's definition, state or respondents, or a
// channel, have changed. It requests a round.
func (s *System) Changed(int64) {
	s.surveysByChannel.Store(nil)
	s.hint()
}

// Drain starts no further round, and waits for the running one until ctx ends.
func (s *System) Drain(ctx context.Context) error {
	var err error
	if s.ctx.Err() == nil {
		err = s.waitForRound(ctx)
	}
	s.Close()
	return err
}

// waitForRound waits until no round is running.
func (s *System) waitForRound(ctx context.Context) error {
	done := make(chan struct{})
	s.system.Root.Send(s.broker, drain{done})
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
		s.o.Store.OnOutboxEntries(func() {})
		s.launches.close()
		s.cancel()
		// Stop the actor first, because it starts work; then wait for that
		// work.
		_ = s.system.Root.StopFuture(s.broker).Wait()
		s.tasks.Wait()
	})
}
