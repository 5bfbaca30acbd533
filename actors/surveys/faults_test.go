package surveys_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"weir"
	"weir/operators"
	"weir/surveys"
)

// With no survey to run, one statement every five seconds is enough.
func TestRounds_CostLittleWhenIdle(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("10m"), 2)
		l.command("s", surveys.Launch)
		l.command("s", surveys.Pause)
		l.advance(time.Minute)
		calls := 0
		l.store.locked(func() {
			l.store.failOperation = func(string) error {
				calls++
				return nil
			}
		})
		l.advance(10 * time.Minute)
		if calls > 130 {
			l.t.Errorf("%d statements in 10 minutes; survey %s", calls, l.store.survey(s.ID).State)
		}
	})
}

// A survey whose definition cannot be run any more is logged once and holds up
// no other survey. Nor does a survey whose channel is gone.
func TestSurvey_BrokenOneBlocksNoOther(t *testing.T) {
	var log bytes.Buffer
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)))
		l := newLab(t, noAnswer)
		l.log, l.roundInterval = slog.NewTextHandler(&log, nil), 2*time.Minute
		l.start()
		defer func() { l.system.Close() }()
		l.store.addChannel("texts", "text", 5)
		other := l.store.addChannel("more", "text", 5)
		d := smsSurvey("10m")
		d.Modes[surveys.SMS] = surveys.ModeSpec{Channel: "more", Retries: "10m"}
		broken, good, gone := l.addSurvey("broken", smsSurvey("10m"), 10), l.addSurvey("good", smsSurvey("10m"), 10), l.addSurvey("gone", d, 10)
		for _, name := range []string{"broken", "good", "gone"} {
			l.command(name, surveys.Launch)
		}
		l.advance(30 * time.Second)
		l.store.locked(func() {
			l.store.surveys[broken.ID].Definition.Schedule.TimeZone = "Nowhere/Land"
			l.store.surveys[broken.ID].Version++
			l.store.channels[other.ID].Deleted = true
		})
		l.advance(3 * time.Hour)
		if st := l.store.survey(good.ID); st.State != surveys.Done || len(l.store.outbox) > 0 {
			l.t.Errorf("the good one is %s; %d outbox entries are left", st.State, len(l.store.outbox))
		}
		if n := strings.Count(log.String(), "definition cannot be run"); n != 1 {
			l.t.Errorf("logged %d times", n)
		}
		if strings.Contains(log.String(), "+1555") {
			l.t.Error("the log holds a phone number")
		}
		// When it can be run again, it continues.
		l.store.locked(func() {
			l.store.surveys[broken.ID].Definition.Schedule.TimeZone = "UTC"
			l.store.surveys[broken.ID].Version++
		})
		l.advance(30 * time.Hour)
		if st := l.store.survey(broken.ID); st.State != surveys.Done {
			l.t.Errorf("the broken one is %s, %v", st.State, l.statusCounts(broken.ID))
		}
		l.command("gone", surveys.Stop)
		l.advance(time.Minute)
		if st := l.store.survey(gone.ID); st.State != surveys.Done {
			l.t.Errorf("the one without a channel is %s, %v", st.State, l.statusCounts(gone.ID))
		}
	})
}

// A survey that can be run again, with another schedule, learns at once how the
// contacts of all its respondents ended, however many pages they fill.
func TestSurvey_RepairedOneReadsAllOutcomes(t *testing.T) {
	tenMinutes := func(weir.Contact) contactResult {
		return contactResult{duration: 10 * time.Minute, outcome: weir.NoAnswer}
	}
	inLab(t, tenMinutes, func(l *lab) {
		l.store.addChannel("texts", "text", 2000)
		d := smsSurvey("5h")
		d.LimitPerMinute = 10_000
		s := l.addSurvey("s", d, 1200)
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		setZone := func(name string) {
			l.store.locked(func() {
				l.store.surveys[s.ID].Definition.Schedule.TimeZone = name
				l.store.surveys[s.ID].Version++
			})
			l.advance(30 * time.Minute)
		}
		setZone("Nowhere/Land")
		setZone("Europe/Berlin")
		open := 0
		for _, p := range l.respondents(s.ID) {
			if p.Progress.Contact != surveys.Idle {
				open++
			}
		}
		if open > 0 || len(l.store.contacts) != 1200 {
			l.t.Errorf("%d of %d contacts count as open", open, len(l.store.contacts))
		}
	})
}

// A survey whose rules panic is skipped for a while, says so, and holds up no other.
func TestSurvey_PanicOfItsRulesBlocksNoOther(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		texts, more := l.store.addChannel("texts", "text", 5), l.store.addChannel("more", "text", 5)
		d := smsSurvey("10m")
		d.Modes[surveys.SMS] = surveys.ModeSpec{Channel: "more", Retries: "10m"}
		broken, good := l.addSurvey("broken", smsSurvey("10m"), 10), l.addSurvey("good", d, 10)
		l.store.locked(func() { l.store.channels[texts.ID].Type = "panic" })
		for _, s := range []surveys.Survey{broken, good} {
			l.store.locked(func() { l.store.surveys[s.ID].State = surveys.Running })
			l.system.Changed(s.ID)
		}
		l.advance(5 * time.Second)
		why, err := l.system.Why(l.t.Context(), l.store.survey(broken.ID))
		if err != nil || why.Code != operators.WhyBroken || !strings.HasPrefix(why.Text(), "its rules failed; the survey is tried again at ") {
			l.t.Errorf("the survey waits because of %q: %s (%v)", why.Code, why.Text(), err)
		}
		// A message of a respondent does not hide it.
		if _, err := l.system.Incoming(l.t.Context(), texts.ID, weir.Incoming{From: l.respondents(broken.ID)[0].Phone, Body: "yes", GUID: "m"}); err != nil {
			l.t.Error(err)
		}
		if again, err := l.system.Why(l.t.Context(), l.store.survey(broken.ID)); err != nil || again.Text() != why.Text() {
			l.t.Errorf("after a message the survey waits because of %q: %s (%v)", again.Code, again.Text(), err)
		}
		l.store.locked(func() {
			if l.channels.maxInFlight[more.ID] == 0 {
				l.t.Error("the other survey contacts no respondent")
			}
			l.store.channels[texts.ID].Type = "text"
		})
		l.advance(3 * time.Hour)
		if st := l.store.survey(broken.ID); st.State != surveys.Done {
			l.t.Errorf("after the fault the survey is %s", st.State)
		}
	})
}

// While the store fails nothing is lost. A write that was made although the
// store reported an error is not made twice.
func TestStore_FailureLosesAndDoublesNothing(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("10m"), 20)
		l.command("s", surveys.Launch)
		n := 0
		down := &weir.Error{Code: weir.CodeUnavailable, Message: "down"}
		l.store.locked(func() {
			l.store.failOperation = func(string) error {
				if n++; n%4 == 0 {
					return down
				}
				return nil
			}
			l.store.replaceResult = func() error {
				if n%3 == 0 {
					return down
				}
				return nil
			}
		})
		l.advance(6 * time.Hour)
		l.store.locked(func() { l.store.failOperation, l.store.replaceResult = nil, nil })
		l.advance(3 * time.Hour)
		if st := l.store.survey(s.ID); st.State != surveys.Done || len(l.store.contacts) != 40 {
			l.t.Errorf("%s, %d contacts, %v", st.State, len(l.store.contacts), l.statusCounts(s.ID))
		}
	})
}

// A process that no longer owns the database writes nothing, and does not try all the time.
func TestRounds_WriteNothingWithoutTheLease(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		s := l.addSurvey("s", smsSurvey("10m"), 10)
		l.advance(time.Minute)
		l.store.locked(func() { l.store.taken = true })
		l.advance(time.Minute)
		l.command("s", surveys.Launch)
		l.advance(30 * time.Minute)
		if got := l.statusCounts(s.ID)[surveys.Pending]; got != 10 {
			l.t.Errorf("%d are pending", got)
		}
		l.store.locked(func() { l.store.taken = false })
		l.advance(time.Hour)
		if got := l.statusCounts(s.ID)[surveys.Pending]; got != 0 {
			l.t.Errorf("after the other is gone %d are pending", got)
		}
	})
}

func TestMetrics_KeepTheNamingRules(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		l.addSurvey("s", smsSurvey("10m"), 10)
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		problems, err := testutil.GatherAndLint(l.reg)
		if err != nil || len(problems) > 0 {
			l.t.Error(problems, err)
		}
		for _, name := range []string{"weir_survey_respondents_started_total", "weir_survey_credit_contacts", "weir_survey_round_duration_seconds"} {
			if n, err := testutil.GatherAndCount(l.reg, name); err != nil || n != 1 {
				l.t.Errorf("%s: %d, %v", name, n, err)
			}
		}
	})
}

// The backlog metric is above zero while a survey lacks only room: its window
// is open and the channel works. Otherwise it is zero.
func TestMetrics_BacklogIsPositiveOnlyWhileRoomLacks(t *testing.T) {
	inLab(t, noAnswer, func(l *lab) {
		l.store.addChannel("texts", "text", 2)
		l.addSurvey("s", smsSurvey("10m"), 500)
		wants := func(when string, some bool) {
			l.t.Helper()
			families, err := l.reg.Gather()
			if err != nil {
				l.t.Fatal(err)
			}
			for _, f := range families {
				if f.GetName() != "weir_survey_backlog_contacts" {
					continue
				}
				if got := f.GetMetric()[0].GetGauge().GetValue(); (got > 0) != some {
					l.t.Errorf("%s it wants %v contacts", when, got)
				}
				return
			}
			l.t.Errorf("%s there is no figure", when)
		}
		l.command("s", surveys.Launch)
		l.advance(5 * time.Minute)
		wants("while the channel is full", true)
		l.command("s", surveys.Pause)
		l.advance(5 * time.Minute)
		wants("while it is paused", false)
	})
}
