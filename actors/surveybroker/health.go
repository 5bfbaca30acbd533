package surveybroker

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/events"
	"weir/surveys"
)

// Pauses between checks of a channel, in addition to [Options.CheckEvery].
const (
	recheckAfter = 2 * time.Second  // after a change that concerns it
	recheckFirst = 15 * time.Second // after a check that failed; grows up to CheckEvery
)

// checkup is the state of a channel's checks.
type checkup struct {
	at    time.Time // of the latest check
	bad   int       // consecutive checks that failed
	soon  bool      // a change has concerned it since
	under bool      // a check is running
}

// next returns the instant of the next check.
func (c checkup) next(every time.Duration) time.Time {
	wait := every
	if c.bad > 0 {
		wait = min(wait, recheckFirst<<min(c.bad-1, 10))
	}
	if c.soon {
		wait = min(wait, recheckAfter)
	}
	return c.at.Add(wait)
}

// sight is the result of a check of a channel.
type sight struct {
	surveys.ChannelState
	version int64 // of the channel's row
}

// planCheck checks the channels in use that are due, or schedules the next
// check. A new channel is checked at once, then at the regular interval. One
// that does not work is checked after a pause that grows; one that a change
// concerns is checked soon.
func (b *broker) planCheck(now time.Time) {
	if b.checking || !b.leads || b.ctx.Err() != nil {
		return
	}
	var list []weir.Channel
	var next time.Time
	for _, ch := range b.using {
		if at := b.checkups[ch.ID].next(b.checkEvery); at.After(now) {
			next = soonest(next, at)
		} else {
			list = append(list, ch)
		}
	}
	if b.checks != nil {
		b.checks.Stop()
	}
	gen := b.gen
	switch {
	case len(list) > 0:
		b.check(now, list)
	case !next.IsZero():
		b.checks = time.AfterFunc(next.Sub(now), func() { b.post(checkTick{gen}) })
	}
}

// check checks channels, outside the mailbox.
func (b *broker) check(now time.Time, list []weir.Channel) {
	b.checking = true
	for _, ch := range list {
		c := b.checkups[ch.ID]
		b.checkups[ch.ID] = checkup{at: now, bad: c.bad, under: true}
	}
	gen, life := b.gen, b.life
	b.work.Go(func() {
		b.post(checked{gen, b.checkAll(life, list)})
	})
}

// onChecked keeps the results for the next round, because a running round owns
// the memory.
func (b *broker) onChecked(found map[weir.ChannelID]sight) {
	b.checking = false
	for id, c := range b.checkups {
		if _, ok := found[id]; c.under && !ok {
			c.soon = true // the check had no result
		}
		c.under = false
		b.checkups[id] = c
	}
	for id, s := range found {
		b.states[id] = s
		c := b.checkups[id]
		if c.bad++; works(s.Health) {
			c.bad = 0
		}
		b.checkups[id] = c
	}
	b.onHint()
	b.planCheck(time.Now())
}

// checkAll checks channels, at most atOnce at a time, and stores changes. The
// result omits channels whose check found nothing out.
func (s *System) checkAll(ctx context.Context, list []weir.Channel) map[weir.ChannelID]sight {
	stored, err := call(ctx, s.store.ChannelStates)
	if err != nil {
		s.logger.Warn("the states of channels could not be read; they are not checked now", "error", err)
		return nil
	}
	known := map[weir.ChannelID]surveys.ChannelState{}
	for _, k := range stored {
		known[k.Channel] = k
	}
	out := map[weir.ChannelID]sight{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for _, ch := range list {
		was, ok := known[ch.ID]
		if !ok {
			was = surveys.ChannelState{Channel: ch.ID, Health: weir.Up}
		}
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			is, ok := s.checkOne(ctx, ch.ID, was)
			if ok {
				mu.Lock()
				out[ch.ID] = is
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return out
}

// checkOne checks one channel, and stores and publishes a change. ok is false
// if that failed.
func (s *System) checkOne(ctx context.Context, id weir.ChannelID, was surveys.ChannelState) (_ sight, ok bool) {
	ch, err := call(ctx, func(ctx context.Context) (weir.Channel, error) { return s.store.ChannelByID(ctx, id) })
	if err != nil || ch.Deleted {
		return sight{was, ch.Version}, err == nil || weir.CodeOf(err) == weir.CodeNotFound
	}
	health, reason := s.healthOf(ctx, ch)
	if ctx.Err() != nil || health == was.Health {
		return sight{was, ch.Version}, ctx.Err() == nil
	}
	is := surveys.ChannelState{Channel: id, Health: health, Reason: reason, Since: time.Now().UTC()}
	if !s.leading() {
		return sight{}, false
	}
	_, err = call(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.store.SetChannelState(ctx, is, []events.Event{channelEvent(ch.Name, was.Health, is)})
	})
	if err != nil {
		s.logger.Warn("a channel's state could not be stored", "channel", ch.Name, "error", err)
		return sight{}, false
	}
	s.logger.Info("a channel that surveys use has changed", "channel", ch.Name, "state", string(health), "was", string(was.Health), "reason", reason)
	return sight{is, ch.Version}, true
}

// works reports whether a channel of this health may be given contacts. Paused
// counts as working: the channel may have been resumed since the check, and its
// row shows whether it is paused.
func works(h weir.Health) bool { return h != weir.Down && h != weir.Erring && h != weir.Faulted }

// healthOf returns the health of a channel. A channel that kept failing is
// tried again when no contact waits in it and its provider reports no fault,
// because only a contact can show whether it works.
func (s *System) healthOf(ctx context.Context, ch weir.Channel) (health weir.Health, reason string) {
	defer func() {
		if r := recover(); r != nil {
			s.metrics.panics.Inc()
			s.logger.Error("the check of a channel panicked", "channel", ch.Name, "panic", supervise.PanicText(r), "stack", string(debug.Stack()))
			health, reason = weir.Erring, "the check failed"
		}
	}()
	if ch.Paused {
		return weir.Paused, ""
	}
	ctx, cancel := context.WithTimeout(ctx, s.checkTimeout)
	defer cancel()
	f, err := s.channels.Figures(ctx, ch)
	if err == nil && f.Health == weir.Faulted && f.Queued > 0 {
		return weir.Faulted, f.HealthReason
	}
	status := s.channels.Status(ctx, ch)
	switch status.Health {
	case weir.Down, weir.Erring:
		return status.Health, status.Reason
	default:
		return weir.Up, ""
	}
}
