package surveys_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/surveys"
)

func march(day, hour, minute int) time.Time {
	return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC)
}

// TestCourse_SpreadsTheForecastOverTheWindows is about 900 calls, of which 30 a minute can be made, in
// an hour a day.
func TestCourse_SpreadsTheForecastOverTheWindows(t *testing.T) {
	t.Parallel()
	c := surveys.CourseOf(forecastPlan(t, nil), surveys.CourseQuery{
		Now: march(3, 9, 50), Launched: march(2, 9, 40), Respondents: 900, Tally: surveys.Tally{Pending: 600}, Capacity: map[string]int{"calls": 20, "texts": 1},
	})
	var dates []string
	var expected, load []float64
	for _, d := range c.Days {
		dates = append(dates, d.Begin.Format(time.DateOnly))
		expected = append(expected, math.Round(d.Expected))
		sum := 0.0
		for _, l := range d.Load {
			if l.Channel != "calls" {
				t.Errorf("load on %s", l.Channel)
			}
			sum += l.Time.Minutes()
		}
		load = append(load, math.Round(sum))
	}
	// 900 calls of 2 minutes on 20 slots take 90 minutes: 20, 60 and 10. The 600 that are left
	// take 60: 10 on the third, and 50 on the fourth.
	if diff := cmp.Diff([]string{"2026-03-02", "2026-03-03", "2026-03-04"}, dates); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{200, 600, 100}, expected); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{0, 200, 1000}, load); diff != "" {
		t.Error(diff)
	}
	if w := c.Days[1].Windows; len(w) != 1 || !w[0].Open.Equal(march(3, 9, 0)) || !w[0].Close.Equal(march(3, 10, 0)) {
		t.Errorf("windows %v", w)
	}
}

func TestCourse_CountsActivityInTheZoneOfTheCourse(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Asia/Kathmandu") // UTC+05:45
	if err != nil {
		t.Fatal(err)
	}
	c := surveys.CourseOf(forecastPlan(t, nil), surveys.CourseQuery{
		Now: march(3, 12, 0), Launched: march(2, 12, 0), Respondents: 5, Over: true, Zone: zone,
		Activity: []surveys.Activity{
			{At: march(1, 0, 0), Mode: surveys.IVR, Passed: surveys.Passed{Started: 1}}, // before the first day
			{At: march(2, 18, 0), Mode: surveys.IVR, Passed: surveys.Passed{Started: 2, Answered: 1}},
			{At: march(2, 18, 15), Mode: surveys.SMS, Passed: surveys.Passed{Answered: 3, Completed: 2}}, // midnight of the third
			{At: march(4, 0, 0), Mode: surveys.SMS, Passed: surveys.Passed{Answered: 1}},                 // after the last day
			{At: march(2, 18, 30), Arm: 7, Passed: surveys.Passed{Completed: 1}},                         // of an arm that is no more
		},
	})
	var days []surveys.Passed
	for _, d := range c.Days {
		days = append(days, d.Passed)
	}
	if diff := cmp.Diff([]surveys.Passed{{Started: 2, Answered: 1}, {Answered: 3, Completed: 3}}, days); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[surveys.Mode]surveys.Passed{surveys.IVR: {Started: 3, Answered: 1}, surveys.SMS: {Answered: 4, Completed: 2}}, c.Modes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]surveys.Passed{{Started: 3, Answered: 5, Completed: 2}}, c.Arms); diff != "" {
		t.Error(diff)
	}
	if c.Weekly[0][23] != 1 || c.Weekly[1][0] != 3 || c.Total.Started != 3 { // Monday the second, Tuesday the third
		t.Errorf("%v, %v", c.Weekly, c.Total)
	}
	if c.Rest.Contacts != 0 || !c.Rest.Unknown {
		t.Errorf("a survey that is over expects %+v", c.Rest)
	}
}

func TestCourse_HasABoundedNumberOfDays(t *testing.T) {
	t.Parallel()
	plan := forecastPlan(t, nil)
	for name, q := range map[string]surveys.CourseQuery{
		"a year":            {Now: march(3, 12, 0), Since: march(3, 0, 0).AddDate(-1, 0, 0)},
		"a forecast":        {Now: march(3, 12, 0), Launched: march(3, 11, 0).AddDate(-1, 0, 0), Respondents: 1e6, Tally: surveys.Tally{Pending: 1e6}, Capacity: map[string]int{"calls": 1}},
		"until the year 30": {Now: march(3, 12, 0), Until: march(3, 0, 0).AddDate(4, 0, 0)},
	} {
		if n := len(surveys.CourseOf(plan, q).Days); n != surveys.MaxCourseDays {
			t.Errorf("%s: %d days", name, n)
		}
	}
	if n := len(surveys.CourseOf(plan, surveys.CourseQuery{Now: march(3, 12, 0)}).Days); n != 1 {
		t.Errorf("nobody: %d days", n)
	}
}

func TestCourse_ExpectsOnlyWhoIsStillNeeded(t *testing.T) {
	t.Parallel()
	plan := forecastPlan(t, func(d *surveys.Definition) { rate := 1.0; d.Cutoff, d.InitialSuccessRate = 100, &rate })
	q := surveys.CourseQuery{Now: march(3, 9, 0), Launched: march(2, 9, 0), Respondents: 900, Tally: surveys.Tally{Pending: 780, Active: 30, Final: 90, Completed: 45, Counted: 45}, Capacity: map[string]int{"calls": 20, "texts": 1}}
	// 55 are missing. The expected rate is 1 at first and a half at the end: now .55 + .45/2.
	if n := surveys.CourseOf(plan, q).Rest.Contacts; n != 70-30 { // 30 are active
		t.Errorf("%d are expected, want 40", n)
	}
	if q.Tally.Counted = 100; surveys.CourseOf(plan, q).Rest.Contacts != 0 {
		t.Error("a survey that has enough expects more")
	}
}

func TestPassedBy_CountsARespondentOnce(t *testing.T) {
	t.Parallel()
	at := func(d surveys.Disposition, started bool) *surveys.Respondent {
		r := &surveys.Respondent{}
		if r.Disposition = d; started {
			r.Started = march(2, 9, 0)
		}
		return r
	}
	for _, c := range []struct {
		was, is *surveys.Respondent
		want    surveys.Passed
	}{
		{at(surveys.Registered, false), at(surveys.Queued, true), surveys.Passed{Started: 1}},
		{at(surveys.Queued, true), at(surveys.Queued, true), surveys.Passed{}},
		{at(surveys.Queued, true), at(surveys.Refused, true), surveys.Passed{}}, // elsewhere
		{at(surveys.Contacted, true), at(surveys.Complete, true), surveys.Passed{Answered: 1, Completed: 1}},
		{at(surveys.Started, true), at(surveys.Complete, true), surveys.Passed{Completed: 1}},
		{at(surveys.Started, true), at(surveys.RejectedQuota, true), surveys.Passed{}},
		{at(surveys.Registered, false), at(surveys.RejectedQuota, false), surveys.Passed{}},
		{at(surveys.Contacted, true), at(surveys.Unresponsive, true), surveys.Passed{}},
	} {
		if got := surveys.PassedBy(c.was, c.is); got != c.want {
			t.Errorf("from %s to %s: %+v, want %+v", c.was.Disposition, c.is.Disposition, got, c.want)
		}
	}
}
