package surveybroker

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/surveys"
)

// round is one pass over everything.
type round struct {
	*System
	memory   *memory
	now      time.Time
	mayWrite func() bool // whether this process may still write
	lease    weir.Lease  // under which it writes

	channels       map[weir.ChannelID]weir.Channel
	channelIDs     map[string]weir.ChannelID // 0: there is none
	otherSurveys   map[int64]*surveyState    // surveys that need no rounds but get outbox entries
	moreWork       bool                      // work is left to be done at once
	nextWork       time.Time                 // instant of the next known work; zero: none is known
	hinted         bool                      // the round has a cause other than the regular interval
	hadEntries     bool                      // there were outbox entries
	applied        int                       // moves that were made, and outbox entries that were removed without one
	cancelFailures int                       // contacts that could not be canceled
	recheck        []weir.ChannelID          // channels to check again soon
	toCancel       []weir.Ref                // contacts to cancel after their commit
	tallies        map[int64]tally           // of the surveys that may start respondents
	cancelMu       sync.Mutex
	cancelTimeouts map[weir.ChannelID]int // cancellations that timed out, by channel
}

// result is the outcome of a round.
type result struct {
	moreWork      bool
	nextWork      time.Time
	recheck       []weir.ChannelID // channels to check again soon
	channelsInUse []weir.Channel   // channels in use, see round.using
	err           error
}

// errRoleLost reports that another process may run the surveys by now.
var errRoleLost = fmt.Errorf("the role of the survey broker is not ours any more")

// runRound runs one round. hinted reports that the round has a cause other than
// the regular interval.
func (s *System) runRound(ctx context.Context, mem *memory, hinted bool) (out result) {
	r := &round{
		System: s, memory: mem, now: time.Now(), mayWrite: s.leading, lease: s.role.Lease(), otherSurveys: map[int64]*surveyState{}, tallies: map[int64]tally{}, cancelTimeouts: map[weir.ChannelID]int{},
		channels: map[weir.ChannelID]weir.Channel{}, channelIDs: map[string]weir.ChannelID{},
	}
	defer func() {
		if p := recover(); p != nil {
			s.metrics.panics.Inc()
			s.logger.Error("panic in a round of the survey broker", "panic", supervise.PanicText(p), "stack", string(debug.Stack()))
			out.err = fmt.Errorf("the round crashed: %s", supervise.PanicText(p))
		}
		s.metrics.roundDuration.Observe(time.Since(r.now).Seconds())
	}()
	err := r.run(ctx, hinted)
	return result{moreWork: r.moreWork, nextWork: r.nextWork, recheck: r.recheck, channelsInUse: r.channelsInUse(), err: err}
}

func (r *round) run(ctx context.Context, hinted bool) error {
	if err := r.loadChannelStates(ctx); err != nil {
		return err
	}
	// With no survey to run, one statement per interval is enough.
	notices, look := true, true
	r.hinted = hinted
	if !hinted && !r.memory.hasActive {
		look = !r.memory.polledSurveys
		notices = !look
		r.memory.polledSurveys = look
	}
	if look {
		if err := r.pollSurveys(ctx); err != nil {
			return err
		}
	}
	if notices {
		if err := r.processOutbox(ctx); err != nil {
			return err
		}
	}
	if !look {
		r.moreWork = r.moreWork || r.hadEntries
		return nil
	}
	var bidders []*surveyState
	for _, sv := range r.memory.surveys {
		sv.backlog = 0
		open, err := r.advanceSurvey(ctx, sv)
		if err != nil {
			return err
		}
		if open {
			bidders = append(bidders, sv)
		}
	}
	err := r.feed(ctx, bidders)
	r.exportBacklog()
	return err
}

// loadChannelStates reads the channel states that an earlier process found.
func (r *round) loadChannelStates(ctx context.Context) error {
	if r.memory.statesLoaded {
		return nil
	}
	states, err := call(ctx, r.store.ChannelStates)
	if err != nil {
		return fmt.Errorf("read the states of channels: %w", err)
	}
	for _, s := range states {
		r.memory.states[s.Channel] = observation{ChannelState: s}
	}
	r.memory.statesLoaded = true
	return nil
}

// pollSurveys polls the surveys that need rounds.
func (r *round) pollSurveys(ctx context.Context) error {
	for _, sv := range r.memory.surveys {
		sv.polled = false
	}
	r.memory.hasActive = false
	for after := ""; ; {
		page, err := call(ctx, func(ctx context.Context) ([]surveys.Survey, error) {
			return r.store.Surveys(ctx, []surveys.State{surveys.Running, surveys.Paused, surveys.Stopping}, after, surveyPage)
		})
		if err != nil {
			return fmt.Errorf("find the surveys: %w", err)
		}
		for i := range page {
			if page[i].Deleting {
				continue
			}
			sv := r.memory.surveys[page[i].ID]
			if sv == nil {
				sv = &surveyState{}
				r.memory.surveys[page[i].ID] = sv
				r.metrics.addSurvey(page[i].Name)
			}
			r.setVersion(sv, page[i])
			sv.polled = true
			r.memory.hasActive = r.memory.hasActive || sv.survey.State != surveys.Paused || !sv.sweepDone
		}
		if len(page) < surveyPage {
			break
		}
		after = page[len(page)-1].Name
	}
	for id, sv := range r.memory.surveys {
		if !sv.polled {
			r.metrics.removeSurvey(sv.survey.Name)
			delete(r.memory.surveys, id)
			for _, road := range r.memory.paces {
				road.share = road.share.Remove(sv.survey.Name)
			}
		}
	}
	return nil
}

// setVersion updates sv to a new version of its survey.
func (r *round) setVersion(sv *surveyState, s surveys.Survey) {
	if sv.survey.Version == s.Version && sv.survey.ID == s.ID {
		return
	}
	sv.skippedUntil, sv.failures, sv.sweepCursor, sv.sweepDone = time.Time{}, 0, 0, false
	sv.scheduleChanged = sv.scheduleChanged || sv.survey.ID == s.ID && !reflect.DeepEqual(sv.survey.Definition.Schedule, s.Definition.Schedule)
	sv.entriesDropped = sv.entriesDropped || sv.survey.ID == s.ID && sv.plan == nil
	sv.survey = s
	plan, wrong := r.plans.compile(&s, r.defaults)
	if sv.plan = plan; plan == nil {
		r.logger.Error("a survey's definition cannot be run any more; the survey is left alone until it is changed",
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
	s, err := call(ctx, func(ctx context.Context) (surveys.Survey, error) { return r.store.SurveyByID(ctx, id) })
	if weir.CodeOf(err) == weir.CodeNotFound || err == nil && s.Deleting {
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
	ch, err := call(ctx, func(ctx context.Context) (weir.Channel, error) { return r.store.Channel(ctx, name) })
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
		ch, err := call(ctx, func(ctx context.Context) (weir.Channel, error) { return r.store.ChannelByID(ctx, id) })
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

func (s *System) newStepper(sv *surveyState, now time.Time, channels map[weir.ChannelID]weir.Channel, named map[string]weir.ChannelID) *stepper {
	return &stepper{
		survey: &sv.survey, plan: sv.plan, now: now, random: s.random, tokens: s.tokens,
		channelFor: func(m surveys.Mode) (weir.Channel, bool) {
			id := named[sv.plan.Channels[m]]
			ch := channels[id]
			return ch, id != 0 && !ch.Deleting && !ch.Deleted && s.mismatch(m, ch) == ""
		},
		channelName: func(id weir.ChannelID) string { return channels[id].Name },
		onPanic: func(p any, stack []byte) {
			s.metrics.panics.Inc()
			s.metrics.failedSteps.WithLabelValues(sv.survey.Name).Inc()
			s.logger.Error("the rules panicked over a respondent", "survey", sv.survey.Name, "panic", supervise.PanicText(p), "stack", string(stack))
		},
	}
}

// channelsInUse lists the channels that running, paused and stopping surveys use, as
// far as this round has read them.
func (r *round) channelsInUse() []weir.Channel {
	var out []weir.Channel
	had := map[weir.ChannelID]bool{}
	for _, sv := range r.memory.surveys {
		if sv.plan == nil {
			continue
		}
		for _, name := range sv.plan.Channels {
			if id := r.channelIDs[name]; id != 0 && !had[id] {
				had[id] = true
				out = append(out, r.channels[id])
			}
		}
	}
	return out
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
