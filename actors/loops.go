package actors

import (
	"context"
	"encoding/json"
	"time"

	"weir"
	"weir/actors/core"
	"weir/actors/supervise"
	"weir/internal/backoff"
)

// renew extends the leases. While the store is down it retries every renewRetry:
// between the store's return and the renewal nothing may be sent under an expired
// lease.
func (s *System) renew(ctx context.Context) {
	for try := 0; ; try++ {
		asked := time.Now()
		io, cancel := background(ctx, s.leaseTTL/3)
		ids, err := s.store.Renew(io)
		cancel()
		if err == nil {
			s.renewed(asked, ids)
			return
		}
		if try == 0 {
			s.logger.Warn("lease renewal failed; retrying", "error", err)
		}
		if !backoff.Wait(ctx, renewRetry) {
			return
		}
	}
}

func (s *System) renewed(asked time.Time, ids []weir.ChannelID) {
	held := make(map[weir.ChannelID]struct{}, len(ids))
	for _, id := range ids {
		held[id] = struct{}{}
	}
	s.root.Send(s.manager, leasesRenewed{asked, asked.Add(s.leaseTTL - supervise.LeaseMargin(s.leaseTTL)), held})
}

// sweep finds channels with work whose broker missed a hint.
func (s *System) sweep(ctx context.Context) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	if err := s.Resume(io); err != nil {
		s.logger.Warn("sweep failed", "error", err)
	}
}

// pollLoop polls for work left by other processes, more often while there is some.
func (s *System) pollLoop(ctx context.Context) {
	third := s.leaseTTL / 3
	busy, asked := time.Time{}, time.Now() // when something was found, and when orphans were last requested
	for {
		pause := min(pollEvery, third)
		if time.Since(busy) > pollIdleAfter {
			pause = min(pollIdleEvery, third)
		}
		if !backoff.Wait(ctx, pause) {
			return
		}
		now := time.Now()
		orphans := now.Add(pause).Sub(asked) > third // the next poll would be too late
		if orphans {
			asked = now
		}
		if s.poll(ctx, orphans) {
			busy = now
		}
	}
}

// poll passes inbox items that reached other processes to the brokers, and finds
// channels with work whose owner died or released them. It reports whether there
// was anything.
func (s *System) poll(ctx context.Context, orphans bool) bool {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	found, err := s.store.Poll(io, inboxBatch, orphans)
	if err != nil {
		s.logger.Warn("poll for work of other processes failed", "error", err)
		return false
	}
	for _, item := range found.Items {
		s.fromInbox(item)
	}
	for _, id := range found.Orphans {
		s.deliver(id, sweepHint{})
	}
	return found.News || len(found.Items) > 0 || len(found.Orphans) > 0
}

func (s *System) fromInbox(item weir.InboxItem) {
	from := core.Origin{Inbox: item.ID}
	switch item.Kind {
	case weir.InboxReport:
		var reports []weir.Report
		if err := json.Unmarshal(item.Payload, &reports); err != nil || len(reports) != 1 {
			s.logger.Error("unreadable inbox item dropped", "item", item.ID)
			s.deliver(item.Channel, wake{from})
			return
		}
		s.deliver(item.Channel, reported{reports[0], from})
	case weir.InboxCancel:
		ref, err := weir.ParseRef(string(item.Payload))
		if err != nil {
			s.logger.Error("unreadable inbox item dropped", "item", item.ID)
			s.deliver(item.Channel, wake{from})
			return
		}
		s.deliver(item.Channel, cancelRequest{ref, from})
	default:
		s.deliver(item.Channel, wake{from})
		s.deliver(item.Channel, changed{})
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
