package delivery

import (
	"context"
	"fmt"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/ops"
)

// System delivers events while this process has the role.
type System struct {
	o     Options
	wakes []chan struct{} // one token for each receiver: read the log
	role  *supervise.Role

	stop      context.CancelFunc // starts no more deliveries
	interrupt context.CancelFunc // interrupts the deliveries in flight
	running   context.Context
	last      context.Context
	unhook    func()
	done      sync.WaitGroup
	once      sync.Once
}

// Start registers the receivers with the store, so that they get what is committed
// from then on, and starts delivering.
func Start(ctx context.Context, o Options) (*System, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	s := &System{o: o}
	for _, r := range o.Receivers {
		if err := o.Store.Register(ctx, r.Name); err != nil {
			return nil, fmt.Errorf("delivery: %w", err)
		}
		receiverMeter{o.Metrics, r.Name}.prepare()
		s.wakes = append(s.wakes, make(chan struct{}, 1))
	}
	if o.Webhooks != nil {
		receiverMeter{o.Metrics, webhooksReceiver}.prepare()
		s.wakes = append(s.wakes, make(chan struct{}, 1))
	}
	// Deliveries in flight outlast the end of ctx, until Close interrupts them.
	s.last, s.interrupt = context.WithCancel(context.WithoutCancel(ctx))
	s.running, s.stop = context.WithCancel(s.last)
	s.unhook = o.Store.OnEvents(s.wakeAll)
	if len(s.wakes) > 0 {
		s.role = supervise.NewRole(o.Store, ops.RoleEventDelivery, o.LeaseTTL, o.Logger)
		s.done.Go(func() { s.role.Run(s.running, s.lead) })
	}
	return s, nil
}

func (s *System) wakeAll() {
	for _, w := range s.wakes {
		select {
		case w <- struct{}{}:
		// A token is there: the receiver will read what this commit added.
		default:
		}
	}
}

// Close waits a little for the deliveries in flight, as long as ctx allows, writes the
// receivers' progress and releases the role.
func (s *System) Close(ctx context.Context) error {
	s.once.Do(func() {
		s.unhook()
		s.stop()
	})
	defer s.interrupt()
	ended := make(chan struct{})
	go func() {
		s.done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		s.interrupt()
		<-ended
		return fmt.Errorf("delivery was cut short: %w", ctx.Err())
	}
}

// lead delivers until the role is lost or the system is closed.
func (s *System) lead(lease weir.Lease) {
	s.o.Logger.Info("event delivery role acquired", "epoch", lease.Epoch)
	last, cut := context.WithCancel(s.last)
	defer cut()
	ctx, stop := context.WithCancel(s.running)
	defer stop()
	ended := make(chan struct{}, len(s.wakes))
	start := func(run func(ctx, last context.Context)) {
		go func() {
			defer func() { ended <- struct{}{} }()
			run(ctx, last)
		}()
	}
	for i := range s.o.Receivers {
		start((&runner{o: &s.o, r: &s.o.Receivers[i], lease: lease, wake: s.wakes[i]}).run)
	}
	if s.o.Webhooks != nil {
		start(newDispatcher(&s.o, lease, s.wakes[len(s.o.Receivers)]).run)
	}
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		s.role.Keep(ctx, lease)
	}()
	over := s.untilLost(ctx, kept, ended)
	if ctx.Err() == nil { // another process may deliver now
		s.o.Logger.Warn("event delivery role lost", "epoch", lease.Epoch)
		cut()
	}
	stop()
	<-kept
	// The role is released only when no runner is left, so that the next process does not deliver
	// the same events beside them.
	for range len(s.wakes) - over {
		<-ended
	}
	if s.last.Err() == nil {
		ctx, cancel := context.WithTimeout(s.last, s.o.LeaseTTL/3)
		defer cancel()
		s.role.Release(ctx, lease)
	}
}

// untilLost waits until the role is lost, may be lost because it could not be
// renewed in time, a runner finds that it is lost, or ctx ends. It returns how many
// runners have ended.
func (s *System) untilLost(ctx context.Context, kept, ended <-chan struct{}) int {
	for {
		select {
		case <-ctx.Done():
			return 0
		case <-kept:
			return 0
		case <-ended:
			return 1
		case <-time.After(s.role.Remaining()):
			if s.role.Remaining() <= 0 {
				return 0
			}
		}
	}
}
