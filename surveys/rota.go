package surveys

// Claim is what one survey wants of a channel's room.
type Claim struct {
	Survey string
	Weight int // at least 1
	Wants  int
}

// Rota shares a channel's room between surveys, by weight, over many polls: who
// got less than its share this time is served first the next time. The zero Rota
// owes nobody.
type Rota map[string]int

// Share divides room between the claims, in their order: everybody who wants
// more than its share gets its share, and nothing is left while somebody wants
// it. It gives the new rota; a survey that wants nothing more saves nothing up.
func (r Rota) Share(room int, claims []Claim) ([]int, Rota) {
	got := make([]int, len(claims))
	for room > 0 {
		weights, rounds := 0, room
		for i, c := range claims {
			if want := c.Wants - got[i]; want > 0 {
				weights += c.weight()
				rounds = min(rounds, want/c.weight())
			}
		}
		if weights == 0 {
			break
		}
		// Whole rounds, in which everybody gets its weight, change no debt.
		if rounds = min(rounds, room/weights); rounds > 0 {
			for i, c := range claims {
				if c.Wants > got[i] {
					got[i] += rounds * c.weight()
				}
			}
			room -= rounds * weights
			continue
		}
		r = r.one(claims, got, weights)
		room--
	}
	return got, r.keep(claims, got)
}

// one gives one piece to the survey that is owed most.
func (r Rota) one(claims []Claim, got []int, weights int) Rota {
	next, best := make(Rota, len(claims)), -1
	for i, c := range claims {
		if c.Wants <= got[i] {
			next[c.Survey] = r[c.Survey]
			continue
		}
		next[c.Survey] = r[c.Survey] + c.weight()
		if best < 0 || next[c.Survey] > next[claims[best].Survey] {
			best = i
		}
	}
	got[best]++
	next[claims[best].Survey] -= weights
	return next
}

// keep holds what is owed, counted from the mean, so that a newcomer stands where
// they stand together. Who wants nothing more is owed nothing, but what it had
// before its turn is not forgotten.
func (r Rota) keep(claims []Claim, got []int) Rota {
	out, sum := Rota{}, 0
	for i, c := range claims {
		out[c.Survey] = r[c.Survey]
		if c.Wants <= got[i] {
			out[c.Survey] = min(0, r[c.Survey])
		}
		sum += out[c.Survey]
	}
	for name := range out {
		out[name] -= sum / len(out)
	}
	return out
}

func (c Claim) weight() int { return max(1, c.Weight) }
