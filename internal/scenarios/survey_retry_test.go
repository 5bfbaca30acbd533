package scenarios_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// sentMinutes returns when the contacts whose keys begin with prefix were sent, in minutes
// since an instant.
func (w *world) sentMinutes(since time.Time, prefix string) string {
	w.lab.mu.Lock()
	defer w.lab.mu.Unlock()
	var out []string
	for _, s := range w.lab.sends {
		if strings.HasPrefix(s.key, prefix) {
			out = append(out, fmt.Sprint(int(s.at.Sub(since).Round(time.Minute).Minutes())))
		}
	}
	return strings.Join(out, " ")
}

// Scenario 82: the steps after an attempt, and their times: the retry schedule; then the
// fallback after its delay, with its own retry schedule; then the end.
func TestSurveyRetry_FollowsTheScheduleThenTheFallback(t *testing.T) {
	both := surveyBody([]string{"ivr", "sms"}, fields{"fallback_delay": "45m"})
	retrySchedule(both, "ivr", "10m")
	retrySchedule(both, "sms", "5m")
	for name, c := range map[string]struct {
		body         fields
		calls, texts string // minutes at which attempts are made
		end          int    // minutes after which the respondent is given up
	}{
		"two retries":             {bySMS("10m 2h"), "", "0 10 130", 250},
		"none":                    {bySMS(""), "", "0", 120},
		"fallback":                {both, "0 10", "55 60", 65},
		"no fallback delay given": {surveyBody([]string{"ivr", "sms"}), "0", "120", 240},
	} {
		t.Run(name, func(t *testing.T) {
			onSurveysFrom(t, monday(9, 0), func(w *world) {
				// A message is in flight for a moment, a call for a minute.
				w.endContacts(func(a labAttempt) (time.Duration, string) {
					if a.channel == "texts" {
						return 2 * time.Second, "completed" // delivered, but not answered
					}
					return time.Minute, "no_answer"
				})
				w.channel("texts", 5)
				w.channel("calls", 5, fields{"type": "labcall"})
				begun := time.Now()
				id := w.launchSurvey("s", c.body, 0, 1)[0]
				w.pass(time.Duration(c.end)*time.Minute - 30*time.Second)
				if got := w.respondent("s", id)["status"]; got != "active" {
					t.Errorf("half a minute before its end the respondent is %v", got)
				}
				w.pass(time.Minute)
				if got := w.respondentState("s", id); got != "failed, unresponsive" {
					t.Errorf("at the end the respondent is %s", got)
				}
				if calls, texts := w.sentMinutes(begun, callURL("s/"+id)), w.sentMinutes(begun, "s "+id); calls != c.calls || texts != c.texts {
					t.Errorf("called in minutes %q, want %q; written to in %q, want %q", calls, c.calls, texts, c.texts)
				}
				if got := w.surveyState("s"); got != "done exhausted" {
					t.Errorf("the survey is %s", got)
				}
				w.expectNoFaults()
			})
		})
	}
}

// Scenario 82: a contact that is still queued or in flight when its time is over
// consumes nothing: no attempt, no retry, no change of mode.
func TestSurveyRetry_WhatIsUnderWayConsumesNothing(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("calls", 1, fields{"type": "labcall"})
		w.channel("texts", 5)
		body := surveyBody([]string{"ivr", "sms"}, fields{"fallback_delay": "20m"})
		retrySchedule(body, "ivr", "10m")
		ids := w.launchSurvey("s", body, 0, 2)
		w.sent(1)
		w.pass(90 * time.Minute) // the first call does not end, so the second waits
		w.sent(1)
		for i, made := range []int{0, 0} { // the outcome of the call is still unknown
			if n, serial := w.attemptsMade("s", ids[i], "ivr"), w.respondent("s", ids[i])["serial"]; n != made || serial != 1.0 {
				t.Errorf("respondent %d: %d attempts, contact number %v", i, n, serial)
			}
		}
		w.report(callKey("s", ids[0], 1), "all", "busy")
		w.sent(2)
		w.until("the call counts", func() bool { return w.attemptsMade("s", ids[0], "ivr") == 1 })
		if w.sends(callKey("s", ids[1], 1)) != 1 {
			t.Errorf("the second was not called: %v", w.lab.sentKeys())
		}
		w.expectNoFaults()
	})
}

// Scenario 83: the delay to the next attempt counts from when the provider accepted
// the contact, and the attempt is moved into the schedule.
func TestSurveyRetry_DelaysCountFromTheDispatch(t *testing.T) {
	onSurveysFrom(t, monday(17, 0), func(w *world) {
		w.channel("texts", 1)
		w.accept("texts", sms("other"))
		w.speaks("other")
		id := w.launchSurvey("s", bySMS("10m 45m", fields{"schedule": daily("UTC", "09:00", "18:00")}), 0, 1)[0]
		w.until("the contact waits", func() bool { return w.waitingContacts("s") == 1 })
		w.pass(7 * time.Minute)
		w.finish("other")
		first := w.speaks(textKey("s", id, 1))
		w.finish(first.key)
		second := w.speaks(textKey("s", id, 2))
		if late := second.at.Sub(first.at) - 10*time.Minute; late < 0 || late > 2*time.Second {
			t.Errorf("the second attempt came %v after the first", second.at.Sub(first.at))
		}
		w.finish(second.key)
		w.waitIdle()
		// 45 minutes after 17:17 is past the end of the day.
		w.skipTo(monday(32, 59))
		third := w.speaks(textKey("s", id, 3))
		if want := monday(33, 0); third.at.Before(want) || third.at.After(want.Add(2*time.Second)) {
			t.Errorf("the third attempt came at %v, want %v", third.at, want)
		}
		w.expectNoFaults()
	})
}

// Scenario 84: respondents complete at the instant at which their retries are due:
// each is completed, nothing crashes, and a retry that was created first is canceled
// or was already in flight.
func TestSurveyRetry_CompletionAtTheInstantOfARetryCounts(t *testing.T) {
	onSurveys(t, func(w *world) {
		const people = 60
		w.channel("texts", people)
		retrySchedule := "2s"
		if !w.virtual {
			retrySchedule = "10s" // a busy machine must observe all of them before the delay ends
		}
		ids := w.launchSurvey("s", bySMS(retrySchedule), 0, people)
		w.sent(people)
		for _, id := range ids {
			w.finish(textKey("s", id, 1))
		}
		due := time.Time{}
		w.until("all are due at an instant", func() bool {
			for _, id := range ids {
				at := instant(w, w.respondent("s", id), "due_at")
				if at.IsZero() || w.respondent("s", id)["disposition"] != "contacted" {
					return false
				}
				if at.After(due) {
					due = at
				}
			}
			return true
		})
		w.accept("texts", many("other", people)...) // no slot is free, so that due retries wait
		w.sent(2 * people)
		var wg sync.WaitGroup
		wait := time.Until(due)
		if wait > time.Minute {
			t.Fatalf("the next attempt was made before all could be seen to wait for it; the next step is in %v", wait)
		}
		for i, id := range ids {
			if i%3 == 2 {
				continue
			}
			wg.Add(1)
			time.AfterFunc(wait-time.Duration(i%3)*time.Millisecond, func() {
				defer wg.Done()
				w.reportDisposition("s", id, fields{"disposition": "completed"})
			})
		}
		wg.Wait()
		w.until("a retry waits", func() bool { return w.waitingContacts("s") > 0 })
		for i := 2; i < people; i += 3 {
			w.reportDisposition("s", ids[i], fields{"disposition": "completed"})
		}
		w.until("the survey is done", func() bool { return w.surveyState("s") == "done exhausted" })
		if got := fmt.Sprint(w.statusCounts("s")); got != fmt.Sprintf("map[completed:%d]", people) {
			t.Errorf("its respondents are %s", got)
		}
		before := len(w.lab.sentKeys())
		if w.virtual {
			w.pass(time.Hour)
		}
		w.sent(before)
		if n := w.waitingContacts("s"); n > 0 {
			t.Errorf("%d contacts of completed respondents wait", n)
		}
		if w.outcomes("texts")["canceled"] == 0 {
			t.Error("no contact waited that could be canceled")
		}
		w.expectNoFaults()
	})
}

// Scenario 85: respondents whose contacts cannot be created are delayed for longer each
// time, and no other respondent waits for them.
func TestSurveyRetry_PoisonDelaysNoOther(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("texts", 5)
		w.endContacts(func(labAttempt) (time.Duration, string) { return time.Second, "completed" })
		// The name makes the text longer than any channel may send.
		body := bySMS("", fields{"fallback_delay": "1m", "questionnaires": fields{"q": fields{"sms": []fields{{"messages": []string{"{{respondent}} " + strings.Repeat("{{name}} ", 4)}}}}}})
		w.createSurvey("s", body, 0, 0)
		var poison, good []fields
		for i := range 30 {
			poison = append(poison, fields{"phone": number(100 + i), "attributes": fields{"name": strings.Repeat("x", 450)}})
			good = append(good, fields{"phone": number(200 + i), "attributes": fields{"name": "Ana"}})
		}
		bad := w.addRespondents("s", poison...)
		fine := w.addRespondents("s", good...)
		w.surveyCommand("s", "launch")
		w.within(10*time.Minute, "everybody else", func() {
			w.until("everybody else is over", func() bool {
				return !slices.ContainsFunc(fine, func(id string) bool { return w.respondent("s", id)["status"] != "failed" })
			})
		})
		stumbles := w.metric("weir_survey_respondents_stumbled_total")
		w.pass(time.Hour)
		if n := w.metric("weir_survey_respondents_stumbled_total") - stumbles; n > 5*30 {
			t.Errorf("they were tried %v times in an hour", n)
		}
		for _, id := range bad {
			if got := w.respondent("s", id)["status"]; got != "pending" {
				t.Fatalf("%s is %s", id, got)
			}
		}
		if n := w.metric("weir_survey_broker_panics_total") + w.metric("weir_survey_rounds_failed_total"); n > 0 {
			t.Errorf("%v panics and failed rounds", n)
		}
	})
}
