package web_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/surveys"
	"weir/surveys/respondents"
)

// A running survey rejects a respondent who lacks an attribute that its content
// uses, as its launch would have.
func TestRunningSurveyRejectsRespondentsWithoutAttributes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("s1", `"region":"MX",`)
	file := "phone,first_name\n+525500000000,Ana\n+525500000001,\n"
	if v := importOf(t, r.load("?on_error=skip", "text/csv", file)); v.Added != 2 {
		t.Errorf("a draft: %+v", v)
	}
	r.people.surveys[0].State = surveys.Running
	file = "phone,first_name\n+525500000002,Ana\n+525500000003,\n"
	want := []respondents.RowError{{Line: 3, Column: "first_name", Reason: "no value for {{first_name}}, which the texts of the survey use"}}
	for _, query := range []string{"", "?on_error=skip"} {
		v := importOf(t, r.load(query, "text/csv", file))
		if d := cmp.Diff(want, v.Errors); d != "" || v.Rejected != 1 || (v.Added == 1) != (query != "") {
			t.Errorf("%s: %+v %s", query, v, d)
		}
	}
	g := r.do("POST", importPath, `{"respondents":[{"phone":"+525500000004","attributes":{"first_name":"Bo"}},{"phone":"+525500000005"}]}`)
	if d := cmp.Diff([]mistake{{"/respondents/1/attributes/first_name", "required"}}, mistakesOf(t, g)); g.status != 422 || d != "" {
		t.Errorf("%d %s", g.status, d)
	}
	if n := len(r.people.respondents); n != 3 {
		t.Errorf("%d respondents, want 3", n)
	}
}

// A number of another import that may still be rolled back is not reported as a
// duplicate.
func TestSurveyImport_NumbersOfUnfinishedImportsAreNoDuplicates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("s1", "")
	r.people.unsure = map[string]bool{phoneNumber(1): true}
	file := "phone\n" + phoneNumber(0) + "\n" + phoneNumber(1) + "\n"
	for query, want := range map[string]int{"": 0, "?on_error=skip": 1} {
		g := r.load(query, "text/csv", file)
		if v := importOf(t, g); g.status != 409 || v.Added != want || v.LastLine != 0 || len(r.people.respondents) != want {
			t.Errorf("%q: %d %+v", query, g.status, v)
		}
		r.people.respondents = nil
	}
	if g := r.do("POST", importPath, `{"respondents":[{"phone":"`+phoneNumber(1)+`"}]}`); g.status != 409 {
		t.Errorf("%d %s", g.status, g.body)
	}
	r.people.unsure = nil
	if v := importOf(t, r.load("", "text/csv", file)); v.Added != 2 {
		t.Errorf("%+v", v)
	}
}

// A launch does not check the rows of an import in progress, so that import is
// rolled back.
func TestSurveyImport_LaunchDuringAnImportTakesItBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("s1", "")
	r.people.added = func(context.Context, int) error {
		r.people.mu.Lock()
		defer r.people.mu.Unlock()
		r.people.surveys[0].State = surveys.Running
		return nil
	}
	g := r.load("", "text/csv", "phone\n"+phoneNumber(0)+"\n")
	if v := importOf(t, g); g.status != 409 || v.Added != 0 || len(r.people.respondents) != 0 || r.people.aborted != 1 {
		t.Errorf("%d %+v", g.status, v)
	}
}
