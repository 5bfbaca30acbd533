package surveys

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/people"
	"weir/surveys/respondents"
)

// LeastHours is how long a survey must be able to contact each of its respondents in a week.
const LeastHours = time.Hour

// HoursFor returns for how long a person who may live in the zones can be contacted in the week
// from the first window on: while the schedule is open and the purpose allows it. It counts
// minutes, and no more than [LeastHours].
func (pl *Plan) HoursFor(purpose *people.Purpose, zones []*time.Location, now time.Time) (open time.Duration) {
	at, ok := pl.Schedule.NextOpen(now.Truncate(time.Minute))
	for end := at.Add(7 * 24 * time.Hour); ok && at.Before(end) && open < LeastHours; at, ok = pl.Schedule.NextOpen(at) {
		if opens := purpose.Opens(at, zones); opens.After(at) {
			at = opens
			continue
		}
		at, open = at.Add(time.Minute), open+time.Minute
	}
	return open
}

// Hours are the hours in which the purpose of a survey allows that its respondents are
// contacted.
//
// A respondent is not started outside them: it would wait as a contact, and hold a place of
// those that are in progress, while others could be contacted. At the launch, respondents
// whom these hours and the windows of the survey leave too little time are found: otherwise
// it would turn out in the night that the survey cannot end.
type Hours struct {
	plan    *Plan
	purpose *people.Purpose // nil: there are no rules
	zones   *people.Zones
	sets    map[string]*zoneSet
}

// zoneSet is the zones that some respondents may live in.
type zoneSet struct {
	zones       []*time.Location
	respondents int
}

// NewHours returns the hours of a survey under the rules of its purpose, of those that there are.
func NewHours(plan *Plan, purposes map[string]*people.Purpose, zones *people.Zones) *Hours {
	h := &Hours{plan: plan, zones: zones, sets: map[string]*zoneSet{}}
	if p := purposes[cmp.Or(plan.Purpose, people.DefaultPurpose)]; p != nil && (p.QuietHours != nil || len(p.Holidays) > 0) {
		h.purpose = p
	}
	return h
}

// Opens returns the first instant, from now on, at which a respondent may be contacted.
func (h *Hours) Opens(r *Respondent, now time.Time) time.Time {
	if h.purpose == nil {
		return now
	}
	return h.purpose.Opens(now, h.zonesOf(r))
}

func (h *Hours) zonesOf(r *Respondent) []*time.Location {
	return h.zones.Of(r.Attributes[respondents.FieldTimeZone], people.Canonical(r.Phone), h.purpose.Zone())
}

// Add adds a respondent to those that Check looks at.
func (h *Hours) Add(r *Respondent) {
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

// Check returns a mistake for each set of zones that is left less than an hour in the week
// from the first window on.
func (h *Hours) Check(now time.Time) (wrong []weir.FieldError) {
	if _, ok := h.plan.Schedule.NextOpen(now); !ok {
		return nil // reported already
	}
	for _, key := range slices.Sorted(maps.Keys(h.sets)) {
		set := h.sets[key]
		open := h.plan.HoursFor(h.purpose, set.zones, now)
		if open >= LeastHours {
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
