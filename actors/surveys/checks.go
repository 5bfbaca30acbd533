package surveys

import (
	"context"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/events"
	"weir/internal/backoff"
	"weir/surveys"
)

// Pauses between checks of a channel, in addition to [Options.CheckEvery].
const (
	recheckAfter = 2 * time.Second  // after a change that concerns it
	recheckFirst = 15 * time.Second // after a check that failed; grows up to CheckEvery
)

// checkState is the state of a channel's checks.
type checkState struct {
	at       time.Time // of the latest check
	failures int       // consecutive checks that failed
	hurry    bool      // a change has concerned it since
}

// next returns the instant of the next check.
func (c checkState) next(every time.Duration) time.Time {
	wait := every
	if c.failures > 0 {
		wait = backoff.Delay(c.failures, recheckFirst, every)
	}
	if c.hurry {
		wait = min(wait, recheckAfter)
	}
	return c.at.Add(wait)
}

// checker checks the channels that surveys use.
type checker struct{ io *access }

// checkAll checks channels, at most maxConcurrent at a time, and stores changes. The
// result omits channels whose check found nothing out.
func (c *checker) checkAll(ctx context.Context, list []weir.Channel) map[weir.ChannelID]observation {
	known, err := c.io.channelStates(ctx)
	if err != nil {
		c.io.Logger.Warn("channel states not read; checks skipped", "error", err)
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
		is, ok := c.checkOne(ctx, ch.ID, was)
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
func (c *checker) checkOne(ctx context.Context, id weir.ChannelID, was surveys.ChannelState) (_ observation, ok bool) {
	ch, err := lookup(ctx, c.io.Store.ChannelByID, id)
	if err != nil || ch.Deleted {
		return observation{was, ch.Version}, err == nil || weir.CodeOf(err) == weir.CodeNotFound
	}
	health, reason := c.healthOf(ctx, ch)
	if ctx.Err() != nil || health == was.Health {
		return observation{was, ch.Version}, ctx.Err() == nil
	}
	is := surveys.ChannelState{Channel: id, Health: health, Reason: reason, Since: time.Now().UTC()}
	_, err = call(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.io.Store.SetChannelState(ctx, is, []events.Event{surveys.HealthChanged(ch.Name, was.Health, is)})
	})
	if err != nil {
		c.io.Logger.Warn("channel state not stored", "channel", ch.Name, "error", err)
		return observation{}, false
	}
	c.io.Logger.Info("channel state changed", "channel", ch.Name, "state", string(health), "was", string(was.Health), "reason", reason)
	return observation{is, ch.Version}, true
}

// healthOf returns the health of a channel. A channel that kept failing is
// tried again when no contact waits in it and its provider reports no fault,
// because only a contact can show whether it works.
func (c *checker) healthOf(ctx context.Context, ch weir.Channel) (health weir.Health, reason string) {
	defer func() {
		if r := recover(); r != nil {
			supervise.LogPanic(c.io.Logger, c.io.Metrics.panics, "channel check panicked", r, "channel", ch.Name)
			health, reason = weir.Erring, "the check failed"
		}
	}()
	if ch.Paused {
		return weir.Paused, ""
	}
	ctx, cancel := context.WithTimeout(ctx, c.io.CheckTimeout)
	defer cancel()
	f, err := c.io.Channels.Figures(ctx, ch)
	if err == nil && f.Health == weir.Faulted && f.Queued > 0 {
		return weir.Faulted, f.HealthReason
	}
	status := c.io.Channels.Status(ctx, ch)
	switch status.Health {
	case weir.Down, weir.Erring:
		return status.Health, status.Reason
	default:
		return weir.Up, ""
	}
}
