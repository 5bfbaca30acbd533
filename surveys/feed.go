package surveys

import (
	"math"
	"time"
)

// Flow is what is known of a channel when a survey asks it for room. Everything
// is counted in slots.
type Flow struct {
	Capacity int
	Reserve  int // of the capacity, kept for replies
	InFlight int
	Queued   int     // of surveys, waiting for their turn; not those held for a later window
	Others   int     // of other senders, waiting for their turn
	Surveys  int     // that share the channel with the others; at least 1
	Rate     float64 // slots that come free each minute when it is busy; 0: not known yet
	// Typical is how long a slot is taken as long as the rate is not known.
	Typical time.Duration
}

// Shares of what could be done that are counted on.
const (
	prudence = 0.9 // of what the rate allows until the window closes
	typical  = 2 * time.Minute
)

// Room is how many contacts, of so many slots each, may be enqueued on a channel
// now: what is free, and what comes free until the next look, less what waits
// already. Contacts of others leave the surveys at least their fair share of it:
// lanes take turns, so a backlog of others costs them no more than that. The last
// contact may be larger than what is left of that: a survey with large contacts is
// not to find the room taken by small ones for ever. Never more than can be handed
// over before the window closes in left, so that nothing expires in the queue.
//
// A rate that was observed while there was little to do is too low; but what is
// free may always be filled, so that the rate recovers.
func (f Flow) Room(size int, next, left time.Duration) (int, Shortage) {
	switch {
	case left <= 0:
		return 0, WindowClosed
	case size > f.Capacity-f.Reserve:
		return 0, TooLarge
	}
	free := max(0, f.Capacity-f.InFlight)
	wanted := f.left(float64(free) + f.freed(next))
	reachable := f.left(float64(free) + prudence*f.freed(left))
	switch size = max(1, size); {
	case wanted <= 0:
		return 0, NoRoom
	case reachable < size:
		return 0, ClosesSoon
	}
	return min((wanted+size-1)/size, reachable/size), Enough
}

// left is what surveys may still enqueue of so many slots: all for which no contact
// waits, or what is missing of their fair share.
func (f Flow) left(slots float64) int {
	n := float64(max(1, f.Surveys))
	return int(math.Ceil(max(slots-float64(f.Others), slots*n/(n+1)))) - f.Queued
}

// Shortage is why a channel has no room for a survey.
type Shortage int

// The shortages.
const (
	Enough       Shortage = iota // it has room
	WindowClosed                 // the schedule is closed
	ClosesSoon                   // the window closes before another contact could be handed over
	TooLarge                     // a contact is larger than the channel
	NoRoom                       // enough waits already
)

// freed is how many slots come free in a time.
func (f Flow) freed(d time.Duration) float64 {
	rate := f.Rate
	if rate <= 0 {
		hold := f.Typical
		if hold <= 0 {
			hold = typical
		}
		rate = float64(f.Capacity) / hold.Minutes()
	}
	return min(rate*d.Minutes(), math.MaxInt32)
}

// Meter measures a rate, recent minutes counting for more: what is older by the
// half-life counts half. The zero Meter has seen nothing.
type Meter struct {
	Weight float64   // decayed sum of what was seen
	Time   float64   // decayed minutes during which it was watched
	Since  time.Time // of the last observation
}

// halfLife of a meter's memory.
const halfLife = 10 * time.Minute

// Observe notes that n happened since the last observation, during which there
// was work. The first one only starts the watch.
func (m Meter) Observe(now time.Time, n int) Meter {
	if m.Since.IsZero() || now.Before(m.Since) {
		m.Since = now
		return m
	}
	minutes := now.Sub(m.Since).Minutes()
	keep := math.Exp2(-minutes / halfLife.Minutes())
	return Meter{Weight: m.Weight*keep + float64(n), Time: m.Time*keep + minutes, Since: now}
}

// Skip notes that there was nothing to do since the last observation.
func (m Meter) Skip(now time.Time) Meter {
	m.Since = now
	return m
}

// PerMinute is the rate; 0 if it is not known.
func (m Meter) PerMinute() float64 {
	if m.Time <= 0 {
		return 0
	}
	return m.Weight / m.Time
}

// Minute holds a survey to so many starts and retries in any minute: at whatever
// instant a minute begins, no more fall into it. The zero Minute has seen none.
type Minute struct {
	counts [61]int32 // by second, the present and the sixty before it
	second int64     // the present
}

// Left is how many more may follow now.
func (m *Minute) Left(now time.Time, limit int) int {
	m.turn(now)
	sum := 0
	for _, n := range m.counts {
		sum += int(n)
	}
	return max(0, limit-sum)
}

// Take notes that n follow now. After a restart, what the store knows of the last
// minute is taken first, each at its own instant and in order.
func (m *Minute) Take(now time.Time, n int) {
	m.turn(now)
	m.counts[m.second%int64(len(m.counts))] += int32(min(n, math.MaxInt32/2))
}

// Next is the first instant from now at which one more may follow, with nothing
// taken until then. A limit below 1 lets nothing through; it gives a minute.
func (m *Minute) Next(now time.Time, limit int) time.Time {
	for t, n := now, 0; n <= len(m.counts); n++ {
		ahead := *m
		if ahead.Left(t, limit) > 0 {
			return t
		}
		t = t.Truncate(time.Second).Add(time.Second)
	}
	return now.Add(time.Minute)
}

// turn forgets the seconds that have passed. A clock that goes back a little stays
// where it was; if it goes back further, what it has seen may have been just now.
func (m *Minute) turn(now time.Time) {
	if m.second-now.Unix() >= int64(len(m.counts)) {
		sum := int32(0)
		for _, n := range m.counts {
			sum += n
		}
		m.second, m.counts = now.Unix(), [61]int32{}
		m.counts[m.second%int64(len(m.counts))] = sum
	}
	second := max(now.Unix(), m.second)
	if second-m.second >= int64(len(m.counts)) {
		m.counts = [61]int32{}
	} else {
		for s := m.second + 1; s <= second; s++ {
			m.counts[s%int64(len(m.counts))] = 0
		}
	}
	m.second = second
}

// SplitBudget divides what a minute has left between retries that are due and
// respondents that wait to be started: half each, and what one does not need to
// the other. An odd one goes to the retry.
func SplitBudget(budget, retries, starts int) (retry, start int) {
	start = min(starts, max(budget/2, budget-retries))
	retry = min(retries, budget-start)
	return retry, start
}
