package events

import (
	"context"
	"fmt"
	"sync"
)

// System delivers events.
type System struct {
	o     Options
	wakes []chan struct{} // one token for each receiver: read the log

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
	for i := range s.o.Receivers {
		s.done.Go(func() { (&runner{o: &s.o, r: &s.o.Receivers[i], wake: s.wakes[i]}).run(s.running, s.last) })
	}
	if s.o.Webhooks != nil {
		s.done.Go(func() { newDispatcher(&s.o, s.wakes[len(s.o.Receivers)]).run(s.running, s.last) })
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

// Close waits a moment for the deliveries in flight, interrupts the others, which the next
// owner of the database repeats, and writes the receivers' progress, as long as ctx allows.
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
