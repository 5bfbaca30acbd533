package conformance

import (
	"sync"
	"testing"

	"weir"
	"weir/internal/document"
	"weir/surveys"
)

func testCorrections(t *testing.T, d *surveyBench) {
	v, _, err := d.PutSurvey(d.ctx(), surveys.Survey{Name: "a", Definition: surveys.Definition{Quotas: quotas(1, 2)}}, document.Condition{})
	d.ok(err)
	all := d.people(v.ID, 1, 4)
	correct := func(list ...surveys.Correction) []surveys.Corrected {
		t.Helper()
		got, err := d.Correct(d.ctx(), v.ID, list)
		d.ok(err)
		return got
	}
	// Attributes are merged, the bucket follows, and the number changes.
	other := "+12025550199"
	got := correct(surveys.Correction{ID: all[0].ID, Phone: other, Attributes: map[string]string{"sex": "f", "city": "B"}})
	if got[0].Err != nil || !got[0].Changed {
		t.Fatalf("corrected: %+v", got[0])
	}
	r := d.read(all[0].ID)[0]
	same(t, "the corrected respondent", r, got[0].Respondent)
	if !r.Updated.After(r.Added) {
		t.Errorf("added at %v, corrected at %v", r.Added, r.Updated)
	}
	if r.Phone != other || r.Attributes["city"] != "B" || r.Rev != all[0].Rev+1 || r.Bucket == all[0].Bucket {
		t.Errorf("corrected: %+v, before %+v", r, all[0])
	}
	byPhone, err := d.ByPhone(d.ctx(), other, 10)
	d.ok(err)
	same(t, "by its number", respondentIDs(byPhone), []surveys.RespondentID{r.ID})
	d.sums(v.ID)
	// A repetition changes nothing; an attribute is removed.
	if again := correct(surveys.Correction{ID: r.ID, Phone: other, Attributes: map[string]string{"city": "B"}}); again[0].Changed || again[0].Respondent.Rev != r.Rev {
		t.Errorf("repeated: %+v", again[0])
	}
	if gone := correct(surveys.Correction{ID: r.ID, Without: []string{"city", "none"}}); gone[0].Respondent.Attributes["city"] != "" || !gone[0].Changed {
		t.Errorf("without city: %+v", gone[0])
	}
	// Results are of each: a taken number, an unknown respondent and one named twice.
	got = correct(
		surveys.Correction{ID: all[1].ID, Phone: all[2].Phone}, surveys.Correction{ID: 1},
		surveys.Correction{ID: all[2].ID, Attributes: map[string]string{"a": "1"}}, surveys.Correction{ID: all[2].ID, Attributes: map[string]string{"b": "2"}},
	)
	wantCode(t, got[0].Err, weir.CodeConflict)
	wantCode(t, got[1].Err, weir.CodeNotFound)
	same(t, "the one with the taken number", d.read(all[1].ID)[0], all[1])
	if twice := d.read(all[2].ID)[0]; twice.Attributes["a"] != "1" || twice.Attributes["b"] != "2" || twice.Rev != all[2].Rev+1 {
		t.Errorf("named twice: %+v", twice)
	}
	// Moves that were decided before a correction are stale.
	stale, err := d.Work(d.ctx(), surveys.Work{Survey: v.ID, Moves: []surveys.Move{activate(all[2], now())}})
	d.ok(err)
	same(t, "stale moves", stale.Stale, []surveys.RespondentID{all[2].ID})
	// One that was given up without a contact becomes pending again.
	d.work(v.ID, turn(all[1], func(r *surveys.Respondent) {
		r.Status, r.Disposition, r.Finished = surveys.Failed, surveys.Unreached, now()
		r.Totals.Received = 1
	}))
	if back := correct(surveys.Correction{ID: all[1].ID, Attributes: map[string]string{"a": "1"}}); back[0].Respondent.Status != surveys.Pending || back[0].Respondent.Totals.Received != 1 {
		t.Errorf("given up, then corrected: %+v", back[0])
	}
	d.sums(v.ID)
	// One that was contacted stays.
	contacted := d.read(all[3].ID)[0]
	move := activate(contacted, now())
	move.Is.Contact = weir.Ref{Channel: 1, ID: 1}
	d.work(v.ID, move)
	before := d.read(all[3].ID)[0]
	wantCode(t, correct(surveys.Correction{ID: all[3].ID, Phone: "+12025550198"})[0].Err, weir.CodeConflict)
	same(t, "the contacted one", d.read(all[3].ID)[0], before)
	d.sums(v.ID)
	_, err = d.Correct(d.ctx(), 1, nil)
	wantCode(t, err, weir.CodeNotFound)
	log, err := d.Log(d.ctx(), v.ID, 0, 100)
	d.ok(err)
	events := map[string]int{}
	for _, e := range log {
		events[e.Event]++
	}
	same(t, "the log", events, map[string]int{"corrected": 4})
}

func testRespondentRemoval(t *testing.T, d *surveyBench) {
	v := d.survey("a")
	all := d.people(v.ID, 1, 3)
	d.ok(d.RemoveRespondent(d.ctx(), v.ID, all[0].ID))
	wantCode(t, d.RemoveRespondent(d.ctx(), v.ID, all[0].ID), weir.CodeNotFound)
	wantCode(t, d.RemoveRespondent(d.ctx(), 1, all[1].ID), weir.CodeNotFound)
	d.sums(v.ID)
	stale, err := d.Work(d.ctx(), surveys.Work{Survey: v.ID, Moves: []surveys.Move{activate(all[0], now())}})
	d.ok(err)
	same(t, "moves of the removed one", stale.Stale, []surveys.RespondentID{all[0].ID})
	// An open contact keeps its respondent; after its end the attempt stays counted.
	d.work(v.ID, turn(all[1], func(r *surveys.Respondent) { r.Status, r.Progress.Contact = surveys.Active, surveys.Dispatched }))
	wantCode(t, d.RemoveRespondent(d.ctx(), v.ID, all[1].ID), weir.CodeConflict)
	ended := turn(d.read(all[1].ID)[0], func(r *surveys.Respondent) { r.Status, r.Progress.Contact = surveys.Completed, surveys.Idle })
	ended.Attempt = &surveys.Made{Mode: surveys.SMS, Outcome: weir.Completed}
	ended.Log = []surveys.LogEntry{{At: now(), Event: "ended"}}
	d.work(v.ID, ended)
	d.ok(d.RemoveRespondent(d.ctx(), v.ID, all[1].ID))
	d.sums(v.ID)
	sums, err := d.Counts(d.ctx(), v.ID)
	d.ok(err)
	same(t, "attempts", sums.Attempts, map[surveys.Made]int{*ended.Attempt: 1})
	log, err := d.Log(d.ctx(), v.ID, 0, 100)
	d.ok(err)
	var events []string
	for _, e := range log {
		events = append(events, e.Event)
	}
	same(t, "the log", events, []string{"removed", "ended", "removed"})
	// The number is free again.
	added, err := d.Add(d.ctx(), v.ID, 0, []surveys.Respondent{person(1, "m")})
	d.ok(err)
	if added[0].Duplicate {
		t.Errorf("the number of the removed one: %+v", added[0])
	}
	// Of concurrent removals one succeeds.
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { errs[i] = d.RemoveRespondent(d.ctx(), v.ID, added[0].ID) })
	}
	wg.Wait()
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
		} else {
			wantCode(t, err, weir.CodeNotFound)
		}
	}
	if done != 1 {
		t.Errorf("%d removals succeeded, want 1", done)
	}
	d.sums(v.ID)
}
