package surveys

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/people"
	"weir/surveys"
	"weir/surveys/respondents"
)

// hours are the hours in which the purpose of a survey allows that its respondents are
// contacted.
//
// A respondent is not started outside them: it would wait as a contact, and hold a place of
// those that are in progress, while others could be contacted. At the launch, respondents
// whom these hours and the windows of the survey leave too little time are found: otherwise
// it would turn out in the night that the survey cannot end.
type hours struct {
	plan    *surveys.Plan
	purpose *people.Purpose // nil: there are no rules
	zones   *people.Zones
	sets    map[string]*zoneSet
}

// zoneSet is the zones that some respondents may live in.
type zoneSet struct {
	zones       []*time.Location
	respondents int
}

func (a *access) hoursOf(plan *surveys.Plan) *hours {
	h := &hours{plan: plan, zones: a.zones, sets: map[string]*zoneSet{}}
	if a.People == nil {
		return h
	}
	name := plan.Purpose
	if name == "" {
		name = people.DefaultPurpose
	}
	if p := a.People.Purposes()[name]; p != nil && (p.QuietHours != nil || len(p.Holidays) > 0) {
		h.purpose = p
	}
	return h
}

// opens returns the first instant, from now on, at which a respondent may be contacted.
func (h *hours) opens(r *surveys.Respondent, now time.Time) time.Time {
	if h.purpose == nil {
		return now
	}
	return h.purpose.Opens(now, h.zonesOf(r))
}

func (h *hours) zonesOf(r *surveys.Respondent) []*time.Location {
	return h.zones.Of(r.Attributes[respondents.FieldTimeZone], people.Canonical(r.Phone), h.purpose.Zone())
}

// add adds a respondent to those that check looks at.
func (h *hours) add(r *surveys.Respondent) {
	if h.purpose == nil {
		return
	}
	zones := h.zonesOf(r)
	key := fmt.Sprint(zones)
	if h.sets[key] == nil {
		h.sets[key] = &zoneSet{zones: zones}
	}
	h.sets[key].respondents++
}

// check returns a mistake for each set of zones that is left less than an hour in the week
// from the first window on.
func (h *hours) check(now time.Time) (wrong []weir.FieldError) {
	if _, ok := h.plan.Schedule.NextOpen(now); !ok {
		return nil // reported already
	}
	for _, key := range slices.Sorted(maps.Keys(h.sets)) {
		set := h.sets[key]
		open := h.plan.HoursFor(h.purpose, set.zones, now)
		if open >= surveys.LeastHours {
			continue
		}
		where := set.zones[0].String()
		if len(set.zones) > 1 {
			where = fmt.Sprintf("%s or one of %d other zones", where, len(set.zones)-1)
		}
		wrong = weir.AddMistakes(wrong, weir.FieldError{Pointer: "/purpose", Code: "window", Detail: fmt.Sprintf(
			"leaves %v in a week to contact %d respondents who live in %s: the windows of the schedule and the purpose's quiet hours and holidays hardly meet; change either, or give these respondents the attribute time_zone",
			open, set.respondents, where)})
	}
	return wrong
}
