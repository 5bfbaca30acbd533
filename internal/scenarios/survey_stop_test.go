package scenarios_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/channels"
)

// Scenarios 68 and 70: a stopped survey cancels its queued contacts, asks the provider to
// cancel those in flight, cancels every respondent and starts and retries none. It is
// done after the last respondent, and a crash in the middle changes none of that.
func TestSurveyStop_CancelsEveryContactAndRespondent(t *testing.T) {
	for _, crashes := range []bool{false, true} {
		t.Run(fmt.Sprintf("crash %v", crashes), func(t *testing.T) {
			onSurveys(t, func(w *world) {
				const people, out = 600, 20
				w.wantEvents()
				w.channel("calls", out, fields{"type": "labcall"})
				ids := w.launchSurvey("s", byIVR("1s"), 0, people)
				w.sent(out)
				// One respondent is due for a retry, one has completed.
				w.report(callKey("s", ids[0], 1), "all", "no_answer")
				w.reportDisposition("s", ids[1], fields{"disposition": "completed"})
				w.finish(callKey("s", ids[1], 1))
				w.sent(out + 2)
				w.inFlight("calls", out)
				w.surveyCommand("s", "stop")
				before := len(w.lab.sentKeys())
				if crashes {
					w.restart()
				}
				w.until("the survey is done", func() bool { return w.surveyState("s") == "done stopped" })
				if got := fmt.Sprint(w.statusCounts("s")); got != fmt.Sprintf("map[canceled:%d completed:1]", people-1) {
					t.Errorf("its respondents are %s", got)
				}
				w.inFlight("calls", 0)
				if n := w.figure("calls", "queued"); n != 0 {
					t.Errorf("%d are queued", n)
				}
				back := map[string]bool{}
				for _, key := range w.lab.calledBack() {
					back[key] = true
				}
				if len(back) != out {
					t.Errorf("%d were called back at the provider, want %d", len(back), out)
				}
				if w.virtual {
					w.pass(10 * time.Minute)
				} else {
					w.wait(time.Now().Add(2 * time.Second)) // the retry would be due now
				}
				if n := len(w.lab.sentKeys()) - before; n > 0 {
					t.Errorf("%d were called after the stop", n)
				}
				w.expectNoFaults()
				w.expectContactEvents("calls")
			})
		})
	}
}

// Scenario 70: while contacts of a stopped survey cannot be canceled, no respondent is
// retried or started; the contacts end when canceling works again.
func TestSurveyStop_NoContactWhileASurveyStops(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("calls", 2, fields{"type": "labcall"})
		ids := w.launchSurvey("s", byIVR("10m"), 0, 700)
		w.sent(2)
		w.lab.behave(func(l *lab) { l.onCancel = failingCancel })
		w.report(callKey("s", ids[0], 1), "all", "busy") // a retry is due in ten minutes
		w.sent(3)
		w.surveyCommand("s", "stop")
		w.pass(time.Hour)
		w.sent(3)
		if got := fmt.Sprint(w.statusCounts("s"), w.surveyState("s")); got != "map[canceled:700]done stopped" && got != "map[canceled:700] done stopped" {
			t.Errorf("it is %s", got)
		}
		// The contacts keep their slots until they end at the provider.
		w.expectInFlight("calls", 2)
		w.lab.behave(func(l *lab) { l.onCancel = nil })
		w.inFlight("calls", 0)
	})
}

// Scenario 72: of two surveys on a channel one is paused: only the other's contacts are
// dispatched, without delay; the paused survey later continues where it was.
func TestSurveyStop_PausedSurveyDelaysNoOther(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 4)
		a := w.launchSurvey("a", bySMS(""), 0, 20)
		w.launchSurvey("b", bySMS(""), 100, 20)
		w.sent(4)
		w.until("both surveys wait", func() bool {
			return w.statusCounts("a")["active"] > 2 && w.statusCounts("b")["active"] > 1 || w.figure("texts", "queued") > 0
		})
		w.surveyCommand("a", "pause")
		w.until("waiting contacts are canceled", func() bool { return w.waitingContacts("a") == 0 })
		begin := len(w.lab.sentKeys())
		for n := range 12 { // one by one
			w.finish(w.lab.outKeys()[0])
			w.until("another is sent", func() bool { return len(w.lab.sentKeys()) > begin+n })
		}
		w.waitIdle()
		for _, key := range w.lab.sentKeys()[begin:] {
			if !strings.HasPrefix(key, "b ") {
				t.Errorf("%s was sent while its survey was paused", key)
			}
		}
		// Reports are accepted meanwhile.
		w.reportDisposition("a", a[0], fields{"disposition": "completed"})
		w.surveyCommand("a", "resume")
		w.until("both go on", func() bool {
			w.finish(w.lab.outKeys()...)
			return w.surveyState("b") != "running" || w.statusCounts("b")["pending"] == 0 && w.statusCounts("a")["pending"] == 0
		})
		for _, id := range a {
			w.until(id+" is sent", func() bool {
				w.finish(w.lab.outKeys()...)
				return w.sends(textKey("a", id, 1)) == 1 || id == a[0]
			})
		}
		w.expectNoDuplicates()
		w.expectNoFaults()
	})
}

// waitingContacts counts the queued contacts of a survey.
func (w *world) waitingContacts(survey string) int {
	w.Helper()
	n := 0
	for _, c := range w.want(200, "GET", "/v1/contacts?limit=1000&state=queued&survey="+survey, nil).Body["contacts"].([]any) {
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
	onSurveysFrom(t, monday(17, 0), func(w *world) {
		w.channel("calls", 2, fields{"type": "labcall"})
		schedule := daily("UTC", "09:00", "18:00")
		schedule["end_date"] = "2026-01-12"
		ids := w.launchSurvey("s", byIVR("3d", fields{"schedule": schedule}), 0, 4)
		w.sent(2)
		w.wait(monday(18, 4))
		if got := w.surveyState("s"); got != "running" {
			t.Errorf("before its grace is over it is %s", got)
		}
		w.reportDisposition("s", ids[0], fields{"disposition": "completed"})
		w.finish(callKey("s", ids[0], 1))
		w.wait(monday(18, 5).Add(2 * time.Second))
		if got := w.surveyState("s"); got != "done window_over" {
			t.Errorf("after its grace it is %s", got)
		}
		if got := fmt.Sprint(w.statusCounts("s")); got != "map[canceled:2 completed:1 failed:1]" {
			t.Errorf("its respondents are %s", got)
		}
		w.sent(2)
		w.inFlight("calls", 0)
		w.expectNoFaults()
	})
}

// failingCancel is the onCancel of a provider that fails every cancel.
func failingCancel(context.Context, labAttempt) channels.Cancellation {
	return channels.Cancellation{Failed: true, Reason: "unreachable"}
}
