// Package pacing decides how many contacts a survey may enqueue now: the room that
// a channel has, the limit per minute and the fair share between surveys. Pure.
package pacing

import (
	"math"
	"time"
)

// ChannelLoad is the known state of a channel when a survey asks it for room. All counts
// are in slots.
type ChannelLoad struct {
	Capacity int
	Reserve  int // part of the capacity that is reserved for replies
	InFlight int
	Queued   int     // of the surveys' waiting contacts, without those held for a later window
	Others   int     // of the waiting contacts of other senders
	Surveys  int     // number of surveys that share the channel with the others; at least 1
	Rate     float64 // slots freed per minute while the channel is busy; 0: not known yet
}

// prudence is the share of the rate that is counted on until the window closes.
const prudence = 0.9

// TypicalHold is the time for which a slot is assumed to be held, until the rate is known.
const TypicalHold = 2 * time.Minute

// Room returns how many contacts, of size slots each, may be enqueued on a channel
// now: the free slots, and the slots freed until the next poll, less the slots of
// waiting contacts. Contacts of others leave the surveys at least their fair share:
// lanes take turns, so a backlog of others costs the surveys no more than that. The
// last contact may be larger than the remaining room; otherwise small contacts
// could keep a survey with large ones from ever finding room. Room is never more
// than can be dispatched within left, the time until the window closes, so that
// nothing expires in the queue.
//
// A rate that was measured while there was little to do is too low; but free slots
// may always be filled, so the rate recovers.
func (f ChannelLoad) Room(size int, next, left time.Duration) (int, Shortage) {
	switch {
	case left <= 0:
		return 0, WindowClosed
	case size > f.Capacity-f.Reserve:
		return 0, TooLarge
	}
	free := max(0, f.Capacity-f.InFlight)
	room := f.left(float64(free) + f.freed(next))
	reachable := f.left(float64(free) + prudence*f.freed(left))
	switch size = max(1, size); {
	case room <= 0:
		return 0, NoRoom
	case reachable < size:
		return 0, ClosesSoon
	}
	return min((room+size-1)/size, reachable/size), Enough
}

// left returns how many of the given slots the surveys may still enqueue: all that
// no other contact waits for, or at least the surveys' fair share.
func (f ChannelLoad) left(slots float64) int {
	n := float64(max(1, f.Surveys))
	return int(math.Ceil(max(slots-float64(f.Others), slots*n/(n+1)))) - f.Queued
}

// Shortage is the reason why a channel has no room for a survey.
type Shortage int

// The shortages.
const (
	Enough       Shortage = iota // the channel has room
	WindowClosed                 // the schedule is closed
	ClosesSoon                   // the window closes before another contact could be dispatched
	TooLarge                     // a contact is larger than the channel
	NoRoom                       // enough contacts wait already
)

// freed returns the number of slots that are freed in a duration.
func (f ChannelLoad) freed(d time.Duration) float64 {
	rate := f.Rate
	if rate <= 0 {
		rate = float64(f.Capacity) / TypicalHold.Minutes()
	}
	return min(rate*d.Minutes(), math.MaxInt32)
}

// RateMeter measures a rate with exponential decay: an observation that is one
// half-life old counts half. The zero RateMeter has observed nothing.
type RateMeter struct {
	Weight float64   // decayed sum of the observed events
	Time   float64   // decayed minutes of observation
	Since  time.Time // of the last observation
}

// halfLife is the half-life of a meter's observations.
const halfLife = 10 * time.Minute

// Observe records n events since the last observation, a time with work. The
// first call only starts the observation.
func (m RateMeter) Observe(now time.Time, n int) RateMeter {
	if m.Since.IsZero() || now.Before(m.Since) {
		m.Since = now
		return m
	}
	minutes := now.Sub(m.Since).Minutes()
	keep := math.Exp2(-minutes / halfLife.Minutes())
	return RateMeter{Weight: m.Weight*keep + float64(n), Time: m.Time*keep + minutes, Since: now}
}

// Skip records that there was no work since the last observation.
func (m RateMeter) Skip(now time.Time) RateMeter {
	m.Since = now
	return m
}

// PerMinute returns the rate; 0 if it is not known.
func (m RateMeter) PerMinute() float64 {
	if m.Time <= 0 {
		return 0
	}
	return m.Weight / m.Time
}

// MinuteLimit limits a survey's starts and retries per minute: it is a sliding window
// of whole seconds, so the limit holds at whatever instant a minute begins. The zero
// MinuteLimit is empty.
type MinuteLimit struct {
	counts [61]int32 // per second: the present one and the sixty before it
	second int64     // the present second, in Unix time
}

// Left returns how many more are allowed now.
func (m *MinuteLimit) Left(now time.Time, limit int) int {
	m.advance(now)
	sum := 0
	for _, n := range m.counts {
		sum += int(n)
	}
	return max(0, limit-sum)
}

// Add counts n now. After a restart, the starts of the last minute that the store
// knows are taken first, each at its own instant and in order.
func (m *MinuteLimit) Add(now time.Time, n int) {
	m.advance(now)
	m.counts[m.second%int64(len(m.counts))] += int32(min(n, math.MaxInt32/2))
}

// Next returns the first instant from now at which one more is allowed, if nothing
// is taken until then. With a limit below 1 it returns now plus a minute.
func (m *MinuteLimit) Next(now time.Time, limit int) time.Time {
	for t, n := now, 0; n <= len(m.counts); n++ {
		ahead := *m
		if ahead.Left(t, limit) > 0 {
			return t
		}
		t = t.Truncate(time.Second).Add(time.Second)
	}
	return now.Add(time.Minute)
}

// advance drops the seconds that have passed. If the clock goes back by at most a
// minute, the window stays where it was; if it goes back further, all counted
// starts are moved to the present second, because they may be that recent.
func (m *MinuteLimit) advance(now time.Time) {
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

// SplitBudget divides the remaining budget of a minute between due retries and
// respondents that wait to be started: half each, and the unused part of one goes
// to the other. An odd one goes to the retry.
func SplitBudget(budget, retries, starts int) (retry, start int) {
	start = min(starts, max(budget/2, budget-retries))
	retry = min(retries, budget-start)
	return retry, start
}
