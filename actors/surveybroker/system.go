package surveybroker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir/actors/care"
	"weir/surveys"
)

// System is the survey broker, as the rest of the program sees it. Its methods
// are safe for concurrent use.
type System struct {
	store        Store
	channels     Channels
	types        Types
	role         role
	defaults     surveys.Defaults
	logger       *slog.Logger
	metrics      *Metrics
	leaseTTL     time.Duration
	checkEvery   time.Duration
	checkTimeout time.Duration
	every        time.Duration
	gather       time.Duration
	chance       func() float64
	tokens       surveys.Tokens
	library      *library
	launches     *launches
	rates        sync.Map // slots that come free each minute, by weir.ChannelID, as the latest round measured them
	users        atomic.Pointer[channelUsers]

	system *actor.ActorSystem
	broker *actor.PID
	gens   atomic.Int64
	hinted atomic.Bool // a hint is on its way to the broker

	ctx     context.Context // ends when nothing may go on any more
	kill    context.CancelFunc
	work    sync.WaitGroup
	halt    context.CancelFunc // ends the role's loop
	looping context.Context
	resumed sync.Once
	kept    chan struct{} // closed when that loop has ended, or never begins
	closed  sync.Once
}

const actorName = "survey-broker"

// Start builds the survey broker. It does nothing by itself before Resume; what
// the API asks for is answered at once.
func Start(o Options) (*System, error) {
	o = o.withDefaults()
	s := &System{
		store: o.Store, channels: o.Channels, types: o.Types, defaults: o.Defaults, logger: o.Logger, metrics: o.Metrics,
		leaseTTL: o.LeaseTTL, checkEvery: o.CheckEvery, checkTimeout: o.CheckTimeout, every: o.Every, gather: o.Gather,
		chance: o.Chance, tokens: o.Tokens, library: newLibrary(), launches: newLaunches(), role: role{leaser: o.Roles}, kept: make(chan struct{}),
	}
	s.ctx, s.kill = context.WithCancel(context.Background())
	s.looping, s.halt = context.WithCancel(s.ctx)
	quiet := care.Quiet(o.Logger)
	s.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
	sup := &care.Alone{Restarts: o.Metrics.restarts}
	props := actor.PropsFromProducer(func() actor.Actor { return &broker{System: s} },
		actor.WithReceiverMiddleware(care.Guard(o.Logger, o.Metrics.panics)), actor.WithGuardian(sup))
	var err error
	if s.broker, err = s.system.Root.SpawnNamed(props, actorName); err != nil {
		s.kill()
		return nil, fmt.Errorf("start the survey broker: %w", err)
	}
	s.store.OnNotices(s.hint)
	return s, nil
}

// Resume takes the role of the survey broker as soon as it is free, and runs the
// surveys.
func (s *System) Resume(context.Context) error {
	s.resumed.Do(func() {
		s.work.Go(func() {
			defer close(s.kept)
			s.keepRole()
		})
	})
	return nil
}

// Changed tells that a survey's definition or state, or its respondents, or a
// channel, have changed.
func (s *System) Changed(int64) {
	s.users.Store(nil)
	s.hint()
}

// post sends the broker a message. Once everything has ended nobody is there to
// read it.
func (s *System) post(message any) {
	if s.ctx.Err() == nil {
		s.system.Root.Send(s.broker, message)
	}
}

// hint makes a round follow. Hints that come before it begins are one.
func (s *System) hint() {
	if s.hinted.CompareAndSwap(false, true) {
		s.post(hint{})
	}
}

// Drain begins no further round, waits for the one under way as far as ctx
// allows, and gives the role back.
func (s *System) Drain(ctx context.Context) error {
	var err error
	if s.ctx.Err() == nil {
		s.halt()
		s.resumed.Do(func() { close(s.kept) })
		if err = s.rounds(ctx); err == nil {
			s.role.release(ctx, s.logger)
		}
	}
	s.Close()
	return err
}

// rounds waits until none is running any more. The role's loop ends first: a role
// that it takes in its last moment begins a round, and is one to give back.
func (s *System) rounds(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case <-s.kept:
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

// Close ends everything at once. It may be called again.
func (s *System) Close() {
	s.closed.Do(func() {
		s.store.OnNotices(func() {})
		s.halt()
		s.launches.close()
		s.kill()
		// First the actor, which begins work, then what it has begun.
		_ = s.system.Root.StopFuture(s.broker).Wait()
		s.work.Wait()
		s.system.Shutdown()
	})
}
