package surveys

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"weir/surveys/calendar"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

const (
	calendarDays = 7
	// clockChangeAhead is how long in advance a clock change is announced.
	clockChangeAhead = 28 * 24 * time.Hour
	maxBlockedDays   = 12
)

// scheduleCalendar shows when a survey may contact respondents, in the survey's time zone.
type scheduleCalendar struct {
	Zone, Clock string
	Open        bool
	Next        string // when its windows next close or open
	Days        []calendarDay
	Blocked     []string // upcoming blocked days
	More        int      // number of blocked days beyond those listed
	ClockChange string   // an upcoming clock change; empty: none soon
	From, To    string   // first and last date, if set
}

// calendarDay is one of the next days.
type calendarDay struct {
	Name  string
	Today bool
	Text  string
	Bar   template.HTML
}

func calendarOf(l *locale.Locale, spec calendar.ScheduleSpec, s *calendar.Schedule, now time.Time) *scheduleCalendar {
	local := now.In(s.Zone())
	c := &scheduleCalendar{
		Zone: spec.TimeZone, Clock: clockText(l, local), From: spec.StartDate, To: spec.EndDate,
		Open: s.Contains(now), Next: nextOpening(l, s, now), ClockChange: clockChange(l, local),
	}
	days := spec.BlockedDays
	slices.Sort(days)
	for _, d := range days {
		if d < local.Format(time.DateOnly) {
			continue
		}
		if len(c.Blocked) == maxBlockedDays {
			c.More++
			continue
		}
		c.Blocked = append(c.Blocked, d)
	}
	year, month, day := local.Date()
	for i := range calendarDays {
		noon := time.Date(year, month, day+i, 12, 0, 0, 0, time.UTC) // noon UTC stands for the date, in any time zone
		c.Days = append(c.Days, dayOf(l, spec, noon, i == 0, local))
	}
	return c
}

// clockText formats an instant as the clocks of its zone show it.
func clockText(l *locale.Locale, t time.Time) string {
	return l.Weekday(t.Weekday()) + t.Format(" 2006-01-02 15:04")
}

// nextOpening describes when the windows next close or open.
func nextOpening(l *locale.Locale, s *calendar.Schedule, now time.Time) string {
	w, ok := s.Window(now)
	switch {
	case !ok:
		return l.T("no further window")
	case !w.Open.After(now):
		return l.T("open until %s", clockText(l, w.Close.In(s.Zone()))+" "+s.Zone().String())
	default:
		return l.T("opens %s", clockText(l, w.Open.In(s.Zone()))+" "+s.Zone().String())
	}
}

// clockChange describes a clock change within clockChangeAhead.
func clockChange(l *locale.Locale, local time.Time) string {
	// The end is zero in a zone whose clocks do not change any more.
	_, end := local.ZoneBounds()
	if end.IsZero() || end.Sub(local) > clockChangeAhead {
		return ""
	}
	_, before := end.Add(-time.Second).Zone()
	_, after := end.Zone()
	// Some changes give the zone another name only.
	if before == after {
		return ""
	}
	// In the offset before the change, as clocks show it when it comes.
	at := clockText(l, end.In(time.FixedZone("", before)))
	moved := time.Duration(after-before) * time.Second
	if moved > 0 {
		return l.T("Clocks go forward by %[1]s on %[2]s. A window that begins in the skipped time opens at its end.", l.Span(moved), at)
	}
	return l.T("Clocks go back by %[1]s on %[2]s. Of the repeated time, only the first pass counts.", l.Span(-moved), at)
}

// dayOf draws the windows of a date.
func dayOf(l *locale.Locale, spec calendar.ScheduleSpec, date time.Time, today bool, now time.Time) calendarDay {
	d := calendarDay{Name: l.Day(date), Today: today}
	var open []calendar.WindowSpec
	switch key := date.Format(time.DateOnly); {
	case spec.StartDate != "" && key < spec.StartDate:
		d.Text = l.T("before the first day")
	case spec.EndDate != "" && key > spec.EndDate:
		d.Text = l.T("after the last day")
	case slices.Contains(spec.BlockedDays, key):
		d.Text = l.T("blocked")
	case !slices.Contains(spec.Weekdays, strings.ToLower(date.Format("Mon"))):
		d.Text = l.T("closed")
	default:
		open = slices.SortedFunc(slices.Values(spec.Windows), func(a, b calendar.WindowSpec) int { return cmp.Compare(a.From, b.From) })
	}
	var texts []string
	var parts []display.Span
	for _, w := range open {
		texts = append(texts, w.From+"–"+w.To)
		parts = append(parts, display.Span{Class: "c3", From: minuteOf(w.From), To: minuteOf(w.To)})
	}
	if open != nil {
		d.Text = strings.Join(texts, ", ")
	}
	mark := -1.0
	if today {
		mark = float64(now.Hour()*60 + now.Minute())
	}
	d.Bar = display.Day(d.Name+": "+d.Text, parts, mark)
	return d
}

// minuteOf converts a time of day, already validated by the API, to minutes.
func minuteOf(clock string) float64 {
	var hour, minute int
	_, _ = fmt.Sscanf(clock, "%d:%d", &hour, &minute)
	return float64(hour*60 + minute)
}
