package contacts

import (
	"math"
	"time"

	"weir/internal/backoff"
	"weir/operators"
)

// Parameters of the breaker and of the back-off between probes.
const (
	breakerSpan   = 30 * time.Second // failures are weighed over this span
	minDispatches = 20               // min dispatches in the span before the ratio counts
	maxFailures   = 5                // consecutive failures that open it at once
	minBackoff    = 500 * time.Millisecond
	maxBackoff    = time.Minute
	faultedAfter  = 8 // consecutive openings after which the channel counts as faulted
	maxRetryAfter = 15 * time.Minute
	probeTime     = time.Second     // time for another contact to be the probe
	maxProbeWait  = 4 * time.Minute // max wait of a contact that was the probe often
)

// breaker decides whether a channel's provider may be called. Closed, it lets
// every dispatch pass. Open, it lets none pass until an instant, then one probe
// whose result closes it or opens it for longer. The caller supplies time and
// chance.
type breaker struct {
	span        time.Time // start of the current span
	good        int
	bad         int
	streak      int       // consecutive failures
	openings    int       // consecutive openings
	until       time.Time // open until then; zero: closed
	pausedUntil time.Time // end of the pause that the provider last asked for
	probing     bool      // a probe is under way
	reason      string
}

// allows returns how many dispatches may begin now, at most want, and if none, the
// code of the reason.
func (b *breaker) allows(now time.Time, want int) (int, operators.WhyCode) {
	switch {
	case b.until.IsZero():
		return want, ""
	case b.probing:
		return 0, operators.WhyProbing
	case !now.Before(b.until):
		return min(1, want), ""
	case !b.until.After(b.pausedUntil):
		return 0, operators.WhyProviderPause
	case b.faulted():
		return 0, operators.WhyFaulted
	default:
		return 0, operators.WhyFailing
	}
}

// why explains what allows returned.
func (b *breaker) why(code operators.WhyCode) operators.Why {
	var w operators.Why
	switch code {
	case operators.WhyProbing:
		w = operators.NewWhy(code, operators.TextProbing)
	case operators.WhyProviderPause:
		w = operators.NewWhy(code, operators.TextProviderPause, "at", b.until)
	case operators.WhyFaulted:
		w = operators.NewWhy(code, operators.TextFaulted, "at", b.until)
	default:
		w = operators.NewWhy(code, operators.TextFailing, "at", b.until)
	}
	return w.And(operators.ReasonClause(b.reason)...)
}

// recordDispatch records that dispatches were let through.
func (b *breaker) recordDispatch() {
	if !b.until.IsZero() {
		b.probing = true
	}
}

// success closes the breaker, unless a pause that the provider asked for still
// lasts: what succeeded then began before the pause.
func (b *breaker) success(now time.Time) {
	b.rollSpan(now)
	b.good++
	b.streak, b.openings, b.probing = 0, 0, false
	if now.Before(b.pausedUntil) {
		b.until = b.pausedUntil
		return
	}
	b.until, b.reason = time.Time{}, ""
}

// failure counts a failure of the provider or of our account there. retryAfter
// is the pause that the provider asked for; chance is in [0,1).
func (b *breaker) failure(now time.Time, retryAfter time.Duration, reason string, chance float64) {
	b.rollSpan(now)
	if retryAfter > 0 {
		b.pausedUntil = latest(b.pausedUntil, now.Add(min(retryAfter, maxRetryAfter)))
	}
	b.bad++
	b.streak++
	wasProbe := b.probing
	b.probing = false
	b.reason = reason
	ratio := b.good+b.bad >= minDispatches && b.bad >= b.good
	switch {
	case now.Before(b.until) && !wasProbe:
		// One of the calls that were under way when the breaker opened: not another
		// opening, but the provider may ask for more time.
		b.until = latest(b.until, now.Add(min(retryAfter, maxRetryAfter)))
	case retryAfter > 0 || wasProbe || b.until.IsZero() && (b.streak >= maxFailures || ratio):
		b.open(now, retryAfter, chance)
	}
}

// probeNow lets a probe through at once, or when the provider's pause ends: a user
// changed what may have been wrong.
func (b *breaker) probeNow(now time.Time) {
	if b.until.After(now) {
		b.until = latest(now, b.pausedUntil)
	}
}

// probeAborted records that a probe ended without a result, for example because its
// contact was canceled.
func (b *breaker) probeAborted() { b.probing = false }

// open blocks dispatches for a time that doubles with each consecutive opening,
// jittered between half of it and the whole. A faulted channel waits the whole
// minute.
func (b *breaker) open(now time.Time, retryAfter time.Duration, chance float64) {
	b.openings++
	wait := backoff.Jitter(backoff.Delay(b.openings, minBackoff, maxBackoff), chance)
	if b.faulted() {
		wait = maxBackoff
	}
	wait = max(wait, min(retryAfter, maxRetryAfter))
	if until := now.Add(wait); until.After(b.until) {
		b.until = until
	}
}

// closeIdle closes the breaker when there is no contact to probe with and the
// provider reports itself up. The next failure opens it again.
func (b *breaker) closeIdle(now time.Time) {
	if !b.until.IsZero() && !b.probing && !now.Before(b.until) {
		b.until, b.streak, b.reason = time.Time{}, maxFailures-1, ""
		b.openings = min(b.openings, faultedAfter-1)
	}
}

// faulted reports whether the channel keeps failing.
func (b *breaker) faulted() bool { return b.openings >= faultedAfter }

// workedRecently reports whether the breaker is closed and the provider handled other
// dispatches recently.
func (b *breaker) workedRecently() bool { return b.closed() && b.good > 0 }

// closed reports whether every dispatch may pass.
func (b *breaker) closed() bool { return b.until.IsZero() }

func (b *breaker) rollSpan(now time.Time) {
	if now.Sub(b.span) > breakerSpan {
		b.span, b.good, b.bad = now, 0, 0
	}
}

// state returns the state that users see.
func (b *breaker) state() operators.Breaker {
	switch {
	case b.closed():
		return operators.BreakerClosed
	case b.probing:
		return operators.BreakerProbing
	default:
		return operators.BreakerOpen
	}
}

// budget bounds retries: one per second plus one for every ten dispatches, with
// at most ten saved up.
type budget struct {
	tokens float64
	at     time.Time
}

const (
	maxBudget     = 10.0
	budgetPerSend = 0.1
	maxBudgetDebt = 60.0 // max debt: no retry waits longer, or the debt would outlast the trouble by hours
)

func (b *budget) recordDispatch(now time.Time) {
	b.fill(now)
	b.tokens = min(maxBudget, b.tokens+budgetPerSend)
}

// left returns the share of the budget that was left when it was last used.
func (b *budget) left() float64 {
	if b.at.IsZero() {
		return 1
	}
	return max(0, b.tokens/maxBudget)
}

// reserve takes one retry and returns the earliest instant at which it may
// happen.
func (b *budget) reserve(now time.Time) time.Time {
	b.fill(now)
	b.tokens = max(b.tokens-1, -maxBudgetDebt)
	if b.tokens >= 0 {
		return now
	}
	return now.Add(time.Duration(-b.tokens * float64(time.Second)))
}

func (b *budget) fill(now time.Time) {
	if b.at.IsZero() {
		b.tokens = maxBudget
	} else if d := now.Sub(b.at); d > 0 {
		b.tokens = min(maxBudget, b.tokens+d.Seconds())
	}
	b.at = now
}

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

func (p *pace) why(channel string, now time.Time) operators.Why {
	w := operators.NewWhy(operators.WhyRate, operators.TextRate, "channel", channel, "rate", p.rate())
	if p.share < wholeShare {
		w = operators.NewWhy(operators.WhyRate, operators.TextRateLowered, "channel", channel, "rate", p.rate())
	}
	if at := p.opensAt(now); !at.IsZero() {
		w = w.And(operators.NewClause(operators.TextNextAt, "at", at))
	}
	return w
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier returns the earlier of two instants; a zero instant counts as none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func reached(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }
