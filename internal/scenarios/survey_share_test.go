package scenarios_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Scenario 52: respondents who are done are not contacted any more: queued contacts are
// canceled without asking the provider; contacts in flight keep their slots until they
// end at the provider, even if their end is never reported.
func TestSurveyShare_FinishedRespondentsAreNotContacted(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("calls", 2, fields{"type": "labcall"})
		ids := w.launchSurvey("s", byIVR("10m"), 0, 3)
		w.sent(2)
		w.until("the third waits", func() bool { return w.waitingContacts("s") == 1 })
		w.pass(time.Second)
		out, waiting := w.respondent("s", ids[0])["contact"].(string), w.respondent("s", ids[2])["contact"].(string)
		w.atOnce(func() {
			w.reportDisposition("s", ids[2], fields{"disposition": "completed"})
			w.reportDisposition("s", ids[0], fields{"disposition": "completed"})
		})
		if got := w.done(waiting); got != "canceled" {
			t.Errorf("what waited ended as %s", got)
		}
		if asked, back := w.lab.askedKeys(), w.lab.calledBack(); len(asked)+len(back) > 0 {
			t.Errorf("the provider was asked about %v and for %v", asked, back)
		}
		w.expectInFlight("calls", 2) // the calls are still going on
		w.until("the provider is asked about the silent", func() bool { return len(w.lab.askedKeys()) > 0 })
		w.expectInFlight("calls", 2)
		attempt := w.lab.attempt(callKey("s", ids[0], 1))
		w.lab.end(attempt, "all", "completed")
		w.lab.behave(func(l *lab) { delete(l.open, attempt.id) }) // the provider has forgotten the call
		if got := w.done(out); got != "lost" {
			t.Errorf("what was out ended as %s", got)
		}
		w.expectInFlight("calls", 1)
		if got := w.respondentState("s", ids[0]); got != "completed, completed" {
			t.Errorf("the respondent is %s", got)
		}
		w.sent(2)
		w.expectNoFaults()
	})
}

// enqueued lists when the contacts of a survey were enqueued, with their attempt numbers.
func (w *world) enqueued(survey string) (all []time.Time, attempts []int) {
	w.Helper()
	cursor := ""
	for {
		a := w.want(200, "GET", "/v1/contacts?limit=1000&survey="+survey+cursor, nil).Body
		for _, c := range a["contacts"].([]any) {
			c := c.(map[string]any)
			all = append(all, instant(w, c, "queued_at"))
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
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		const limit, people = 6, 60
		w.timing.every = 10 * time.Minute
		w.restart()
		w.channel("texts", 200)
		w.endContacts(func(labAttempt) (time.Duration, string) { return time.Second, "no_answer" })
		w.launchSurvey("slow", bySMS("2m", fields{"limit_per_minute": limit}), 0, people)
		w.pass(30 * time.Second)
		w.launchSurvey("quick", bySMS("", fields{"fallback_delay": "1m"}), 1000, 100)
		w.within(2*time.Minute, "the other survey", func() {
			w.until("it is over", func() bool { return w.surveyState("quick") == "done exhausted" })
		})
		w.pass(7 * time.Minute)
		w.restart()
		w.until("the slow one is over", func() bool { return w.surveyState("slow") == "done exhausted" })
		all, attempts := w.enqueued("slow")
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
		w.expectNoFaults()
	})
}

// Scenario 85: a contact that no store accepts, because one respondent's attributes make
// it too large, delays neither other respondents nor other surveys.
func TestSurveyShare_ContactTooLargeToStoreDelaysNoOther(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("calls", 5, fields{"type": "labcall"})
		w.channel("texts", 5)
		w.endContacts(func(labAttempt) (time.Duration, string) { return time.Second, "no_answer" })
		content := fields{"call": fields{"twiml": "<Response><Say>" + strings.Repeat("{{name}} ", 5000) + "</Say></Response>"}}
		w.createSurvey("s", byIVR("", fields{"questionnaires": fields{"q": fields{"ivr": []fields{content}}}}), 0, 0)
		ids := w.addRespondents("s", fields{"phone": number(0), "attributes": fields{"name": strings.Repeat("x", 500)}}, fields{"phone": number(1), "attributes": fields{"name": "Ana"}})
		w.surveyCommand("s", "launch")
		w.launchSurvey("other", bySMS("", fields{"fallback_delay": "1m"}), 100, 10)
		w.pass(5 * time.Minute)
		if got := w.respondentState("s", ids[1]); got != "failed, failed" {
			t.Errorf("the other respondent is %s", got)
		}
		if got := w.surveyState("other"); got != "done exhausted" {
			t.Errorf("the other survey is %s", got)
		}
		if got := w.respondent("s", ids[0])["status"]; got != "pending" {
			t.Errorf("the poison is %v", got)
		}
		if n := w.metric("weir_survey_broker_panics_total") + w.metric("weir_survey_rounds_failed_total"); n > 0 {
			t.Errorf("%v panics and failed rounds", n)
		}
	})
}
