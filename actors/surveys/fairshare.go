package surveys

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

// earliest returns the earlier of two instants. A zero instant means none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
