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

	stop    context.CancelFunc // starts no more deliveries
	cut     context.CancelFunc // interrupts the deliveries in flight
	running context.Context
	last    context.Context
	unhook  func()
	done    sync.WaitGroup
	once    sync.Once
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
		o.Metrics.prepare(r.Name)
		s.wakes = append(s.wakes, make(chan struct{}, 1))
	}
	s.last, s.cut = context.WithCancel(context.WithoutCancel(ctx))
	s.running, s.stop = context.WithCancel(s.last)
	s.unhook = o.Store.OnEvents(s.poke)
	if len(o.Receivers) > 0 {
		s.done.Go(s.keepRole)
	}
	return s, nil
}

func (s *System) poke() {
	for _, w := range s.wakes {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// Close waits for the deliveries in flight, as long as ctx allows, writes the
// receivers' progress and releases the role.
func (s *System) Close(ctx context.Context) error {
	s.once.Do(func() {
		s.unhook()
		s.stop()
	})
	defer s.cut()
	ended := make(chan struct{})
	go func() {
		s.done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		s.cut()
		<-ended
		return fmt.Errorf("delivery was cut short: %w", ctx.Err())
	}
}

// keepRole acquires the role when it is free, and delivers while it lasts.
func (s *System) keepRole() {
	for s.running.Err() == nil {
		asked := time.Now()
		ctx, cancel := context.WithTimeout(s.running, s.o.LeaseTTL/3)
		lease, ok, err := s.o.Store.AcquireRole(ctx, ops.RoleEventDelivery)
		cancel()
		if err != nil && s.running.Err() == nil {
			s.o.Logger.Warn("the role of the delivery of events could not be taken; trying again", "error", err)
		}
		if ok {
			s.lead(lease, asked)
		}
		sleep(s.running, s.o.LeaseTTL/3)
	}
}

// lead delivers until the role is lost or the system is closed.
func (s *System) lead(lease weir.Lease, asked time.Time) {
	s.o.Logger.Info("this process delivers events")
	last, cut := context.WithCancel(s.last)
	defer cut()
	ctx, stop := context.WithCancel(s.running)
	defer stop()
	ended := make(chan struct{}, len(s.o.Receivers))
	for i := range s.o.Receivers {
		x := &runner{o: &s.o, r: &s.o.Receivers[i], lease: lease, wake: s.wakes[i]}
		go func() {
			defer func() { ended <- struct{}{} }()
			x.run(ctx, last)
		}()
	}
	over := s.renew(ctx, lease, asked, ended)
	if ctx.Err() == nil { // another process may deliver now
		s.o.Logger.Warn("another process may deliver events now")
		cut()
	}
	stop()
	for range len(s.o.Receivers) - over {
		<-ended
	}
	if s.last.Err() == nil {
		ctx, cancel := context.WithTimeout(s.last, s.o.LeaseTTL/3)
		defer cancel()
		if err := s.o.Store.ReleaseRole(ctx, ops.RoleEventDelivery, lease); err != nil {
			s.o.Logger.Warn("the role of the delivery of events was not given back", "error", err)
		}
	}
}

// renew extends the role until it is lost, a runner finds that it is, or ctx ends.
// It returns how many runners have ended.
func (s *System) renew(ctx context.Context, lease weir.Lease, asked time.Time, ended <-chan struct{}) int {
	until := asked.Add(s.o.LeaseTTL * 4 / 5)
	tick := time.NewTimer(supervise.Beat(asked, s.o.LeaseTTL/3))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return 0
		case <-ended:
			return 1
		case <-tick.C:
		}
		asked := time.Now()
		renewing, cancel := context.WithDeadline(ctx, until)
		ok, err := s.o.Store.RenewRole(renewing, ops.RoleEventDelivery, lease)
		cancel()
		tick.Reset(supervise.Beat(time.Now(), s.o.LeaseTTL/3))
		switch {
		case err == nil && !ok:
			return 0
		case err == nil:
			until = asked.Add(s.o.LeaseTTL * 4 / 5)
		case !time.Now().Before(until):
			return 0
		}
	}
}
