package surveys_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/internal/document"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/surveys"
)

func newSurvey(t *testing.T, s *persistence.Store, q surveys.Quotas) surveys.Survey {
	t.Helper()
	v, _, err := s.PutSurvey(t.Context(), surveys.Survey{Name: "a", Definition: surveys.Definition{Quotas: q}}, document.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// bySex are quotas of one bucket.
func bySex(sex string) surveys.Quotas {
	return surveys.Quotas{{Where: map[string]surveys.Match{"sex": {In: []string{sex}}}, Quota: 1}}
}

// addPeople adds n women.
func addPeople(t *testing.T, s *persistence.Store, survey, imp int64, first, n int) []surveys.RespondentID {
	t.Helper()
	var ids []surveys.RespondentID
	for n > 0 {
		list := make([]surveys.Respondent, min(n, 1000))
		for i := range list {
			list[i] = surveys.Respondent{Phone: fmt.Sprintf("+1%09d", first+i), Attributes: map[string]string{"sex": "f"}}
		}
		added, err := s.Add(t.Context(), survey, imp, list)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range added {
			ids = append(ids, a.ID)
		}
		first, n = first+len(list), n-len(list)
	}
	return ids
}

func wantSums(t *testing.T, s *persistence.Store, survey int64, want map[surveys.Group]int) {
	t.Helper()
	got, err := s.Counts(t.Context(), survey)
	if err != nil || fmt.Sprint(got.Respondents) != fmt.Sprint(want) {
		t.Errorf("sums %v, want %v (%v)", got.Respondents, want, err)
	}
}

func pendingIn(bucket int) surveys.Group {
	return surveys.Group{Status: surveys.Pending, Disposition: surveys.Registered, Bucket: bucket, Furthest: surveys.Registered}
}

func sweepAll(t *testing.T, s *persistence.Store, limit int) {
	t.Helper()
	for steps, more := 0, true; more; steps++ {
		var err error
		if more, err = s.Sweep(t.Context(), limit); err != nil || steps > 100 {
			t.Fatalf("step %d: %v", steps, err)
		}
	}
}

// TestImport_GoesOnAfterACrash ends a process in the middle of making an import
// visible.
func TestImport_GoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url, persistence.Options{})
		v := newSurvey(t, s, bySex("f"))
		imp, err := s.BeginImport(t.Context(), v.ID)
		if err != nil {
			t.Fatal(err)
		}
		addPeople(t, s, v.ID, imp, 0, 50)
		wantSums(t, s, v.ID, map[surveys.Group]int{})
		if err := s.DecideImport(t.Context(), v.ID, imp, 20); err != nil {
			t.Fatal(err)
		}
		wantSums(t, s, v.ID, map[surveys.Group]int{pendingIn(0): 20})
		if err := s.AbortImport(t.Context(), v.ID, imp); weir.CodeOf(err) != weir.CodeConflict {
			t.Errorf("an import that is being committed was aborted: %v", err)
		}
		sweepAll(t, s, 7)
		wantSums(t, s, v.ID, map[surveys.Group]int{pendingIn(0): 50})
		if err := s.CommitImport(t.Context(), v.ID, imp); err != nil {
			t.Error(err)
		}
	})
}

// TestSurvey_WaitsForAnImport: no respondent becomes visible in a survey that is done,
// who would be pending there for ever.
func TestSurvey_WaitsForAnImport(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url, persistence.Options{})
		v := newSurvey(t, s, nil)
		imp, err := s.BeginImport(t.Context(), v.ID)
		if err != nil {
			t.Fatal(err)
		}
		addPeople(t, s, v.ID, imp, 0, 50)
		v.State = surveys.Running
		if v, err = s.UpdateSurvey(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if err := s.DecideImport(t.Context(), v.ID, imp, 20); err != nil {
			t.Fatal(err)
		}
		v.State = surveys.Done
		if _, err := s.UpdateSurvey(t.Context(), v); weir.CodeOf(err) != weir.CodePrecondition {
			t.Errorf("the survey ended while respondents were becoming visible: %v", err)
		}
		sweepAll(t, s, 100)
		if _, err := s.UpdateSurvey(t.Context(), v); err != nil {
			t.Error(err)
		}
	})
}

// TestSurvey_SortingIsDoneByTheSweepOrTheLaunch changes the quotas of more respondents
// than are sorted at once.
func TestSurvey_SortingIsDoneByTheSweepOrTheLaunch(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		const n = 5100
		s := storetest.Open(t, url, persistence.Options{})
		v := newSurvey(t, s, bySex("m"))
		addPeople(t, s, v.ID, 0, 0, n)
		wantSums(t, s, v.ID, map[surveys.Group]int{pendingIn(surveys.NoBucket): n})
		v.Definition.Quotas = bySex("f")
		v, _, err := s.PutSurvey(t.Context(), v, document.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		wantSums(t, s, v.ID, map[surveys.Group]int{pendingIn(0): 5000, pendingIn(surveys.NoBucket): n - 5000})
		sweepAll(t, s, 30)
		wantSums(t, s, v.ID, map[surveys.Group]int{pendingIn(0): n})
		v.Definition.Quotas = bySex("m")
		if v, err = s.UpdateSurvey(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		v.State = surveys.Running
		if _, err = s.UpdateSurvey(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		wantSums(t, s, v.ID, map[surveys.Group]int{pendingIn(surveys.NoBucket): n})
	})
}

// TestSurvey_LaunchSortsByItsNewQuotas changes the quotas and launches in one step.
func TestSurvey_LaunchSortsByItsNewQuotas(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url, persistence.Options{})
		v := newSurvey(t, s, bySex("m"))
		addPeople(t, s, v.ID, 0, 0, 5)
		v.Definition.Quotas, v.State = bySex("f"), surveys.Running
		got, err := s.UpdateSurvey(t.Context(), v)
		if err != nil || got.State != surveys.Running || got.Version != v.Version+1 {
			t.Errorf("launched: %+v (%v)", got, err)
		}
		wantSums(t, s, v.ID, map[surveys.Group]int{pendingIn(0): 5})
	})
}

// TestSurvey_BrokenCommitsLoseAndDoubleNothing breaks two of three COMMITs under a survey's load:
// each respondent is moved once, has one contact, and the sums are exact.
func TestSurvey_BrokenCommitsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s, f := storetest.OpenFaulty(t, url)
		channel, _ := storetest.OpenChannel(t, s, "a")
		v := newSurvey(t, s, nil)
		const callers, each = 4, 5
		ids := addPeople(t, s, v.ID, 0, 0, callers*each)
		list, err := s.RespondentsByID(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		f.Set(false, func() storetest.Fault { n++; return storetest.Fault(n % 3) })
		var wg sync.WaitGroup
		for caller := range callers {
			wg.Go(func() {
				part := list[caller*each : (caller+1)*each]
				w := surveys.Work{Survey: v.ID}
				for i := range part {
					w.Moves = append(w.Moves, start(part[i], channel))
				}
				// What was not answered may have been stored: done again, it changes nothing.
				got, tries, err := workWhenUp(t, s, w)
				done := len(got.Stale) == 0 && len(got.Contacts) == each
				if before := tries > 1 && len(got.Stale) == each && len(got.Contacts) == 0; err != nil || len(got.Refused) > 0 || !done && !before {
					t.Errorf("written %+v (%v)", got, err)
				}
				var added []surveys.Added
				tries = 0
				err = storetest.WhenUp(t.Context(), func() (err error) {
					tries++
					added, err = s.Add(t.Context(), v.ID, 0, []surveys.Respondent{{Phone: fmt.Sprint("+2", caller)}})
					return err
				})
				if err != nil || added[0].Duplicate && tries == 1 {
					t.Errorf("added %+v (%v)", added, err)
				}
			})
		}
		wg.Wait()
		f.Set(false, func() storetest.Fault { return storetest.None })
		active := surveys.Group{Status: surveys.Active, Disposition: surveys.Queued, Bucket: surveys.NoBucket, Furthest: surveys.Queued}
		wantSums(t, s, v.ID, map[surveys.Group]int{active: callers * each, pendingIn(surveys.NoBucket): callers})
		contacts, _, err := s.Contacts(t.Context(), weir.ContactFilter{Channel: channel, Limit: 1000})
		if err != nil || len(contacts) != callers*each {
			t.Errorf("%d contacts, want %d (%v)", len(contacts), callers*each, err)
		}
		if n, err := s.QueuedCount(t.Context(), channel); n != callers*each || err != nil {
			t.Errorf("%d are counted as queued (%v)", n, err)
		}
	})
}

// start is the move that enqueues a respondent's first contact.
func start(r surveys.Respondent, channel weir.ChannelID) surveys.Move {
	m := surveys.Move{Was: r, Is: r, Channel: channel}
	m.Is.Rev++
	m.Is.Status, m.Is.Disposition, m.Is.Serial, m.Is.DueAt = surveys.Active, surveys.Queued, 1, time.Now()
	m.Enqueue = &weir.Spec{Key: surveys.ContactKey(r.ID.String(), 1), To: r.Phone, Owner: weir.Owner{Group: r.Survey, ID: int64(r.ID), Serial: 1}}
	m.Log = []surveys.LogEntry{{Event: "enqueued"}}
	return m
}

// workWhenUp hands work over again while the store is down, or does not say whether the work was stored.
func workWhenUp(t *testing.T, s *persistence.Store, w surveys.Work) (got surveys.Written, tries int, err error) {
	t.Helper()
	err = storetest.WhenUp(t.Context(), func() (err error) {
		tries++
		got, err = s.Work(context.Background(), w)
		return err
	})
	return got, tries, err
}
