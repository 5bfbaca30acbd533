package dashboard

import (
	"net/http"
	"time"

	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	surveyapi "weir/web/surveys"
)

// courseData shows how a survey goes.
type courseData struct {
	Zone    string
	Days    display.DayChart
	Modes   []passedRow
	Arms    []passedRow // empty: there is only one
	Answers display.Heat
	EndsAt  time.Time // by the forecast; zero: there is none
}

// passedRow is a mode or an arm with the respondents who came to something in it.
type passedRow struct {
	Name                         string
	Started, Answered, Completed int
}

// AnsweredShare returns the share of the started respondents who answered.
func (r passedRow) AnsweredShare() string {
	return locale.Percent(float64(r.Answered), float64(r.Started))
}

// CompletedShare returns the share of the started respondents who completed the interview.
func (r passedRow) CompletedShare() string {
	return locale.Percent(float64(r.Completed), float64(r.Started))
}

// readCourse returns nil if the course is not known: the definition is no longer valid.
func readCourse(c *caller, known *cache[*courseData], name string) (*courseData, error) {
	return known.get(name+"\n"+c.rights(), func() (*courseData, error) {
		var v surveyapi.CourseView
		err := c.get(apiPath("v1", "surveys", name, "course"), nil, &v)
		if status, _ := statusOf(err); err != nil && (status == http.StatusNotFound || status == http.StatusUnprocessableEntity) {
			return nil, nil
		}
		return courseOf(c.Locale, &v), err
	})
}

func courseOf(l *locale.Locale, v *surveyapi.CourseView) *courseData {
	d := &courseData{Zone: v.TimeZone, Days: dayChart(l, v), Answers: display.Heat{Title: "Answers by weekday and hour", Unit: "respondents"}}
	if v.Forecast != nil {
		d.EndsAt = v.Forecast.EndsAt
	}
	for _, m := range v.Modes {
		d.Modes = append(d.Modes, passedRow{string(m.Mode), m.Started, m.Answered, m.Completed})
	}
	for _, a := range v.Arms {
		if len(v.Arms) > 1 {
			d.Arms = append(d.Arms, passedRow{l.Number(a.Arm) + " " + a.Questionnaire, a.Started, a.Answered, a.Completed})
		}
	}
	for i, name := range weekdayNames() {
		row := display.HeatRow{Name: name}
		if i < len(v.WeeklyHours) {
			for _, n := range v.WeeklyHours[i] {
				row.Values = append(row.Values, float64(n))
			}
		}
		d.Answers.Rows = append(d.Answers.Rows, row)
	}
	return d
}

// weekdayNames returns the short names of the days, from Monday.
func weekdayNames() []string { return []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} }

func dayChart(l *locale.Locale, v *surveyapi.CourseView) display.DayChart {
	started, completed := display.Series{Name: "started", Class: "c1"}, display.Series{Name: "completed", Class: "c3"}
	expected := display.Series{Name: "expected to start", Class: "c2", Kind: display.Line}
	c := display.DayChart{Title: "Respondents by day", Unit: "respondents"}
	for i := range v.Days {
		day := &v.Days[i]
		c.Days = append(c.Days, dateText(day.Date))
		started.Values, completed.Values = append(started.Values, float64(day.Started)), append(completed.Values, float64(day.Completed))
		expected.Values = append(expected.Values, day.ExpectedStarted)
	}
	c.Bars = []display.Series{started, completed}
	if v.Forecast != nil {
		c.Line = &expected
	}
	return c
}

// dateText formats a date of the API.
func dateText(date string) string {
	d, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return d.Format("2 Jan")
}
