package actors

import (
	"context"
	"time"
)

// sweep finds channels with work whose broker missed a hint.
func (s *System) sweep(ctx context.Context) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	if err := s.Resume(io); err != nil {
		s.logger.Warn("sweep failed", "error", err)
	}
}

// minutesLoop writes each minute when it has ended.
func (s *System) minutesLoop(ctx context.Context) {
	for {
		now := time.Now()
		next := now.Truncate(time.Minute).Add(time.Minute + minutesDelay)
		select {
		case <-ctx.Done():
			return
		case <-time.After(next.Sub(now)):
		}
		s.minutes.endMinute(time.Now())
		s.writeMinutes(ctx, minutesTimeout)
	}
}

func (s *System) writeMinutes(ctx context.Context, limit time.Duration) {
	io, cancel := background(ctx, limit)
	defer cancel()
	lost, err := s.minutes.write(io, s.minuteStore)
	if err != nil {
		s.logger.Warn("channel minutes write failed; retrying", "error", err)
	}
	if lost > 0 {
		s.logger.Warn("channel minutes dropped: the buffer is full", "minutes", lost)
	}
}
