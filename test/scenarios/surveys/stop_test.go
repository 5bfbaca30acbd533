package surveys_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/channels"
	"weir/test/scenarios/world"
)

// Scenarios 68 and 70: a stopped survey cancels its queued contacts, asks the provider to
// cancel those in flight, cancels every respondent and starts and retries none. It is
// done after the last respondent, and a crash in the middle changes none of that.
func TestSurveyStop_CancelsEveryContactAndRespondent(t *testing.T) {
	for _, crashes := range []bool{false, true} {
		t.Run(fmt.Sprintf("crash %v", crashes), func(t *testing.T) {
			world.OnSurveys(t, func(w *world.World) {
				const people, out = 600, 20
				w.WantEvents()
				w.Channel("calls", out, world.Fields{"type": "labcall"})
				ids := w.LaunchSurvey("s", world.ByIVR("1s"), 0, people)
				w.Sent(out)
				// One respondent is due for a retry, one has completed.
				w.Report(world.CallKey("s", ids[0], 1), "all", "no_answer")
				w.ReportDisposition("s", ids[1], world.Fields{"disposition": "completed"})
				w.Finish(world.CallKey("s", ids[1], 1))
				w.Sent(out + 2)
				w.InFlight("calls", out)
				w.SurveyCommand("s", "stop")
				before := len(w.Lab.SentKeys())
				if crashes {
					w.Restart()
				}
				w.Until("the survey is done", func() bool { return w.SurveyState("s") == "done stopped" })
				if got := fmt.Sprint(w.StatusCounts("s")); got != fmt.Sprintf("map[canceled:%d completed:1]", people-1) {
					t.Errorf("its respondents are %s", got)
				}
				w.InFlight("calls", 0)
				if n := w.Figure("calls", "queued"); n != 0 {
					t.Errorf("%d are queued", n)
				}
				back := map[string]bool{}
				for _, key := range w.Lab.CalledBack() {
					back[key] = true
				}
				if len(back) != out {
					t.Errorf("%d were called back at the provider, want %d", len(back), out)
				}
				if w.Virtual {
					w.Pass(10 * time.Minute)
				} else {
					w.Wait(time.Now().Add(2 * time.Second)) // the retry would be due now
				}
				if n := len(w.Lab.SentKeys()) - before; n > 0 {
					t.Errorf("%d were called after the stop", n)
				}
				w.ExpectNoFaults()
				w.ExpectContactEvents("calls")
			})
		})
	}
}

// Scenario 70: while contacts of a stopped survey cannot be canceled, no respondent is
// retried or started; the contacts end when canceling works again.
func TestSurveyStop_NoContactWhileASurveyStops(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("calls", 2, world.Fields{"type": "labcall"})
		ids := w.LaunchSurvey("s", world.ByIVR("10m"), 0, 700)
		w.Sent(2)
		w.Lab.Behave(func(l *world.Lab) { l.OnCancel = failingCancel })
		w.Report(world.CallKey("s", ids[0], 1), "all", "busy") // a retry is due in ten minutes
		w.Sent(3)
		w.SurveyCommand("s", "stop")
		w.Pass(time.Hour)
		w.Sent(3)
		if got := fmt.Sprint(w.StatusCounts("s"), w.SurveyState("s")); got != "map[canceled:700]done stopped" && got != "map[canceled:700] done stopped" {
			t.Errorf("it is %s", got)
		}
		// The contacts keep their slots until they end at the provider.
		w.ExpectInFlight("calls", 2)
		w.Lab.Behave(func(l *world.Lab) { l.OnCancel = nil })
		w.InFlight("calls", 0)
	})
}

// Scenario 72: of two surveys on a channel one is paused: only the other's contacts are
// dispatched, without delay; the paused survey later continues where it was.
func TestSurveyStop_PausedSurveyDelaysNoOther(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 4)
		a := w.LaunchSurvey("a", world.BySMS(""), 0, 20)
		w.LaunchSurvey("b", world.BySMS(""), 100, 20)
		w.Sent(4)
		w.Until("both surveys wait", func() bool {
			return w.StatusCounts("a")["active"] > 2 && w.StatusCounts("b")["active"] > 1 || w.Figure("texts", "queued") > 0
		})
		w.SurveyCommand("a", "pause")
		w.Until("waiting contacts are canceled", func() bool { return waitingContacts(w, "a") == 0 })
		begin := len(w.Lab.SentKeys())
		for n := range 12 { // one by one
			w.Finish(w.Lab.OutKeys()[0])
			w.Until("another is sent", func() bool { return len(w.Lab.SentKeys()) > begin+n })
		}
		w.WaitIdle()
		for _, key := range w.Lab.SentKeys()[begin:] {
			if !strings.HasPrefix(key, "b ") {
				t.Errorf("%s was sent while its survey was paused", key)
			}
		}
		// Reports are accepted meanwhile.
		w.ReportDisposition("a", a[0], world.Fields{"disposition": "completed"})
		w.SurveyCommand("a", "resume")
		w.Until("both go on", func() bool {
			w.Finish(w.Lab.OutKeys()...)
			return w.SurveyState("b") != "running" || w.StatusCounts("b")["pending"] == 0 && w.StatusCounts("a")["pending"] == 0
		})
		for _, id := range a {
			w.Until(id+" is sent", func() bool {
				w.Finish(w.Lab.OutKeys()...)
				return w.Sends(world.TextKey("a", id, 1)) == 1 || id == a[0]
			})
		}
		w.ExpectNoDuplicates()
		w.ExpectNoFaults()
	})
}

// waitingContacts counts the queued contacts of a survey.
func waitingContacts(w *world.World, survey string) int {
	w.Helper()
	n := 0
	for _, c := range w.Want(200, "GET", "/v1/contacts?limit=1000&state=queued&survey="+survey, nil).Body["contacts"].([]any) {
		if c.(map[string]any)["state"] == "queued" {
			n++
		}
	}
	return n
}

// Scenario 87: a survey is stopped five minutes after its last window has closed;
// until then respondents in a call may still answer. A respondent who waited for a
// slot when the window closed has failed.
func TestSurveyStop_FollowsTheLastWindowByFiveMinutes(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(17, 0), func(w *world.World) {
		w.Channel("calls", 2, world.Fields{"type": "labcall"})
		schedule := world.Daily("UTC", "09:00", "18:00")
		schedule["end_date"] = "2026-01-12"
		ids := w.LaunchSurvey("s", world.ByIVR("3d", world.Fields{"schedule": schedule}), 0, 4)
		w.Sent(2)
		w.Wait(world.Monday(18, 4))
		if got := w.SurveyState("s"); got != "running" {
			t.Errorf("before its grace is over it is %s", got)
		}
		w.ReportDisposition("s", ids[0], world.Fields{"disposition": "completed"})
		w.Finish(world.CallKey("s", ids[0], 1))
		w.Wait(world.Monday(18, 5).Add(2 * time.Second))
		if got := w.SurveyState("s"); got != "done window_over" {
			t.Errorf("after its grace it is %s", got)
		}
		if got := fmt.Sprint(w.StatusCounts("s")); got != "map[canceled:2 completed:1 failed:1]" {
			t.Errorf("its respondents are %s", got)
		}
		w.Sent(2)
		w.InFlight("calls", 0)
		w.ExpectNoFaults()
	})
}

// failingCancel is the onCancel of a provider that fails every cancel.
func failingCancel(context.Context, world.LabAttempt) channels.Cancellation {
	return channels.Cancellation{Failed: true, Reason: "unreachable"}
}
