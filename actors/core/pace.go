package core

import (
	"fmt"
	"math"
	"time"

	"weir"
	"weir/channels"
	"weir/internal/segments"
	"weir/ops"
)

// pace limits how many units a channel dispatches per second: a token bucket that
// holds up to burst units and gains one each interval. A contact that is larger than
// the bucket needs a full one. Units are reserved when a contact is claimed and
// leave the bucket when it is dispatched, however long the commit between takes, so
// that in any time t at most t/interval + burst units are dispatched.
//
// A provider that answers "rate limited" halves the rate; successes raise it again.
// The caller supplies time.
type pace struct {
	set       time.Duration // interval of the setting; 0: no limit
	interval  time.Duration // interval in force
	burst     int
	claimed   int       // units reserved
	full      time.Time // when the bucket is full, if nothing is dispatched until then
	waits     int       // units of the contact that is next and found too few; 0: none
	share     int       // of the set rate that is in force, in sixteenths
	changedAt time.Time // of share
}

const (
	wholeShare = 16
	lowerEvery = time.Second      // answers to dispatches of one burst lower the rate once
	raiseEvery = 10 * time.Second // a sixteenth; from the lowest rate it takes 150 s
)

// configure applies the settings. The bucket of a new limit is empty: another
// process may have used it up just before.
func (p *pace) configure(rate, burst int, now time.Time) {
	if rate <= 0 {
		*p = pace{}
		return
	}
	fresh := p.set == 0
	if fresh {
		p.share, p.changedAt = wholeShare, now
	}
	p.set, p.burst = (time.Second+time.Duration(rate)-1)/time.Duration(rate), burst
	p.rescale(now)
	if fresh {
		p.drain(now)
	}
}

// rescale changes the interval in force; the bucket keeps its units.
func (p *pace) rescale(now time.Time) {
	before := p.interval
	p.interval = p.set * wholeShare / time.Duration(p.share)
	if missing := p.full.Sub(now); before > 0 && missing > 0 {
		p.full = now.Add(time.Duration(math.Ceil(float64(missing) / float64(before) * float64(p.interval))))
	}
}

func (p *pace) drain(now time.Time) {
	p.full = latest(p.full, now.Add(time.Duration(p.burst)*p.interval))
}

// room returns how many units may be claimed now.
func (p *pace) room(now time.Time) int {
	if p.set == 0 {
		return math.MaxInt
	}
	missing := max(0, p.full.Sub(now))
	return p.burst - p.claimed - int((missing+p.interval-1)/p.interval)
}

// needs returns the units that the bucket needs before the next claim.
func (p *pace) needs() int { return min(max(1, p.waits), p.burst) }

// shut reports whether the next contact has to wait.
func (p *pace) shut(now time.Time) bool { return p.set > 0 && p.room(now) < p.needs() }

// claim reserves the units of a contact, if there are enough.
func (p *pace) claim(units int, now time.Time) bool {
	p.waits = units
	if p.shut(now) {
		return false
	}
	p.waits = 0
	p.claimed += units
	return true
}

// release returns units that were reserved.
func (p *pace) release(units int) { p.claimed = max(0, p.claimed-units) }

// dispatch takes units from the bucket.
func (p *pace) dispatch(units int, now time.Time) {
	if p.set > 0 {
		p.full = latest(p.full, now).Add(time.Duration(units) * p.interval)
	}
}

// opensAt returns when the next contact may be claimed; zero: not by time alone.
func (p *pace) opensAt(now time.Time) time.Time {
	spare := p.burst - p.claimed - p.needs()
	if !p.shut(now) || spare < 0 {
		return time.Time{}
	}
	return p.full.Add(-time.Duration(spare) * p.interval)
}

// lower halves the rate and empties the bucket: the provider answered that it is
// too high.
func (p *pace) lower(now time.Time) {
	if p.set == 0 {
		return
	}
	if p.share == wholeShare || now.Sub(p.changedAt) >= lowerEvery {
		p.share, p.changedAt = max(1, p.share/2), now
		p.rescale(now)
	}
	p.drain(now)
}

// raise undoes a part of lower after a success.
func (p *pace) raise(now time.Time) {
	if p.set > 0 && p.share < wholeShare && now.Sub(p.changedAt) >= raiseEvery {
		p.share, p.changedAt = p.share+1, now
		p.rescale(now)
	}
}

// rate returns the units per second in force; 0: no limit.
func (p *pace) rate() float64 {
	if p.set == 0 {
		return 0
	}
	return math.Round(100*float64(time.Second)/float64(p.interval)) / 100
}

func (p *pace) why(channel string, now time.Time) ops.Why {
	text := fmt.Sprintf("channel %s: its rate limit of %g per second is used up", channel, p.rate())
	if p.share < wholeShare {
		text = fmt.Sprintf("channel %s: the provider answered that it gets too many at one time; limited to %g per second for now", channel, p.rate())
	}
	if at := p.opensAt(now); !at.IsZero() {
		text += "; the next is dispatched at " + ops.WhyAt(at)
	}
	return ops.Why{Code: ops.WhyRate, Text: text}
}

// units returns what a contact counts: the segments of its texts, otherwise 1.
func (c *Core) units(s *weir.Spec) int {
	if c.pace.set == 0 {
		return 0
	}
	return max(1, segments.Total(s.Messages))
}

// recordPace passes on to the pace what a result implies about it.
func (c *Core) recordPace(s channels.SendResult, now time.Time) {
	switch {
	case s.Fate == channels.NotSent && s.ChannelFault && !s.Later && s.Reason == channels.RateLimited:
		c.pace.lower(now)
	case s.Fate == channels.Accepted:
		c.pace.raise(now)
	}
}
