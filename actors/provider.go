package actors

import (
	"context"
	"errors"
	"runtime/debug"

	"weir"
	"weir/actors/care"
	"weir/channels"
)

// Status asks a channel's provider whether its side works.
func (s *System) Status(ctx context.Context, ch weir.Channel) (status channels.Status) {
	driver, err := s.directory.Driver(ch)
	if err != nil {
		return channels.Status{Health: weir.Erring, Reason: "this program has no driver for the channel"}
	}
	defer func() {
		if r := recover(); r != nil {
			s.metrics.panics.Inc()
			s.logger.Error("a driver panicked", "channel", ch.Name, "operation", "status", "panic", care.PanicText(r), "stack", string(debug.Stack()))
			status = channels.Status{Health: weir.Erring, Reason: "the driver failed while asking for the status"}
		}
	}()
	ctx, cancel := background(ctx, s.askTimeout)
	defer cancel()
	return driver.Status(ctx)
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
			s.metrics.panics.Inc()
			s.logger.Error("a driver panicked", "channel", ch.Name, "operation", "prepare", "panic", care.PanicText(r), "stack", string(debug.Stack()))
			err = errors.New("the driver failed while preparing")
		}
	}()
	ctx, cancel := background(ctx, s.askTimeout)
	defer cancel()
	return driver.Prepare(ctx)
}
