package cli_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/cmd/internal/clitest"
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

// What was answered is shown for each question, of the survey or of each group, and an arm can be the first;
// the texts of one question are read to the end, over pages that are empty.
func TestSurvey_AnswersAreShown(t *testing.T) {
	t.Parallel()
	const sums = `{"survey":"flu","respondents":9,"questions":[
		{"question":"well","kind":"choice","by_status":{"answered":3,"refused":1,"not_reached":2},"values":[{"value":"yes","count":2},{"value":"no","count":1}]},
		{"question":"age","kind":"number","by_status":{"answered":2,"invalid":1},"values":[{"value":"20","below":"30","count":1},{"value":"30","below":"40","count":1}],"summary":{"min":"21","median":"28","max":"35","mean":"28.5"}},
		{"question":"why","kind":"text","by_status":{"answered":1,"skipped":2},"values":[]},
		{"question":"born","kind":"date","by_status":{"answered":0},"values":[]}]}`
	const grouped = `{"survey":"flu","respondents":9,"by":"language","questions":[{"question":"well","kind":"choice","by_status":{"answered":3},"values":[],"groups":[
		{"group":"","by_status":{"answered":1},"values":[{"value":"yes","count":1}]},
		{"group":"es","by_status":{"answered":2,"dont_know":1},"values":[{"value":"yes","count":1},{"value":"no","count":1}],"summary":{"min":"2026-01-01","median":"2026-01-02","max":"2026-01-03"}}]}]}`
	page := func(w http.ResponseWriter, r *http.Request) {
		body := `{"texts":[],"next_cursor":"r2s"}`
		if r.URL.Query().Get("cursor") == "r2s" {
			body = `{"texts":[{"respondent":"r2t","text":"No time\u001b[31m","at":"2026-05-04T10:00:00Z"}]}`
		}
		answers(http.StatusOK, body)(w, r)
	}
	f := newFakeWeir(t, map[string]http.HandlerFunc{
		"GET /v1/surveys/flu/answers": func(w http.ResponseWriter, r *http.Request) {
			answers(http.StatusOK, map[string]string{"": sums, "language": grouped}[r.URL.Query().Get("by")])(w, r)
		},
		"GET /v1/surveys/own/answers":           answers(http.StatusOK, `{"survey":"own","respondents":2,"questions":[]}`),
		"GET /v1/surveys/flu/answers/why/texts": page,
	})
	same(t, f.run("", "answers", "flu", "--arm", "0"), app.OK, ""+
		"QUESTION  ANSWER                  RESPONDENTS  SHARE\n"+
		"well      yes                               2   67 %\n"+
		"well      no                                1   33 %\n"+
		"well      (answered)                        3      -\n"+
		"well      (refused)                         1      -\n"+
		"well      (not_reached)                     2      -\n"+
		"age       20 to below 30                    1   50 %\n"+
		"age       30 to below 40                    1   50 %\n"+
		"age       (mean 28.5, median 28)            -      -\n"+
		"age       (answered)                        2      -\n"+
		"age       (invalid)                         1      -\n"+
		"why       (answered)                        1      -\n"+
		"why       (skipped)                         2      -\n"+
		"born      (nobody yet)                      0      -\n", "")
	same(t, f.run("", "answers", "flu", "--by", "language"), app.OK, ""+
		"QUESTION  LANGUAGE  ANSWER               RESPONDENTS  SHARE\n"+
		"well      unknown   yes                            1  100 %\n"+
		"well      unknown   (answered)                     1      -\n"+
		"well      es        yes                            1   50 %\n"+
		"well      es        no                             1   50 %\n"+
		"well      es        (median 2026-01-02)            -      -\n"+
		"well      es        (answered)                     2      -\n"+
		"well      es        (dont_know)                    1      -\n", "")
	same(t, f.run("", "answers", "own"), app.OK, "own: Weir asks no questions in this survey\n", "")
	clitest.Check(t, f.run("", "answers", "flu", "why", "--search", "time"), app.OK, `^RESPONDENT +AT +ANSWER\nr2t +2026-05-04 10:00.* No time[^\x1b]*\n$`, "^$")
	clitest.Check(t, f.run("", "answers", "flu", "--output", "json"), app.OK, `"question":\s*"well"`, "^$")
	want := []string{
		"GET /v1/surveys/flu/answers?arm=0", "GET /v1/surveys/flu/answers?arm=-1&by=language", "GET /v1/surveys/own/answers?arm=-1",
		"GET /v1/surveys/flu/answers/why/texts?limit=101&search=time", "GET /v1/surveys/flu/answers/why/texts?cursor=r2s&limit=101&search=time", "GET /v1/surveys/flu/answers?arm=-1",
	}
	if diff := cmp.Diff(want, f.requests()); diff != "" {
		t.Errorf("requests:\n%s", diff)
	}
	for _, args := range [][]string{{"answers"}, {"answers", "flu", ""}, {"answers", "flu", "--by", "mode"}, {"answers", "flu", "--search", "x"}, {"answers", "flu", "why", "--by", "day"}, {"answers", "flu", "why", "--limit", "-1"}} {
		if r := f.run("", args...); r.Code != app.Usage {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
