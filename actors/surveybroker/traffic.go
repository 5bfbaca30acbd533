package surveybroker

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/channels"
	"weir/surveys"
)

// traffic is a round's view of a channel.
type traffic struct {
	channel weir.Channel
	figures weir.Figures
	ready   surveys.Ready // slots of contacts that wait for their turn
	lanes   []weir.Lane   // of the surveys
	surveys int           // that use it
	most    int           // queued contacts that suffice to leave no room
	why     weir.Why      // why it is given nothing; zero: it works
}

// observe reads the load of the channels that the surveys use.
func (r *round) observe(ctx context.Context, list []*known) (map[weir.ChannelID]*traffic, error) {
	out := map[weir.ChannelID]*traffic{}
	for _, k := range list {
		for _, name := range k.plan.Channels {
			ch, ok, err := r.channel(ctx, name)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			if out[ch.ID] == nil {
				out[ch.ID] = r.traffic(ch)
			}
			out[ch.ID].join(k.survey.Name)
		}
	}
	var wg sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for _, t := range out {
		if !t.why.IsZero() {
			continue
		}
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			r.measure(ctx, t)
		})
	}
	wg.Wait()
	for id, t := range out {
		road := r.mem.road(id)
		if t.figures.InFlight+t.ready.Ours+t.ready.Others > 0 || road.ended > 0 {
			road.meter = road.meter.Observe(r.now, road.ended)
		} else {
			road.meter = road.meter.Skip(r.now)
		}
		road.ended = 0
		r.rates.Store(id, road.meter.PerMinute())
	}
	return out, nil
}

// traffic starts the view of a channel.
func (r *round) traffic(ch weir.Channel) *traffic {
	if r.mem.outdated(ch) {
		r.recheck = append(r.recheck, ch.ID)
	}
	return &traffic{channel: ch, why: held(ch, r.mem.states[ch.ID].ChannelState), most: mostOf(ch, r.mem.road(ch.ID).meter.PerMinute())}
}

// mostOf returns the number of queued contacts that suffices to leave a channel
// no room.
func mostOf(ch weir.Channel, rate float64) int {
	most, _ := surveys.Flow{Capacity: ch.Capacity, Rate: rate}.Room(1, ahead, math.MaxInt64)
	return most + 1
}

// join adds a survey that uses the channel. A survey that uses it in several
// modes counts once.
func (t *traffic) join(survey string) {
	if slices.Contains(t.lanes, weir.LaneOf(weir.Reply, survey)) {
		return
	}
	t.surveys++
	for p := weir.Reply; p <= weir.Normal; p++ {
		t.lanes = append(t.lanes, weir.LaneOf(p, survey))
	}
}

// flow returns the channel's load in the form that the rules need.
func (t *traffic) flow(rate float64) surveys.Flow {
	return surveys.Flow{
		Capacity: t.channel.Capacity, Reserve: channels.ReplyReserve(t.channel.Settings), InFlight: t.figures.InFlight,
		Queued: t.ready.Ours, Others: t.ready.Others, Surveys: t.surveys, Rate: rate,
	}
}

// whyNoRoom explains why no contact of size slots may be enqueued on the
// channel now; zero if one may. Rounds use Room alone, because they need no
// text.
func (t *traffic) whyNoRoom(size int, rate float64, now, closes time.Time) weir.Why {
	if !t.why.IsZero() {
		return t.why
	}
	f := t.flow(rate)
	switch _, short := f.Room(size, ahead, closes.Sub(now)); short {
	case surveys.TooLarge:
		return weir.Why{Code: weir.WhyTooLarge, Text: fmt.Sprintf("a contact takes %d slots and channel %s has %d for it", size, t.channel.Name, f.Capacity-f.Reserve)}
	case surveys.ClosesSoon, surveys.WindowClosed:
		return weir.Why{Code: weir.WhyWindow, Text: fmt.Sprintf("the window closes at %s, before channel %s could dispatch another contact", weir.WhyAt(closes), t.channel.Name)}
	case surveys.NoRoom:
		return weir.Why{Code: weir.WhyCapacity, Text: fmt.Sprintf("channel %s: %d of %d slots are in flight; %d of surveys and %d of others wait",
			t.channel.Name, f.InFlight, f.Capacity, f.Queued, f.Others)}
	default:
		return weir.Why{}
	}
}

// measure reads the load of one channel. It reads the queue first: a contact
// that is claimed in between counts twice instead of not at all. A channel
// whose load cannot be read gets nothing now.
func (s *System) measure(ctx context.Context, t *traffic) {
	largest := t.channel.Capacity - channels.ReplyReserve(t.channel.Settings)
	ready, err := call(ctx, func(ctx context.Context) (surveys.Ready, error) {
		return s.store.ReadySlots(ctx, t.channel.ID, t.lanes, largest, t.most)
	})
	if err == nil {
		t.ready = ready
		t.figures, err = call(ctx, func(ctx context.Context) (weir.Figures, error) { return s.channels.Figures(ctx, t.channel) })
	}
	if err != nil {
		t.why = weir.Why{Code: weir.WhyError, Text: fmt.Sprintf("the figures of channel %s could not be read", t.channel.Name)}
		s.logger.Warn("a channel's figures could not be read; it is given nothing in this round", "channel", t.channel.Name, "error", err)
	}
}
