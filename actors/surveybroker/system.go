package surveybroker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir/actors/supervise"
	"weir/ops"
	"weir/surveys"
)

// System is the survey broker, as seen by the rest of the program. Its methods
// are safe for concurrent use.
type System struct {
	store            Store
	channels         Channels
	types            Types
	role             *supervise.Role
	defaults         surveys.Defaults
	logger           *slog.Logger
	metrics          *Metrics
	checkEvery       time.Duration
	checkTimeout     time.Duration
	roundInterval    time.Duration
	batchDelay       time.Duration
	random           func() float64
	tokens           surveys.Tokens
	plans            *planCache
	launches         *launches
	freedPerMinute   sync.Map // slots that become free per minute, by weir.ChannelID, as the latest round measured them
	surveysByChannel atomic.Pointer[runningByChannel]
	skipped          sync.Map // until when surveys whose rules failed are skipped, time.Time by survey id

	system      *actor.ActorSystem
	endSystem   func()
	broker      *actor.PID
	generations atomic.Int64
	hinted      atomic.Bool // a hint is in the broker's mailbox

	ctx      context.Context // canceled when all work must end
	cancel   context.CancelFunc
	tasks    sync.WaitGroup
	stopRole context.CancelFunc // ends the loop that keeps the role
	roleCtx  context.Context
	resumed  sync.Once
	roleDone chan struct{} // closed when that loop has ended, or will never begin
	closed   sync.Once
}

const actorName = "survey-broker"

// Start builds the survey broker. It runs nothing by itself before Resume, but
// answers requests of the API at once.
func Start(o Options) (*System, error) {
	o = o.withDefaults()
	s := &System{
		store: o.Store, channels: o.Channels, types: o.Types, defaults: o.Defaults, logger: o.Logger, metrics: o.Metrics,
		checkEvery: o.CheckEvery, checkTimeout: o.CheckTimeout, roundInterval: o.RoundInterval, batchDelay: o.BatchDelay,
		random: o.Random, tokens: o.Tokens, plans: newPlanCache(), launches: newLaunches(), role: supervise.NewRole(o.Roles, ops.RoleSurveyBroker, o.LeaseTTL, o.Logger), roleDone: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.roleCtx, s.stopRole = context.WithCancel(s.ctx)
	s.system, s.endSystem = supervise.SystemOr(o.System, o.Logger)
	restarter := supervise.NewRestarter(func(string) { o.Metrics.restarts.Inc() })
	props := actor.PropsFromProducer(func() actor.Actor { return &broker{System: s} },
		actor.WithReceiverMiddleware(supervise.Guard(o.Logger, o.Metrics.panics)), actor.WithGuardian(restarter))
	var err error
	if s.broker, err = s.system.Root.SpawnNamed(props, actorName); err != nil {
		s.cancel()
		return nil, fmt.Errorf("start the survey broker: %w", err)
	}
	s.store.OnOutboxEntries(s.hint)
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

// Changed reports that a survey's definition, state or respondents, or a
// channel, have changed. It requests a round.
func (s *System) Changed(int64) {
	s.surveysByChannel.Store(nil)
	s.hint()
}

// post sends the broker a message. After Close it does nothing, because no
// actor reads the mailbox.
func (s *System) post(message any) {
	if s.ctx.Err() == nil {
		s.system.Root.Send(s.broker, message)
	}
}

// hint requests a round. Hints that arrive before the round begins are merged
// into one.
func (s *System) hint() {
	if s.hinted.CompareAndSwap(false, true) {
		s.post(hint{})
	}
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
		s.store.OnOutboxEntries(func() {})
		s.stopRole()
		s.launches.close()
		s.cancel()
		// Stop the actor first, because it starts work; then wait for that
		// work.
		_ = s.system.Root.StopFuture(s.broker).Wait()
		s.tasks.Wait()
		s.endSystem()
	})
}
