package surveys

import (
	"slices"

	"weir"
	"weir/surveys/pacing"
)

// Candidate is a respondent who would be contacted now.
type Candidate struct {
	respondent Respondent
	progress   Progress
	effects    Effects
	channel    weir.ChannelID
}

// Bid lists the contacts that one survey would enqueue on one channel now, in order.
type Bid struct {
	Survey  string
	Weight  int
	Channel weir.ChannelID
	Room    Room

	retries   []Candidate
	starts    []Candidate
	wantsMore bool // the survey wants more than there is room for
}

// Size returns how many contacts the bid is for.
func (b *Bid) Size() int { return len(b.retries) + len(b.starts) }

// limit reduces the bid to n contacts: half retries and half starts, as far as
// both are wanted.
func (b *Bid) limit(n int) {
	retries, starts := pacing.SplitBudget(min(n, b.Size()), len(b.retries), len(b.starts))
	b.retries, b.starts = b.retries[:retries], b.starts[:starts]
}

// bids groups what a survey would enqueue by channel. The number of starts is limited to f.ToStart,
// and the total to f.PerMinute, which the channels share evenly. limited reports whether the
// survey wants more than that.
func (st *Stepper) bids(f *Facts, retries, starts []Candidate) (out []*Bid, limited bool) {
	of := func(id weir.ChannelID) *Bid {
		for _, b := range out {
			if b.Channel == id {
				return b
			}
		}
		out = append(out, &Bid{Survey: st.Survey.Name, Weight: st.Plan.Weight, Channel: id, Room: f.room(id)})
		return out[len(out)-1]
	}
	for _, mode := range Modes() { // even without contacts, so that what the survey got ahead of its turn still counts
		if id := f.Rooms[mode].Channel; id != 0 {
			of(id)
		}
	}
	for _, c := range retries {
		b := of(c.channel)
		b.retries = append(b.retries, c)
	}
	maxStarts := f.ToStart
	for _, c := range starts {
		b := of(c.channel)
		switch {
		case maxStarts <= 0:
		case len(b.starts) < b.Room.Contacts:
			b.starts = append(b.starts, c)
			maxStarts--
		default:
			b.wantsMore = true
		}
	}
	total := 0
	for _, b := range out {
		b.wantsMore = b.wantsMore || b.Size() > b.Room.Contacts
		b.limit(b.Room.Contacts)
		total += b.Size()
	}
	for left, n := f.PerMinute, len(out); n > 0; n-- {
		b := out[len(out)-n]
		if total > f.PerMinute {
			b.limit((left + n - 1) / n)
		}
		left -= b.Size()
	}
	return out, total > f.PerMinute
}

// ShareRoom divides a channel's room between the surveys that bid for it, by weight
// over many rounds: it limits their bids. A survey for which the channel has no room claims
// nothing and loses no credit for that.
func ShareRoom(share pacing.FairShare, bids []*Bid) pacing.FairShare {
	bids = slices.DeleteFunc(slices.Clone(bids), func(b *Bid) bool { return b.Room.Contacts <= 0 })
	claims, room := make([]pacing.Claim, len(bids)), 0
	for i, b := range bids {
		claims[i] = pacing.Claim{Survey: b.Survey, Weight: b.Weight, Wants: b.Size(), Size: b.Room.Size, More: b.wantsMore}
		room = max(room, (b.Room.Contacts-1)*b.Room.Size+1) // the last contact may be larger than the rest of the room
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

// Grant returns the changes that contact the respondents of a bid. more reports that others may
// follow at once.
func (st *Stepper) Grant(b *Bid) (changes []Change, more bool) {
	more = len(b.retries) == DuePage || len(b.starts) == StartPage // a full page: there may be more behind it
	for _, i := range slices.Concat(b.retries, b.starts) {
		c := st.Build(i.respondent, i.progress, i.effects)
		c.NewAttempt = c.Move.Enqueue != nil
		changes = append(changes, c)
		more = more || c.Move.Is.FailedSteps > c.Move.Was.FailedSteps // one that is delayed now leaves room for the next
	}
	return changes, more
}
