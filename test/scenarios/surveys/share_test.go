package surveys_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// Scenario 52: respondents who are done are not contacted any more: queued contacts are
// canceled without asking the provider; contacts in flight keep their slots until they
// end at the provider, even if their end is never reported.
func TestSurveyShare_FinishedRespondentsAreNotContacted(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("calls", 2, world.Fields{"type": "labcall"})
		ids := w.LaunchSurvey("s", world.ByIVR("10m"), 0, 3)
		w.Sent(2)
		w.Until("the third waits", func() bool { return waitingContacts(w, "s") == 1 })
		w.Pass(time.Second)
		out, waiting := w.Respondent("s", ids[0])["contact"].(string), w.Respondent("s", ids[2])["contact"].(string)
		w.AtOnce(func() {
			w.ReportDisposition("s", ids[2], world.Fields{"disposition": "completed"})
			w.ReportDisposition("s", ids[0], world.Fields{"disposition": "completed"})
		})
		if got := w.Done(waiting); got != "canceled" {
			t.Errorf("what waited ended as %s", got)
		}
		if asked, back := w.Lab.AskedKeys(), w.Lab.CalledBack(); len(asked)+len(back) > 0 {
			t.Errorf("the provider was asked about %v and for %v", asked, back)
		}
		w.ExpectInFlight("calls", 2) // the calls are still going on
		w.Until("the provider is asked about the silent", func() bool { return len(w.Lab.AskedKeys()) > 0 })
		w.ExpectInFlight("calls", 2)
		attempt := w.Lab.Attempt(world.CallKey("s", ids[0], 1))
		w.Lab.End(attempt, "all", "completed")
		w.Lab.Behave(func(l *world.Lab) { delete(l.Open, attempt.ID) }) // the provider has forgotten the call
		if got := w.Done(out); got != "lost" {
			t.Errorf("what was out ended as %s", got)
		}
		w.ExpectInFlight("calls", 1)
		if got := w.RespondentState("s", ids[0]); got != "completed, completed" {
			t.Errorf("the respondent is %s", got)
		}
		w.Sent(2)
		w.ExpectNoFaults()
	})
}

// enqueued lists when the contacts of a survey were enqueued, with their attempt numbers.
func enqueued(w *world.World, survey string) (all []time.Time, attempts []int) {
	w.Helper()
	cursor := ""
	for {
		a := w.Want(200, "GET", "/v1/contacts?limit=1000&survey="+survey+cursor, nil).Body
		for _, c := range a["contacts"].([]any) {
			c := c.(map[string]any)
			all = append(all, world.Instant(w, c, "queued_at"))
			n := 0
			_, _ = fmt.Sscan(fmt.Sprint(c["labels"].(map[string]any)["attempt"]), &n)
			attempts = append(attempts, n)
		}
		next, more := a["next_cursor"].(string)
		if !more {
			return all, attempts
		}
		cursor = "&cursor=" + next
	}
}

// Scenario 81: the limit per minute holds for every minute, however rarely the
// survey is polled and whatever crashes. Retries and starts share it, and a
// survey that has reached its limit does not delay other surveys.
func TestSurveyShare_LimitPerMinuteHoldsForEveryMinute(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		const limit, people = 6, 60
		w.Timing.Every = 10 * time.Minute
		w.Restart()
		w.Channel("texts", 200)
		w.EndContacts(func(world.LabAttempt) (time.Duration, string) { return time.Second, "no_answer" })
		w.LaunchSurvey("slow", world.BySMS("2m", world.Fields{"limit_per_minute": limit}), 0, people)
		w.Pass(30 * time.Second)
		w.LaunchSurvey("quick", world.BySMS("", world.Fields{"fallback_delay": "1m"}), 1000, 100)
		w.Within(2*time.Minute, "the other survey", func() {
			w.Until("it is over", func() bool { return w.SurveyState("quick") == "done exhausted" })
		})
		w.Pass(7 * time.Minute)
		w.Restart()
		w.Until("the slow one is over", func() bool { return w.SurveyState("slow") == "done exhausted" })
		all, attempts := enqueued(w, "slow")
		if len(all) != 2*people {
			t.Fatalf("%d contacts, want %d", len(all), 2*people)
		}
		sorted := slices.SortedFunc(slices.Values(all), time.Time.Compare)
		for i := limit; i < len(sorted); i++ {
			if d := sorted[i].Sub(sorted[i-limit]); d < time.Minute {
				t.Fatalf("%d contacts within %v", limit+1, d)
			}
		}
		if took, most := sorted[len(sorted)-1].Sub(sorted[0]), 2*people/limit+2; took > time.Duration(most)*time.Minute {
			t.Errorf("it took %v, want at most %d minutes", took, most)
		}
		// While both wait, neither starves the other: from the fifth to the tenth
		// minute there are both retries and starts.
		kinds := map[int]int{}
		for i, at := range all {
			if d := at.Sub(sorted[0]); d >= 5*time.Minute && d < 10*time.Minute {
				kinds[attempts[i]]++
			}
		}
		if kinds[1] < 10 || kinds[2] < 10 {
			t.Errorf("starts and retries in five minutes: %v", kinds)
		}
		w.ExpectNoFaults()
	})
}

// Scenario 85: a contact that no store accepts, because one respondent's attributes make
// it too large, delays neither other respondents nor other surveys.
func TestSurveyShare_ContactTooLargeToStoreDelaysNoOther(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("calls", 5, world.Fields{"type": "labcall"})
		w.Channel("texts", 5)
		w.EndContacts(func(world.LabAttempt) (time.Duration, string) { return time.Second, "no_answer" })
		content := world.Fields{"call": world.Fields{"twiml": "<Response><Say>" + strings.Repeat("{{name}} ", 5000) + "</Say></Response>"}}
		w.CreateSurvey("s", world.ByIVR("", world.Fields{"questionnaires": world.Fields{"q": world.Fields{"ivr": []world.Fields{content}}}}), 0, 0)
		ids := w.AddRespondents("s", world.Fields{"phone": world.Number(0), "attributes": world.Fields{"name": strings.Repeat("x", 500)}}, world.Fields{"phone": world.Number(1), "attributes": world.Fields{"name": "Ana"}})
		w.SurveyCommand("s", "launch")
		w.LaunchSurvey("other", world.BySMS("", world.Fields{"fallback_delay": "1m"}), 100, 10)
		w.Pass(5 * time.Minute)
		if got := w.RespondentState("s", ids[1]); got != "failed, failed" {
			t.Errorf("the other respondent is %s", got)
		}
		if got := w.SurveyState("other"); got != "done exhausted" {
			t.Errorf("the other survey is %s", got)
		}
		if got := w.Respondent("s", ids[0])["status"]; got != "pending" {
			t.Errorf("the poison is %v", got)
		}
		if n := w.Metric("weir_survey_broker_panics_total") + w.Metric("weir_survey_rounds_failed_total"); n > 0 {
			t.Errorf("%v panics and failed rounds", n)
		}
	})
}
