package cli_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/cmd/weir/cli/app"
)

// A pilot begins with numbers, under the number that is next, and is shown without; the list of its people has their answers.
func TestSurvey_PilotBeginsAndIsShown(t *testing.T) {
	t.Parallel()
	const pilot = `{"pilot":2,"survey":"flu~pilot2","pilot_of":"flu","current":false,"state":"running","respondents":[
		{"id":"r2s","phone":"+525512345678","status":"active","disposition":"started","answers":[{"question":"well","status":"answered","value":"no"},{"question":"why","status":"skipped"}]},
		{"id":"r2t","phone":"+525512345679","status":"pending","disposition":"registered"}]}`
	f := newFakeWeir(t, map[string]http.HandlerFunc{
		"GET /v1/surveys/flu/pilots":   answers(http.StatusOK, `{"pilots":[{"pilot":2},{"pilot":1}],"next":3}`),
		"GET /v1/surveys/new/pilots":   answers(http.StatusOK, `{"pilots":[],"next":1}`),
		"GET /v1/surveys/flu/pilots/2": answers(http.StatusOK, pilot),
		"PUT /v1/surveys/flu/pilots/3": answers(http.StatusCreated, pilot),
		"PUT /v1/surveys/flu/pilots/7": answers(http.StatusOK, pilot),
	})
	const shown = "flu~pilot2: running; the survey has been changed since\n" +
		"RESPONDENT  PHONE          STATUS   DISPOSITION  ANSWERS\n" +
		"r2s         +525512345678  active   started      well=no, why=(skipped)\n" +
		"r2t         +525512345679  pending  registered   -\n"
	same(t, f.run("", "pilot", "flu"), app.OK, shown, "")
	same(t, f.run("", "pilot", "flu", "+525512345678", "+525512345679", "--language", "es", "--attribute", "first_name=Ana"), app.OK, shown, "")
	same(t, f.run("", "pilot", "flu", "+525512345678", "--pilot", "7"), app.OK, shown, "")
	const ana = `,"attributes":{"first_name":"Ana","language":"es"}}`
	want := []string{
		"GET /v1/surveys/flu/pilots", "GET /v1/surveys/flu/pilots/2", "GET /v1/surveys/flu/pilots",
		`PUT /v1/surveys/flu/pilots/3 application/json {"respondents":[{"phone":"+525512345678"` + ana + `,{"phone":"+525512345679"` + ana + `]}`,
		`PUT /v1/surveys/flu/pilots/7 application/json {"respondents":[{"phone":"+525512345678"}]}`,
	}
	if diff := cmp.Diff(want, f.requests()); diff != "" {
		t.Errorf("requests:\n%s", diff)
	}
	for _, args := range [][]string{{"pilot"}, {"pilot", "flu", ""}, {"pilot", "flu", "--language", "es"}, {"pilot", "flu", "+525512345678", "--attribute", "x"}} {
		if r := f.run("", args...); r.Code != app.Usage {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r := f.run("", "pilot", "new"); r.Code == app.OK {
		t.Errorf("%+v", r)
	}
}
