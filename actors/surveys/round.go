package surveys

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/internal/backoff"
	"weir/internal/phonenumber"
	"weir/surveys"
)

// roundState is what one scheduling pass over all running surveys has read of surveys and channels,
// and when the next one is due.
type roundState struct {
	io           *access
	memory       *memory
	now          time.Time
	hinted       bool // it has a cause other than the regular interval
	canceler     canceler
	channels     map[weir.ChannelID]weir.Channel
	channelIDs   map[string]weir.ChannelID // 0: there is none
	otherSurveys map[int64]*surveyState    // surveys that need no rounds but get outbox entries
	pass         *pass                     // it applies its messages only, with what else is about their senders; nil: it is a round

	seen     int              // outbox entries
	urgent   bool             // for some of them somebody waits
	moreWork bool             // work is left to be done at once
	nextWork time.Time        // instant of the next known work; zero: none is known
	recheck  []weir.ChannelID // channels to check again soon
}

// runningSurvey is a survey that contacts respondents, with what a round knows of it.
type runningSurvey struct {
	*surveyState
	facts *surveys.Facts
}

// newRound returns a round that begins now.
func newRound(io *access, m *memory, hinted bool) *roundState {
	return &roundState{
		io: io, memory: m, now: time.Now(), hinted: hinted, canceler: canceler{timeouts: map[weir.ChannelID]int{}},
		channels: map[weir.ChannelID]weir.Channel{}, channelIDs: map[string]weir.ChannelID{}, otherSurveys: map[int64]*surveyState{},
	}
}

// wakeAt schedules the next round for an instant at the latest.
func (r *roundState) wakeAt(at time.Time) { r.nextWork = earliest(r.nextWork, at) }

// continueIf has the next round follow at once if work is left.
func (r *roundState) continueIf(more bool) { r.moreWork = r.moreWork || more }

// lookupSurvey returns the state of any survey; nil if it does not exist.
func (r *roundState) lookupSurvey(ctx context.Context, id int64) (*surveyState, error) {
	if sv := r.memory.surveys[id]; sv != nil {
		return sv, nil
	}
	if sv, ok := r.otherSurveys[id]; ok {
		return sv, nil
	}
	s, err := lookup(ctx, r.io.Store.SurveyByID, id)
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

// setVersion updates sv to a new version of its survey.
func (r *roundState) setVersion(sv *surveyState, s surveys.Survey) {
	if sv.survey.Version == s.Version && sv.survey.ID == s.ID {
		return
	}
	if r.memory.surveys[s.ID] == sv { // otherwise the rounds may still skip it
		r.io.findings.skipped.Delete(s.ID)
	}
	sv.skippedUntil, sv.failures, sv.sweepCursor, sv.sweepDone = time.Time{}, 0, 0, false
	sv.scheduleChanged = sv.scheduleChanged || sv.survey.ID == s.ID && !reflect.DeepEqual(sv.survey.Definition.Schedule, s.Definition.Schedule)
	sv.entriesDropped = sv.entriesDropped || sv.survey.ID == s.ID && sv.plan == nil
	sv.survey = s
	r.io.brakes.see(&s)
	plan, wrong := r.io.compile(&s)
	if sv.plan = plan; plan == nil {
		r.io.Logger.Error("survey definition cannot be run; the survey is skipped until it is changed",
			"survey", s.Name, "error", surveys.Invalid(wrong))
	}
}

// lookupChannel finds a channel by name; ok is false if there is none.
func (r *roundState) lookupChannel(ctx context.Context, name string) (_ weir.Channel, ok bool, _ error) {
	if id, found := r.channelIDs[name]; found {
		return r.channels[id], id != 0, nil
	}
	ch, err := lookup(ctx, r.io.Store.Channel, name)
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

// loadChannels reads channels by their ids: their names, for the log.
func (r *roundState) loadChannels(ctx context.Context, ids map[weir.ChannelID]bool) error {
	for id := range ids {
		if _, ok := r.channels[id]; ok || id == 0 {
			continue
		}
		ch, err := lookup(ctx, r.io.Store.ChannelByID, id)
		if err != nil && weir.CodeOf(err) != weir.CodeNotFound {
			return fmt.Errorf("read a channel: %w", err)
		}
		r.channels[id] = ch
		if err == nil && !ch.Deleted {
			r.channelIDs[ch.Name] = id
		}
	}
	return nil
}

// patient reports whether the round had something to do, and whoever waits for something got it by passes already: all that
// it has seen are reports about contacts of conversations. While people answer, there is always one.
func (r *roundState) patient() bool { return r.seen > 0 && !r.urgent }

// stepper returns the stepper of one survey.
func (r *roundState) stepper(ctx context.Context, sv *surveyState) (*surveys.Stepper, error) {
	for _, name := range sv.plan.Channels {
		if _, _, err := r.lookupChannel(ctx, name); err != nil {
			return nil, err
		}
	}
	return r.io.newStepper(sv, r.now, r.channels, r.channelIDs), nil
}

// stepperFor returns the stepper of one survey, for a page of its respondents, whose conversations it
// reads.
func (r *roundState) stepperFor(ctx context.Context, sv *surveyState, page []surveys.Respondent) (*surveys.Stepper, error) {
	if err := r.io.readTalks(ctx, sv, pointers(page)); err != nil {
		return nil, err
	}
	return r.stepper(ctx, sv)
}

// cancel cancels contacts whose respondents' moves are already committed.
func (r *roundState) cancel(ctx context.Context, list []weir.Ref) {
	if r.canceler.cancelAll(ctx, r.io, list) > 0 {
		r.wakeAt(r.now.Add(retryDelay))
	}
}

// channelsInUse lists the channels that running, paused and stopping surveys use, as
// far as this round has read them.
func (r *roundState) channelsInUse() []weir.Channel {
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

// senderKey identifies the sender of a message.
type senderKey struct {
	channel weir.ChannelID
	from    string
}

func senderOf(n *surveys.OutboxEntry) senderKey { return senderKey{n.Channel, n.Message.From} }

// numberOf returns the number of the sender of a message; false: it is none that a respondent has.
func numberOf(from string) (number string, ok bool) {
	if phonenumber.IsE164(from) { // it was read when the message came; the store knows its notations
		return from, true
	}
	return phonenumber.Reported(from, "")
}

// findSenders finds the respondents who sent messages. It leaves out what no respondent sent.
func (r *roundState) findSenders(ctx context.Context, list []senderKey) (map[senderKey]surveys.Respondent, error) {
	numbers, channels := map[string]string{}, map[weir.ChannelID]bool{}
	for _, k := range list {
		if number, ok := numberOf(k.from); ok {
			numbers[k.from], channels[k.channel] = number, true
		}
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	people, err := call(ctx, func(ctx context.Context) (map[string][]surveys.Respondent, error) {
		return r.io.Store.ByPhones(ctx, slices.Compact(slices.Sorted(maps.Values(numbers))), maxSamePhone)
	})
	if err != nil {
		return nil, fmt.Errorf("find the senders of messages: %w", err)
	}
	for _, same := range people {
		for i := range same {
			channels[same[i].Contact.Channel] = true
		}
	}
	if err := r.loadChannels(ctx, channels); err != nil {
		return nil, err
	}
	found := make(map[senderKey]surveys.Respondent, len(list))
	for _, k := range list {
		if number, ok := numbers[k.from]; ok {
			who, ok, err := r.senderAmong(ctx, k.channel, people[number])
			if err != nil {
				return nil, err
			}
			if ok {
				found[k] = who
			}
		}
	}
	return found, nil
}

// findSender finds the respondent who sent a message.
func (r *roundState) findSender(ctx context.Context, n *surveys.OutboxEntry) (_ surveys.Respondent, ok bool, _ error) {
	found, err := r.findSenders(ctx, []senderKey{senderOf(n)})
	who, ok := found[senderOf(n)]
	return who, ok, err
}

// senderAmong finds who of the respondents with one number sent a message on a channel.
func (r *roundState) senderAmong(ctx context.Context, channel weir.ChannelID, people []surveys.Respondent) (_ surveys.Respondent, ok bool, _ error) {
	list := make([]surveys.Sender, len(people))
	for i := range people {
		p := &people[i]
		sv, err := r.lookupSurvey(ctx, p.Survey)
		if err != nil {
			return surveys.Respondent{}, false, err
		}
		list[i] = surveys.Sender{Status: p.Status, LastChannel: r.channels[p.Contact.Channel].Name, LastAccepted: p.Reached}
		if sv != nil && sv.survey.State != surveys.Draft {
			for _, m := range sv.survey.Definition.Modes {
				list[i].Channels = append(list[i].Channels, m.Channel)
			}
		}
	}
	best := surveys.FindSender(r.channels[channel].Name, list)
	if best < 0 {
		return surveys.Respondent{}, false, nil
	}
	return people[best], true, nil
}

// skipBroken skips a survey whose own rules panicked, for a time that grows. Only
// the first panic is logged.
func (r *roundState) skipBroken(sv *surveyState, panicked any) {
	if sv.failures++; sv.failures == 1 {
		supervise.LogPanic(r.io.Logger, r.io.Metrics.panics, "survey skipped: its rules panicked", panicked, "survey", sv.survey.Name)
	} else {
		r.io.Metrics.panics.Inc()
	}
	sv.skippedUntil = r.now.Add(backoff.Delay(sv.failures, brokenDelay, time.Hour))
	r.io.findings.skipped.Store(sv.survey.ID, sv.skippedUntil)
	r.wakeAt(sv.skippedUntil)
}

// earliest returns the earlier of two instants. A zero instant means none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// newStepper returns the stepper of one survey, over the channels that were read.
func (a *access) newStepper(sv *surveyState, now time.Time, channels map[weir.ChannelID]weir.Channel, named map[string]weir.ChannelID) *surveys.Stepper {
	return &surveys.Stepper{
		Survey: &sv.survey, Plan: sv.plan, Now: now, Random: a.Random, Tokens: a.Tokens,
		ChannelFor: func(m surveys.Mode) (weir.Channel, bool) {
			id := named[sv.plan.Channels[m]]
			ch := channels[id]
			return ch, id != 0 && !ch.Deleting && !ch.Deleted && a.mismatch(m, ch) == ""
		},
		ChannelName: func(id weir.ChannelID) string { return channels[id].Name },
		Zone:        func(r *surveys.Respondent) *time.Location { return a.zoneOf(sv.plan, r) },
		OnPanic: func(p any) {
			a.Metrics.failedSteps.WithLabelValues(sv.survey.Name).Inc()
			supervise.LogPanic(a.Logger, a.Metrics.panics, "survey rules panicked", p, "survey", sv.survey.Name)
		},
	}
}
