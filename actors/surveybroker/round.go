package surveybroker

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/channels"
	"weir/surveys"
)

// loadChannelStates reads the channel states that an earlier process found.
func (r *round) loadChannelStates(ctx context.Context) error {
	if r.memory.statesLoaded {
		return nil
	}
	states, err := r.channelStates(ctx)
	if err != nil {
		return fmt.Errorf("read the states of channels: %w", err)
	}
	for id, s := range states {
		r.memory.states[id] = observation{ChannelState: s}
	}
	r.memory.statesLoaded = true
	return nil
}

// channelStates returns the stored channel states. A channel that was never checked has
// none.
func (s *System) channelStates(ctx context.Context) (map[weir.ChannelID]surveys.ChannelState, error) {
	list, err := call(ctx, s.o.Store.ChannelStates)
	states := make(map[weir.ChannelID]surveys.ChannelState, len(list))
	for _, st := range list {
		states[st.Channel] = st
	}
	return states, err
}

// pollSurveys polls the surveys that need rounds.
func (r *round) pollSurveys(ctx context.Context) error {
	for _, sv := range r.memory.surveys {
		sv.polled = false
	}
	r.memory.hasActive = false
	err := r.eachSurvey(ctx, []surveys.State{surveys.Running, surveys.Paused, surveys.Stopping}, func(s surveys.Survey) {
		if s.Deleting {
			return
		}
		sv := r.memory.surveys[s.ID]
		if sv == nil {
			sv = &surveyState{}
			r.memory.surveys[s.ID] = sv
			r.o.Metrics.addSurvey(s.Name)
		}
		r.setVersion(sv, s)
		sv.polled = true
		r.memory.hasActive = r.memory.hasActive || sv.survey.State != surveys.Paused || !sv.sweepDone
	})
	if err != nil {
		return err
	}
	for id, sv := range r.memory.surveys {
		if !sv.polled {
			r.o.Metrics.removeSurvey(sv.survey.Name)
			r.skipped.Delete(id)
			delete(r.memory.surveys, id)
			for _, pace := range r.memory.paces {
				pace.share = pace.share.Remove(sv.survey.Name)
			}
		}
	}
	return nil
}

// eachSurvey reads the surveys of the given states, page by page.
func (s *System) eachSurvey(ctx context.Context, states []surveys.State, do func(surveys.Survey)) error {
	for after := ""; ; {
		page, err := call(ctx, func(ctx context.Context) ([]surveys.Survey, error) {
			return s.o.Store.Surveys(ctx, states, after, surveyPage)
		})
		if err != nil {
			return fmt.Errorf("read the surveys: %w", err)
		}
		for i := range page {
			do(page[i])
		}
		if len(page) < surveyPage {
			return nil
		}
		after = page[len(page)-1].Name
	}
}

// setVersion updates sv to a new version of its survey.
func (r *round) setVersion(sv *surveyState, s surveys.Survey) {
	if sv.survey.Version == s.Version && sv.survey.ID == s.ID {
		return
	}
	if r.memory.surveys[s.ID] == sv { // otherwise the rounds may still skip it
		r.skipped.Delete(s.ID)
	}
	sv.skippedUntil, sv.failures, sv.sweepCursor, sv.sweepDone = time.Time{}, 0, 0, false
	sv.scheduleChanged = sv.scheduleChanged || sv.survey.ID == s.ID && !reflect.DeepEqual(sv.survey.Definition.Schedule, s.Definition.Schedule)
	sv.entriesDropped = sv.entriesDropped || sv.survey.ID == s.ID && sv.plan == nil
	sv.survey = s
	plan, wrong := r.plans.compile(&s, r.o.Defaults)
	if sv.plan = plan; plan == nil {
		r.o.Logger.Error("survey definition cannot be run; the survey is skipped until it is changed",
			"survey", s.Name, "error", surveys.Invalid(wrong))
	}
}

// lookupSurvey returns the state of any survey; nil if it does not exist.
func (r *round) lookupSurvey(ctx context.Context, id int64) (*surveyState, error) {
	if sv := r.memory.surveys[id]; sv != nil {
		return sv, nil
	}
	if sv, ok := r.otherSurveys[id]; ok {
		return sv, nil
	}
	s, err := lookup(ctx, r.o.Store.SurveyByID, id)
	if weir.CodeOf(err) == weir.CodeNotFound || err == nil && s.Deleting {
		// Remembered for this round: many outbox entries of a deleted survey cost one read.
		r.otherSurveys[id] = nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a survey: %w", err)
	}
	sv := &surveyState{}
	r.setVersion(sv, s)
	r.otherSurveys[id] = sv
	return sv, nil
}

// lookupChannel finds a channel by name; ok is false if there is none.
func (r *round) lookupChannel(ctx context.Context, name string) (_ weir.Channel, ok bool, _ error) {
	if id, found := r.channelIDs[name]; found {
		return r.channels[id], id != 0, nil
	}
	ch, err := lookup(ctx, r.o.Store.Channel, name)
	if weir.CodeOf(err) == weir.CodeNotFound {
		r.channelIDs[name] = 0
		return weir.Channel{}, false, nil
	}
	if err != nil {
		return weir.Channel{}, false, fmt.Errorf("read a channel: %w", err)
	}
	r.channelIDs[name], r.channels[ch.ID] = ch.ID, ch
	return ch, true, nil
}

// loadChannels reads the names of channels, for the log.
func (r *round) loadChannels(ctx context.Context, ids map[weir.ChannelID]bool) error {
	for id := range ids {
		if _, ok := r.channels[id]; ok || id == 0 {
			continue
		}
		ch, err := lookup(ctx, r.o.Store.ChannelByID, id)
		if err != nil && weir.CodeOf(err) != weir.CodeNotFound {
			return fmt.Errorf("read a channel: %w", err)
		}
		r.channels[id] = ch
	}
	return nil
}

// stepper returns the stepper of one survey.
func (r *round) stepper(ctx context.Context, sv *surveyState) (*stepper, error) {
	for _, name := range sv.plan.Channels {
		if _, _, err := r.lookupChannel(ctx, name); err != nil {
			return nil, err
		}
	}
	return r.newStepper(sv, r.now, r.channels, r.channelIDs), nil
}

// mismatch returns why a channel cannot carry what a mode needs, or "". A launch
// has checked this, but another channel may have been created under the same
// name since.
func (s *System) mismatch(mode surveys.Mode, ch weir.Channel) string {
	t, ok := s.o.Types.Type(ch.Type)
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

func (s *System) newStepper(sv *surveyState, now time.Time, channels map[weir.ChannelID]weir.Channel, named map[string]weir.ChannelID) *stepper {
	return &stepper{
		survey: &sv.survey, plan: sv.plan, now: now, random: s.o.Random, tokens: s.o.Tokens,
		channelFor: func(m surveys.Mode) (weir.Channel, bool) {
			id := named[sv.plan.Channels[m]]
			ch := channels[id]
			return ch, id != 0 && !ch.Deleting && !ch.Deleted && s.mismatch(m, ch) == ""
		},
		channelName: func(id weir.ChannelID) string { return channels[id].Name },
		onPanic: func(p any) {
			s.o.Metrics.failedSteps.WithLabelValues(sv.survey.Name).Inc()
			supervise.LogPanic(s.o.Logger, s.o.Metrics.panics, "survey rules panicked", p, "survey", sv.survey.Name)
		},
	}
}

// channelsInUse lists the channels that running, paused and stopping surveys use, as
// far as this round has read them.
func (r *round) channelsInUse() []weir.Channel {
	used := map[weir.ChannelID]weir.Channel{}
	for _, sv := range r.memory.surveys {
		if sv.plan == nil {
			continue
		}
		for _, name := range sv.plan.Channels {
			if id := r.channelIDs[name]; id != 0 {
				used[id] = r.channels[id]
			}
		}
	}
	return slices.Collect(maps.Values(used))
}

// wakeAt schedules the next round for an instant at the latest.
func (r *round) wakeAt(at time.Time) {
	if !at.IsZero() {
		r.nextWork = earliest(r.nextWork, at)
	}
}

// call bounds one call of the store by ioTimeout.
func call[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	return do(ctx)
}

// call2 is call for two results.
func call2[T, U any](ctx context.Context, do func(context.Context) (T, U, error)) (T, U, error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	return do(ctx)
}

// lookup is call for a method with one argument.
func lookup[A, T any](ctx context.Context, do func(context.Context, A) (T, error), arg A) (T, error) {
	return call(ctx, func(ctx context.Context) (T, error) { return do(ctx, arg) })
}

// concurrently calls do for each element of a list, at most maxConcurrent at a
// time, and waits for all.
func concurrently[T any](list []T, do func(int, T)) {
	var wg sync.WaitGroup
	turns := make(chan struct{}, maxConcurrent)
	for i, x := range list {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			do(i, x)
		})
	}
	wg.Wait()
}
