package web_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/surveys"
)

// A wrong date does not end a running survey. A draft may have any dates.
func TestSurvey_IsNotEndedByAScheduleThatIsOver(t *testing.T) {
	t.Parallel()
	for state, want := range map[surveys.State]int{surveys.Draft: 200, surveys.Running: 422, surveys.Paused: 422} {
		r := newRig(t)
		r.put("s1", "")
		r.stands("s1", state)
		g := r.do("PATCH", "/v1/surveys/s1", `{"schedule":{"end_date":"`+start.AddDate(-1, 0, 0).Format("2006-01-02")+`"}}`)
		if g.status != want {
			t.Errorf("%s: %d %s", state, g.status, g.body)
		}
		if want == 422 {
			if d := cmp.Diff([]mistake{{"/schedule/end_date", "range"}}, mistakesOf(t, g)); d != "" || r.stands("s1", state).Definition.Schedule.EndDate != "" {
				t.Errorf("%s: %s", state, d)
			}
		}
		g = r.do("PATCH", "/v1/surveys/s1", `{"schedule":{"end_date":"`+start.AddDate(0, 1, 0).Format("2006-01-02")+`"}}`)
		if g.status != 200 {
			t.Errorf("%s: %d %s", state, g.status, g.body)
		}
	}
}
