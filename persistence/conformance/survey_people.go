package conformance

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/internal/document"
	"weir/internal/phonenumber"
	"weir/surveys"
	"weir/surveys/questions"
)

func testSurveys(t *testing.T, d *surveyBench) {
	v := surveys.Survey{
		Name: "a", Title: "A survey ✓", Definition: surveys.Definition{Quotas: quotas(1, 2), Cutoff: 7},
		Application: surveys.Application{URL: "https://app.example/hook", Secret: "s3"},
	}
	stored, created, err := d.PutSurvey(d.ctx(), v, document.Condition{})
	d.ok(err)
	if !created || stored.ID == 0 || stored.State != surveys.Draft || stored.Created.IsZero() {
		t.Errorf("created %v: %+v", created, stored)
	}
	again, err := d.Survey(d.ctx(), "a")
	d.ok(err)
	same(t, "the survey as read", again, stored)
	same(t, "its application", again.Application, v.Application)
	v.Title = "B"
	put, created, err := d.PutSurvey(d.ctx(), v, document.Condition{})
	d.ok(err)
	if created || put.ID != stored.ID || put.Title != "B" || put.Version != stored.Version+1 {
		t.Errorf("put again: %v, %+v", created, put)
	}
	stored.State = surveys.Running
	_, err = d.UpdateSurvey(d.ctx(), stored)
	wantCode(t, err, weir.CodeConflict)
	put.State, put.Launched, put.Cause = surveys.Running, now(), surveys.ByUser
	launched, err := d.UpdateSurvey(d.ctx(), put)
	d.ok(err)
	read, err := d.SurveyByID(d.ctx(), put.ID)
	d.ok(err)
	same(t, "the launched survey", read, launched)
	if read.State != surveys.Running || !read.Launched.Equal(put.Launched) || read.Cause != surveys.ByUser {
		t.Errorf("launched: %+v", read)
	}
	_, _, err = d.PutSurvey(d.ctx(), v, document.Condition{})
	wantCode(t, err, weir.CodeConflict)
	_, err = d.Survey(d.ctx(), "none")
	wantCode(t, err, weir.CodeNotFound)
	_, err = d.UpdateSurvey(d.ctx(), surveys.Survey{ID: 1, Version: 1})
	wantCode(t, err, weir.CodeNotFound)
	d.survey("c")
	d.survey("b")
	for _, q := range []struct {
		states []surveys.State
		after  string
		limit  int
		want   string
	}{
		{nil, "", 10, "abc"}, {nil, "a", 1, "b"}, {[]surveys.State{surveys.Draft}, "", 10, "bc"},
		{[]surveys.State{surveys.Draft, surveys.Running}, "", 2, "ab"}, {nil, "c", 10, ""},
	} {
		list, err := d.Surveys(d.ctx(), q.states, q.after, q.limit)
		d.ok(err)
		names := ""
		for _, v := range list {
			names += v.Name
		}
		if names != q.want {
			t.Errorf("%v after %q: %s, want %s", q.states, q.after, names, q.want)
		}
	}
}

// testSurveyByID reads a survey by its id after each change: twice, because the second time its definition is known.
func testSurveyByID(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	read := func() surveys.Survey {
		t.Helper()
		want, err := d.Survey(d.ctx(), "a")
		d.ok(err)
		for range 2 {
			is, err := d.SurveyByID(d.ctx(), v.ID)
			d.ok(err)
			same(t, "the survey", is, want)
		}
		return want
	}
	v = read()
	v.Definition.Questions = &questions.Definition{Questions: []questions.Question{{Name: "q", Kind: questions.FreeText}}}
	_, _, err := d.PutSurvey(d.ctx(), v, document.Condition{})
	d.ok(err)
	v = read()
	v.State, v.Launched = surveys.Running, now()
	_, err = d.UpdateSurvey(d.ctx(), v)
	d.ok(err)
	v = read()
	one, err := d.SurveyByID(d.ctx(), v.ID)
	d.ok(err)
	two, err := d.SurveyByID(d.ctx(), v.ID)
	d.ok(err)
	if one.Definition.Questions != two.Definition.Questions {
		t.Error("the questions were decoded twice")
	}
	v.Definition.Questions = &questions.Definition{Questions: []questions.Question{{Name: "q", Kind: questions.Number}}}
	v.Braked = &weir.Braked{Count: 3}
	_, err = d.UpdateSurvey(d.ctx(), v)
	d.ok(err)
	if read().Definition.Questions.Questions[0].Kind != questions.Number {
		t.Error("the change is not there")
	}
}

func testRespondents(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	begin := now()
	list := []surveys.Respondent{person(1, "m"), person(2, "f"), person(1, "f"), person(3, "")}
	added, err := d.Add(d.ctx(), v.ID, 0, list)
	d.ok(err)
	if added[0].Duplicate || added[1].Duplicate || added[3].Duplicate || !added[2].Duplicate || added[2].ID != added[0].ID {
		t.Errorf("added %+v", added)
	}
	if added[0].ID >= added[1].ID || added[1].ID >= added[3].ID {
		t.Errorf("the ids are not in order: %+v", added)
	}
	again, err := d.Add(d.ctx(), v.ID, 0, []surveys.Respondent{person(4, ""), person(2, "m")})
	d.ok(err)
	if again[0].Duplicate || !again[1].Duplicate || again[1].ID != added[1].ID {
		t.Errorf("added again: %+v", again)
	}
	r, err := d.Respondent(d.ctx(), v.ID, added[0].ID)
	d.ok(err)
	if r.Added.Before(begin.Add(-time.Second)) {
		t.Errorf("added at %v", r.Added)
	}
	want := list[0]
	want.ID, want.Survey, want.Added = added[0].ID, v.ID, r.Added
	same(t, "the respondent", r, want)
	other := d.survey("b")
	theirs := d.people(other.ID, 1, 3)
	byPhone, err := d.ByPhone(d.ctx(), list[0].Phone, 10)
	d.ok(err)
	same(t, "by phone", respondentIDs(byPhone), []surveys.RespondentID{theirs[0].ID, added[0].ID})
	_, err = d.Respondent(d.ctx(), other.ID, added[0].ID)
	wantCode(t, err, weir.CodeNotFound)
	_, err = d.Add(d.ctx(), 1, 0, list)
	wantCode(t, err, weir.CodeNotFound)
	_, err = d.Add(d.ctx(), v.ID, 0, []surveys.Respondent{{}})
	wantCode(t, err, weir.CodeInvalid)
	d.sums(v.ID)
	checkLists(t, d, other.ID)
}

// testNotations: a person whose number can be written in several ways is one respondent.
func testNotations(t *testing.T, d *surveyBench) {
	v, next := d.survey("a"), d.survey("b")
	for _, r := range phonenumber.Renumberings() {
		old, today := r.Example()
		one, two, other := person(1, ""), person(1, ""), person(2, "")
		one.Phone, two.Phone = old, today // an earlier version has kept the old one
		first, err := d.Add(d.ctx(), v.ID, 0, []surveys.Respondent{one})
		d.ok(err)
		again, err := d.Add(d.ctx(), v.ID, 0, []surveys.Respondent{two, one, two})
		d.ok(err)
		for _, a := range again {
			if !a.Duplicate || a.ID != first[0].ID {
				t.Errorf("%s is another respondent than %s: %+v, %+v", today, old, a, first[0])
			}
		}
		both, err := d.Add(d.ctx(), next.ID, 0, []surveys.Respondent{two, one})
		d.ok(err)
		if both[0].Duplicate || !both[1].Duplicate || both[0].ID != both[1].ID {
			t.Errorf("%s and %s in one list: %+v", today, old, both)
		}
		for _, phone := range []string{old, today} {
			everywhere, err := d.ByPhone(d.ctx(), phone, 10)
			d.ok(err)
			same(t, phone, respondentIDs(everywhere), []surveys.RespondentID{both[0].ID, first[0].ID})
			found, _, err := d.Respondents(d.ctx(), surveys.Filter{Survey: v.ID, Phone: phone})
			d.ok(err)
			same(t, "in one survey "+phone, respondentIDs(found), []surveys.RespondentID{first[0].ID})
		}
		for limit, want := range map[int][]surveys.RespondentID{1: {both[0].ID}, 10: {both[0].ID, first[0].ID}} {
			for _, phones := range [][]string{{old, today}, {old, "+15559999999", today}} { // with the limit 1 as many rows as the first statement may read, and fewer
				each, err := d.ByPhones(d.ctx(), phones, limit)
				d.ok(err)
				for _, phone := range []string{old, today} {
					same(t, fmt.Sprint(phone, " of several, ", limit), respondentIDs(each[phone]), want)
				}
				if n := len(each["+15559999999"]); n > 0 {
					t.Errorf("a number that nobody has finds %d", n)
				}
			}
		}
		other.Phone += fmt.Sprint(len(old), old[len(old)-4:], r.Code[1:])
		added, err := d.Add(d.ctx(), next.ID, 0, []surveys.Respondent{other})
		d.ok(err)
		corrected, err := d.Correct(d.ctx(), next.ID, []surveys.Correction{{ID: added[0].ID, Phone: old}})
		d.ok(err)
		wantCode(t, corrected[0].Err, weir.CodeConflict)
	}
	d.sums(v.ID)
}

func checkLists(t *testing.T, d *surveyBench, survey int64) {
	t.Helper()
	d.people(survey, 100, 20)
	all := d.everybody(survey)
	later := now().Add(time.Hour)
	latest := activate(all[9], now())
	latest.Is.Updated = later
	d.work(survey, activate(all[4], now()), latest)
	for _, q := range []struct {
		name  string
		f     surveys.Filter
		want  []int
		pages bool
	}{
		{"a page", surveys.Filter{Limit: 2}, []int{0, 1}, true},
		{"after", surveys.Filter{After: all[20].ID, Limit: 5}, []int{21, 22}, false},
		{"status", surveys.Filter{Statuses: []surveys.Status{surveys.Active}}, []int{4, 9}, false},
		{"disposition", surveys.Filter{Dispositions: []surveys.Disposition{surveys.Queued}, After: all[4].ID}, []int{9}, false},
		{"since", surveys.Filter{Since: later}, []int{9}, false},
		{"until", surveys.Filter{Until: later, Limit: 3, After: all[7].ID}, []int{8, 10, 11}, true},
		{"since and until", surveys.Filter{Since: later, Until: later}, nil, false},
		{"since and disposition", surveys.Filter{Since: later.Add(-time.Minute), Dispositions: []surveys.Disposition{surveys.Registered}}, nil, false},
		{"phone", surveys.Filter{Phone: all[7].Phone}, []int{7}, false},
		{"phone and until", surveys.Filter{Phone: all[9].Phone, Until: later}, nil, false},
		{"phone and status", surveys.Filter{Phone: all[7].Phone, Statuses: []surveys.Status{surveys.Active}}, nil, false},
	} {
		q.f.Survey = survey
		list, next, err := d.Respondents(d.ctx(), q.f)
		d.ok(err)
		var want []surveys.RespondentID
		for _, i := range q.want {
			want = append(want, all[i].ID)
		}
		same(t, q.name, respondentIDs(list), want)
		if (next != 0) != q.pages {
			t.Errorf("%s: next is %d", q.name, next)
		}
	}
}

func testImports(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	d.people(v.ID, 1, 3)
	begin := func() int64 {
		id, err := d.BeginImport(d.ctx(), v.ID)
		d.ok(err)
		return id
	}
	kept, dropped := begin(), begin()
	var list []surveys.Respondent
	for i := range 10 {
		list = append(list, person(3+i, "m"))
	}
	// Two imports add the same people at once: each person belongs to one import.
	var wg sync.WaitGroup
	got := make([][]surveys.Added, 2)
	for i, imp := range []int64{kept, dropped} {
		wg.Go(func() {
			var err error
			if got[i], err = d.Add(d.ctx(), v.ID, imp, list); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	mine := 0
	for i := range list {
		if a, b := got[0][i], got[1][i]; a.ID != b.ID || i > 0 && a.Duplicate == b.Duplicate || i == 0 && !(a.Duplicate && b.Duplicate) {
			t.Errorf("person %d: %+v and %+v", i, a, b)
		} else if a.Unsure != (i > 0 && a.Duplicate) || b.Unsure != (i > 0 && b.Duplicate) {
			t.Errorf("person %d, whom an import that is not over may have: %+v and %+v", i, a, b)
		}
		if !got[0][i].Duplicate {
			mine++
		}
	}
	if n := len(d.everybody(v.ID)); n != 3 {
		t.Errorf("%d respondents are visible, want 3", n)
	}
	hidden, err := d.ByPhone(d.ctx(), list[5].Phone, 10)
	d.ok(err)
	several, err := d.ByPhones(d.ctx(), []string{list[5].Phone, list[6].Phone}, 10)
	d.ok(err)
	if len(hidden)+len(several[list[5].Phone]) != 0 {
		t.Error("who was not committed is found by number")
	}
	d.sums(v.ID)
	d.ok(d.CommitImport(d.ctx(), v.ID, kept))
	d.ok(d.CommitImport(d.ctx(), v.ID, kept))
	d.ok(d.AbortImport(d.ctx(), v.ID, dropped))
	wantCode(t, d.CommitImport(d.ctx(), v.ID, dropped), weir.CodeConflict)
	wantCode(t, d.AbortImport(d.ctx(), v.ID, kept), weir.CodeConflict)
	wantCode(t, d.AbortImport(d.ctx(), v.ID, 1), weir.CodeNotFound)
	_, err = d.Add(d.ctx(), v.ID, kept, list)
	wantCode(t, err, weir.CodeConflict)
	if n := len(d.everybody(v.ID)); n != 3+mine {
		t.Errorf("%d respondents are visible, want %d", n, 3+mine)
	}
	d.sums(v.ID)
	// Respondents of an aborted import can be added again; those of a committed one exist.
	added, err := d.Add(d.ctx(), v.ID, 0, list)
	d.ok(err)
	for i, a := range added {
		if a.Duplicate != (i == 0 || !got[0][i].Duplicate) || a.Unsure {
			t.Errorf("person %d: %+v", i, a)
		}
	}
	d.sums(v.ID)
}

func testSorting(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	d.people(v.ID, 1, 9)
	imp, err := d.BeginImport(d.ctx(), v.ID)
	d.ok(err)
	_, err = d.Add(d.ctx(), v.ID, imp, []surveys.Respondent{person(100, "f")})
	d.ok(err)
	v.Definition.Quotas = v.Definition.Quotas[1:]
	v, err = d.UpdateSurvey(d.ctx(), v)
	d.ok(err)
	d.ok(d.CommitImport(d.ctx(), v.ID, imp))
	v.State = surveys.Running
	v, err = d.UpdateSurvey(d.ctx(), v)
	d.ok(err)
	check := func() {
		t.Helper()
		for _, r := range d.everybody(v.ID) {
			want := surveys.NoBucket
			if r.Attributes["sex"] == "f" {
				want = 0
			}
			if r.Bucket != want {
				t.Errorf("%v is in bucket %d, want %d", r.Attributes, r.Bucket, want)
			}
		}
		d.sums(v.ID)
	}
	check()
	list, err := d.Startable(d.ctx(), v.ID, now(), []int{surveys.NoBucket}, 10)
	d.ok(err)
	if len(list) != 4 {
		t.Errorf("%d women may be started, want 4", len(list))
	}
	// A running survey keeps its buckets.
	v.Definition.Quotas = nil
	v, err = d.UpdateSurvey(d.ctx(), v)
	d.ok(err)
	check()
}

func testRemoval(t *testing.T, d *surveyBench) {
	v, kept := d.survey("a"), d.survey("b")
	d.people(kept.ID, 1, 3)
	list := d.people(v.ID, 1, 20)
	m := activate(list[0], now())
	m.Log = []surveys.LogEntry{{Event: "enqueued"}, {Event: "handed_over"}}
	d.work(v.ID, m)
	d.ok(d.RemoveSurvey(d.ctx(), v.ID))
	d.ok(d.RemoveSurvey(d.ctx(), v.ID))
	d.survey("a")
	_, err := d.Add(d.ctx(), v.ID, 0, []surveys.Respondent{person(99, "")})
	wantCode(t, err, weir.CodeNotFound)
	going, err := d.SurveyByID(d.ctx(), v.ID)
	d.ok(err)
	if !going.Deleting || going.Name != "a" {
		t.Errorf("the survey: %+v", going)
	}
	for steps, more := 0, true; more; steps++ {
		if more, err = d.Sweep(d.ctx(), 7); err != nil || steps > 20 {
			t.Fatalf("step %d: %v", steps, err)
		}
	}
	_, err = d.SurveyByID(d.ctx(), v.ID)
	wantCode(t, err, weir.CodeNotFound)
	if n := len(d.everybody(v.ID)); n != 0 {
		t.Errorf("%d respondents are left", n)
	}
	sums, err := d.Counts(d.ctx(), v.ID)
	d.ok(err)
	if len(sums.Respondents) != 0 {
		t.Errorf("sums are left: %v", sums)
	}
	if n := len(d.everybody(kept.ID)); n != 3 {
		t.Errorf("another survey has %d respondents, want 3", n)
	}
}

func testChannelStates(t *testing.T, d *surveyBench) {
	at := now()
	list := []surveys.ChannelState{
		{Channel: 1, Health: weir.Down, Reason: "line ✓", Since: at}, {Channel: 2, Health: weir.Up, Since: at},
	}
	d.ok(d.SetChannelState(d.ctx(), surveys.ChannelState{Channel: 1, Health: weir.Up, Since: at}, nil))
	for _, s := range list {
		d.ok(d.SetChannelState(d.ctx(), s, nil))
	}
	got, err := d.ChannelStates(d.ctx())
	d.ok(err)
	same(t, "states", got, list)
}
