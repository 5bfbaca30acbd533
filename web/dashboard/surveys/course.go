package surveys

import (
	"net/http"
	"strconv"
	"time"

	"weir/api"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
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

// readCourse returns nil if the course is not known: the definition is no longer valid. What was known in
// another state of the survey is read anew, so that the course agrees with a state that has just changed.
func readCourse(c *page.Caller, known *page.Cache[*courseData], s *api.SurveySummary) (*courseData, error) {
	return known.Get(s.Survey+"\n"+string(s.State)+"\n"+c.RightsKey(), func() (*courseData, error) {
		var v api.CourseView
		err := c.Get(page.Path("v1", "surveys", s.Survey, "course"), nil, &v)
		if status, _ := page.StatusOf(err); err != nil && (status == http.StatusNotFound || status == http.StatusUnprocessableEntity) {
			return nil, nil
		}
		return courseOf(c.Locale, &v), err
	})
}

func courseOf(l *locale.Locale, v *api.CourseView) *courseData {
	d := &courseData{Zone: v.TimeZone, Days: dayChart(l, v), Answers: display.Heat{Title: l.T("Answers by weekday and hour"), Unit: l.T("respondents")}}
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
	for i, name := range display.WeekdayNames(l) {
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

func dayChart(l *locale.Locale, v *api.CourseView) display.DayChart {
	started, completed := display.Series{Name: l.T("started"), Class: "c1"}, display.Series{Name: l.T("completed"), Class: "c3"}
	expected := display.Series{Name: l.T("expected to start"), Class: "c2", Kind: display.Line}
	c := display.DayChart{Title: l.T("Respondents by day"), Unit: l.T("respondents")}
	for i := range v.Days {
		day := &v.Days[i]
		c.Days = append(c.Days, dateText(l, day.Date))
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
func dateText(l *locale.Locale, date string) string {
	d, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return date
	}
	return monthDay(l, d)
}

// monthDay formats a date without its weekday.
func monthDay(l *locale.Locale, d time.Time) string {
	return l.T("%[1]s %[2]s", strconv.Itoa(d.Day()), l.Month(d.Month()))
}
