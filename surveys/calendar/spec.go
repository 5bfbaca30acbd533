package calendar

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"weir"
	"weir/api"
	"weir/internal/phonenumber"
	"weir/internal/validation"
)

// Bounds of a schedule.
const (
	MaxWindows     = 24
	MaxBlockedDays = 1000
)

// What clients write, as the API has it.
type (
	ScheduleSpec = api.ScheduleSpec
	WindowSpec   = api.WindowSpec
)

// Compile checks a schedule and returns every validation failure. It loads the zone
// from the program or the system.
func Compile(spec ScheduleSpec) (*Schedule, []weir.FieldError) {
	var m validation.Errors
	s := &Schedule{zone: zoneOf(spec.TimeZone, &m)}
	s.days = daysOf(spec.Weekdays, &m)
	s.windows = windowsOf(spec.Windows, &m)
	s.blocked = blockedOf(spec.BlockedDays, &m)
	s.start = parseDate(spec.StartDate, "/start_date", &m)
	s.end = parseDate(spec.EndDate, "/end_date", &m)
	if !s.end.IsZero() && s.end.Before(s.start) {
		m.Add("/end_date", "range", "is before start_date")
	}
	if len(m) > 0 {
		return nil, m
	}
	s.last = s.lastClose()
	if !s.end.IsZero() && s.last.IsZero() {
		m.Add("", "range", "no window opens: every day up to end_date is blocked or not one of the weekdays")
		return nil, m
	}
	return s, nil
}

// CheckAhead checks that a schedule still opens after now; a survey whose windows
// have all passed cannot be launched.
func (s *Schedule) CheckAhead(now time.Time) []weir.FieldError {
	if _, ok := s.NextOpen(now); ok {
		return nil
	}
	return []weir.FieldError{{Pointer: "/end_date", Code: "range", Detail: "the last window has closed; no respondent could be contacted"}}
}

func zoneOf(name string, m *validation.Errors) *time.Location {
	if name == "" {
		m.Add("/time_zone", "required", "must be the IANA name of a time zone, like America/Mexico_City")
		return nil
	}
	zone, err := phonenumber.LoadZone(name)
	if err != nil {
		m.Add("/time_zone", "unknown", "%v", err)
	}
	return zone
}

// daysOf returns the days by their time.Weekday.
func daysOf(names []string, m *validation.Errors) (days [7]bool) {
	if len(names) == 0 {
		m.Add("/weekdays", "required", "must name at least one day of the week")
	}
	for i, name := range names {
		at := "/weekdays/" + strconv.Itoa(i)
		switch d := slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, name); {
		case d < 0:
			m.Add(at, "enum", "%q is not one of mon, tue, wed, thu, fri, sat, sun", validation.Clip(name))
		case days[d]:
			m.Add(at, "duplicate", "%s is listed twice", name)
		default:
			days[d] = true
		}
	}
	return days
}

func windowsOf(specs []WindowSpec, m *validation.Errors) []window {
	if len(specs) == 0 || len(specs) > MaxWindows {
		m.Add("/windows", "length", "must have 1 to %d windows", MaxWindows)
	}
	sound := true
	type numbered struct {
		window
		index int
	}
	var all []numbered
	for i, spec := range specs {
		at := fmt.Sprintf("/windows/%d", i)
		from, errFrom := ParseClock(spec.From)
		to, errTo := ParseClock(spec.To)
		switch {
		case errFrom != nil:
			m.Add(at+"/from", "format", "%v", errFrom)
		case from == endOfDay:
			m.Add(at+"/from", "range", "must be before 24:00; write 00:00 of the next day")
		case errTo == nil && to <= from:
			m.Add(at+"/to", "range", "must be later than from; write a window over midnight as two, to 24:00 and from 00:00")
		}
		if errTo != nil {
			m.Add(at+"/to", "format", "%v", errTo)
		}
		sound = sound && errFrom == nil && errTo == nil && from < to
		all = append(all, numbered{window{from, to}, i})
	}
	slices.SortStableFunc(all, func(a, b numbered) int { return cmp.Compare(a.from, b.from) })
	var out []window
	for i, w := range all {
		// Only among windows that are valid by themselves: otherwise an overlap may follow from a
		// mistake that is reported already.
		if i > 0 && w.from < all[i-1].to && sound {
			m.Add(fmt.Sprintf("/windows/%d", w.index), "overlap", "overlaps the window from %s to %s", all[i-1].from, all[i-1].to)
		}
		out = append(out, w.window)
	}
	return out
}

func blockedOf(days []string, m *validation.Errors) []time.Time {
	if len(days) > MaxBlockedDays {
		m.Add("/blocked_days", "length", "must have at most %d days", MaxBlockedDays)
		return nil
	}
	var out []time.Time
	for i, day := range days {
		if d := parseDate(day, "/blocked_days/"+strconv.Itoa(i), m); !d.IsZero() {
			out = append(out, d)
		} else if day == "" {
			m.Add("/blocked_days/"+strconv.Itoa(i), "format", "must be a date like 2026-01-31")
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// parseDate parses 2006-01-02; an empty text is no date. It accepts the years 1970 to
// 9998: whatever the zone and the delay, an instant derived from such a day can be
// displayed.
func parseDate(s, pointer string, m *validation.Errors) time.Time {
	if s == "" {
		return time.Time{}
	}
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		m.Add(pointer, "format", "%q is not a date like 2026-01-31", validation.Clip(s))
		return time.Time{}
	}
	if d.Year() < 1970 || d.Year() > 9998 {
		m.Add(pointer, "format", "%q is not between 1970-01-01 and 9998-12-31", validation.Clip(s))
		return time.Time{}
	}
	return d
}
