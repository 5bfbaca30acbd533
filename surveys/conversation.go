package surveys

import (
	"strings"
	"time"
	"unicode"
)

// DefaultStopWords are used by surveys that name none.
func DefaultStopWords() []string { return []string{"stop"} }

// IsStop tells whether a message is one of the words, alone, with which
// respondents ask not to be contacted: in whatever case, with or without
// punctuation around it.
func (pl *Plan) IsStop(message string) bool {
	said := bare(message)
	for _, w := range pl.StopWords {
		if said != "" && strings.EqualFold(said, w) {
			return true
		}
	}
	return false
}

// bare is a text without space and punctuation around it, and with one space
// wherever there is some within.
func bare(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.Is(unicode.Cf, r) })
	return strings.Join(strings.Fields(s), " ")
}

// Heard notes that a respondent answered, by whatever mode. disposition is what
// the application that holds the conversation makes of it; empty when all that
// is known is that the respondent answered, which starts the conversation. serial is that of the contact in which it
// happened, 0 if that is not known.
//
// A retry that still waits is withdrawn, and the timeout starts anew: whoever
// answers is not to be contacted again at once. What is reported twice or late
// changes nothing.
func (pl *Plan) Heard(p Progress, now time.Time, serial int, d Disposition) (Progress, Effects, error) {
	if d == "" {
		d = Started
	}
	switch {
	case p.Status.Final() && d == p.Disposition:
		return p, Effects{}, nil
	case p.Status.Final():
		return p, Effects{}, ErrFinal
	case !d.Reportable(), d.Final() && !p.Disposition.Leads(d):
		return p, Effects{}, ErrDisposition
	}
	p = pl.proved(p, serial)
	p.Disposition = p.Disposition.Toward(d)
	if d.Final() {
		p, e := pl.finish(p, d.status(), d)
		return p, e, nil
	}
	if p.Status == Pending { // it starts as if nothing had been said
		p, e := pl.count(p, Effects{})
		return p, e, nil
	}
	p, e := pl.withdraw(p)
	p.DueAt = pl.wait(p, now)
	p, e = pl.count(p, e)
	return p, e, nil
}

// proved notes that a contact certainly took place, as something was said in it.
func (pl *Plan) proved(p Progress, serial int) Progress {
	if serial != p.Serial || p.Contact == Idle {
		return p
	}
	p = pl.wentOut(p)
	p.Contact, p.Unproven = Out, false
	return p
}

// Stop ends a respondent who asked not to be contacted any more.
func (pl *Plan) Stop(p Progress) (Progress, Effects) {
	if p.Status.Final() {
		return p, Effects{}
	}
	return pl.finish(p, Failed, p.Disposition.Stopped())
}

// Reject ends a respondent who is not needed, because its bucket is full.
func (pl *Plan) Reject(p Progress) (Progress, Effects, error) {
	switch {
	case p.Status == Rejected:
		return p, Effects{}, nil
	case p.Status.Final():
		return p, Effects{}, ErrFinal
	case !p.Disposition.Leads(RejectedQuota):
		return p, Effects{}, ErrDisposition
	}
	p.Counted = false // an interim partial without a bucket may have counted
	p, e := pl.finish(p, Rejected, RejectedQuota)
	return p, e, nil
}

// Cancel ends a respondent because its survey ends. The disposition says how far
// it came. The contact is taken back even from the provider, as far as it can.
func (pl *Plan) Cancel(p Progress) (Progress, Effects) {
	if p.Status.Final() {
		return p, Effects{}
	}
	open := p.Contact != Idle
	p, e := pl.finish(p, Canceled, p.Disposition)
	if open {
		e.Withdraw, e.Recall = p.Serial, true
	}
	return p, e
}

// Bounds of how a respondent is set aside that cannot be processed.
const (
	firstAside   = 30 * time.Second
	longestAside = time.Hour
	maxStumbles  = 12 // most of a working day
)

// Stumble sets a respondent aside whose step failed for a reason of its own, so
// that it holds up nobody else: for twice as long each time, up to an hour, give
// or take a quarter by chance u in [0,1). After a day of it, it is given up.
// Faults of the store or of a channel are not the respondent's.
func (pl *Plan) Stumble(p Progress, now time.Time, u float64) (Progress, Effects) {
	if p.Status.Final() {
		return p, Effects{}
	}
	if p.Stumbles++; p.Stumbles > maxStumbles {
		return pl.giveUp(p)
	}
	aside := min(longestAside, firstAside<<(p.Stumbles-1))
	till := now.Add(time.Duration(float64(aside) * (0.75 + u/2)))
	if p.Status == Pending {
		p.AsideTill = till
	} else {
		p.DueAt = till
	}
	return p, Effects{}
}
