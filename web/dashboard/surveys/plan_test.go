package surveys

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/api"
	"weir/surveys"
	"weir/web/dashboard/locale"
)

func instantOf(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// planned is a survey on channel texts that is open from 9 to 17 on four days, and expects so many
// slot minutes on each from the second.
func planned(t *testing.T, name string, state surveys.State, slotMinutes float64) plannedSurvey {
	t.Helper()
	p := plannedSurvey{SurveySummary: api.SurveySummary{Survey: name, State: state}}
	if state != surveys.Draft {
		p.LaunchedAt = instantOf(t, "2026-03-02T12:00:00Z")
	}
	for i, date := range []string{"2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05"} {
		d := api.CourseDayView{Date: date, Windows: []api.SpanView{{OpensAt: instantOf(t, date+"T09:00:00Z"), ClosesAt: instantOf(t, date+"T17:00:00Z")}}}
		if i > 0 {
			d.Load = []api.ChannelLoadView{{Channel: "texts", SlotMinutes: slotMinutes}}
		} else if state != surveys.Draft {
			d.Started = 7
		}
		p.Course.Days = append(p.Course.Days, d)
	}
	p.Course.Modes = []api.ModeCourseView{{Mode: surveys.SMS, Channel: "texts"}}
	p.Course.Rest = &api.ForecastView{EndsAt: instantOf(t, "2026-03-04T13:00:00Z")}
	return p
}

// TestCalendar_MarksDaysWithMoreThanAChannelCanDo is about a channel of 10 slots, which can do 4,800
// slot minutes in 8 hours, and at noon of the third of March 3,000 in the 5 that are left.
func TestCalendar_MarksDaysWithMoreThanAChannelCanDo(t *testing.T) {
	t.Parallel()
	now := instantOf(t, "2026-03-03T12:00:00Z")
	type day struct {
		Day, Surveys, Share string
		Started             int
		Over                bool
	}
	for name, c := range map[string]struct {
		surveys []plannedSurvey
		want    []day
	}{
		"one": {[]plannedSurvey{planned(t, "a", surveys.Running, 3000)}, []day{
			{"Mon 2 Mar", "a", "–", 7, false}, {"Tue 3 Mar", "a", "100 %", 0, false}, {"Wed 4 Mar", "a", "62 %", 0, false},
		}},
		"two": {[]plannedSurvey{planned(t, "a", surveys.Running, 1000), planned(t, "b", surveys.Draft, 2200)}, []day{
			{"Mon 2 Mar", "a", "–", 7, false}, {"Tue 3 Mar", "a, b", "107 %", 0, true}, {"Wed 4 Mar", "a, b", "67 %", 0, false},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var plan surveyPlan
			plan.arrange(locale.New().Choose("en", ""), c.surveys, map[string]int{"texts": 10}, now)
			if len(plan.Rows) != 1 || len(plan.Days) != planBack+1+planAhead {
				t.Fatalf("%d rows, %d days", len(plan.Rows), len(plan.Days))
			}
			var got []day
			for _, d := range plan.Rows[0].Table {
				got = append(got, day{d.Day(locale.New().Choose("en", "")), d.Surveys, d.Share(), d.Started, d.Over()})
			}
			// The forecast ends on the fourth, and the channel can work until the window closes.
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCalendar_ASurveyEndsWhenItIsOver(t *testing.T) {
	t.Parallel()
	now := instantOf(t, "2026-03-03T12:00:00Z")
	done, stopping, unknown := planned(t, "done", surveys.Done, 0), planned(t, "stopping", surveys.Stopping, 0), planned(t, "unknown", surveys.Draft, 0)
	stopping.Course.Rest = nil
	done.EndedAt, unknown.Course.Rest = instantOf(t, "2026-03-02T15:00:00Z"), nil
	var plan surveyPlan
	plan.arrange(locale.New().Choose("en", ""), []plannedSurvey{done, stopping, unknown}, nil, now)
	got := map[string][]string{}
	for _, s := range plan.Rows[0].Surveys {
		for _, cell := range s.Days {
			for _, w := range cell.Windows {
				got[s.Survey] = append(got[s.Survey], w.Open.Format("2 15")+" to "+w.Close.Format("15"))
			}
		}
	}
	want := map[string][]string{"done": {"2 12 to 15"}, "stopping": {"2 12 to 17", "3 09 to 12"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"unknown"}, plan.Unknown); diff != "" {
		t.Error(diff)
	}
	if len(plan.Rows[0].Over) > 0 {
		t.Errorf("without a capacity, days are over: %v", plan.Rows[0].Over)
	}
}
