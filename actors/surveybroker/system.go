package surveybroker

import (
	"context"
	"fmt"

	"weir"

	"github.com/asynkron/protoactor-go/actor"

	"weir/actors/supervise"
	"weir/ops"
)

const actorName = "survey-broker"

// Start builds the survey broker. It runs nothing by itself before Resume, but
// answers requests of the API at once.
func Start(o Options) (*System, error) {
	o = o.withDefaults()
	s := &System{
		o: o, plans: newPlanCache(), launches: newLaunches(), roleDone: make(chan struct{}),
		role: supervise.NewRole(o.Roles, ops.RoleSurveyBroker, o.LeaseTTL, o.Logger),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.roleCtx, s.stopRole = context.WithCancel(s.ctx)
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

// Resume starts to acquire the role of the survey broker as soon as it is free.
// The process runs the surveys while it holds the role.
func (s *System) Resume(context.Context) error {
	s.resumed.Do(func() {
		s.tasks.Go(func() {
			defer close(s.roleDone)
			s.keepRole()
		})
	})
	return nil
}

// keepRole runs the surveys whenever this process has the role.
func (s *System) keepRole() {
	s.role.Run(s.roleCtx, func(l weir.Lease) {
		s.o.Logger.Info("survey broker role acquired", "epoch", l.Epoch)
		s.o.Metrics.leading.Set(1)
		s.post(roleAcquired{})
		if s.role.Keep(s.roleCtx, l) {
			s.o.Logger.Warn("survey broker role lost", "epoch", l.Epoch)
			s.o.Metrics.leading.Set(0)
			s.post(roleLost{})
		}
	})
}

// Changed reports that a survey's definition, state or respondents, or a
// channel, have changed. It requests a round.
func (s *System) Changed(int64) {
	s.surveysByChannel.Store(nil)
	s.hint()
}

// Drain starts no further round, waits for the running one until ctx ends, and
// releases the role.
func (s *System) Drain(ctx context.Context) error {
	var err error
	if s.ctx.Err() == nil {
		s.stopRole()
		s.resumed.Do(func() { close(s.roleDone) })
		if err = s.waitForRound(ctx); err == nil {
			s.role.Release(ctx, s.role.Lease())
		}
	}
	s.Close()
	return err
}

// waitForRound waits until no round is running. The role's loop ends first: a role
// that it acquires at the last moment starts a round and has to be released.
func (s *System) waitForRound(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case <-s.roleDone:
		s.system.Root.Send(s.broker, drain{done})
	case <-ctx.Done():
	}
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
		s.stopRole()
		s.launches.close()
		s.cancel()
		// Stop the actor first, because it starts work; then wait for that
		// work.
		_ = s.system.Root.StopFuture(s.broker).Wait()
		s.tasks.Wait()
	})
}
