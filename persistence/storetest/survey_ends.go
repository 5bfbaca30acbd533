package storetest

import (
	"errors"
	"testing"

	"weir"
	"weir/ops"
	"weir/surveys"
)

// testEnds checks that operations in progress when a survey ends leave no respondent in it.
func testEnds(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	imp, err := d.BeginImport(d.ctx, v.ID)
	d.ok(err)
	_, err = d.Add(d.ctx, v.ID, imp, []surveys.Respondent{person(1, "m")})
	d.ok(err)
	for _, state := range []surveys.State{surveys.Running, surveys.Paused, surveys.Stopping} {
		v.State = state
		v, err = d.UpdateSurvey(d.ctx, v)
		d.ok(err)
		// A caller checks the state before it deletes; the survey may have been launched since.
		wantCode(t, d.RemoveSurvey(d.ctx, v.ID), weir.CodeConflict)
	}
	v.State = surveys.Done
	v, err = d.UpdateSurvey(d.ctx, v)
	d.ok(err)
	_, err = d.Add(d.ctx, v.ID, 0, []surveys.Respondent{person(2, "f")})
	wantCode(t, err, weir.CodeConflict)
	_, err = d.Add(d.ctx, v.ID, imp, []surveys.Respondent{person(3, "f")})
	wantCode(t, err, weir.CodeConflict)
	wantCode(t, d.CommitImport(d.ctx, v.ID, imp), weir.CodeConflict)
	_, err = d.BeginImport(d.ctx, v.ID)
	wantCode(t, err, weir.CodeConflict)
	d.ok(d.AbortImport(d.ctx, v.ID, imp))
	if n := len(d.everybody(v.ID)); n != 0 {
		t.Errorf("%d respondents came after the end", n)
	}
	d.ok(d.RemoveSurvey(d.ctx, v.ID))
}

// testSurveyRole checks that a former holder of the survey broker's role can write
// nothing once another process holds it, however late its write arrives.
func testSurveyRole(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	d := newSurveyBench(t, storesOf(b))
	lease := func() weir.Lease {
		l, ok, err := b.AcquireRole(b.ctx, ops.RoleSurveyBroker)
		if err != nil || !ok {
			t.Fatalf("the role was not given: %v", err)
		}
		return l
	}
	v := d.survey("a")
	p := d.people(v.ID, 1, 1)[0]
	was := lease()
	b.ok(b.ReleaseRole(b.ctx, ops.RoleSurveyBroker, was))
	is := lease()
	w := surveys.Work{Lease: was, Survey: v.ID, Moves: []surveys.Move{outreach(b.channel("c").ID, p)}}
	if _, err := d.Work(d.ctx, w); !errors.Is(err, weir.ErrLeaseLost) {
		t.Errorf("who lost the role wrote: %v", err)
	}
	if got := d.read(p.ID)[0]; got.Rev != p.Rev {
		t.Errorf("the respondent has changed: %+v", got)
	}
	w.Lease = is
	if got, err := d.Work(d.ctx, w); err != nil || len(got.Contacts) != 1 {
		t.Errorf("who has the role wrote %+v (%v)", got, err)
	}
}
