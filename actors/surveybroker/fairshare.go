package surveybroker

import (
	"slices"
	"time"

	"weir"
	"weir/surveys"
	"weir/surveys/pacing"
)

// candidate is a respondent who would be contacted now.
type candidate struct {
	respondent surveys.Respondent
	progress   surveys.Progress
	effects    surveys.Effects
	channel    weir.ChannelID
}

// bid lists the contacts that one survey would enqueue on one channel now, in
// order.
type bid struct {
	survey      *surveyState
	channel     weir.ChannelID
	room        int // contacts of this survey that the channel has room for
	contactSize int // max slots of one contact
	retries     []candidate
	starts      []candidate
	wantsMore   bool // the survey wants more than there is room for
}

func (b *bid) size() int { return len(b.retries) + len(b.starts) }

// limit reduces the bid to n contacts: half retries and half starts, as far as
// both are wanted.
func (b *bid) limit(n int) {
	retries, starts := pacing.SplitBudget(min(n, b.size()), len(b.retries), len(b.starts))
	b.retries, b.starts = b.retries[:retries], b.starts[:starts]
}

// groupBids groups what a survey would enqueue by channel. The number of starts is
// limited to maxStarts, and the total to budget, which the channels share evenly.
// limited reports whether the survey wants more than the budget.
func groupBids(sv *surveyState, channels []weir.ChannelID, retries, starts []candidate, maxStarts, budget int, room func(weir.ChannelID) int) (out []*bid, limited bool) {
	of := func(id weir.ChannelID) *bid {
		for _, b := range out {
			if b.channel == id {
				return b
			}
		}
		out = append(out, &bid{survey: sv, channel: id, room: room(id)})
		return out[len(out)-1]
	}
	for _, id := range channels { // even without contacts, so that what the survey got ahead of its turn still counts
		of(id)
	}
	for _, i := range retries {
		b := of(i.channel)
		b.retries = append(b.retries, i)
	}
	for _, i := range starts {
		b := of(i.channel)
		switch {
		case maxStarts <= 0:
		case len(b.starts) < b.room:
			b.starts = append(b.starts, i)
			maxStarts--
		default:
			b.wantsMore = true
		}
	}
	total := 0
	for _, b := range out {
		b.wantsMore = b.wantsMore || b.size() > b.room
		b.limit(b.room)
		total += b.size()
	}
	for left, n := budget, len(out); n > 0; n-- {
		b := out[len(out)-n]
		if total > budget {
			b.limit((left + n - 1) / n)
		}
		left -= b.size()
	}
	return out, total > budget
}

// divideRoom divides a channel's room between the surveys that want it, by weight
// over many rounds. A survey for which the channel has no room claims nothing
// and loses no credit for that.
func divideRoom(share pacing.FairShare, bids []*bid) pacing.FairShare {
	bids = slices.DeleteFunc(slices.Clone(bids), func(b *bid) bool { return b.room <= 0 })
	claims, room := make([]pacing.Claim, len(bids)), 0
	for i, b := range bids {
		claims[i] = pacing.Claim{Survey: b.survey.survey.Name, Weight: b.survey.plan.Weight, Wants: b.size(), Size: b.contactSize, More: b.wantsMore}
		room = max(room, (b.room-1)*b.contactSize+1) // the last contact may be larger than the rest of the room
	}
	if room == 0 {
		return share
	}
	shares, next := share.Share(room, claims)
	for i, b := range bids {
		b.limit(shares[i])
	}
	return next
}

// armHash returns the respondent's place among the arms, in [0,1). It is a hash,
// so that a respondent who is read twice gets the same arm both times.
func armHash(survey int64, id surveys.RespondentID) float64 {
	h := uint64(survey)*0x9e3779b97f4a7c15 ^ uint64(id)
	for _, m := range []uint64{0xbf58476d1ce4e5b9, 0x94d049bb133111eb} {
		h = (h ^ h>>30) * m
	}
	h ^= h >> 31
	return float64(h>>11) / (1 << 53)
}

// earliest returns the earlier of two instants. A zero instant means none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// deferBlocked delays respondents whose channel has no room, so that the next page
// shows others. It does so only if they are at least half of the candidates and
// another channel of the survey has room. The next page follows after
// blockedPause, because hundreds of thousands more may be blocked.
func (r *round) deferBlocked(st *stepper, candidates []candidate, room func(weir.ChannelID) int) []change {
	var out []change
	for _, i := range candidates {
		if room(i.channel) > 0 {
			continue
		}
		p, till := i.respondent.Progress, st.now.Add(blockedDelay+time.Duration(len(out))*time.Millisecond)
		if p.Status == surveys.Pending {
			p.DelayedUntil = till
		} else {
			p.DueAt = till
		}
		out = append(out, st.buildChange(i.respondent, p, surveys.Effects{}))
	}
	if 2*len(out) < len(candidates) || !r.anyRoom(st.plan, room) {
		return nil
	}
	r.wakeAt(st.now.Add(blockedPause))
	return out
}

// anyRoom reports whether any channel of the survey has room.
func (r *round) anyRoom(plan *surveys.Plan, room func(weir.ChannelID) int) bool {
	for _, name := range plan.Channels {
		if room(r.channelIDs[name]) > 0 {
			return true
		}
	}
	return false
}

// backlogOf counts the survey's backlog: respondents that it would contact now
// if there were room. These are due retries whose channel works, and starts
// that pacing wants if the first channel of an arm works. A survey whose
// backlog stays above zero while it contacts no respondent is stuck; the metric
// exists to show that.
func (r *round) backlogOf(sv *surveyState, retries []candidate, loads map[weir.ChannelID]*channelLoad) int {
	works := func(id weir.ChannelID) bool {
		t := loads[id]
		return t != nil && t.why.IsZero()
	}
	n := 0
	for _, i := range retries {
		if works(i.channel) {
			n++
		}
	}
	t := r.tallies[sv.survey.ID]
	for _, arm := range sv.plan.Arms {
		if works(r.channelIDs[sv.plan.Channels[arm.Modes[0]]]) {
			return n + max(0, min(t.decision.Start, t.Pending))
		}
	}
	return n
}

// exportBacklog exports the backlog of each survey, after a round that read the
// surveys.
func (r *round) exportBacklog() {
	for _, sv := range r.memory.surveys {
		r.metrics.backlog.WithLabelValues(sv.survey.Name).Set(float64(sv.backlog))
	}
}
