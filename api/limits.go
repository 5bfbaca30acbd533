package api

import (
	"reflect"
	"strings"
)

// Limit bounds what some channels do together, such as the numbers of one account, or what
// surveys may cost.
type Limit struct {
	Title           string   `json:"title,omitempty" maxLength:"200" doc:"for people"`
	Channels        []string `json:"channels,omitempty" maxItems:"100" nullable:"false" doc:"names of the channels that share it; absent: all, for the surveys that it names" example:"[\"whatsapp-1\", \"whatsapp-2\"]" flag:"channel: channel that shares the limit; repeatable"`
	Surveys         []string `json:"surveys,omitempty" maxItems:"100" nullable:"false" doc:"names of the surveys whose contacts count, and are bounded; absent: all contacts. Only money can be limited so" example:"[\"health-2026\"]" flag:"survey: survey whose contacts are bounded, in money alone; repeatable"`
	InFlight        int      `json:"in_flight,omitempty" minimum:"1" maximum:"100000" doc:"most contacts in flight at one time; absent: no limit" bound:"in flight"`
	PerSecond       int      `json:"per_second,omitempty" minimum:"1" maximum:"10000" doc:"most dispatches a second; of texts, segments; absent: no limit" bound:"a second"`
	NewPeoplePerDay int      `json:"new_people_per_day,omitempty" minimum:"1" maximum:"1000000" doc:"most people in any 24 hours whom none of the channels contacted in the 24 hours before; absent: no limit" flag:": most people in 24 hours whom none of the channels contacted in the 24 hours before" bound:"new people in 24 hours"`
	Currency        string   `json:"currency,omitempty" pattern:"^[A-Z]{3}$" patternDescription:"three capital letters" doc:"of the amounts, ISO 4217; each channel needs a price in it" example:"USD" flag:": of the amounts, such as USD"`
	Money           string   `json:"money,omitempty" pattern:"^[0-9]{1,12}(\\.[0-9]{1,6})?$" patternDescription:"an amount, such as 12.50" doc:"most that is spent in all: a budget; absent: no limit" example:"2500" flag:": most that is spent in all, such as 2500"`
	MoneyPerDay     string   `json:"money_per_day,omitempty" pattern:"^[0-9]{1,12}(\\.[0-9]{1,6})?$" patternDescription:"an amount, such as 12.50" doc:"most that is spent on a day, in UTC; absent: no limit" example:"100"`
	MoneyPerMonth   string   `json:"money_per_month,omitempty" pattern:"^[0-9]{1,12}(\\.[0-9]{1,6})?$" patternDescription:"an amount, such as 12.50" doc:"most that is spent in a month, in UTC; absent: no limit" example:"1500"`
}

// LimitUse is how much of the numbers of a limit is used. The tag used names the number.
type LimitUse struct {
	InFlightNow int `json:"in_flight_now" doc:"contacts in flight over its channels" used:"in_flight"`
	NewPeople   int `json:"new_people" doc:"people who were contacted in the last 24 hours, if they are counted" used:"new_people_per_day"`
}

// Bound is one of the numbers that a limit can set.
type Bound struct {
	Member  string // of [Limit], in JSON
	Words   string // what it bounds, behind the number: the tag bound
	Most    int    // 0: no limit
	Used    int
	Counted bool // Used says how much is used
}

// Bounds returns the numbers that a limit can set, in their order. None is used.
func (l *Limit) Bounds() []Bound { return (&LimitView{Limit: *l}).Bounds() }

// Bounds returns the numbers that the limit can set, with how much of each is used.
func (v *LimitView) Bounds() (list []Bound) {
	used := map[string]int{}
	for m, n := range reflect.ValueOf(&v.LimitUse).Elem().Fields() {
		used[m.Tag.Get("used")] = int(n.Int())
	}
	for m, n := range reflect.ValueOf(&v.Limit).Elem().Fields() {
		if words := m.Tag.Get("bound"); words != "" {
			name, _, _ := strings.Cut(m.Tag.Get("json"), ",")
			now, counted := used[name]
			list = append(list, Bound{name, words, int(n.Int()), now, counted})
		}
	}
	return list
}

// LimitView is a limit, with how much of it is used.
type LimitView struct {
	Name string `json:"name" doc:"name of the limit" example:"portfolio"`
	Limit
	LimitUse

	MoneyToday string `json:"money_today,omitempty" doc:"spent or reserved today, in UTC; absent: money is not limited" example:"12.50"`
	MoneyMonth string `json:"money_month,omitempty" doc:"in this month, in UTC" example:"340.00"`
	MoneySpent string `json:"money_spent,omitempty" doc:"in all" example:"1240.75"`
}

// LimitList lists limits by name.
type LimitList struct {
	Limits []LimitView `json:"limits" nullable:"false" doc:"by name"`
}
