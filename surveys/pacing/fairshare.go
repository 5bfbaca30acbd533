package pacing

import "maps"

// Claim is the request of one survey for a share of a channel's room.
type Claim struct {
	Survey string
	Weight int // at least 1
	Wants  int // contacts
	Size   int // slots of each contact; at least 1
	// More is set if the survey wants more than Wants, which is capped this time: even
	// with all of Wants it is not satisfied, and its credit is kept.
	More bool
}

// FairShare divides a channel's room between surveys by weight (fair share) over many
// polls: a survey that got less than its share is served first the next time. A
// survey that cannot claim for a while, because its window is closed, keeps its
// credit or debt; [FairShare.Remove] drops a survey that is done. The values are
// credits; negative ones are debts. The zero FairShare is empty.
type FairShare map[string]int

// slot is the value of one slot in a [FairShare]. It does not depend on the claims, so that
// surveys that come and go do not change the balances of others. It is divisible by
// the usual sums of weights.
const slot = 720720

// Share divides room, in slots, between the claims, in their order, and returns how
// many contacts each gets. A survey that wants more than its share of the slots gets
// its share, and no slot is left while a survey wants it; the last contact may exceed
// the room. It returns the new balances; a survey that wants nothing more builds up no
// credit.
func (r FairShare) Share(room int, claims []Claim) ([]int, FairShare) {
	got := make([]int, len(claims))
	for room > 0 {
		weights, all, rounds := 0, common(claims), room
		for i, c := range claims {
			if want := c.Wants - got[i]; want > 0 {
				weights += c.weight()
				rounds = min(rounds, want*c.size()/(c.weight()*all))
			}
		}
		if weights == 0 {
			break
		}
		// Whole rounds, in which every survey gets slots by its weight, change no balance.
		if rounds = min(rounds, room/(weights*all)); rounds > 0 {
			for i, c := range claims {
				if c.Wants > got[i] {
					got[i] += rounds * c.weight() * all / c.size()
				}
			}
			room -= rounds * weights * all
			continue
		}
		var i int
		i, r = r.giveOne(claims, got, weights)
		room -= claims[i].size()
	}
	return got, r.settle(claims, got)
}

// common returns the least common multiple of all sizes, in slots.
func common(claims []Claim) int {
	all := 1
	for _, c := range claims {
		a, b := all, c.size()
		for b > 0 {
			a, b = b, a%b
		}
		all = all / a * c.size()
	}
	return all
}

// giveOne gives one contact to the survey with the highest credit.
func (r FairShare) giveOne(claims []Claim, got []int, weights int) (best int, _ FairShare) {
	next := r.clone()
	best = -1
	for i, c := range claims {
		if c.Wants > got[i] && (best < 0 || r[c.Survey]+c.weight()*slot/weights > r[claims[best].Survey]+claims[best].weight()*slot/weights) {
			best = i
		}
	}
	size := claims[best].size()
	for i, c := range claims {
		if c.Wants > got[i] {
			next[c.Survey] += c.weight() * size * slot / weights
		}
	}
	got[best]++
	next[claims[best].Survey] -= slot * size
	return best, next
}

// settle returns the balances relative to their mean, so that a new survey starts at
// the mean. A survey that wants nothing more loses its credit, but keeps its debt.
func (r FairShare) settle(claims []Claim, got []int) FairShare {
	out, sum := r.clone(), 0
	for i, c := range claims {
		out[c.Survey] = r[c.Survey]
		if c.Wants <= got[i] && !c.More {
			out[c.Survey] = min(0, r[c.Survey])
		}
	}
	for _, owed := range out {
		sum += owed
	}
	for name := range out {
		out[name] -= sum / len(out)
	}
	return out
}

// Remove removes a survey that is done.
func (r FairShare) Remove(survey string) FairShare {
	out := maps.Clone(r)
	delete(out, survey)
	return out
}

// clone returns a copy, to which surveys can be added.
func (r FairShare) clone() FairShare {
	out := FairShare{}
	maps.Copy(out, r)
	return out
}

func (c Claim) weight() int { return max(1, c.Weight) }

func (c Claim) size() int { return max(1, c.Size) }
