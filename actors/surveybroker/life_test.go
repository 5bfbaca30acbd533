package surveybroker_test

import (
	"fmt"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/surveys"
	"weir/surveys/calendar"
)

// A survey runs from its launch to its end: each respondent is tried as often
// as the retry schedule allows (scenario 82), and ends.
func TestASurveyRunsToItsEnd(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		ch := l.store.addChannel("texts", "text", 5)
		s := l.survey("s", byText("10m 2h"), 21)
		l.step("s", surveys.Launch)
		l.pass(6 * time.Hour)
		if got := l.store.surveyNow(s.ID); got.State != surveys.Done || got.Cause != surveys.Exhausted {
			l.t.Errorf("the survey is %s, %s; respondents %v", got.State, got.Cause, l.by(s.ID))
		}
		for _, r := range l.all(s.ID) {
			if r.Status != surveys.Failed || r.Attempts.SMS != 3 {
				l.t.Errorf("%+v", r)
			}
		}
		if l.lines.most[ch.ID] != 5 || len(l.store.notices) > 0 || l.lines.announce == 0 {
			l.t.Errorf("in flight %d, notices left %d", l.lines.most[ch.ID], len(l.store.notices))
		}
		if l.store.told("weir.survey.respondent") != 21 || l.store.told("weir.survey.state") != 2 {
			l.t.Errorf("events: %+v", l.store.events)
		}
	})
}

// Scenario 83: the delay counts from acceptance by the provider, not from when
// the contact was enqueued.
func TestDelaysCountFromTheHandOver(t *testing.T) {
	var at []time.Time
	inLab(t, func(weir.Contact) fate { return fate{lasts: time.Second, outcome: weir.NoAnswer} }, func(l *lab) {
		l.lines.handed = func(weir.Contact) { at = append(at, time.Now()) }
		l.store.addChannel("texts", "text", 1)
		l.lines.idle = true
		l.survey("s", byText("10m"), 1)
		l.step("s", surveys.Launch)
		l.pass(7 * time.Minute)
		l.store.change(func() { l.lines.idle = false })
		l.lines.sweep()
		l.pass(30 * time.Minute)
		if len(at) != 2 || at[1].Sub(at[0]) < 10*time.Minute || at[1].Sub(at[0]) > 10*time.Minute+2*time.Second {
			l.t.Errorf("handed over at %v", at)
		}
	})
}

// Scenario 77: ten are kept active; each one that ends makes room for another.
func TestBatchesAreKeptFull(t *testing.T) {
	inLab(t, func(weir.Contact) fate { return fate{lasts: 10 * time.Minute, outcome: weir.Failed} }, func(l *lab) {
		l.store.addChannel("texts", "text", 100)
		d := byText("")
		d.BatchSize = 10
		s := l.survey("s", d, 21)
		l.step("s", surveys.Launch)
		l.pass(5 * time.Minute)
		if got := l.by(s.ID)[surveys.Active]; got != 10 {
			l.t.Errorf("%d active, want 10", got)
		}
		l.pass(6 * time.Minute)
		if got := l.by(s.ID); got[surveys.Active] != 10 || got[surveys.Failed] != 10 {
			l.t.Errorf("after the first have failed: %v", got)
		}
	})
}

// Scenarios 79 and 70: with the cutoff reached no respondent is started, and
// unneeded respondents are canceled.
func TestCutoffEndsASurvey(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 100)
		d := byText("1d")
		d.Cutoff = 3
		s := l.survey("s", d, 20)
		l.step("s", surveys.Launch)
		l.pass(5 * time.Minute)
		if got := l.by(s.ID)[surveys.Active]; got != 3 {
			l.t.Errorf("%d active, want 3 (scenario 78)", got)
		}
		for _, r := range l.all(s.ID) {
			if r.Status == surveys.Active {
				l.hear(s, r.ID, surveys.Report{Disposition: surveys.Complete})
			}
		}
		l.pass(time.Minute)
		got := l.by(s.ID)
		if st := l.store.surveyNow(s.ID); st.State != surveys.Done || st.Cause != surveys.Reached || got[surveys.Completed] != 3 || got[surveys.Canceled] != 17 {
			l.t.Errorf("%s, %s: %v", st.State, st.Cause, got)
		}
	})
}

// Scenario 79: one full bucket of two; its respondents are rejected, the others
// continue.
func TestFullBucketsAreRejected(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 100)
		d := byText("1d")
		d.Quotas = surveys.Quotas{
			{Where: map[string]surveys.Match{"age": {In: []string{"young"}}}, Quota: 1},
			{Where: map[string]surveys.Match{"age": {In: []string{"old"}}}, Quota: 5},
		}
		s := l.survey("s", d, 20)
		l.step("s", surveys.Launch)
		l.pass(time.Minute)
		l.hear(s, l.all(s.ID)[0].ID, surveys.Report{Disposition: surveys.Complete})
		l.pass(time.Minute)
		for i, r := range l.all(s.ID) {
			if young := i%2 == 0; young && r.Status == surveys.Pending || !young && r.Status == surveys.Rejected {
				l.t.Errorf("%d is %s", i, r.Status)
			}
		}
	})
}

// Scenario 81: the limit holds for any minute, and retries get half of it.
func TestLimitPerMinute(t *testing.T) {
	var at []time.Time
	inLab(t, func(weir.Contact) fate { return fate{lasts: time.Second, outcome: weir.NoAnswer} }, func(l *lab) {
		l.store.wrote = func(m surveys.Move) {
			if m.Enqueue != nil {
				at = append(at, time.Now())
			}
		}
		l.store.addChannel("texts", "text", 100)
		d := byText("2m 2m")
		d.LimitPerMinute = 6
		s := l.survey("s", d, 40)
		l.step("s", surveys.Launch)
		l.pass(9 * time.Minute)
		l.sys.Close() // a new process continues with the count of the old one
		l.start("one")
		l.pass(time.Hour)
		for i := range at {
			if j := i + 6; j < len(at) && at[j].Sub(at[i]) < time.Minute {
				l.t.Fatalf("7 within %v", at[j].Sub(at[i]))
			}
		}
		if len(at) != 120 || at[119].Sub(at[0]) > 30*time.Minute {
			l.t.Errorf("%d in %v; survey %v", len(at), at[len(at)-1].Sub(at[0]), l.by(s.ID))
		}
	})
}

// Scenarios 23 to 25: contacts that expire with the window are enqueued again,
// once, for the next one, and consume no retry; and they are few.
func TestExpiredContactsComeAgain(t *testing.T) {
	inLabFor(t, 2*time.Minute, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 10)
		d := byText("10m")
		d.Schedule.Windows = []calendar.WindowSpec{{From: "09:00", To: "10:00"}}
		l.lines.idle = true
		s := l.survey("s", d, 500)
		l.step("s", surveys.Launch)
		l.pass(59 * time.Minute)
		waiting := l.by(s.ID)[surveys.Active]
		if waiting < 10 || waiting > 50 {
			l.t.Errorf("%d wait in a channel of 10 that stands still", waiting)
		}
		l.pass(2 * time.Minute)
		for _, r := range l.all(s.ID) {
			if r.Status == surveys.Active && (r.Serial != 2 || r.Tries != 1 || r.Progress.Contact != surveys.Waiting) {
				l.t.Fatalf("%+v", r.Progress)
			}
		}
		if got := l.by(s.ID)[surveys.Active]; got != waiting {
			l.t.Errorf("%d are active after the window, %d before", got, waiting)
		}
		l.store.change(func() { l.lines.idle = false })
		l.pass(23*time.Hour + 30*time.Minute)
		for _, r := range l.all(s.ID)[:waiting] {
			if r.Reached.IsZero() || r.Attempts.SMS > 2 {
				l.t.Fatalf("%+v", r)
			}
		}
	})
}

// Scenario 87: a survey past its last window is stopped.
func TestLastWindowOver(t *testing.T) {
	inLabFor(t, 2*time.Minute, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		d := byText("3d")
		d.Schedule.EndDate = "2026-01-16"
		s := l.survey("s", d, 3)
		l.step("s", surveys.Launch)
		l.pass(39*time.Hour + 4*time.Minute)
		if st := l.store.surveyNow(s.ID); st.State != surveys.Running {
			l.t.Errorf("before its grace is over it is %s", st.State)
		}
		l.pass(2 * time.Minute)
		if st := l.store.surveyNow(s.ID); st.State != surveys.Done || st.Cause != surveys.WindowOver || l.by(s.ID)[surveys.Canceled] == 0 {
			l.t.Errorf("%s, %s, %v", st.State, st.Cause, l.by(s.ID))
		}
	})
}

// Scenarios 68 and 70: stopping cancels all respondents in steps, starts none,
// and continues after a crash.
func TestStopping(t *testing.T) {
	inLab(t, func(weir.Contact) fate { return fate{lasts: time.Hour, outcome: weir.Completed} }, func(l *lab) {
		l.store.addChannel("texts", "text", 10)
		s := l.survey("s", byText("1h"), 1200)
		l.step("s", surveys.Launch)
		l.pass(time.Minute)
		handed := 0
		l.store.change(func() { l.lines.handed = func(weir.Contact) { handed++ } })
		fail := 0
		l.store.change(func() {
			l.store.fault = func(op string) error {
				if fail++; op == "Work" && fail%2 == 0 {
					return &weir.Error{Code: weir.CodeUnavailable, Message: "down"}
				}
				return nil
			}
		})
		if _, err := l.sys.Step(l.t.Context(), "s", surveys.Stop); err != nil {
			l.t.Fatal(err)
		}
		l.pass(150 * time.Millisecond)
		l.sys.Close()
		l.start("one")
		l.pass(20 * time.Second)
		if st := l.store.surveyNow(s.ID); st.State != surveys.Done || st.Cause != surveys.ByUser || l.by(s.ID)[surveys.Canceled] != 1200 {
			l.t.Errorf("%s, %s, %v", st.State, st.Cause, l.by(s.ID))
		}
		if handed > 0 {
			l.t.Errorf("%d were contacted after the stop", handed)
		}
	})
}

// Scenario 72: of two surveys on a channel one is paused; only the other's are
// dispatched. The paused one resumes where it was.
func TestPausingOneOfTwo(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		a, b := l.survey("a", byText("10m"), 40), l.survey("b", byText("10m"), 40)
		l.step("a", surveys.Launch)
		l.step("b", surveys.Launch)
		l.pass(2 * time.Minute)
		l.step("a", surveys.Pause)
		l.pass(time.Second)
		handed := map[int64]int{}
		l.store.change(func() { l.lines.handed = func(c weir.Contact) { handed[c.For.Survey]++ } })
		l.pass(2 * time.Hour)
		if handed[a.ID] > 0 || handed[b.ID] == 0 {
			l.t.Errorf("while a is paused: %v", handed)
		}
		l.step("a", surveys.Resume)
		l.pass(6 * time.Hour)
		for _, r := range append(l.all(a.ID), l.all(b.ID)...) {
			if r.Status != surveys.Failed || r.Attempts.SMS != 2 {
				l.t.Fatalf("%+v", r.Progress)
			}
		}
	})
}

// Scenario 74: a channel that is down starts no respondent and holds retries;
// other modes continue. Outage and recovery are published once, also over restarts.
func TestChannelDown(t *testing.T) {
	inLabFor(t, 2*time.Minute, quiet, func(l *lab) {
		calls := l.store.addChannel("calls", "voice", 5)
		l.store.addChannel("texts", "text", 5)
		l.lines.status[calls.ID] = channels.Status{Health: weir.Down, Reason: "unplugged"}
		first, second := l.survey("first", byPhone("10m", "10m"), 10), l.survey("second", byText(""), 10)
		for range 2 { // the second launch changes nothing
			l.step("first", surveys.Launch)
			l.step("second", surveys.Launch)
		}
		l.pass(time.Second)
		handed := map[weir.ChannelID]int{}
		l.store.change(func() { l.lines.handed = func(c weir.Contact) { handed[c.Channel]++ } })
		l.pass(10 * time.Minute)
		l.sys.Close()
		l.start("one")
		l.pass(3 * time.Hour)
		if handed[calls.ID] > 5 || l.store.told("weir.channel.state") != 1 {
			l.t.Errorf("while it is down: %v, told %d times", handed, l.store.told("weir.channel.state"))
		}
		if st := l.store.surveyNow(second.ID); st.State != surveys.Done {
			l.t.Errorf("the survey that does not use it is %s", st.State)
		}
		l.store.change(func() { delete(l.lines.status, calls.ID) })
		l.pass(8 * time.Hour)
		if st := l.store.surveyNow(first.ID); st.State != surveys.Done || l.store.told("weir.channel.state") != 2 {
			l.t.Errorf("after the recovery it is %s, told %d times", st.State, l.store.told("weir.channel.state"))
		}
	})
}

// Scenario 74: a survey whose channel is down is still found done.
func TestCompletionIsNoticedWhileAChannelIsDown(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 5)
		s := l.survey("s", byText("1h"), 1)
		l.step("s", surveys.Launch)
		l.pass(5 * time.Minute)
		l.store.change(func() { l.lines.status[texts.ID] = channels.Status{Health: weir.Erring, Reason: "unreachable"} })
		l.pass(10 * time.Minute)
		l.hear(s, l.all(s.ID)[0].ID, surveys.Report{Disposition: surveys.Complete})
		l.pass(time.Minute)
		if st := l.store.surveyNow(s.ID); st.State != surveys.Done {
			l.t.Errorf("it is %s", st.State)
		}
	})
}

// Scenario 85: a respondent whose contact cannot be built is delayed and
// finally given up; no other respondent waits.
func TestAStumblingRespondentStarvesNobody(t *testing.T) {
	inLabFor(t, 2*time.Minute, quiet, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 5)
		d := byText("")
		d.Questionnaires["q"][surveys.SMS][0].Messages[0] = "Hello {{name}}"
		s := l.survey("s", d, 0)
		var ids []surveys.RespondentID
		for i := range 30 {
			ids = append(ids, l.store.addPerson(s.ID, phone(s.ID, i), map[string]string{"name": "Ana"}))
		}
		l.store.change(func() { l.store.channels[texts.ID].Paused = true }) // so that all ten are delayed: no round contacts one of them before
		l.step("s", surveys.Launch)
		l.store.change(func() {
			for _, id := range ids[:10] {
				l.store.people[id].Attributes = nil
			}
			l.store.channels[texts.ID].Paused = false
		})
		l.pass(4 * time.Hour)
		for _, id := range ids[10:] {
			if r := l.store.person(id); !r.Status.Final() {
				l.t.Errorf("%v is %s", id, r.Status)
			}
		}
		if l.pass(20 * time.Hour); l.store.surveyNow(s.ID).State != surveys.Done {
			l.t.Errorf("%s: %v", l.store.surveyNow(s.ID).State, l.by(s.ID))
		}
	})
}

// If an outbox entry is lost, the respondent is found when it is due, and its
// contact is read. A purged contact counts as lost.
func TestLostNotices(t *testing.T) {
	for name, c := range map[string]struct {
		fate  fate
		purge bool
		tries int
	}{
		"end":       {fate{lasts: time.Minute, outcome: weir.NoAnswer, silent: true}, false, 2},
		"hand-over": {fate{lasts: time.Minute, outcome: weir.NoAnswer, deaf: true}, false, 2},
		"both":      {fate{lasts: time.Minute, outcome: weir.NoAnswer, deaf: true, silent: true}, false, 2},
		"purged":    {fate{lasts: time.Minute, outcome: weir.NoAnswer, silent: true}, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inLabFor(t, 5*time.Minute, func(weir.Contact) fate { return c.fate }, func(l *lab) {
				l.store.addChannel("texts", "text", 5)
				d := byText("10m")
				d.Schedule.Windows = []calendar.WindowSpec{{From: "09:00", To: "18:00"}}
				s := l.survey("s", d, 3)
				l.step("s", surveys.Launch)
				for range 20 {
					l.pass(time.Hour)
					if c.purge {
						l.store.change(func() { clear(l.store.contacts) })
					}
				}
				l.pass(80 * time.Hour)
				if st := l.store.surveyNow(s.ID); st.State != surveys.Done {
					l.t.Errorf("%s: %+v", st.State, l.all(s.ID))
				}
				for _, r := range l.all(s.ID) {
					if r.Attempts.SMS != c.tries {
						l.t.Errorf("%+v", r.Progress)
					}
				}
			})
		})
	}
}

// hear reports for the application, and fails the test if that is refused.
func (l *lab) hear(s surveys.Survey, id surveys.RespondentID, h surveys.Report) surveys.Respondent {
	l.t.Helper()
	r, err := l.sys.Report(l.t.Context(), l.store.surveyNow(s.ID), id, h)
	if err != nil {
		l.t.Fatal(fmt.Errorf("%v: %w", id, err))
	}
	return r
}
