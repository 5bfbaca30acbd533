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
func (f *feeder) measureChannels(ctx context.Context, list []*surveyState) (map[weir.ChannelID]*channelLoad, error) {
	out := map[weir.ChannelID]*channelLoad{}
	for _, sv := range list {
		for _, name := range sv.plan.Channels {
			ch, ok, err := f.view.lookupChannel(ctx, name)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			if out[ch.ID] == nil {
				out[ch.ID] = f.newChannelLoad(ch)
			}
			out[ch.ID].addSurvey(sv.survey.Name)
		}
	}
	concurrently(slices.Collect(maps.Values(out)), func(_ int, t *channelLoad) {
		if t.why.IsZero() {
			f.io.readLoad(ctx, t)
		}
	})
	for id, t := range out {
		pace := f.memory.pace(id)
		if t.figures.InFlight+t.ready.Ours+t.ready.Others > 0 || pace.freedSlots > 0 {
			pace.rate = pace.rate.Observe(f.now, pace.freedSlots)
		} else {
			// A channel without contacts shows nothing about its rate.
			pace.rate = pace.rate.Skip(f.now)
		}
		pace.freedSlots = 0
		f.io.findings.freedPerMinute.Store(id, pace.rate.PerMinute())
	}
	return out, nil
}

// newChannelLoad starts the view of a channel.
func (f *feeder) newChannelLoad(ch weir.Channel) *channelLoad {
	if f.memory.checkOutdated(ch) {
		f.schedule.recheck = append(f.schedule.recheck, ch.ID)
	}
	return &channelLoad{channel: ch, why: whyUnavailable(ch, f.memory.states[ch.ID].ChannelState), queueLimit: queueLimitFor(ch, f.memory.pace(ch.ID).rate.PerMinute())}
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
