package surveybroker

import (
	"context"
	"math"
	"slices"
	"sync"

	"weir"
	"weir/channels"
	"weir/surveys"
)

// traffic is what a round sees of a channel.
type traffic struct {
	channel weir.Channel
	figures weir.Figures
	ready   surveys.Ready // slots that wait for their turn
	lanes   []weir.Lane   // of the surveys
	surveys int           // that use it
	most    int           // contacts that are enough to leave no room
	held    bool
}

// observe reads how busy the channels of the surveys are.
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
		if t.held {
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
	}
	return out, nil
}

// traffic begins the view of a channel.
func (r *round) traffic(ch weir.Channel) *traffic {
	if r.mem.outdated(ch) {
		r.recheck = append(r.recheck, ch.ID)
	}
	all := surveys.Flow{Capacity: ch.Capacity, Rate: r.mem.road(ch.ID).meter.PerMinute()}
	most, _ := all.Room(1, ahead, math.MaxInt64)
	return &traffic{channel: ch, held: r.mem.held(ch), most: most + 1}
}

// join counts a survey that uses the channel, in one mode or in several.
func (t *traffic) join(survey string) {
	if slices.Contains(t.lanes, weir.LaneOf(weir.Reply, survey)) {
		return
	}
	t.surveys++
	for p := weir.Reply; p <= weir.Normal; p++ {
		t.lanes = append(t.lanes, weir.LaneOf(p, survey))
	}
}

// flow is what the rules need to know of the channel.
func (t *traffic) flow(rate float64) surveys.Flow {
	return surveys.Flow{
		Capacity: t.channel.Capacity, Reserve: channels.ReplyReserve(t.channel.Settings), InFlight: t.figures.InFlight,
		Queued: t.ready.Ours, Others: t.ready.Others, Surveys: t.surveys, Rate: rate,
	}
}

// measure reads how busy one channel is. What waits is read first: a contact that
// is claimed in between counts twice rather than not at all. A channel that
// cannot be read gets nothing now.
func (r *round) measure(ctx context.Context, t *traffic) {
	largest := t.channel.Capacity - channels.ReplyReserve(t.channel.Settings)
	ready, err := call(ctx, func(ctx context.Context) (surveys.Ready, error) {
		return r.store.ReadySlots(ctx, t.channel.ID, t.lanes, largest, t.most)
	})
	if err == nil {
		t.ready = ready
		t.figures, err = call(ctx, func(ctx context.Context) (weir.Figures, error) { return r.System.channels.Figures(ctx, t.channel) })
	}
	if t.held = err != nil; t.held {
		r.logger.Warn("a channel's figures could not be read; it is given nothing in this round", "channel", t.channel.Name, "error", err)
	}
}
