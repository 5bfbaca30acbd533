package surveybroker_test

import (
	"fmt"
	"testing"
	"time"

	"weir"
	"weir/ops"
	"weir/surveys"
	"weir/surveys/calendar"
)

// Scenario 18: two equal surveys get the same, even if each of their windows
// has time for only one contact and another survey has the channel to itself in
// between.
func TestScenario18_ShortWindowsFavorNoSurvey(t *testing.T) {
	for name, allTheTime := range map[string]bool{"another in between": false, "another all the time": true} {
		t.Run(name, func(t *testing.T) {
			long := func(weir.Contact) fate { return fate{lasts: 31 * time.Minute, outcome: weir.NoAnswer} }
			inLabFor(t, 10*time.Minute, long, func(l *lab) {
				l.store.addChannel("texts", "text", 1)
				given := map[int64]int{}
				l.lines.handed = func(c weir.Contact) { given[c.For.Survey]++ }
				equal, other := byText(""), byText("")
				equal.Schedule.Windows = halfHours(0)
				if !allTheTime {
					other.Schedule.Windows = halfHours(2)
				}
				one, two := l.survey("one", equal, 60).ID, l.survey("two", equal, 60).ID
				l.survey("other", other, 500)
				for _, name := range []string{"one", "two", "other"} {
					l.step(name, surveys.Launch)
				}
				l.pass(8 * 24 * time.Hour)
				if a, b := given[one], given[two]; a+b < 15 || max(a-b, b-a) > 1 {
					l.t.Errorf("two equal surveys were given %d and %d", a, b)
				}
			})
		})
	}
}

// A page of surveys asks for the reason of each: together they read the running
// surveys once per interval, not once each.
func TestReasonsReadTheSurveysOnce(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		for _, name := range []string{"one", "two", "three"} {
			l.survey(name, byText(""), 50)
			l.step(name, surveys.Launch)
		}
		l.pass(90 * time.Second)
		reads := 0
		l.store.change(func() {
			l.store.fault = func(operation string) error {
				if operation == "Surveys" {
					reads++
				}
				return nil
			}
		})
		for _, name := range []string{"one", "two", "three"} {
			s, err := l.store.Survey(l.t.Context(), name)
			if err != nil {
				l.t.Fatal(err)
			}
			if why, err := l.sys.Why(l.t.Context(), s); err != nil || why.Code != ops.WhyCapacity {
				l.t.Errorf("%s: %+v, %v", name, why, err)
			}
		}
		if reads != 1 {
			l.t.Errorf("the surveys were read %d times", reads)
		}
	})
}

// halfHours returns windows of half an hour, every four hours.
func halfHours(hour int) (out []calendar.WindowSpec) {
	for ; hour < 24; hour += 4 {
		out = append(out, calendar.WindowSpec{From: fmt.Sprintf("%02d:00", hour), To: fmt.Sprintf("%02d:30", hour)})
	}
	return out
}
