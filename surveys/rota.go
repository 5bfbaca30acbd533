package surveys

import "maps"

// Claim is what one survey wants of a channel's room.
type Claim struct {
	Survey string
	Weight int // at least 1
	Wants  int // contacts
	Size   int // slots of each; at least 1
	// More says that it wants more than it may have this time: with all of Wants it
	// is not satisfied, and what it is owed is not forgotten.
	More bool
}

// Rota shares a channel's room between surveys, by weight, over many polls: who
// got less than its share this time is served first the next time. A survey that
// cannot claim for a while, because its window is closed, keeps what it is owed and
// what it owes; [Rota.Forget] drops one that is done. The zero Rota owes nothing.
type Rota map[string]int

// slot is what one slot counts in a [Rota]: the same whoever else wants one, so
// that surveys which come and go do not change what others owe each other. The
// usual sums of weights are parts of it.
const slot = 720720

// Share divides room, in slots, between the claims, in their order, and gives how
// many contacts each gets: everybody who wants more than its share of the slots
// gets its share, and nothing is left while somebody wants it; the last contact
// may take more than is left. It gives the new rota; a survey that wants nothing
// more saves nothing up.
func (r Rota) Share(room int, claims []Claim) ([]int, Rota) {
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
		// Whole rounds, in which everybody gets slots by its weight, change no debt.
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
		i, r = r.one(claims, got, weights)
		room -= claims[i].size()
	}
	return got, r.keep(claims, got)
}

// common is a number of slots of which all sizes are parts.
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

// one gives one contact to the survey that is owed most.
func (r Rota) one(claims []Claim, got []int, weights int) (best int, _ Rota) {
	next := r.clone(len(claims))
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

// keep holds what is owed, counted from the mean of all, so that a newcomer stands
// where they stand together. A survey that wants nothing more is owed nothing, but
// what it had before its turn is not forgotten.
func (r Rota) keep(claims []Claim, got []int) Rota {
	out, sum := r.clone(len(claims)), 0
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

// Forget drops a survey that is done.
func (r Rota) Forget(survey string) Rota {
	out := r.clone(0)
	delete(out, survey)
	return out
}

func (r Rota) clone(more int) Rota {
	out := make(Rota, len(r)+more)
	maps.Copy(out, r)
	return out
}

func (c Claim) weight() int { return max(1, c.Weight) }

func (c Claim) size() int { return max(1, c.Size) }
