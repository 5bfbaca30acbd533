package surveybroker

import (
	"time"

	"weir"
	"weir/surveys"
)

// crossed sets those aside for whom no channel has room, so that others come into
// sight: if most in sight are theirs, and another channel of the survey has room.
// The next ones follow after a pause: behind them there may be hundreds of
// thousands more.
func (r *round) crossed(d *desk, items []item, room func(weir.ChannelID) int) []change {
	var out []change
	for _, i := range items {
		if room(i.over) > 0 {
			continue
		}
		p, till := i.who.Progress, d.now.Add(crossAside+time.Duration(len(out))*time.Millisecond)
		if p.Status == surveys.Pending {
			p.AsideTill = till
		} else {
			p.DueAt = till
		}
		out = append(out, d.change(i.who, p, surveys.Effects{}))
	}
	if 2*len(out) < len(items) || !r.anyRoom(d.plan, room) {
		return nil
	}
	r.wake(d.now.Add(crossPause))
	return out
}

// anyRoom tells whether a channel of the survey has room.
func (r *round) anyRoom(plan *surveys.Plan, room func(weir.ChannelID) int) bool {
	for _, name := range plan.Channels {
		if room(r.named[name]) > 0 {
			return true
		}
	}
	return false
}
