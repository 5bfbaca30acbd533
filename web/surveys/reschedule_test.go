package surveys_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/surveys"
	"weir/web/webtest"
)

// A wrong date does not end a running survey. A draft may have any dates.
func TestSurvey_IsNotEndedByAScheduleThatIsOver(t *testing.T) {
	t.Parallel()
	for state, want := range map[surveys.State]int{surveys.Draft: 200, surveys.Running: 422, surveys.Paused: 422} {
		r := webtest.New(t)
		r.Put("s1", "")
		r.Stands("s1", state)
		g := r.Do("PATCH", "/v1/surveys/s1", `{"schedule":{"end_date":"`+webtest.Start().AddDate(-1, 0, 0).Format("2006-01-02")+`"}}`)
		if g.Status != want {
			t.Errorf("%s: %d %s", state, g.Status, g.Body)
		}
		if want == 422 {
			if d := cmp.Diff([]webtest.Mistake{{Pointer: "/schedule/end_date", Code: "range"}}, webtest.MistakesOf(t, g)); d != "" || r.Stands("s1", state).Definition.Schedule.EndDate != "" {
				t.Errorf("%s: %s", state, d)
			}
		}
		g = r.Do("PATCH", "/v1/surveys/s1", `{"schedule":{"end_date":"`+webtest.Start().AddDate(0, 1, 0).Format("2006-01-02")+`"}}`)
		if g.Status != 200 {
			t.Errorf("%s: %d %s", state, g.Status, g.Body)
		}
	}
}
