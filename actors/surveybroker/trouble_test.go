package surveybroker_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"weir"
	"weir/ops"
	"weir/surveys"
)

// With no survey to run, one statement every five seconds is enough, in
// addition to renewals of the role.
func TestIdleCostsLittle(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		s := l.survey("s", byText("10m"), 2)
		l.step("s", surveys.Launch)
		l.step("s", surveys.Pause)
		l.pass(time.Minute)
		calls := 0
		l.store.change(func() {
			l.store.fault = func(op string) error {
				if !strings.HasSuffix(op, "Role") {
					calls++
				}
				return nil
			}
		})
		l.pass(10 * time.Minute)
		if calls > 130 {
			l.t.Errorf("%d statements in 10 minutes; survey %s", calls, l.store.surveyNow(s.ID).State)
		}
	})
}

// A survey whose definition cannot be run any more is logged once and holds up
// no other survey. Nor does a survey whose channel is gone.
func TestBrokenSurveysHoldNobodyUp(t *testing.T) {
	var log bytes.Buffer
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)))
		l := newLab(t, quiet)
		l.log, l.every = slog.NewTextHandler(&log, nil), 2*time.Minute
		l.start("one")
		defer func() { l.sys.Close() }()
		l.store.addChannel("texts", "text", 5)
		other := l.store.addChannel("more", "text", 5)
		d := byText("10m")
		d.Modes[surveys.SMS] = surveys.ModeSpec{Channel: "more", Retries: "10m"}
		broken, good, gone := l.survey("broken", byText("10m"), 10), l.survey("good", byText("10m"), 10), l.survey("gone", d, 10)
		for _, name := range []string{"broken", "good", "gone"} {
			l.step(name, surveys.Launch)
		}
		l.pass(30 * time.Second)
		l.store.change(func() {
			l.store.surveys[broken.ID].Definition.Schedule.TimeZone = "Nowhere/Land"
			l.store.surveys[broken.ID].Version++
			l.store.channels[other.ID].Deleted = true
		})
		l.pass(3 * time.Hour)
		if st := l.store.surveyNow(good.ID); st.State != surveys.Done || len(l.store.notices) > 0 {
			l.t.Errorf("the good one is %s; %d notices are left", st.State, len(l.store.notices))
		}
		if n := strings.Count(log.String(), "definition cannot be run"); n != 1 {
			l.t.Errorf("logged %d times", n)
		}
		if strings.Contains(log.String(), "+1555") {
			l.t.Error("the log holds a phone number")
		}
		// When it can be run again, it continues.
		l.store.change(func() {
			l.store.surveys[broken.ID].Definition.Schedule.TimeZone = "UTC"
			l.store.surveys[broken.ID].Version++
		})
		l.pass(30 * time.Hour)
		if st := l.store.surveyNow(broken.ID); st.State != surveys.Done {
			l.t.Errorf("the broken one is %s, %v", st.State, l.by(broken.ID))
		}
		l.step("gone", surveys.Stop)
		l.pass(time.Minute)
		if st := l.store.surveyNow(gone.ID); st.State != surveys.Done {
			l.t.Errorf("the one without a channel is %s, %v", st.State, l.by(gone.ID))
		}
	})
}

// A survey whose rules panic is skipped for a while, says so, and holds up no other.
func TestSurveyWhoseRulesPanic(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		texts, more := l.store.addChannel("texts", "text", 5), l.store.addChannel("more", "text", 5)
		d := byText("10m")
		d.Modes[surveys.SMS] = surveys.ModeSpec{Channel: "more", Retries: "10m"}
		broken, good := l.survey("broken", byText("10m"), 10), l.survey("good", d, 10)
		l.store.change(func() { l.store.channels[texts.ID].Type = "panic" })
		for _, s := range []surveys.Survey{broken, good} {
			l.store.change(func() { l.store.surveys[s.ID].State = surveys.Running })
			l.sys.Changed(s.ID)
		}
		l.pass(5 * time.Second)
		why, err := l.sys.Why(l.t.Context(), l.store.surveyNow(broken.ID))
		if err != nil || why.Code != ops.WhyBroken || !strings.HasPrefix(why.Text, "its rules failed; the survey is tried again at ") {
			l.t.Errorf("the survey waits because of %q: %s (%v)", why.Code, why.Text, err)
		}
		l.store.change(func() {
			if l.lines.most[more.ID] == 0 {
				l.t.Error("the other survey contacts no respondent")
			}
			l.store.channels[texts.ID].Type = "text"
		})
		l.pass(3 * time.Hour)
		if st := l.store.surveyNow(broken.ID); st.State != surveys.Done {
			l.t.Errorf("after the fault the survey is %s", st.State)
		}
	})
}

// While the store fails nothing is lost. A write that was made although the
// store reported an error is not made twice.
func TestTheStoreFails(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		s := l.survey("s", byText("10m"), 20)
		l.step("s", surveys.Launch)
		n := 0
		down := &weir.Error{Code: weir.CodeUnavailable, Message: "down"}
		l.store.change(func() {
			l.store.fault = func(string) error {
				if n++; n%4 == 0 {
					return down
				}
				return nil
			}
			l.store.doubt = func() error {
				if n%3 == 0 {
					return down
				}
				return nil
			}
		})
		l.pass(6 * time.Hour)
		l.store.change(func() { l.store.fault, l.store.doubt = nil, nil })
		l.pass(3 * time.Hour)
		if st := l.store.surveyNow(s.ID); st.State != surveys.Done || len(l.store.contacts) != 40 {
			l.t.Errorf("%s, %d contacts, %v", st.State, len(l.store.contacts), l.by(s.ID))
		}
	})
}

// One process runs the surveys; a standby takes over when the first is gone.
func TestStandby(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 1)
		s := l.survey("s", byText("10m"), 100)
		first := l.sys
		l.pass(time.Second)
		second := l.start("two")
		defer second.Close()
		l.step("s", surveys.Launch)
		l.pass(20 * time.Second)
		if l.store.role.owner != "one" || l.by(s.ID)[surveys.Active] == 0 {
			l.t.Errorf("%q has the role; %v", l.store.role.owner, l.by(s.ID))
		}
		if err := first.Drain(l.t.Context()); err != nil {
			l.t.Error(err)
		}
		before := 0
		l.store.change(func() { before = len(l.store.contacts) })
		l.pass(10 * time.Minute)
		if l.store.role.owner != "two" || len(l.store.contacts) == before {
			l.t.Errorf("%q has the role; %d contacts, %d before", l.store.role.owner, len(l.store.contacts), before)
		}
		if err := first.Drain(l.t.Context()); err != nil {
			l.t.Error(err)
		}
	})
}

// A process that must end while it acquires the role releases it, so that other
// processes need not wait until it expires.
func TestARoleTakenAtTheEndIsGivenBack(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.sys.Close()
		l.store.change(func() { l.store.role.owner = "" })
		l.store.answerLate = func(ctx context.Context) {
			<-ctx.Done()
			time.Sleep(time.Millisecond)
		}
		last := l.start("last")
		l.pass(time.Second)
		if err := last.Drain(l.t.Context()); err != nil {
			l.t.Error(err)
		}
		if l.store.role.epoch == 0 || l.store.role.owner != "" {
			l.t.Errorf("%q has the role, taken %d times", l.store.role.owner, l.store.role.epoch)
		}
	})
}

// A process that lost the role without noticing writes nothing.
func TestTheRoleIsLost(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		s := l.survey("s", byText("10m"), 10)
		l.pass(time.Minute)
		l.store.change(func() { l.store.role.owner, l.store.role.until = "somebody else", time.Now().Add(time.Hour) })
		l.pass(time.Minute)
		l.step("s", surveys.Launch)
		l.pass(30 * time.Minute)
		if got := l.by(s.ID)[surveys.Pending]; got != 10 {
			l.t.Errorf("%d are pending", got)
		}
		l.pass(time.Hour)
		if got := l.by(s.ID)[surveys.Pending]; got != 0 {
			l.t.Errorf("after the other is gone %d are pending", got)
		}
	})
}

func TestMetricsAreGood(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		l.survey("s", byText("10m"), 10)
		l.step("s", surveys.Launch)
		l.pass(5 * time.Minute)
		problems, err := testutil.GatherAndLint(l.reg)
		if err != nil || len(problems) > 0 {
			l.t.Error(problems, err)
		}
		for _, name := range []string{"weir_survey_respondents_started_total", "weir_survey_credit_contacts", "weir_survey_round_duration_seconds", "weir_survey_broker_leading"} {
			if n, err := testutil.GatherAndCount(l.reg, name); err != nil || n != 1 {
				l.t.Errorf("%s: %d, %v", name, n, err)
			}
		}
	})
}

// The backlog metric is above zero while a survey lacks only room: its window
// is open and the channel works. Otherwise it is zero.
func TestWhatASurveyWantsIsTold(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 2)
		l.survey("s", byText("10m"), 500)
		wants := func(when string, some bool) {
			l.t.Helper()
			families, err := l.reg.Gather()
			if err != nil {
				l.t.Fatal(err)
			}
			for _, f := range families {
				if f.GetName() != "weir_survey_wanted_contacts" {
					continue
				}
				if got := f.GetMetric()[0].GetGauge().GetValue(); (got > 0) != some {
					l.t.Errorf("%s it wants %v contacts", when, got)
				}
				return
			}
			l.t.Errorf("%s there is no figure", when)
		}
		l.step("s", surveys.Launch)
		l.pass(5 * time.Minute)
		wants("while the channel is full", true)
		l.step("s", surveys.Pause)
		l.pass(5 * time.Minute)
		wants("while it is paused", false)
	})
}
