package actors

import (
	"context"
	"errors"

	"weir"
	"weir/channels"
)

// Status requests the health of a channel's provider.
func (s *System) Status(ctx context.Context, ch weir.Channel) (status channels.Status) {
	driver, err := s.directory.Driver(ch)
	if err != nil {
		return channels.Status{Health: weir.Erring, Reason: "this program has no driver for the channel"}
	}
	defer func() {
		if r := recover(); r != nil {
			s.driverPanicked(r, ch.Name, "status")
			status = channels.Status{Health: weir.Erring, Reason: "the driver failed while asking for the status"}
		}
	}()
	ctx, cancel := background(ctx, s.askTimeout)
	defer cancel()
	status = driver.Status(ctx)
	if ctx.Err() == nil {
		s.healths.Store(ch.ID, health{ch.Name, status})
		s.root.Send(s.manager, ifRunning{ch.ID, observed{status}, func() {}})
	}
	return status
}

// health is the last known provider health of a channel: all that is known of a
// channel without a broker.
type health struct {
	channel string
	status  channels.Status
}

// lastHealth returns the last known provider health of a channel; up if it was
// never requested.
func (s *System) lastHealth(id weir.ChannelID) (weir.Health, string) {
	if h, ok := s.healths.Load(id); ok {
		return h.(health).status.Health, h.(health).status.Reason
	}
	return weir.Up, ""
}

// Prepare sets a channel's provider up, as its broker does before the first
// contact. It may be called at any time.
func (s *System) Prepare(ctx context.Context, ch weir.Channel) (err error) {
	driver, err := s.directory.Driver(ch)
	if err != nil {
		return errors.New("this program has no driver for the channel")
	}
	defer func() {
		if r := recover(); r != nil {
			s.driverPanicked(r, ch.Name, "prepare")
			err = errors.New("the driver failed while preparing")
		}
	}()
	ctx, cancel := background(ctx, s.askTimeout)
	defer cancel()
	return driver.Prepare(ctx)
}
