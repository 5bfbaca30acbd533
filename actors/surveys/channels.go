package surveys

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"weir"
	"weir/channels"
	"weir/operators"
	"weir/surveys"
	"weir/surveys/pacing"
)

// channelLoad is a round's view of a channel.
type channelLoad struct {
	channel    weir.Channel
	figures    operators.Figures
	ready      surveys.Ready // slots of contacts that wait for their turn
	lanes      []weir.Lane   // of the surveys
	surveys    int           // that use it
	queueLimit int           // queued contacts that suffice to leave no room
	why        operators.Why // why it is given nothing; zero: it works
}

// measureChannels reads the load of the channels that the surveys use.
func measureChannels(ctx context.Context, r *roundState, list []runningSurvey) (map[weir.ChannelID]*channelLoad, error) {
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
				out[ch.ID] = newChannelLoad(r, ch)
			}
			out[ch.ID].addSurvey(sv.survey.Name)
		}
	}
	concurrently(slices.Collect(maps.Values(out)), func(_ int, t *channelLoad) {
		if t.why.IsZero() {
			readLoad(ctx, r.io, t)
		}
	})
	for id, t := range out {
		pace := r.memory.pace(id)
		if t.figures.InFlight+t.ready.Ours+t.ready.Others > 0 || pace.freedSlots > 0 {
			pace.rate = pace.rate.Observe(r.now, pace.freedSlots)
		} else {
			// A channel without contacts shows nothing about its rate.
			pace.rate = pace.rate.Skip(r.now)
		}
		pace.freedSlots = 0
		r.io.findings.freedPerMinute.Store(id, pace.rate.PerMinute())
	}
	return out, nil
}

// newChannelLoad starts the view of a channel.
func newChannelLoad(r *roundState, ch weir.Channel) *channelLoad {
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
func (t *channelLoad) whyNoRoom(size int, rate float64, now, closes time.Time) operators.Why {
	if !t.why.IsZero() {
		return t.why
	}
	load := t.pacingLoad(rate)
	switch _, short := load.Room(size, feedAhead, closes.Sub(now)); short {
	case pacing.TooLarge:
		return operators.NewWhy(operators.WhyTooLarge, operators.TextContactTooLarge, "size", size, "channel", t.channel.Name, "room", load.Capacity-load.Reserve)
	case pacing.ClosesSoon, pacing.WindowClosed:
		return operators.NewWhy(operators.WhyWindow, operators.TextClosesSoon, "at", closes, "channel", t.channel.Name)
	case pacing.NoRoom:
		return operators.NewWhy(operators.WhyCapacity, operators.TextNoRoom, "channel", t.channel.Name, "used", load.InFlight, "capacity", load.Capacity,
			"ours", load.Queued, "others", load.Others)
	default:
		return operators.Why{}
	}
}

// readLoad reads the load of one channel. It reads the queue first: a contact
// that is claimed in between counts twice instead of not at all. A channel
// whose load cannot be read gets nothing now.
func readLoad(ctx context.Context, io *access, t *channelLoad) {
	largest := t.channel.Capacity - channels.ReplyReserve(t.channel.Settings)
	ready, err := call(ctx, func(ctx context.Context) (surveys.Ready, error) {
		return io.Store.ReadySlots(ctx, t.channel.ID, t.lanes, largest, t.queueLimit)
	})
	if err == nil {
		t.ready = ready
		t.figures, err = call(ctx, func(ctx context.Context) (operators.Figures, error) { return io.Channels.Figures(ctx, t.channel) })
	}
	if err != nil {
		t.why = operators.NewWhy(operators.WhyError, operators.TextFiguresUnread, "channel", t.channel.Name)
		io.Logger.Warn("channel figures not read; no contacts enqueued this round", "channel", t.channel.Name, "error", err)
	}
}

// roomOf returns what a channel has room for, of a survey whose window is open until it closes.
func roomOf(r *roundState, sv *surveyState, t *channelLoad, open bool, closes time.Time) (room surveys.Room) {
	if t == nil {
		return room
	}
	id := t.channel.ID
	room = surveys.Room{Channel: id, Size: contactSize(r, sv, id), Works: t.why.IsZero()}
	if room.Works && open && !hasMismatch(r, sv, t.channel) {
		room.Contacts, _ = t.pacingLoad(r.memory.pace(id).rate.PerMinute()).Room(room.Size, feedAhead, closes.Sub(r.now))
	}
	return room
}

// contactSize returns the max slots of a survey's contacts on a channel.
func contactSize(r *roundState, sv *surveyState, id weir.ChannelID) int {
	size := 1
	for mode, name := range sv.plan.Channels {
		if r.channelIDs[name] == id {
			size = max(size, sv.plan.Size(mode))
		}
	}
	return size
}

// hasMismatch reports a mismatch: a channel that cannot carry what the survey uses
// it for.
func hasMismatch(r *roundState, sv *surveyState, ch weir.Channel) bool {
	for mode, name := range sv.plan.Channels {
		if r.channelIDs[name] == ch.ID && r.io.mismatch(mode, ch) != "" {
			return true
		}
	}
	return false
}
