package surveys_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// expectCounts waits until a survey has these counts by status, and checks that they stay.
func expectCounts(w *world.World, survey, want string) {
	w.Helper()
	got := ""
	w.Until(survey+" has "+want, func() bool { got = fmt.Sprint(w.StatusCounts(survey)); return got == want })
	if w.Virtual {
		w.Pass(5 * time.Minute)
	} else {
		w.WaitIdle()
	}
	if got = fmt.Sprint(w.StatusCounts(survey)); got != want {
		w.Fatalf("%s had %s; now %s", survey, want, got)
	}
}

// Scenario 77: without a target a batch of respondents is kept active; each one that
// ends is replaced.
func TestSurveyPoll_BatchesAreKeptFull(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("calls", 100, world.Fields{"type": "labcall"})
		ids := w.LaunchSurvey("s", world.ByIVR("", world.Fields{"batch_size": 10}), 0, 21)
		expectCounts(w, "s", "map[active:10 pending:11]")
		w.Report(world.CallKey("s", ids[0], 1), "all", "failed")
		expectCounts(w, "s", "map[active:10 failed:1 pending:10]")
		w.Sent(11)
	})
}

// Scenario 78: a cut-off of 50 makes 50 respondents active if all are expected to
// complete, and 500 if one in ten is; never more than the limit per minute allows.
func TestSurveyPoll_CutoffAndExpectedRateSetTheActive(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 2000)
		w.LaunchSurvey("all", world.BySMS("", world.Fields{"cutoff": 50}), 0, 600)
		expectCounts(w, "all", "map[active:50 pending:550]")
		w.LaunchSurvey("tenth", world.BySMS("", world.Fields{"cutoff": 50, "initial_success_rate": 0.1, "limit_per_minute": 300}), 1000, 600)
		w.Pass(30 * time.Second)
		if got := fmt.Sprint(w.StatusCounts("tenth")); got != "map[active:300 pending:300]" {
			t.Errorf("in the first minute: %s", got)
		}
		expectCounts(w, "tenth", "map[active:500 pending:100]")
		w.LaunchSurvey("few", world.BySMS("", world.Fields{"cutoff": 50, "initial_success_rate": 0.1}), 2000, 20)
		expectCounts(w, "few", "map[active:20]")
	})
}

// Scenario 78: as a survey approaches its target, the observed rate counts.
func TestSurveyPoll_ObservedRateCountsNearTheTarget(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("calls", 100, world.Fields{"type": "labcall"})
		ids := w.LaunchSurvey("s", world.ByIVR("", world.Fields{"cutoff": 50}), 0, 200)
		expectCounts(w, "s", "map[active:50 pending:150]")
		for i, id := range ids[:50] {
			if i < 30 {
				w.ReportDisposition("s", id, world.Fields{"disposition": "completed", "serial": 1})
			}
			w.Report(world.CallKey("s", id, 1), "all", map[bool]string{true: "completed", false: "failed"}[i < 30])
		}
		// 20 are missing; c = 0.6, s = 0.6: 20 / (0.4 * 1 + 0.6 * 0.6) = 26.3
		expectCounts(w, "s", "map[active:26 completed:30 failed:20 pending:124]")
	})
}

// Scenario 79: with the cut-off reached no respondent is started, and no started
// respondent is interrupted; when none is active the survey is done.
func TestSurveyPoll_ReachedCutoffStartsAndInterruptsNobody(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("calls", 100, world.Fields{"type": "labcall"})
		ids := w.LaunchSurvey("s", world.ByIVR("", world.Fields{"cutoff": 2, "initial_success_rate": 0.5}), 0, 20)
		expectCounts(w, "s", "map[active:4 pending:16]")
		for _, id := range ids[:2] {
			w.ReportDisposition("s", id, world.Fields{"disposition": "completed"})
			w.Finish(world.CallKey("s", id, 1))
		}
		expectCounts(w, "s", "map[active:2 completed:2 pending:16]")
		if got := w.SurveyState("s"); got != "running" {
			t.Errorf("with some active it is %s", got)
		}
		w.Report(world.CallKey("s", ids[2], 1), "all", "busy")
		w.ReportDisposition("s", ids[3], world.Fields{"disposition": "completed"})
		w.Until("the survey is done", func() bool { return w.SurveyState("s") == "done reached" })
		expectCounts(w, "s", "map[canceled:16 completed:3 failed:1]")
		w.Sent(4)
	})
}

func quotas(young, old int) world.Fields {
	return world.Fields{"quotas": []world.Fields{
		{"where": world.Fields{"age": world.Fields{"in": []string{"young"}}}, "quota": young},
		{"where": world.Fields{"age": world.Fields{"in": []string{"old"}}}, "quota": old},
	}}
}

// Scenario 79: one full bucket of two stops starts of its own respondents only; with
// both full it is as with a cut-off.
func TestSurveyPoll_FullBucketStopsItsOwnStarts(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("calls", 100, world.Fields{"type": "labcall"})
		w.CreateSurvey("s", world.ByIVR("", quotas(1, 2)), 0, 0)
		var list []world.Fields
		for i := range 12 {
			list = append(list, world.Fields{"phone": world.Number(i), "attributes": world.Fields{"age": []string{"young", "old"}[i%2]}})
		}
		ids := w.AddRespondents("s", list...)
		w.SurveyCommand("s", "launch")
		expectCounts(w, "s", "map[active:3 pending:9]") // young, old, young
		w.ReportDisposition("s", ids[0], world.Fields{"disposition": "completed"})
		w.Report(world.CallKey("s", ids[2], 1), "all", "failed")
		w.Until("the young are not needed", func() bool { return w.StatusCounts("s")["rejected"] == 4 })
		if got := w.SurveyState("s"); got != "running" {
			t.Errorf("with one bucket full of two it is %s", got)
		}
		w.Until("another of the old is started", func() bool { return w.Sends(world.CallKey("s", ids[3], 1)) == 1 })
		w.ReportDisposition("s", ids[1], world.Fields{"disposition": "completed"})
		w.ReportDisposition("s", ids[3], world.Fields{"disposition": "completed"})
		w.WaitIdle()
		for _, id := range ids[4:] { // respondents started meanwhile are not interrupted
			if w.RespondentState("s", id) == "active, queued" {
				w.Report(world.CallKey("s", id, 1), "all", "failed")
			}
		}
		w.Until("the survey is done", func() bool { return w.SurveyState("s") == "done reached" })
		if slices.ContainsFunc(w.Lab.SentKeys(), func(k string) bool { return k == world.CallKey("s", ids[4], 1) }) {
			t.Error("a respondent of the full bucket was called")
		}
	})
}

// Scenario 80: the expected rate of completion is zero; the survey begins nevertheless,
// with as many respondents as a survey without a target.
func TestSurveyPoll_ExpectedRateOfZeroStartsNevertheless(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 100)
		zero := world.Fields{"initial_success_rate": 0, "cutoff": 5, "batch_size": 30}
		ids := w.LaunchSurvey("s", world.BySMS("", zero), 0, 60)
		expectCounts(w, "s", "map[active:30 pending:30]")
		// With one of five completed and no other respondent done: 4 / (0.2 * 1).
		w.ReportDisposition("s", ids[0], world.Fields{"disposition": "completed"})
		w.Pass(time.Minute)
		if got := w.StatusCounts("s"); got["active"] != 29 {
			t.Errorf("after the first has completed: %v", got)
		}
		a := w.Want(200, "GET", "/v1/surveys/s/stats", nil).Body
		if a["success_rate"] != 1.0 || a["counted"] != 1.0 {
			t.Errorf("stats: %v", a)
		}
		w.ExpectNoFaults()
	})
}
