package surveybroker

import (
	"context"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/events"
	"weir/surveys"
)

// scheduleChecks checks the channels in use that are due, or schedules the next
// check. A new channel is checked at once, then at the regular interval. One
// that does not work is checked after a pause that grows; one that a change
// concerns is checked soon.
func (b *broker) scheduleChecks(now time.Time) {
	if b.checking || !b.resuming || b.ctx.Err() != nil {
		return
	}
	var list []weir.Channel
	var next time.Time
	for _, ch := range b.channelsInUse {
		if at := b.checkStates[ch.ID].next(b.o.CheckEvery); at.After(now) {
			next = earliest(next, at)
		} else {
			list = append(list, ch)
		}
	}
	if b.checkTimer != nil {
		b.checkTimer.Stop()
	}
	gen := b.generation
	switch {
	case len(list) > 0:
		b.startChecks(now, list)
	case !next.IsZero():
		b.checkTimer = time.AfterFunc(next.Sub(now), func() { b.post(checkDue{gen}) })
	}
}

// startChecks checks channels, outside the mailbox.
func (b *broker) startChecks(now time.Time, list []weir.Channel) {
	b.checking = true
	for _, ch := range list {
		b.checkStates[ch.ID] = checkState{at: now, failures: b.checkStates[ch.ID].failures}
	}
	gen, life := b.generation, b.generationCtx
	b.tasks.Go(func() {
		b.post(checksDone{gen, list, b.checkAll(life, list)})
	})
}

// checkAll checks channels, at most maxConcurrent at a time, and stores changes. The
// result omits channels whose check found nothing out.
func (s *System) checkAll(ctx context.Context, list []weir.Channel) map[weir.ChannelID]observation {
	known, err := s.channelStates(ctx)
	if err != nil {
		s.o.Logger.Warn("channel states not read; checks skipped", "error", err)
		return nil
	}
	out := map[weir.ChannelID]observation{}
	var mu sync.Mutex
	concurrently(list, func(_ int, ch weir.Channel) {
		was, ok := known[ch.ID]
		if !ok {
			// A channel that was never checked counts as up: if it is, that is no event.
			was = surveys.ChannelState{Channel: ch.ID, Health: weir.Up}
		}
		is, ok := s.checkOne(ctx, ch.ID, was)
		if ok {
			mu.Lock()
			defer mu.Unlock()
			out[ch.ID] = is
		}
	})
	return out
}

// checkOne checks one channel, and stores and publishes a change. ok is false
// if that failed.
func (s *System) checkOne(ctx context.Context, id weir.ChannelID, was surveys.ChannelState) (_ observation, ok bool) {
	ch, err := lookup(ctx, s.o.Store.ChannelByID, id)
	if err != nil || ch.Deleted {
		return observation{was, ch.Version}, err == nil || weir.CodeOf(err) == weir.CodeNotFound
	}
	health, reason := s.healthOf(ctx, ch)
	if ctx.Err() != nil || health == was.Health {
		return observation{was, ch.Version}, ctx.Err() == nil
	}
	is := surveys.ChannelState{Channel: id, Health: health, Reason: reason, Since: time.Now().UTC()}
	_, err = call(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.o.Store.SetChannelState(ctx, is, []events.Event{channelEvent(ch.Name, was.Health, is)})
	})
	if err != nil {
		s.o.Logger.Warn("channel state not stored", "channel", ch.Name, "error", err)
		return observation{}, false
	}
	s.o.Logger.Info("channel state changed", "channel", ch.Name, "state", string(health), "was", string(was.Health), "reason", reason)
	return observation{is, ch.Version}, true
}

// healthOf returns the health of a channel. A channel that kept failing is
// tried again when no contact waits in it and its provider reports no fault,
// because only a contact can show whether it works.
func (s *System) healthOf(ctx context.Context, ch weir.Channel) (health weir.Health, reason string) {
	defer func() {
		if r := recover(); r != nil {
			supervise.LogPanic(s.o.Logger, s.o.Metrics.panics, "channel check panicked", r, "channel", ch.Name)
			health, reason = weir.Erring, "the check failed"
		}
	}()
	if ch.Paused {
		return weir.Paused, ""
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.CheckTimeout)
	defer cancel()
	f, err := s.o.Channels.Figures(ctx, ch)
	if err == nil && f.Health == weir.Faulted && f.Queued > 0 {
		return weir.Faulted, f.HealthReason
	}
	status := s.o.Channels.Status(ctx, ch)
	switch status.Health {
	case weir.Down, weir.Erring:
		return status.Health, status.Reason
	default:
		return weir.Up, ""
	}
}
