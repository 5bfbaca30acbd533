package limits

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"weir/api"
	"weir/internal/document"
	"weir/internal/validation"
)

// Rules of limits, by their names in receipts. They have no type, because the rules of purposes
// stand beside them in one list.
const (
	RuleInFlight  = "limit_in_flight"  // too many contacts in flight
	RulePerSecond = "limit_per_second" // too many dispatches in this second
	RuleNewPeople = "limit_new_people" // too many new people in 24 hours
	RuleMoney     = "limit_money"      // it would cost more than is left
	RuleBudget    = "budget_spent"     // it would cost more than is left of its survey's budget
)

const day = 24 * time.Hour

// Limit bounds what some channels do together, or what surveys may cost.
type Limit api.Limit

// CountsMoney reports whether the limit is one of money.
func (l *Limit) CountsMoney() bool {
	return l.Money != "" || l.MoneyPerDay != "" || l.MoneyPerMonth != ""
}

// Concerns reports whether contacts over a channel, for a survey, are bounded by the limit.
func (l *Limit) Concerns(channel, survey string) bool {
	return (len(l.Channels) == 0 || slices.Contains(l.Channels, channel)) && (len(l.Surveys) == 0 || slices.Contains(l.Surveys, survey))
}

// Bounds of limits.
const (
	MaxLimits        = 200
	MaxLimitChannels = 100 // of one limit; its schema has the same
)

// Check returns the mistakes of a limit. Pointers are relative to it.
func (l *Limit) Check() (m validation.Errors) {
	if len(l.Channels) == 0 && len(l.Surveys) == 0 {
		m.Add("/channels", "required", "must name at least one channel, or surveys at least one survey")
	}
	for _, list := range []struct {
		at    string
		names []string
	}{{"/channels/", l.Channels}, {"/surveys/", l.Surveys}} {
		for i, name := range list.names {
			if slices.Contains(list.names[:i], name) {
				m.Add(list.at+strconv.Itoa(i), "duplicate", "%s is listed twice", validation.Clip(name))
			}
		}
	}
	bounds := (*api.Limit)(l).Bounds()
	set := slices.DeleteFunc(slices.Clone(bounds), func(b api.Bound) bool { return b.Most == 0 })
	if len(set) == 0 && !l.CountsMoney() {
		names := ""
		for _, b := range bounds {
			names += b.Member + ", "
		}
		m.Add("", "required", "must limit something: %smoney, money_per_day or money_per_month", names)
	}
	if len(l.Surveys) > 0 {
		for _, b := range set {
			m.Add("/"+b.Member, "unexpected", "holds for whole channels: a limit that names surveys bounds money alone")
		}
	}
	l.checkMoney(&m)
	return m
}

// Usage tracks the consumption of a limit: committed, and in the current batch. It is pure, and
// not safe for concurrent use.
type Usage struct {
	*Limit
	tokens float64   // dispatches that per_second allows now
	filled time.Time // when they were counted; zero: none were, as after a start
	people map[Person]time.Time
	order  []contacted // oldest first; an entry that is not the latest of its person does not count

	claimed, units int // by the batch
	taken          []contacted
	fresh          map[Person]bool // people of the batch who are new
	money          spending
	budget         *SurveyBudget // nil: it is a limit
}

type contacted struct {
	person Person
	at     time.Time
}

// NewUsage returns the usage of a limit, of which nothing is used.
func NewUsage(l *Limit) *Usage {
	return &Usage{Limit: l, people: map[Person]time.Time{}, fresh: map[Person]bool{}, money: newSpending(l)}
}

// Begin forgets what a batch has taken.
func (u *Usage) Begin() {
	u.claimed, u.units, u.taken, u.fresh, u.money.taken = 0, 0, nil, map[Person]bool{}, 0
}

// Person identifies whom a contact is for: by the hash of the address, under which the record of
// earlier contacts has it.
type Person = [16]byte

// Demand is what one claim consumes.
type Demand struct {
	Person   Person
	Units    int // of the rate
	Cost     Money
	Currency string // empty: the channel has no price
}

// Contacted records that a person was contacted, in the order of the instants.
func (u *Usage) Contacted(person Person, at time.Time) {
	u.people[person] = at
	u.order = append(u.order, contacted{person, at})
}

// UndoContacted undoes [Usage.Contacted] of an instant.
func (u *Usage) UndoContacted(person Person, at time.Time) {
	i := slices.IndexFunc(u.order, func(c contacted) bool { return c.person == person && c.at.Equal(at) })
	if i < 0 {
		return
	}
	u.order = slices.Delete(u.order, i, i+1)
	delete(u.people, person)
	for _, c := range u.order {
		if c.person == person {
			u.people[person] = c.at
		}
	}
}

// expire forgets people whom nobody has contacted for a day.
func (u *Usage) expire(now time.Time) {
	for len(u.order) > 0 && !u.order[0].at.After(now.Add(-day)) {
		if first := u.order[0]; u.people[first.person].Equal(first.at) {
			delete(u.people, first.person)
		}
		u.order = u.order[1:]
	}
}

// Denial reports which limit refused a claim, and until when.
type Denial struct {
	Rule    string
	Reason  string
	Until   time.Time
	Channel bool // it holds for the whole channel, otherwise for this person alone
}

// Room reports whether the limit has room for a claim, beside what the batch has taken.
// inFlight is how many contacts of its channels are in flight.
func (u *Usage) Room(name string, w *Demand, inFlight int, now time.Time) (Denial, bool) {
	if u.InFlight > 0 && inFlight+u.claimed >= u.InFlight {
		return Denial{RuleInFlight, fmt.Sprintf("limit %s: %d of %d contacts in flight over its channels", name, inFlight+u.claimed, u.InFlight), now.Add(inFlightRetry), true}, false
	}
	if u.PerSecond > 0 {
		u.fill(now)
		if need := min(float64(w.Units), u.burst()); u.tokens-float64(u.units) < need {
			wait := (need - u.tokens + float64(u.units)) / float64(u.PerSecond)
			return Denial{RulePerSecond, fmt.Sprintf("limit %s: %d dispatches a second over its channels", name, u.PerSecond), now.Add(time.Duration(wait*float64(time.Second)) + time.Millisecond), true}, false
		}
	}
	if u.NewPeoplePerDay > 0 {
		u.expire(now)
		if _, known := u.people[w.Person]; !known && !u.fresh[w.Person] && len(u.people)+len(u.fresh) >= u.NewPeoplePerDay {
			return Denial{RuleNewPeople, fmt.Sprintf("limit %s: %d people in 24 hours over its channels, the most that are allowed", name, u.NewPeoplePerDay), u.nextPlaces(now), false}, false
		}
	}
	return u.affords(name, w, now)
}

// inFlightRetry is how soon a channel tries again whose limit has no room in flight.
const inFlightRetry = 250 * time.Millisecond

// nextPlaces returns when a part of the places is free again. With single places, whoever
// waits would be looked at each time that one is free.
func (u *Usage) nextPlaces(now time.Time) time.Time {
	if len(u.order) == 0 {
		return now.Add(day) // the batch has taken all
	}
	portion := max(1, u.NewPeoplePerDay/24)
	at := u.order[min(portion, len(u.order))-1].at.Add(day)
	if soonest := now.Add(time.Minute); at.Before(soonest) {
		at = soonest
	}
	return at
}

// burst is how many dispatches may follow each other at once.
func (u *Usage) burst() float64 { return max(1, float64(u.PerSecond)/10) }

// fill adds the tokens of the time that has passed.
func (u *Usage) fill(now time.Time) {
	if !u.filled.IsZero() && now.After(u.filled) {
		u.tokens = min(u.burst(), u.tokens+now.Sub(u.filled).Seconds()*float64(u.PerSecond))
	}
	if u.filled.IsZero() || now.After(u.filled) {
		u.filled = now
	}
}

// Take takes room for a claim of the batch.
func (u *Usage) Take(w *Demand, now time.Time) {
	u.claimed++
	u.units += w.Units
	u.money.taken += w.Cost
	if u.NewPeoplePerDay > 0 {
		u.taken = append(u.taken, contacted{w.Person, now})
		if _, known := u.people[w.Person]; !known {
			u.fresh[w.Person] = true
		}
	}
}

// Committed keeps what the batch has taken. Money is counted apart, by Spend: a batch also
// learns what earlier claims have cost.
func (u *Usage) Committed() {
	u.tokens -= float64(u.units)
	for _, c := range u.taken {
		u.Contacted(c.person, c.at)
	}
	u.Begin()
}

// People returns how many people count.
func (u *Usage) People(now time.Time) int {
	u.expire(now)
	return len(u.people)
}

// LimitUse is how much of a limit is used.
type LimitUse struct {
	api.LimitUse
	Today, Month, Spent Money // today and in this month, in UTC, and in all
}

// Store keeps limits, prices, and how much of budgets is used.
type Store interface {
	Limits
	Prices
	Budgets
}

// Limits keeps limits.
type Limits interface {
	// Limits returns the limits, by name. They are immutable.
	Limits() map[string]*Limit
	// LimitUse returns how much of each is used, as of the latest write.
	LimitUse() map[string]LimitUse
	// PutLimit sets a limit. When it returns, every later claim is judged by it.
	PutLimit(ctx context.Context, name string, l *Limit, on document.Condition) error
	// CheckLimit returns the error that PutLimit would, and writes nothing.
	CheckLimit(ctx context.Context, name string, l *Limit, on document.Condition) error
	DeleteLimit(ctx context.Context, name string) error
}
