package surveybroker

import (
	"time"

	"weir"
	"weir/surveys"
)

// crossed delays respondents whose channel has no room, so that the next page
// shows others. It does so only if they are at least half of the items and
// another channel of the survey has room. The next page follows after
// crossPause, because hundreds of thousands more may be blocked.
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

// anyRoom reports whether any channel of the survey has room.
func (r *round) anyRoom(plan *surveys.Plan, room func(weir.ChannelID) int) bool {
	for _, name := range plan.Channels {
		if room(r.named[name]) > 0 {
			return true
		}
	}
	return false
}
