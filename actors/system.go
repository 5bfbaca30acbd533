package actors

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/actors/core"
	"weir/actors/supervise"
	"weir/channels"
	"weir/internal/backoff"
	"weir/internal/failpoint"
	"weir/internal/tracing"
	"weir/ops"
)

// System is the tree of actors as the rest of the program sees it. Its methods
// are safe for concurrent use.
type System struct {
	store       Store
	queue       Queue
	directory   *channels.Directory
	logger      *slog.Logger
	metrics     *Metrics
	coreConfig  core.Config
	sendTimeout time.Duration
	askTimeout  time.Duration
	valid       func() bool
	minuteStore ops.MinuteStore
	minutes     *minutes

	root             *actor.RootContext
	manager          *actor.PID
	restarter        *supervise.Restarter
	brokerMiddleware []actor.ReceiverMiddleware
	tracing          *tracing.Tracer // nil: traces are off
	generations      atomic.Int64
	brokers          sync.Map                         // of *child by weir.ChannelID
	quiet            atomic.Bool                      // nothing is claimed any more
	healths          sync.Map                         // of health by weir.ChannelID
	timers           sync.Pool                        // of *time.Timer, for callers that wait for a broker's reply
	states           map[weir.ChannelID]*channelState // used by the manager, and by its next incarnation after a crash

	ctx       context.Context // ends when no work may continue
	cancelAll context.CancelFunc
	loops     sync.WaitGroup
	stopLoops context.CancelFunc // ends the loops
	closed    sync.Once
}

// Start builds the tree. Brokers start on demand; Resume starts brokers that have
// work.
func Start(o Options) (*System, error) {
	s := &System{
		store: o.Store, queue: o.Queue, directory: o.Directory, logger: o.Logger, metrics: o.Metrics, coreConfig: o.Core,
		sendTimeout: o.SendTimeout, askTimeout: o.AskTimeout, valid: o.Valid,
		states: map[weir.ChannelID]*channelState{}, minuteStore: o.Minutes, minutes: newMinutes(time.Now()), tracing: o.Tracing,
	}
	s.ctx, s.cancelAll = context.WithCancel(context.Background())
	s.root = o.System.Root
	s.restarter = supervise.NewRestarter(func(id string) {
		kind := kindBroker
		if id == managerName {
			kind = kindManager
		}
		o.Metrics.restarts.WithLabelValues(kind).Inc()
	})
	s.brokerMiddleware = append([]actor.ReceiverMiddleware{supervise.Guard(o.Logger, o.Metrics.panics)}, o.Middleware...)
	props := actor.PropsFromProducer(func() actor.Actor { return &manager{System: s} },
		actor.WithReceiverMiddleware(supervise.Guard(o.Logger, o.Metrics.panics)),
		actor.WithSupervisor(s.restarter), actor.WithGuardian(s.restarter))
	var err error
	if s.manager, err = s.root.SpawnNamed(props, managerName); err != nil {
		return nil, fmt.Errorf("start the channels' manager: %w", err)
	}
	s.metrics.live.source, s.metrics.live.withoutBroker = s.allFigures, s.healthsWithoutBroker
	loops, halt := context.WithCancel(s.ctx)
	s.stopLoops = halt
	s.loop(loops, sweepEvery, s.sweep)
	if s.minuteStore != nil {
		s.loops.Go(func() { s.minutesLoop(loops) })
	}
	return s, nil
}

// loop runs a task repeatedly, with a pause between runs.
func (s *System) loop(ctx context.Context, every time.Duration, task func(context.Context)) {
	s.loops.Go(func() {
		for backoff.Wait(ctx, every) {
			task(ctx)
		}
	})
}

// Resume starts the brokers of all channels that have open contacts.
func (s *System) Resume(ctx context.Context) error {
	ids, err := s.store.OpenChannels(ctx)
	if err != nil {
		return fmt.Errorf("find the channels with open contacts: %w", err)
	}
	for _, id := range ids {
		s.deliver(id, sweepHint{})
	}
	return nil
}

// Announce passes contacts that were stored elsewhere to the channel's broker.
// The sweep finds contacts that it misses.
func (s *System) Announce(channel weir.ChannelID, fresh []weir.Contact) {
	s.minutes.of(channel).count(ops.CountAccepted, len(fresh))
	s.deliver(channel, accepted{fresh})
}

// Changed notifies the channel's broker that the channel's row was created or
// changed. It returns when the broker has applied the change, or after one second.
func (s *System) Changed(ctx context.Context, channel weir.ChannelID) {
	done := make(chan core.Reply, 1)
	s.deliver(channel, changed{done})
	ctx, cancel := background(ctx, time.Second)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Delete ends a channel's open contacts and removes it. done is false while the
// deletion is under way; it then continues by itself, also after a restart.
func (s *System) Delete(ctx context.Context, id weir.ChannelID) (done bool, err error) {
	for {
		ch, err := s.store.ChannelByID(ctx, id)
		if err != nil {
			return false, err
		}
		ch.Deleting = true
		if _, err = s.store.UpdateChannel(ctx, ch); err == nil {
			break
		}
		if weir.CodeOf(err) != weir.CodeConflict {
			return false, err
		}
	}
	s.Changed(ctx, id)
	for range 20 {
		ch, err := s.store.ChannelByID(ctx, id)
		if err != nil || ch.Deleted {
			return err == nil || weir.CodeOf(err) == weir.CodeNotFound, ignoreNotFound(err)
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
	return false, nil
}

func ignoreNotFound(err error) error {
	if weir.CodeOf(err) == weir.CodeNotFound {
		return nil
	}
	return err
}

// Quiet stops claiming contacts for good, and waits until no contact is on its way to a
// provider. Everything else goes on: contacts are accepted, reports applied, contacts
// canceled. It stops waiting when ctx ends: the next start finds what is under way then.
func (s *System) Quiet(ctx context.Context) error {
	done := make(chan struct{})
	s.quiet.Store(true)
	s.root.Send(s.manager, quietAll{done})
	select {
	case <-done:
	case <-s.ctx.Done(): // it has ended
	case <-ctx.Done():
		return fmt.Errorf("brokers are still sending: %w", context.Cause(ctx))
	}
	return nil
}

// Close ends everything at once. It may be called more than once.
func (s *System) Close() {
	s.closed.Do(func() {
		s.stopLoops()
		s.cancelAll()
		s.loops.Wait()
		if s.minuteStore != nil {
			s.minutes.endMinute(time.Now())
			s.writeMinutes(context.Background(), lastMinutesTimeout)
		}
		s.root.Stop(s.manager)
	})
}

// Requeue creates new contacts from dead letters of a channel and passes them to
// its broker. If the process ends between the two, the sweep finds the contacts.
func (s *System) Requeue(ctx context.Context, channel weir.ChannelID, contacts []weir.ContactID, token string) (ops.Requeued, error) {
	failpoint.Hit("requeue.before")
	made, err := s.store.Requeue(ctx, channel, contacts, token)
	failpoint.Hit("requeue.committed")
	if err == nil && len(made.Contacts) > 0 {
		s.Announce(channel, made.Contacts)
	}
	return made, err
}
