package channels

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/actors/supervise"
	"weir/channels"
	"weir/internal/backoff"
)

// System is the tree of actors as the rest of the program sees it. Its methods
// are safe for concurrent use.
type System struct {
	*requests
	*figures
	*providers
	shared *shared
	mail   *mail

	cancelAll context.CancelFunc // ends all work
	loops     sync.WaitGroup
	stopLoops context.CancelFunc
	closed    sync.Once
}

// Start builds the tree. Brokers start on demand; Resume starts brokers that have
// work.
func Start(o Options) (*System, error) {
	ctx, cancelAll := context.WithCancel(context.Background())
	p := &providers{
		directory: o.Directory, logger: o.Logger, metrics: o.Metrics, tracing: o.Tracing,
		sendTimeout: o.SendTimeout, askTimeout: o.AskTimeout, valid: o.Valid, ctx: ctx,
	}
	restarter := supervise.NewRestarter(func(id string) {
		kind := kindBroker
		if id == managerName {
			kind = kindManager
		}
		o.Metrics.restarts.WithLabelValues(kind).Inc()
	})
	all := &shared{
		core: o.Core, store: o.Store, queue: o.Queue, directory: o.Directory, providers: p, logger: o.Logger, metrics: o.Metrics,
		minutes: newMinutes(time.Now(), o.Minutes, o.Logger), healths: &healths{}, tracing: o.Tracing,
		root: o.System.Root, restarter: restarter, goroutines: newGoroutines(), ctx: ctx,
	}
	post := &mail{root: o.System.Root}
	guard := supervise.Guard(o.Logger, o.Metrics.panics)
	states := map[weir.ChannelID]*channelState{}
	props := actor.PropsFromProducer(func() actor.Actor {
		return &manager{shared: all, mail: post, states: states, middleware: append([]actor.ReceiverMiddleware{guard}, o.Middleware...)}
	}, actor.WithReceiverMiddleware(guard), actor.WithSupervisor(restarter), actor.WithGuardian(restarter))
	var err error
	if post.manager, err = post.root.SpawnNamed(props, managerName); err != nil {
		cancelAll()
		return nil, fmt.Errorf("start the channels' manager: %w", err)
	}
	s := &System{
		requests: &requests{shared: all, mail: post}, figures: &figures{all, post}, providers: p,
		shared: all, mail: post, cancelAll: cancelAll,
	}
	o.Metrics.live.source, o.Metrics.live.healths = s.allFigures, all.healths
	loops, halt := context.WithCancel(ctx)
	s.stopLoops = halt
	s.loops.Go(func() { s.sweepLoop(loops) })
	if o.Minutes != nil {
		s.loops.Go(func() { all.minutes.run(loops) })
	}
	return s, nil
}

// sweepLoop regularly finds channels with work whose broker missed a hint.
func (s *System) sweepLoop(ctx context.Context) {
	for backoff.Wait(ctx, sweepEvery) {
		io, cancel := background(ctx, ioTimeout)
		if err := s.Resume(io); err != nil {
			s.shared.logger.Warn("sweep failed", "error", err)
		}
		cancel()
	}
}

// Resume starts the brokers of all channels that have open contacts.
func (s *System) Resume(ctx context.Context) error {
	ids, err := s.shared.store.OpenChannels(ctx)
	if err != nil {
		return fmt.Errorf("find the channels with open contacts: %w", err)
	}
	for _, id := range ids {
		s.mail.deliver(id, sweepHint{})
	}
	return nil
}

// Delete ends a channel's open contacts and removes it. done is false while the
// deletion is under way; it then continues by itself, also after a restart.
func (s *System) Delete(ctx context.Context, id weir.ChannelID) (done bool, err error) {
	for {
		ch, err := s.shared.store.ChannelByID(ctx, id)
		if err != nil {
			return false, err
		}
		ch.Deleting = true
		if _, err = s.shared.store.UpdateChannel(ctx, ch); err == nil {
			break
		}
		if weir.CodeOf(err) != weir.CodeConflict {
			return false, err
		}
	}
	s.Changed(ctx, id)
	for range 20 {
		ch, err := s.shared.store.ChannelByID(ctx, id)
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
	s.shared.quiet.Store(true)
	s.mail.root.Send(s.mail.manager, quietAll{done})
	select {
	case <-done:
	case <-s.shared.ctx.Done(): // it has ended
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
		if s.shared.minutes.store != nil {
			s.shared.minutes.flush(context.Background(), lastMinutesTimeout)
		}
		s.mail.root.Stop(s.mail.manager)
		s.shared.goroutines.end()
	})
}

// Status requests the health of a channel's provider.
func (s *System) Status(ctx context.Context, ch weir.Channel) channels.Status {
	status, answered := s.statusOf(ctx, ch)
	if answered {
		s.shared.healths.set(&ch, status)
		s.mail.ifRunning(ch.ID, observed{status}, func() {})
	}
	return status
}
