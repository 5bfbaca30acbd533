package surveys

import (
	"time"

	"weir"
)

// Ending is the end of a contact.
type Ending struct {
	At      time.Time // when it ended
	Serial  int
	Outcome weir.Outcome
	Result  weir.Result
}

// ContactEnded records the end of a contact and the interviewer's result, if there
// was an interviewer. A final disposition ends the respondent, even if it is
// reported late. An agreed instant replaces the delay of the retry schedule and
// uses up no retry. After an interview the delay counts from its end, because
// the job may have waited for an interviewer.
func (pl *Plan) ContactEnded(p Progress, now time.Time, end Ending) (Progress, Effects) {
	latest := end.Serial == p.Serial && p.Contact != Idle && p.Status == Active
	d := Disposition(end.Result.Disposition)
	if d != "" && d.Final() && p.Status == Active {
		if latest {
			p = pl.provenBy(p, end.Serial)
			p.Contact = Idle
		}
		if !p.Disposition.CanBecome(d) {
			d = p.Disposition.OptedOut()
		}
		return pl.finish(p, d.status(), d)
	}
	again := end.Result.CallBack
	if latest && !again.IsZero() {
		end.Outcome = weir.Completed // an agreed call-back is no failure
	}
	interview := latest && pl.Mode(p) == CATI && end.Outcome != weir.Expired
	p, e := pl.ApplyOutcome(p, now, end.Serial, end.Outcome)
	if !interview || p.Status != Active {
		return p, e
	}
	p.DueAt = pl.nextStepAt(p, end.At)
	if !again.IsZero() {
		p.Tries = max(0, p.Tries-1)
		p.DueAt = later(now, again)
		if p.DueAt.After(now.Add(MaxDelay)) {
			p.DueAt = now.Add(MaxDelay)
		}
		if open, ok := pl.Schedule.NextOpen(p.DueAt); ok {
			p.DueAt = open
		}
	}
	return p, e
}
