package surveys

import (
	"strings"
	"time"
	"unicode"
)

// DefaultStopWords returns the stop words of surveys that define none.
func DefaultStopWords() []string { return []string{"stop"} }

// IsOptOut reports whether a message consists of a stop word alone, in any case,
// with or without punctuation around it. Respondents send one to ask not to be
// contacted.
func (pl *Plan) IsOptOut(message string) bool {
	said := trimPunctuation(message)
	for _, w := range pl.StopWords {
		if said != "" && strings.EqualFold(said, w) {
			return true
		}
	}
	return false
}

// trimPunctuation returns a text without surrounding space and punctuation, and with runs
// of inner space replaced by a single space.
func trimPunctuation(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.Is(unicode.Cf, r) })
	return strings.Join(strings.Fields(s), " ")
}

// Replied records that a respondent answered, in any mode. disposition is the
// result reported by the application that holds the conversation; empty if only
// the answer is known, which starts the conversation. serial is the serial of the
// contact in which it happened, 0 if not known.
//
// A waiting retry is canceled and the timeout starts again, because a respondent
// who answers must not be contacted again at once. Repeated and late reports
// change nothing.
func (pl *Plan) Replied(p Progress, now time.Time, serial int, d Disposition) (Progress, Effects, error) {
	if d == "" {
		d = Started
	}
	switch {
	case p.Status.Final() && d == p.Disposition:
		return p, Effects{}, nil
	case p.Status.Final():
		return p, Effects{}, ErrFinal
	case !d.Reportable(), d.Final() && !p.Disposition.CanBecome(d):
		return p, Effects{}, ErrDisposition
	}
	p = pl.provenBy(p, serial)
	p.Disposition = p.Disposition.Advance(d)
	if d.Final() {
		p, e := pl.finish(p, d.status(), d)
		return p, e, nil
	}
	if p.Status == Pending { // it is started as if it had not answered
		p, e := pl.count(p, Effects{})
		return p, e, nil
	}
	p, e := pl.cancelWaiting(p)
	p.DueAt = pl.nextStepAt(p, now)
	p, e = pl.count(p, e)
	return p, e, nil
}

// provenBy records that a contact certainly took place, because of an answer in it.
func (pl *Plan) provenBy(p Progress, serial int) Progress {
	if serial != p.Serial || p.Contact == Idle {
		return p
	}
	p = pl.dispatched(p)
	p.Contact, p.Unconfirmed = Dispatched, false
	return p
}

// OptOut ends a respondent who asked not to be contacted any more.
func (pl *Plan) OptOut(p Progress) (Progress, Effects) {
	if p.Status.Final() {
		return p, Effects{}
	}
	return pl.finish(p, Failed, p.Disposition.OptedOut())
}

// Reject ends a respondent who is not needed because the bucket is full.
func (pl *Plan) Reject(p Progress) (Progress, Effects, error) {
	switch {
	case p.Status == Rejected:
		return p, Effects{}, nil
	case p.Status.Final():
		return p, Effects{}, ErrFinal
	case !p.Disposition.CanBecome(RejectedQuota):
		return p, Effects{}, ErrDisposition
	}
	p.Counted = false // an interim partial without a bucket may have counted
	p, e := pl.finish(p, Rejected, RejectedQuota)
	return p, e, nil
}

// Cancel ends a respondent because its survey ends. It keeps the disposition.
// The contact is canceled even at the provider, as far as that is possible.
func (pl *Plan) Cancel(p Progress) (Progress, Effects) {
	if p.Status.Final() {
		return p, Effects{}
	}
	open := p.Contact != Idle
	p, e := pl.finish(p, Canceled, p.Disposition)
	if open {
		e.Cancel, e.CancelInFlight = p.Serial, true
	}
	return p, e
}

// Bounds of the delay of a respondent whose step failed.
const (
	minDelay       = 30 * time.Second
	maxDelay       = time.Hour
	maxFailedSteps = 12 // about 6 hours in all
)

// DeferFailed delays a respondent whose step failed for a reason of its own, so that
// it does not hold up others. The delay doubles each time from 30 s up to an hour,
// with a jitter of a quarter either way by a random u in [0,1). After 12 delays in
// a row, about 6 hours, the respondent is given up. Callers must not use it for
// faults of the store or of a channel.
func (pl *Plan) DeferFailed(p Progress, now time.Time, u float64) (Progress, Effects) {
	if p.Status.Final() {
		return p, Effects{}
	}
	if p.FailedSteps++; p.FailedSteps > maxFailedSteps {
		return pl.giveUp(p)
	}
	aside := min(maxDelay, minDelay<<(p.FailedSteps-1))
	till := now.Add(time.Duration(float64(aside) * (0.75 + u/2)))
	if p.Status == Pending {
		p.DelayedUntil = till
	} else {
		p.DueAt = till
	}
	return p, Effects{}
}
