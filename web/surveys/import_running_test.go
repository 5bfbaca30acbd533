package surveys_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/webtest"
)

// A running survey rejects a respondent who lacks an attribute that its content
// uses, as its launch would have.
func TestRunningSurveyRejectsRespondentsWithoutAttributes(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", `"region":"MX",`)
	file := "phone,first_name\n+525500000000,Ana\n+525500000001,\n"
	if v := importOf(t, r.Load("?on_error=skip", "text/csv", file)); v.Added != 2 {
		t.Errorf("a draft: %+v", v)
	}
	r.Stands("s1", surveys.Running)
	file = "phone,first_name\n+525500000002,Ana\n+525500000003,\n"
	want := []respondents.RowError{{Line: 3, Column: "first_name", Reason: "no value for {{first_name}}, which the texts of the survey use"}}
	for _, query := range []string{"", "?on_error=skip"} {
		v := importOf(t, r.Load(query, "text/csv", file))
		if d := cmp.Diff(want, v.Errors); d != "" || v.Rejected != 1 || (v.Added == 1) != (query != "") {
			t.Errorf("%s: %+v %s", query, v, d)
		}
	}
	g := r.Do("POST", webtest.ImportPath, `{"respondents":[{"phone":"+525500000004","attributes":{"first_name":"Bo"}},{"phone":"+525500000005"}]}`)
	if d := cmp.Diff([]webtest.Mistake{{Pointer: "/respondents/1/attributes/first_name", Code: "required"}}, webtest.MistakesOf(t, g)); g.Status != 422 || d != "" {
		t.Errorf("%d %s", g.Status, d)
	}
	if n := len(r.RespondentsOf("s1")); n != 3 {
		t.Errorf("%d respondents, want 3", n)
	}
}

// A number of another import that may still be rolled back is not reported as a
// duplicate.
func TestSurveyImport_NumbersOfUnfinishedImportsAreNoDuplicates(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	survey := r.SurveyNow("s1").ID
	other, err := r.BeginImport(t.Context(), survey)
	if err == nil {
		_, err = r.Add(t.Context(), survey, other, []surveys.Respondent{{Phone: webtest.PhoneNumber(1)}})
	}
	if err != nil {
		t.Fatal(err)
	}
	file := "phone\n" + webtest.PhoneNumber(0) + "\n" + webtest.PhoneNumber(1) + "\n"
	for query, want := range map[string]int{"": 0, "?on_error=skip": 1} {
		g := r.Load(query, "text/csv", file)
		if v := importOf(t, g); g.Status != 409 || v.Added != want || v.LastLine != 0 || len(r.RespondentsOf("s1")) != want {
			t.Errorf("%q: %d %+v", query, g.Status, v)
		}
		for _, p := range r.RespondentsOf("s1") {
			if err := r.RemoveRespondent(t.Context(), survey, p.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if g := r.Do("POST", webtest.ImportPath, `{"respondents":[{"phone":"`+webtest.PhoneNumber(1)+`"}]}`); g.Status != 409 {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	if err := r.AbortImport(t.Context(), survey, other); err != nil {
		t.Fatal(err)
	}
	if v := importOf(t, r.Load("", "text/csv", file)); v.Added != 2 {
		t.Errorf("%+v", v)
	}
}

// A launch does not check the rows of an import in progress, so that import is
// rolled back.
func TestSurveyImport_LaunchDuringAnImportTakesItBack(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	r.Put("s1", "")
	r.Adding = func(context.Context, int) error {
		r.Stands("s1", surveys.Running)
		return nil
	}
	g := r.Load("", "text/csv", "phone\n"+webtest.PhoneNumber(0)+"\n")
	if v := importOf(t, g); g.Status != 409 || v.Added != 0 || len(r.RespondentsOf("s1")) != 0 || r.Aborted != 1 {
		t.Errorf("%d %+v", g.Status, v)
	}
}
