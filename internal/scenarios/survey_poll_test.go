package scenarios_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// expectCounts waits until a survey has these counts by status, and checks that they stay.
func (w *world) expectCounts(survey, want string) {
	w.Helper()
	got := ""
	w.until(survey+" has "+want, func() bool { got = fmt.Sprint(w.statusCounts(survey)); return got == want })
	if w.virtual {
		w.pass(5 * time.Minute)
	} else {
		w.waitIdle()
	}
	if got = fmt.Sprint(w.statusCounts(survey)); got != want {
		w.Fatalf("%s had %s; now %s", survey, want, got)
	}
}

// Scenario 77: without a target a batch of respondents is kept active; each one that
// ends is replaced.
func TestSurveyPoll_BatchesAreKeptFull(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("calls", 100, fields{"type": "labcall"})
		ids := w.launchSurvey("s", byIVR("", fields{"batch_size": 10}), 0, 21)
		w.expectCounts("s", "map[active:10 pending:11]")
		w.report(callKey("s", ids[0], 1), "all", "failed")
		w.expectCounts("s", "map[active:10 failed:1 pending:10]")
		w.sent(11)
	})
}

// Scenario 78: a cut-off of 50 makes 50 respondents active if all are expected to
// complete, and 500 if one in ten is; never more than the limit per minute allows.
func TestSurveyPoll_CutoffAndExpectedRateSetTheActive(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("texts", 2000)
		w.launchSurvey("all", bySMS("", fields{"cutoff": 50}), 0, 600)
		w.expectCounts("all", "map[active:50 pending:550]")
		w.launchSurvey("tenth", bySMS("", fields{"cutoff": 50, "initial_success_rate": 0.1, "limit_per_minute": 300}), 1000, 600)
		w.pass(30 * time.Second)
		if got := fmt.Sprint(w.statusCounts("tenth")); got != "map[active:300 pending:300]" {
			t.Errorf("in the first minute: %s", got)
		}
		w.expectCounts("tenth", "map[active:500 pending:100]")
		w.launchSurvey("few", bySMS("", fields{"cutoff": 50, "initial_success_rate": 0.1}), 2000, 20)
		w.expectCounts("few", "map[active:20]")
	})
}

// Scenario 78: as a survey approaches its target, the observed rate counts.
func TestSurveyPoll_ObservedRateCountsNearTheTarget(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("calls", 100, fields{"type": "labcall"})
		ids := w.launchSurvey("s", byIVR("", fields{"cutoff": 50}), 0, 200)
		w.expectCounts("s", "map[active:50 pending:150]")
		for i, id := range ids[:50] {
			if i < 30 {
				w.reportDisposition("s", id, fields{"disposition": "completed", "serial": 1})
			}
			w.report(callKey("s", id, 1), "all", map[bool]string{true: "completed", false: "failed"}[i < 30])
		}
		// 20 are missing; c = 0.6, s = 0.6: 20 / (0.4 * 1 + 0.6 * 0.6) = 26.3
		w.expectCounts("s", "map[active:26 completed:30 failed:20 pending:124]")
	})
}

// Scenario 79: with the cut-off reached no respondent is started, and no started
// respondent is interrupted; when none is active the survey is done.
func TestSurveyPoll_ReachedCutoffStartsAndInterruptsNobody(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("calls", 100, fields{"type": "labcall"})
		ids := w.launchSurvey("s", byIVR("", fields{"cutoff": 2, "initial_success_rate": 0.5}), 0, 20)
		w.expectCounts("s", "map[active:4 pending:16]")
		for _, id := range ids[:2] {
			w.reportDisposition("s", id, fields{"disposition": "completed"})
			w.finish(callKey("s", id, 1))
		}
		w.expectCounts("s", "map[active:2 completed:2 pending:16]")
		if got := w.surveyState("s"); got != "running" {
			t.Errorf("with some active it is %s", got)
		}
		w.report(callKey("s", ids[2], 1), "all", "busy")
		w.reportDisposition("s", ids[3], fields{"disposition": "completed"})
		w.until("the survey is done", func() bool { return w.surveyState("s") == "done reached" })
		w.expectCounts("s", "map[canceled:16 completed:3 failed:1]")
		w.sent(4)
	})
}

func quotas(young, old int) fields {
	return fields{"quotas": []fields{
		{"where": fields{"age": fields{"in": []string{"young"}}}, "quota": young},
		{"where": fields{"age": fields{"in": []string{"old"}}}, "quota": old},
	}}
}

// Scenario 79: one full bucket of two stops starts of its own respondents only; with
// both full it is as with a cut-off.
func TestSurveyPoll_FullBucketStopsItsOwnStarts(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("calls", 100, fields{"type": "labcall"})
		w.createSurvey("s", byIVR("", quotas(1, 2)), 0, 0)
		var list []fields
		for i := range 12 {
			list = append(list, fields{"phone": number(i), "attributes": fields{"age": []string{"young", "old"}[i%2]}})
		}
		ids := w.addRespondents("s", list...)
		w.surveyCommand("s", "launch")
		w.expectCounts("s", "map[active:3 pending:9]") // young, old, young
		w.reportDisposition("s", ids[0], fields{"disposition": "completed"})
		w.report(callKey("s", ids[2], 1), "all", "failed")
		w.until("the young are not needed", func() bool { return w.statusCounts("s")["rejected"] == 4 })
		if got := w.surveyState("s"); got != "running" {
			t.Errorf("with one bucket full of two it is %s", got)
		}
		w.until("another of the old is started", func() bool { return w.sends(callKey("s", ids[3], 1)) == 1 })
		w.reportDisposition("s", ids[1], fields{"disposition": "completed"})
		w.reportDisposition("s", ids[3], fields{"disposition": "completed"})
		w.waitIdle()
		for _, id := range ids[4:] { // respondents started meanwhile are not interrupted
			if w.respondentState("s", id) == "active, queued" {
				w.report(callKey("s", id, 1), "all", "failed")
			}
		}
		w.until("the survey is done", func() bool { return w.surveyState("s") == "done reached" })
		if slices.ContainsFunc(w.lab.sentKeys(), func(k string) bool { return k == callKey("s", ids[4], 1) }) {
			t.Error("a respondent of the full bucket was called")
		}
	})
}

// Scenario 80: the expected rate of completion is zero; the survey begins nevertheless,
// with as many respondents as a survey without a target.
func TestSurveyPoll_ExpectedRateOfZeroStartsNevertheless(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("texts", 100)
		zero := fields{"initial_success_rate": 0, "cutoff": 5, "batch_size": 30}
		ids := w.launchSurvey("s", bySMS("", zero), 0, 60)
		w.expectCounts("s", "map[active:30 pending:30]")
		// With one of five completed and no other respondent done: 4 / (0.2 * 1).
		w.reportDisposition("s", ids[0], fields{"disposition": "completed"})
		w.pass(time.Minute)
		if got := w.statusCounts("s"); got["active"] != 29 {
			t.Errorf("after the first has completed: %v", got)
		}
		a := w.want(200, "GET", "/v1/surveys/s/stats", nil).Body
		if a["success_rate"] != 1.0 || a["counted"] != 1.0 {
			t.Errorf("stats: %v", a)
		}
		w.expectNoFaults()
	})
}
