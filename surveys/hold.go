package surveys

import "time"

// CancelWaiting cancels a waiting contact because the survey is paused. The attempt was not
// made, and is due at once when the survey resumes.
func (pl *Plan) CancelWaiting(p Progress, now time.Time) (Progress, Effects) {
	if p.Status != Active {
		return p, Effects{}
	}
	p, e := pl.cancelWaiting(p)
	if e.Cancel != 0 {
		p.DueAt = now
	}
	return p, e
}

// NotEnqueued records that the contact requested by the latest step is not enqueued
// after all, because the survey or the channel does not accept it now. It was no
// attempt, and is due again at the instant from which it could have been made.
func (pl *Plan) NotEnqueued(p Progress, o Outreach) Progress {
	if p.Serial != o.Serial || p.Contact != Waiting {
		return p
	}
	p, _ = pl.cancelWaiting(p)
	p.Contact, p.DueAt = Idle, o.NotBefore
	return p
}

// OpenBetween returns how long the schedule is open between a and b, which must
// not be more than some years apart.
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
