package surveys

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"weir/surveys/calendar"
	"weir/web/dashboard/locale"
)

// paintedWeek is a week of hours, from Monday, as the form paints it.
type paintedWeek [7][24]bool

// weekRow is a day of the painted week in the form.
type weekRow struct {
	Name, Text string
	Hours      []weekCell
}

// weekCell is a checkbox for an hour of a day.
type weekCell struct {
	Value, ID, Text string
	Checked         bool
}

// weekField is the name of the checkboxes and of mistakes about them.
const weekField = "week"

// weekOf paints a schedule. whole reports whether all of it is whole hours of known days;
// otherwise only the hours that lie in a window are painted.
func weekOf(s *calendar.ScheduleSpec) (week paintedWeek, whole bool) {
	whole = true
	var hours [24]bool
	for _, w := range s.Windows {
		from, errFrom := calendar.ParseClock(w.From)
		to, errTo := calendar.ParseClock(w.To)
		if errFrom != nil || errTo != nil {
			whole = false
			continue
		}
		whole = whole && from%60 == 0 && to%60 == 0
		for hour := (from + 59) / 60; (hour+1)*60 <= to; hour++ {
			hours[hour] = true
		}
	}
	for i, day := range weekdays(s.Weekdays) {
		if day.Checked {
			week[i] = hours
		}
	}
	return week, whole
}

// readWeek reads what was painted.
func readWeek(form url.Values) (week paintedWeek) {
	painted := form[weekField]
	for i, day := range weekdays(nil) {
		for hour := range week[i] {
			week[i][hour] = slices.Contains(painted, cellValue(day.Name, hour))
		}
	}
	return week
}

func cellValue(day string, hour int) string { return fmt.Sprintf("%s-%02d", day, hour) }

// rows returns the week as rows of checkboxes.
func (w *paintedWeek) rows(l *locale.Locale) (rows []weekRow) {
	for i, day := range weekdays(nil) {
		row := weekRow{Name: day.Name, Text: l.T(day.Text)}
		for hour, checked := range w[i] {
			value := cellValue(day.Name, hour)
			row.Hours = append(row.Hours, weekCell{value, "week-" + value, fmt.Sprintf("%s %02d:00", row.Text, hour), checked})
		}
		rows = append(rows, row)
	}
	return rows
}

// windowsOf returns the windows of the painted hours of a day.
func windowsOf(hours [24]bool) (list []calendar.WindowSpec) {
	before := false
	for hour, painted := range hours {
		clock := calendar.Clock(hour * 60)
		switch {
		case painted && before:
			list[len(list)-1].To = (clock + 60).String()
		case painted:
			list = append(list, calendar.WindowSpec{From: clock.String(), To: (clock + 60).String()})
		}
		before = painted
	}
	return list
}

// schedule returns the weekdays and windows of the week. A schedule has the same windows on each of
// its days; if the week has not, wrong says so. A base that is the same week stays as it is written.
func (w *paintedWeek) schedule(l *locale.Locale, base *calendar.ScheduleSpec) (days []string, windows []calendar.WindowSpec, wrong string) {
	if was, whole := weekOf(base); whole && was == *w && len(base.Windows) > 0 && len(base.Weekdays) > 0 {
		return base.Weekdays, base.Windows, ""
	}
	var byHours []string // in the order of the days
	named := map[string][]string{}
	for i, day := range weekdays(nil) {
		list := windowsOf(w[i])
		if len(list) == 0 {
			continue
		}
		var texts []string
		for _, x := range list {
			texts = append(texts, l.T("%[1]s to %[2]s", x.From, x.To))
		}
		text := strings.Join(texts, l.T(" and "))
		if named[text] == nil {
			byHours = append(byHours, text)
		}
		named[text] = append(named[text], l.T(day.Text))
		days, windows = append(days, day.Name), list
	}
	switch len(byHours) {
	case 0:
		return []string{}, []calendar.WindowSpec{}, l.T("Paint at least one hour.")
	case 1:
		return days, windows, ""
	}
	var parts []string
	for _, text := range byHours {
		if on := strings.Join(named[text], ", "); len(named[text]) == 1 {
			parts = append(parts, l.T("%[1]s has %[2]s", on, text))
		} else {
			parts = append(parts, l.T("%[1]s have %[2]s", on, text))
		}
	}
	return days, []calendar.WindowSpec{}, l.T("A survey has the same hours on each of its days, but %s. Paint the same hours, or make a survey for each.", strings.Join(parts, "; "))
}
