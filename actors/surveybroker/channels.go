package surveybroker

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/channels"
	"weir/events"
	"weir/ops"
	"weir/surveys"
	"weir/surveys/pacing"
)

// channelLoad is a round's view of a channel.
type channelLoad struct {
	channel    weir.Channel
	figures    ops.Figures
	ready      surveys.Ready // slots of contacts that wait for their turn
	lanes      []weir.Lane   // of the surveys
	surveys    int           // that use it
	queueLimit int           // queued contacts that suffice to leave no room
	why        ops.Why       // why it is given nothing; zero: it works
}

// measureChannels reads the load of the channels that the surveys use.
func (r *round) measureChannels(ctx context.Context, list []*surveyState) (map[weir.ChannelID]*channelLoad, error) {
	out := map[weir.ChannelID]*channelLoad{}
	for _, sv := range list {
		for _, name := range sv.plan.Channels {
			ch, ok, err := r.lookupChannel(ctx, name)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			if out[ch.ID] == nil {
				out[ch.ID] = r.newChannelLoad(ch)
			}
			out[ch.ID].addSurvey(sv.survey.Name)
		}
	}
	concurrently(slices.Collect(maps.Values(out)), func(_ int, t *channelLoad) {
		if t.why.IsZero() {
			r.readLoad(ctx, t)
		}
	})
	for id, t := range out {
		pace := r.memory.pace(id)
		if t.figures.InFlight+t.ready.Ours+t.ready.Others > 0 || pace.freedSlots > 0 {
			pace.rate = pace.rate.Observe(r.now, pace.freedSlots)
		} else {
			pace.rate = pace.rate.Skip(r.now)
		}
		pace.freedSlots = 0
		r.freedPerMinute.Store(id, pace.rate.PerMinute())
	}
	return out, nil
}

// newChannelLoad starts the view of a channel.
func (r *round) newChannelLoad(ch weir.Channel) *channelLoad {
	if r.memory.checkOutdated(ch) {
		r.recheck = append(r.recheck, ch.ID)
	}
	return &channelLoad{channel: ch, why: whyUnavailable(ch, r.memory.states[ch.ID].ChannelState), queueLimit: queueLimitFor(ch, r.memory.pace(ch.ID).rate.PerMinute())}
}

// queueLimitFor returns the number of queued contacts that suffices to leave a channel
// no room.
func queueLimitFor(ch weir.Channel, rate float64) int {
	room, _ := pacing.ChannelLoad{Capacity: ch.Capacity, Rate: rate}.Room(1, feedAhead, math.MaxInt64)
	return room + 1
}

// addSurvey adds a survey that uses the channel. A survey that uses it in several
// modes counts once.
func (t *channelLoad) addSurvey(survey string) {
	if slices.Contains(t.lanes, weir.LaneOf(weir.Reply, survey)) {
		return
	}
	t.surveys++
	for p := weir.Reply; p <= weir.Normal; p++ {
		t.lanes = append(t.lanes, weir.LaneOf(p, survey))
	}
}

// pacingLoad returns the channel's load in the form that the rules need.
func (t *channelLoad) pacingLoad(rate float64) pacing.ChannelLoad {
	return pacing.ChannelLoad{
		Capacity: t.channel.Capacity, Reserve: channels.ReplyReserve(t.channel.Settings), InFlight: t.figures.InFlight,
		Queued: t.ready.Ours, Others: t.ready.Others, Surveys: t.surveys, Rate: rate,
	}
}

// whyNoRoom explains why no contact of size slots may be enqueued on the
// channel now; zero if one may. Rounds use Room alone, because they need no
// text.
func (t *channelLoad) whyNoRoom(size int, rate float64, now, closes time.Time) ops.Why {
	if !t.why.IsZero() {
		return t.why
	}
	f := t.pacingLoad(rate)
	switch _, short := f.Room(size, feedAhead, closes.Sub(now)); short {
	case pacing.TooLarge:
		return ops.Why{Code: ops.WhyTooLarge, Text: fmt.Sprintf("a contact takes %d slots and channel %s has %d for it", size, t.channel.Name, f.Capacity-f.Reserve)}
	case pacing.ClosesSoon, pacing.WindowClosed:
		return ops.Why{Code: ops.WhyWindow, Text: fmt.Sprintf("the window closes at %s, before channel %s could dispatch another contact", ops.WhyAt(closes), t.channel.Name)}
	case pacing.NoRoom:
		return ops.Why{Code: ops.WhyCapacity, Text: fmt.Sprintf("channel %s: %d of %d slots are in flight; %d of surveys and %d of others wait",
			t.channel.Name, f.InFlight, f.Capacity, f.Queued, f.Others)}
	default:
		return ops.Why{}
	}
}

// readLoad reads the load of one channel. It reads the queue first: a contact
// that is claimed in between counts twice instead of not at all. A channel
// whose load cannot be read gets nothing now.
func (s *System) readLoad(ctx context.Context, t *channelLoad) {
	largest := t.channel.Capacity - channels.ReplyReserve(t.channel.Settings)
	ready, err := call(ctx, func(ctx context.Context) (surveys.Ready, error) {
		return s.store.ReadySlots(ctx, t.channel.ID, t.lanes, largest, t.queueLimit)
	})
	if err == nil {
		t.ready = ready
		t.figures, err = call(ctx, func(ctx context.Context) (ops.Figures, error) { return s.channels.Figures(ctx, t.channel) })
	}
	if err != nil {
		t.why = ops.Why{Code: ops.WhyError, Text: fmt.Sprintf("the figures of channel %s could not be read", t.channel.Name)}
		s.logger.Warn("channel figures not read; no contacts enqueued this round", "channel", t.channel.Name, "error", err)
	}
}

// mismatch returns why a channel cannot carry what a mode needs, or "". A launch
// has checked this, but another channel may have been created under the same
// name since.
func (s *System) mismatch(mode surveys.Mode, ch weir.Channel) string {
	t, ok := s.types.Type(ch.Type)
	need, word := channels.Text, "texts"
	switch {
	case mode == surveys.CATI:
		need, word = channels.Any, "people"
	case mode.Voice():
		need, word = channels.Voice, "calls"
	}
	if ok && t.Carries(need) {
		return ""
	}
	return fmt.Sprintf("%s needs a channel for %s; channel %q is of type %s", mode, word, ch.Name, ch.Type)
}

// hasMismatch reports a mismatch: a channel that cannot carry what the survey uses
// it for.
func (r *round) hasMismatch(sv *surveyState, ch weir.Channel) bool {
	for mode, name := range sv.plan.Channels {
		if r.channelIDs[name] == ch.ID && r.mismatch(mode, ch) != "" {
			return true
		}
	}
	return false
}

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
	running  bool      // a check is running
}

// next returns the instant of the next check.
func (c checkState) next(every time.Duration) time.Time {
	wait := every
	if c.failures > 0 {
		wait = min(wait, recheckFirst<<min(c.failures-1, 10))
	}
	if c.hurry {
		wait = min(wait, recheckAfter)
	}
	return c.at.Add(wait)
}

// observation is the result of a check of a channel.
type observation struct {
	surveys.ChannelState
	version int64 // of the channel's row
}

// scheduleChecks checks the channels in use that are due, or schedules the next
// check. A new channel is checked at once, then at the regular interval. One
// that does not work is checked after a pause that grows; one that a change
// concerns is checked soon.
func (b *broker) scheduleChecks(now time.Time) {
	if b.checking || !b.hasRole || b.ctx.Err() != nil {
		return
	}
	var list []weir.Channel
	var next time.Time
	for _, ch := range b.channelsInUse {
		if at := b.checkStates[ch.ID].next(b.checkEvery); at.After(now) {
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
		c := b.checkStates[ch.ID]
		b.checkStates[ch.ID] = checkState{at: now, failures: c.failures, running: true}
	}
	gen, life := b.generation, b.generationCtx
	b.tasks.Go(func() {
		b.post(checksDone{gen, b.checkAll(life, list)})
	})
}

// onChecksDone keeps the results for the next round, because a running round owns
// the memory.
func (b *broker) onChecksDone(found map[weir.ChannelID]observation) {
	b.checking = false
	for id, c := range b.checkStates {
		if _, ok := found[id]; c.running && !ok {
			c.hurry = true // the check had no result
		}
		c.running = false
		b.checkStates[id] = c
	}
	for id, s := range found {
		b.observed[id] = s
		c := b.checkStates[id]
		if c.failures++; usable(s.Health) {
			c.failures = 0
		}
		b.checkStates[id] = c
	}
	b.onHint()
	b.scheduleChecks(time.Now())
}

// checkAll checks channels, at most maxConcurrent at a time, and stores changes. The
// result omits channels whose check found nothing out.
func (s *System) checkAll(ctx context.Context, list []weir.Channel) map[weir.ChannelID]observation {
	stored, err := call(ctx, s.store.ChannelStates)
	if err != nil {
		s.logger.Warn("channel states not read; checks skipped", "error", err)
		return nil
	}
	known := map[weir.ChannelID]surveys.ChannelState{}
	for _, st := range stored {
		known[st.Channel] = st
	}
	out := map[weir.ChannelID]observation{}
	var mu sync.Mutex
	concurrently(list, func(_ int, ch weir.Channel) {
		was, ok := known[ch.ID]
		if !ok {
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
	ch, err := lookup(ctx, s.store.ChannelByID, id)
	if err != nil || ch.Deleted {
		return observation{was, ch.Version}, err == nil || weir.CodeOf(err) == weir.CodeNotFound
	}
	health, reason := s.healthOf(ctx, ch)
	if ctx.Err() != nil || health == was.Health {
		return observation{was, ch.Version}, ctx.Err() == nil
	}
	is := surveys.ChannelState{Channel: id, Health: health, Reason: reason, Since: time.Now().UTC()}
	if !s.leading() {
		return observation{}, false
	}
	_, err = call(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.store.SetChannelState(ctx, is, []events.Event{channelEvent(ch.Name, was.Health, is)})
	})
	if err != nil {
		s.logger.Warn("channel state not stored", "channel", ch.Name, "error", err)
		return observation{}, false
	}
	s.logger.Info("channel state changed", "channel", ch.Name, "state", string(health), "was", string(was.Health), "reason", reason)
	return observation{is, ch.Version}, true
}

// usable reports whether a channel of this health may be given contacts. Paused
// counts as working: the channel may have been resumed since the check, and its
// row shows whether it is paused.
func usable(h weir.Health) bool { return h != weir.Down && h != weir.Erring && h != weir.Faulted }

// healthOf returns the health of a channel. A channel that kept failing is
// tried again when no contact waits in it and its provider reports no fault,
// because only a contact can show whether it works.
func (s *System) healthOf(ctx context.Context, ch weir.Channel) (health weir.Health, reason string) {
	defer func() {
		if r := recover(); r != nil {
			supervise.LogPanic(s.logger, s.metrics.panics, "channel check panicked", r, "channel", ch.Name)
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
