package surveys

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"weir"
	"weir/internal/phonenumber"
	"weir/surveys"
)

// view caches what one round has read: surveys, and channels by id and name.
type view struct {
	io           *access
	memory       *memory
	now          time.Time
	channels     map[weir.ChannelID]weir.Channel
	channelIDs   map[string]weir.ChannelID // 0: there is none
	otherSurveys map[int64]*surveyState    // surveys that need no rounds but get outbox entries
}

func newView(io *access, m *memory, now time.Time) *view {
	return &view{io: io, memory: m, now: now, channels: map[weir.ChannelID]weir.Channel{}, channelIDs: map[string]weir.ChannelID{}, otherSurveys: map[int64]*surveyState{}}
}

// lookupSurvey returns the state of any survey; nil if it does not exist.
func (v *view) lookupSurvey(ctx context.Context, id int64) (*surveyState, error) {
	if sv := v.memory.surveys[id]; sv != nil {
		return sv, nil
	}
	if sv, ok := v.otherSurveys[id]; ok {
		return sv, nil
	}
	s, err := lookup(ctx, v.io.Store.SurveyByID, id)
	if weir.CodeOf(err) == weir.CodeNotFound || err == nil && s.Deleting {
		// Remembered for this round: many outbox entries of a deleted survey cost one read.
		v.otherSurveys[id] = nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a survey: %w", err)
	}
	sv := &surveyState{}
	v.setVersion(sv, s)
	v.otherSurveys[id] = sv
	return sv, nil
}

// setVersion updates sv to a new version of its survey.
func (v *view) setVersion(sv *surveyState, s surveys.Survey) {
	if sv.survey.Version == s.Version && sv.survey.ID == s.ID {
		return
	}
	if v.memory.surveys[s.ID] == sv { // otherwise the rounds may still skip it
		v.io.findings.skipped.Delete(s.ID)
	}
	sv.skippedUntil, sv.failures, sv.sweepCursor, sv.sweepDone = time.Time{}, 0, 0, false
	sv.scheduleChanged = sv.scheduleChanged || sv.survey.ID == s.ID && !reflect.DeepEqual(sv.survey.Definition.Schedule, s.Definition.Schedule)
	sv.entriesDropped = sv.entriesDropped || sv.survey.ID == s.ID && sv.plan == nil
	sv.survey = s
	v.io.brakes.see(&s)
	plan, wrong := v.io.compile(&s)
	if sv.plan = plan; plan == nil {
		v.io.Logger.Error("survey definition cannot be run; the survey is skipped until it is changed",
			"survey", s.Name, "error", surveys.Invalid(wrong))
	}
}

// lookupChannel finds a channel by name; ok is false if there is none.
func (v *view) lookupChannel(ctx context.Context, name string) (_ weir.Channel, ok bool, _ error) {
	if id, found := v.channelIDs[name]; found {
		return v.channels[id], id != 0, nil
	}
	ch, err := lookup(ctx, v.io.Store.Channel, name)
	if weir.CodeOf(err) == weir.CodeNotFound {
		v.channelIDs[name] = 0
		return weir.Channel{}, false, nil
	}
	if err != nil {
		return weir.Channel{}, false, fmt.Errorf("read a channel: %w", err)
	}
	v.channelIDs[name], v.channels[ch.ID] = ch.ID, ch
	return ch, true, nil
}

// loadChannels reads the names of channels, for the log.
func (v *view) loadChannels(ctx context.Context, ids map[weir.ChannelID]bool) error {
	for id := range ids {
		if _, ok := v.channels[id]; ok || id == 0 {
			continue
		}
		ch, err := lookup(ctx, v.io.Store.ChannelByID, id)
		if err != nil && weir.CodeOf(err) != weir.CodeNotFound {
			return fmt.Errorf("read a channel: %w", err)
		}
		v.channels[id] = ch
	}
	return nil
}

// stepper returns the stepper of one survey.
func (v *view) stepper(ctx context.Context, sv *surveyState) (*surveys.Stepper, error) {
	for _, name := range sv.plan.Channels {
		if _, _, err := v.lookupChannel(ctx, name); err != nil {
			return nil, err
		}
	}
	return v.io.newStepper(sv, v.now, v.channels, v.channelIDs), nil
}

// channelsInUse lists the channels that running, paused and stopping surveys use, as
// far as this round has read them.
func (v *view) channelsInUse() []weir.Channel {
	used := map[weir.ChannelID]weir.Channel{}
	for _, sv := range v.memory.surveys {
		if sv.plan == nil {
			continue
		}
		for _, name := range sv.plan.Channels {
			if id := v.channelIDs[name]; id != 0 {
				used[id] = v.channels[id]
			}
		}
	}
	return slices.Collect(maps.Values(used))
}

// hasMismatch reports a mismatch: a channel that cannot carry what the survey uses
// it for.
func (v *view) hasMismatch(sv *surveyState, ch weir.Channel) bool {
	for mode, name := range sv.plan.Channels {
		if v.channelIDs[name] == ch.ID && v.io.mismatch(mode, ch) != "" {
			return true
		}
	}
	return false
}

// findSender finds the respondent that sent a message.
func (v *view) findSender(ctx context.Context, n *surveys.OutboxEntry) (_ surveys.Respondent, ok bool, _ error) {
	number, ok := phonenumber.Reported(n.Message.From, "")
	if !ok { // it is no number that a respondent has
		return surveys.Respondent{}, false, nil
	}
	people, err := call(ctx, func(ctx context.Context) ([]surveys.Respondent, error) {
		return v.io.Store.ByPhone(ctx, number, maxSamePhone)
	})
	if err != nil {
		return surveys.Respondent{}, false, fmt.Errorf("find the sender of a message: %w", err)
	}
	channels := map[weir.ChannelID]bool{}
	for _, p := range people {
		channels[p.Contact.Channel] = true
	}
	if err := v.loadChannels(ctx, channels); err != nil {
		return surveys.Respondent{}, false, err
	}
	list := make([]surveys.Sender, len(people))
	for i, p := range people {
		sv, err := v.lookupSurvey(ctx, p.Survey)
		if err != nil {
			return surveys.Respondent{}, false, err
		}
		list[i] = surveys.Sender{Status: p.Status, LastChannel: v.channels[p.Contact.Channel].Name, LastAccepted: p.Reached}
		if sv != nil && sv.survey.State != surveys.Draft {
			for _, m := range sv.survey.Definition.Modes {
				list[i].Channels = append(list[i].Channels, m.Channel)
			}
		}
	}
	best := surveys.FindSender(v.channels[n.Channel].Name, list)
	if best < 0 {
		return surveys.Respondent{}, false, nil
	}
	return people[best], true, nil
}
