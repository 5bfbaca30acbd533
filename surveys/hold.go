package surveys

import "time"

// Hold takes a contact back that waits for its turn, because the survey is
// paused: the attempt was not made, and is due again at once when the survey goes
// on.
func (pl *Plan) Hold(p Progress, now time.Time) (Progress, Effects) {
	if p.Status != Active {
		return p, Effects{}
	}
	p, e := pl.withdraw(p)
	if e.Withdraw != 0 {
		p.DueAt = now
	}
	return p, e
}

// Unsent notes that the contact which the latest step asked for is not to be
// enqueued after all: the survey or the channel does not take it now. It was no
// attempt, and is due again at the instant from which it could have been made.
func (pl *Plan) Unsent(p Progress, o Outreach) Progress {
	if p.Serial != o.Serial || p.Contact != Waiting {
		return p
	}
	p, _ = pl.withdraw(p)
	p.Contact, p.DueAt = Idle, o.NotBefore
	return p
}

// OpenBetween is for how long the schedule is open from a to b, which must not be
// further apart than some years.
func (s *Schedule) OpenBetween(a, b time.Time) time.Duration {
	sum := time.Duration(0)
	for sp := range s.spans(a) {
		if !sp.Open.Before(b) {
			break
		}
		end := sp.Close
		if end.After(b) {
			end = b
		}
		sum += end.Sub(later(a, sp.Open))
	}
	return sum
}
