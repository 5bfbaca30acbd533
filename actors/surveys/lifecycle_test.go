package surveys_test

import (
	"fmt"
	"testing"
	"time"

	"weir"
	"weir/surveys"
	"weir/surveys/calendar"
)

// A survey runs from its launch to its end: each respondent is tried as often
// as the retry schedule allows (scenario 82), and ends.
func TestLifecycle_SurveyRunsToCompletion(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("10m 2h"), 21)
		l.command("s", surveys.Launch)
		l.advance(6 * time.Hour)
		if got := l.store.survey(s.ID); got.State != surveys.Done || got.Cause != surveys.Exhausted {
			l.t.Errorf("the survey is %s, %s; respondents %v", got.State, got.Cause, l.statusCounts(s.ID))
		}
		for _, r := range l.respondents(s.ID) {
			if r.Status != surveys.Failed || r.Attempts.SMS != 3 {
				l.t.Errorf("%+v", r)
			}
		}
		if l.channels.maxInFlight[ch.ID] != 5 || len(l.store.outbox) > 0 || l.channels.announced == 0 {
			l.t.Errorf("in flight %d, outbox entries left %d", l.channels.maxInFlight[ch.ID], len(l.store.outbox))
		}
		if l.store.eventCount("weir.survey.respondent") != 21 || l.store.eventCount("weir.survey.state") != 2 {
			l.t.Errorf("events: %+v", l.store.events)
		}
	})
}

// Scenario 83: the delay counts from acceptance by the provider, not from when
// the contact was enqueued.
func TestLifecycle_RetryDelayStartsWhenProviderAccepts(t *testing.T) {
	var at []time.Time
	inLab(t, func(weir.Contact) contactResult { return contactResult{duration: time.Second, outcome: weir.NoAnswer} }, func(l *lab) {
		l.channels.onDispatch = func(weir.Contact) { at = append(at, time.Now()) }
		l.store.addChannel("texts", "text", 1)
		l.channels.dispatchNothing = true
		l.addSurvey("s", smsSurvey("10m"), 1)
		l.command("s", surveys.Launch)
		l.advance(7 * time.Minute)
		l.store.locked(func() { l.channels.dispatchNothing = false })
		l.channels.dispatchAll()
		l.advance(30 * time.Minute)
		if len(at) != 2 || at[1].Sub(at[0]) < 10*time.Minute || at[1].Sub(at[0]) > 10*time.Minute+2*time.Second {
			l.t.Errorf("accepted at %v", at)
		}
	})
}

// Scenario 77: ten are kept active; each one that ends makes room for another.
func TestLifecycle_BatchSizeIsKept(t *testing.T) {
	inLab(t, func(weir.Contact) contactResult {
		return contactResult{duration: 10 * time.Minute, outcome: weir.Failed}
	}, func(l *lab) {
		l.store.addChannel("texts", "text", 100)
		d := smsSurvey("")
		d.BatchSize = 10
		s := l.addSurvey("s", d, 21)
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		if got := l.statusCounts(s.ID)[surveys.Active]; got != 10 {
			l.t.Errorf("%d active, want 10", got)
		}
		l.advance(6 * time.Minute)
		if got := l.statusCounts(s.ID); got[surveys.Active] != 10 || got[surveys.Failed] != 10 {
			l.t.Errorf("after the first have failed: %v", got)
		}
	})
}

// Scenarios 79 and 70: with the cutoff reached no respondent is started, and
// unneeded respondents are canceled.
func TestLifecycle_CutoffEndsASurvey(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 100)
		d := smsSurvey("1d")
		d.Cutoff = 3
		s := l.addSurvey("s", d, 20)
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		if got := l.statusCounts(s.ID)[surveys.Active]; got != 3 {
			l.t.Errorf("%d active, want 3 (scenario 78)", got)
		}
		for _, r := range l.respondents(s.ID) {
			if r.Status == surveys.Active {
				l.report(s, r.ID, surveys.Report{Disposition: surveys.Complete})
			}
		}
		l.advance(time.Minute)
		got := l.statusCounts(s.ID)
		if st := l.store.survey(s.ID); st.State != surveys.Done || st.Cause != surveys.Reached || got[surveys.Completed] != 3 || got[surveys.Canceled] != 17 {
			l.t.Errorf("%s, %s: %v", st.State, st.Cause, got)
		}
	})
}

// Scenario 79: one full bucket of two; its respondents are rejected, the others
// continue.
func TestLifecycle_FullBucketsAreRejected(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 100)
		d := smsSurvey("1d")
		d.Quotas = surveys.Quotas{
			{Where: map[string]surveys.Match{"age": {In: []string{"young"}}}, Quota: 1},
			{Where: map[string]surveys.Match{"age": {In: []string{"old"}}}, Quota: 5},
		}
		s := l.addSurvey("s", d, 20)
		l.command("s", surveys.Launch)
		l.advance(time.Minute)
		l.report(s, l.respondents(s.ID)[0].ID, surveys.Report{Disposition: surveys.Complete})
		l.advance(time.Minute)
		for i, r := range l.respondents(s.ID) {
			if young := i%2 == 0; young && r.Status == surveys.Pending || !young && r.Status == surveys.Rejected {
				l.t.Errorf("%d is %s", i, r.Status)
			}
		}
	})
}

// Scenario 81: the limit holds for any minute, and retries get half of it.
func TestLifecycle_LimitHoldsForAnyMinute(t *testing.T) {
	var at []time.Time
	inLab(t, func(weir.Contact) contactResult { return contactResult{duration: time.Second, outcome: weir.NoAnswer} }, func(l *lab) {
		l.store.onMove = func(m surveys.Move) {
			if m.Enqueue != nil {
				at = append(at, time.Now())
			}
		}
		l.store.addChannel("texts", "text", 100)
		d := smsSurvey("2m 2m")
		d.LimitPerMinute = 6
		s := l.addSurvey("s", d, 40)
		l.command("s", surveys.Launch)
		l.advance(9 * time.Minute)
		l.system.Close() // a new process continues with the count of the old one
		l.start()
		l.advance(time.Hour)
		for i := range at {
			if j := i + 6; j < len(at) && at[j].Sub(at[i]) < time.Minute {
				l.t.Fatalf("7 within %v", at[j].Sub(at[i]))
			}
		}
		if len(at) != 120 || at[119].Sub(at[0]) > 30*time.Minute {
			l.t.Errorf("%d in %v; survey %v", len(at), at[len(at)-1].Sub(at[0]), l.statusCounts(s.ID))
		}
	})
}

// Scenarios 23 to 25: contacts that expire with the window are enqueued again,
// once, for the next one, and consume no retry; and they are few.
func TestLifecycle_ExpiredContactsAreEnqueuedAgain(t *testing.T) {
	inLabFor(t, 2*time.Minute, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 10)
		d := smsSurvey("10m")
		d.Schedule.Windows = []calendar.WindowSpec{{From: "09:00", To: "10:00"}}
		l.channels.dispatchNothing = true
		s := l.addSurvey("s", d, 500)
		l.command("s", surveys.Launch)
		l.advance(59 * time.Minute)
		waiting := l.statusCounts(s.ID)[surveys.Active]
		if waiting < 10 || waiting > 50 {
			l.t.Errorf("%d wait in a channel of 10 that stands still", waiting)
		}
		l.advance(2 * time.Minute)
		for _, r := range l.respondents(s.ID) {
			if r.Status == surveys.Active && (r.Serial != 2 || r.Tries != 1 || r.Progress.Contact != surveys.Waiting) {
				l.t.Fatalf("%+v", r.Progress)
			}
		}
		if got := l.statusCounts(s.ID)[surveys.Active]; got != waiting {
			l.t.Errorf("%d are active after the window, %d before", got, waiting)
		}
		l.store.locked(func() { l.channels.dispatchNothing = false })
		l.advance(23*time.Hour + 30*time.Minute)
		for _, r := range l.respondents(s.ID)[:waiting] {
			if r.Reached.IsZero() || r.Attempts.SMS > 2 {
				l.t.Fatalf("%+v", r)
			}
		}
	})
}

// Scenario 87: a survey past its last window is stopped.
func TestLifecycle_SurveyStopsAfterItsLastWindow(t *testing.T) {
	inLabFor(t, 2*time.Minute, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		d := smsSurvey("3d")
		d.Schedule.EndDate = "2026-01-16"
		s := l.addSurvey("s", d, 3)
		l.command("s", surveys.Launch)
		l.advance(39*time.Hour + 4*time.Minute)
		if st := l.store.survey(s.ID); st.State != surveys.Running {
			l.t.Errorf("before its grace is over it is %s", st.State)
		}
		l.advance(2 * time.Minute)
		if st := l.store.survey(s.ID); st.State != surveys.Done || st.Cause != surveys.WindowOver || l.statusCounts(s.ID)[surveys.Canceled] == 0 {
			l.t.Errorf("%s, %s, %v", st.State, st.Cause, l.statusCounts(s.ID))
		}
	})
}

// Scenarios 68 and 70: stopping cancels all respondents in steps, starts none,
// and continues after a crash.
func TestLifecycle_StopCancelsEverybody(t *testing.T) {
	inLab(t, func(weir.Contact) contactResult { return contactResult{duration: time.Hour, outcome: weir.Completed} }, func(l *lab) {
		l.store.addChannel("texts", "text", 10)
		s := l.addSurvey("s", smsSurvey("1h"), 1200)
		l.command("s", surveys.Launch)
		l.advance(time.Minute)
		dispatched := 0
		l.store.locked(func() { l.channels.onDispatch = func(weir.Contact) { dispatched++ } })
		fail := 0
		l.store.locked(func() {
			l.store.failOperation = func(op string) error {
				if fail++; op == "Work" && fail%2 == 0 {
					return &weir.Error{Code: weir.CodeUnavailable, Message: "down"}
				}
				return nil
			}
		})
		if _, err := l.system.Step(l.t.Context(), "s", surveys.Stop); err != nil {
			l.t.Fatal(err)
		}
		l.advance(150 * time.Millisecond)
		l.system.Close()
		l.start()
		l.advance(20 * time.Second)
		if st := l.store.survey(s.ID); st.State != surveys.Done || st.Cause != surveys.ByUser || l.statusCounts(s.ID)[surveys.Canceled] != 1200 {
			l.t.Errorf("%s, %s, %v", st.State, st.Cause, l.statusCounts(s.ID))
		}
		if dispatched > 0 {
			l.t.Errorf("%d were contacted after the stop", dispatched)
		}
	})
}

// A locked survey refuses to stop, also if it is locked while the stop is being decided,
// and ends by itself all the same.
func TestLifecycle_LockedSurveyRefusesToStop(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("10m"), 3)
		l.command("s", surveys.Launch)
		l.store.locked(func() {
			l.store.failOperation = func(op string) error { // another process locks it
				if v := l.store.surveys[s.ID]; op == "UpdateSurvey" && !v.Locked {
					v.Locked, v.Version = true, v.Version+1
				}
				return nil
			}
		})
		if got, err := l.system.Step(l.t.Context(), "s", surveys.Stop); weir.CodeOf(err) != weir.CodeLocked || got.State != surveys.Running {
			l.t.Errorf("%s, %v", got.State, err)
		}
		l.store.locked(func() { l.store.failOperation = nil })
		events := len(l.store.events)
		for step, locked := range map[surveys.Step]bool{surveys.Unlock: false, surveys.Lock: true} {
			if l.command("s", step); l.store.survey(s.ID).Locked != locked {
				l.t.Errorf("%s: it is locked: %v", step, !locked)
			}
		}
		l.command("s", surveys.Lock)
		if n := len(l.store.events) - events; n != 0 {
			l.t.Errorf("%d events tell of a state that is the same", n)
		}
		l.advance(24 * time.Hour)
		if st := l.store.survey(s.ID); st.State != surveys.Done || st.Cause != surveys.Exhausted || !st.Locked {
			l.t.Errorf("%s, %s, locked: %v", st.State, st.Cause, st.Locked)
		}
	})
}

// Scenario 72: of two surveys on a channel one is paused; only the other's are
// dispatched. The paused one resumes where it was.
func TestLifecycle_PauseLeavesTheOtherSurveyRunning(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		a, b := l.addSurvey("a", smsSurvey("10m"), 40), l.addSurvey("b", smsSurvey("10m"), 40)
		l.command("a", surveys.Launch)
		l.command("b", surveys.Launch)
		l.advance(2 * time.Minute)
		l.command("a", surveys.Pause)
		l.advance(time.Second)
		dispatched := map[int64]int{}
		l.store.locked(func() { l.channels.onDispatch = func(c weir.Contact) { dispatched[c.Owner.Group]++ } })
		l.advance(2 * time.Hour)
		if dispatched[a.ID] > 0 || dispatched[b.ID] == 0 {
			l.t.Errorf("while a is paused: %v", dispatched)
		}
		l.command("a", surveys.Resume)
		l.advance(6 * time.Hour)
		for _, r := range append(l.respondents(a.ID), l.respondents(b.ID)...) {
			if r.Status != surveys.Failed || r.Attempts.SMS != 2 {
				l.t.Fatalf("%+v", r.Progress)
			}
		}
	})
}

// Scenario 85: a respondent whose contact cannot be built is delayed and
// finally given up; no other respondent waits.
func TestLifecycle_FailingRespondentBlocksNoOther(t *testing.T) {
	inLabFor(t, 2*time.Minute, noAnswer, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 5)
		d := smsSurvey("")
		d.Questionnaires["q"][surveys.SMS][0].Messages[0] = "Hello {{name}}"
		s := l.addSurvey("s", d, 0)
		var ids []surveys.RespondentID
		for i := range 30 {
			ids = append(ids, l.store.addPerson(s.ID, phone(s.ID, i), map[string]string{"name": "Ana"}))
		}
		l.store.locked(func() { l.store.channels[texts.ID].Paused = true }) // so that all ten are delayed: no round contacts one of them before
		l.command("s", surveys.Launch)
		l.store.locked(func() {
			for _, id := range ids[:10] {
				l.store.people[id].Attributes = nil
			}
			l.store.channels[texts.ID].Paused = false
		})
		l.advance(4 * time.Hour)
		for _, id := range ids[10:] {
			if r := l.store.respondent(id); !r.Status.Final() {
				l.t.Errorf("%v is %s", id, r.Status)
			}
		}
		if l.advance(20 * time.Hour); l.store.survey(s.ID).State != surveys.Done {
			l.t.Errorf("%s: %v", l.store.survey(s.ID).State, l.statusCounts(s.ID))
		}
	})
}

// If an outbox entry is lost, the respondent is found when it is due, and its
// contact is read. A purged contact counts as lost.
func TestLifecycle_LostOutboxEntryIsMadeUpFor(t *testing.T) {
	for name, c := range map[string]struct {
		fate  contactResult
		purge bool
		tries int
	}{
		"end":       {contactResult{duration: time.Minute, outcome: weir.NoAnswer, endLost: true}, false, 2},
		"hand-over": {contactResult{duration: time.Minute, outcome: weir.NoAnswer, acceptedLost: true}, false, 2},
		"both":      {contactResult{duration: time.Minute, outcome: weir.NoAnswer, acceptedLost: true, endLost: true}, false, 2},
		"purged":    {contactResult{duration: time.Minute, outcome: weir.NoAnswer, endLost: true}, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inLabFor(t, 5*time.Minute, func(weir.Contact) contactResult { return c.fate }, func(l *lab) {
				l.store.addChannel("texts", "text", 5)
				d := smsSurvey("10m")
				d.Schedule.Windows = []calendar.WindowSpec{{From: "09:00", To: "18:00"}}
				s := l.addSurvey("s", d, 3)
				l.command("s", surveys.Launch)
				for range 20 {
					l.advance(time.Hour)
					if c.purge {
						l.store.locked(func() { clear(l.store.contacts) })
					}
				}
				l.advance(80 * time.Hour)
				if st := l.store.survey(s.ID); st.State != surveys.Done {
					l.t.Errorf("%s: %+v", st.State, l.respondents(s.ID))
				}
				for _, r := range l.respondents(s.ID) {
					if r.Attempts.SMS != c.tries {
						l.t.Errorf("%+v", r.Progress)
					}
				}
			})
		})
	}
}

// report reports for the application, and fails the test if that is refused.
func (l *lab) report(s surveys.Survey, id surveys.RespondentID, h surveys.Report) surveys.Respondent {
	l.t.Helper()
	r, err := l.system.Report(l.t.Context(), l.store.survey(s.ID), id, h)
	if err != nil {
		l.t.Fatal(fmt.Errorf("%v: %w", id, err))
	}
	return r
}
