package surveys_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// sentMinutes returns when the contacts whose keys begin with prefix were sent, in minutes
// since an instant.
func sentMinutes(w *world.World, since time.Time, prefix string) string {
	w.Lab.Mu.Lock()
	defer w.Lab.Mu.Unlock()
	var out []string
	for _, s := range w.Lab.Sends {
		if strings.HasPrefix(s.Key, prefix) {
			out = append(out, fmt.Sprint(int(s.At.Sub(since).Round(time.Minute).Minutes())))
		}
	}
	return strings.Join(out, " ")
}

// Scenario 82: the steps after an attempt, and their times: the retry schedule; then the
// fallback after its delay, with its own retry schedule; then the end.
func TestSurveyRetry_FollowsTheScheduleThenTheFallback(t *testing.T) {
	both := world.SurveyBody([]string{"ivr", "sms"}, world.Fields{"fallback_delay": "45m"})
	world.RetrySchedule(both, "ivr", "10m")
	world.RetrySchedule(both, "sms", "5m")
	for name, c := range map[string]struct {
		body         world.Fields
		calls, texts string // minutes at which attempts are made
		end          int    // minutes after which the respondent is given up
	}{
		"two retries":             {world.BySMS("10m 2h"), "", "0 10 130", 250},
		"none":                    {world.BySMS(""), "", "0", 120},
		"fallback":                {both, "0 10", "55 60", 65},
		"no fallback delay given": {world.SurveyBody([]string{"ivr", "sms"}), "0", "120", 240},
	} {
		t.Run(name, func(t *testing.T) {
			world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
				// A message is in flight for a moment, a call for a minute.
				w.EndContacts(func(a world.LabAttempt) (time.Duration, string) {
					if a.Channel == "texts" {
						return 2 * time.Second, "completed" // delivered, but not answered
					}
					return time.Minute, "no_answer"
				})
				w.Channel("texts", 5)
				w.Channel("calls", 5, world.Fields{"type": "labcall"})
				begun := time.Now()
				id := w.LaunchSurvey("s", c.body, 0, 1)[0]
				w.Pass(time.Duration(c.end)*time.Minute - 30*time.Second)
				if got := w.Respondent("s", id)["status"]; got != "active" {
					t.Errorf("half a minute before its end the respondent is %v", got)
				}
				w.Pass(time.Minute)
				if got := w.RespondentState("s", id); got != "failed, unresponsive" {
					t.Errorf("at the end the respondent is %s", got)
				}
				if calls, texts := sentMinutes(w, begun, world.CallURL("s/"+id)), sentMinutes(w, begun, "s "+id); calls != c.calls || texts != c.texts {
					t.Errorf("called in minutes %q, want %q; written to in %q, want %q", calls, c.calls, texts, c.texts)
				}
				if got := w.SurveyState("s"); got != "done exhausted" {
					t.Errorf("the survey is %s", got)
				}
				w.ExpectNoFaults()
			})
		})
	}
}

// Scenario 82: a contact that is still queued or in flight when its time is over
// consumes nothing: no attempt, no retry, no change of mode.
func TestSurveyRetry_WhatIsUnderWayConsumesNothing(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("calls", 1, world.Fields{"type": "labcall"})
		w.Channel("texts", 5)
		body := world.SurveyBody([]string{"ivr", "sms"}, world.Fields{"fallback_delay": "20m"})
		world.RetrySchedule(body, "ivr", "10m")
		ids := w.LaunchSurvey("s", body, 0, 2)
		w.Sent(1)
		w.Pass(90 * time.Minute) // the first call does not end, so the second waits
		w.Sent(1)
		for i, made := range []int{0, 0} { // the outcome of the call is still unknown
			if n, serial := w.AttemptsMade("s", ids[i], "ivr"), w.Respondent("s", ids[i])["serial"]; n != made || serial != 1.0 {
				t.Errorf("respondent %d: %d attempts, contact number %v", i, n, serial)
			}
		}
		w.Report(world.CallKey("s", ids[0], 1), "all", "busy")
		w.Sent(2)
		w.Until("the call counts", func() bool { return w.AttemptsMade("s", ids[0], "ivr") == 1 })
		if w.Sends(world.CallKey("s", ids[1], 1)) != 1 {
			t.Errorf("the second was not called: %v", w.Lab.SentKeys())
		}
		w.ExpectNoFaults()
	})
}

// Scenario 83: the delay to the next attempt counts from when the provider accepted
// the contact, and the attempt is moved into the schedule.
func TestSurveyRetry_DelaysCountFromTheDispatch(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(17, 0), func(w *world.World) {
		w.Channel("texts", 1)
		w.Accept("texts", world.SMS("other"))
		w.Speaks("other")
		id := w.LaunchSurvey("s", world.BySMS("10m 45m", world.Fields{"schedule": world.Daily("UTC", "09:00", "18:00")}), 0, 1)[0]
		w.Until("the contact waits", func() bool { return waitingContacts(w, "s") == 1 })
		w.Pass(7 * time.Minute)
		w.Finish("other")
		first := w.Speaks(world.TextKey("s", id, 1))
		w.Finish(first.Key)
		second := w.Speaks(world.TextKey("s", id, 2))
		if late := second.At.Sub(first.At) - 10*time.Minute; late < 0 || late > 2*time.Second {
			t.Errorf("the second attempt came %v after the first", second.At.Sub(first.At))
		}
		w.Finish(second.Key)
		w.WaitIdle()
		// 45 minutes after 17:17 is past the end of the day.
		w.SkipTo(world.Monday(32, 59))
		third := w.Speaks(world.TextKey("s", id, 3))
		if want := world.Monday(33, 0); third.At.Before(want) || third.At.After(want.Add(2*time.Second)) {
			t.Errorf("the third attempt came at %v, want %v", third.At, want)
		}
		w.ExpectNoFaults()
	})
}

// Scenario 84: respondents complete at the instant at which their retries are due:
// each is completed, nothing crashes, and a retry that was created first is canceled
// or was already in flight.
func TestSurveyRetry_CompletionAtTheInstantOfARetryCounts(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		const people = 60
		w.Channel("texts", people)
		retrySchedule := "2s"
		if !w.Virtual {
			retrySchedule = "10s" // a busy machine must observe all of them before the delay ends
		}
		ids := w.LaunchSurvey("s", world.BySMS(retrySchedule), 0, people)
		w.Sent(people)
		for _, id := range ids {
			w.Finish(world.TextKey("s", id, 1))
		}
		due := time.Time{}
		w.Until("all are due at an instant", func() bool {
			for _, id := range ids {
				at := world.Instant(w, w.Respondent("s", id), "due_at")
				if at.IsZero() || w.Respondent("s", id)["disposition"] != "contacted" {
					return false
				}
				if at.After(due) {
					due = at
				}
			}
			return true
		})
		w.Accept("texts", world.Many("other", people)...) // no slot is free, so that due retries wait
		w.Sent(2 * people)
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
				w.ReportDisposition("s", id, world.Fields{"disposition": "completed"})
			})
		}
		wg.Wait()
		w.Until("a retry waits", func() bool { return waitingContacts(w, "s") > 0 })
		for i := 2; i < people; i += 3 {
			w.ReportDisposition("s", ids[i], world.Fields{"disposition": "completed"})
		}
		w.Until("the survey is done", func() bool { return w.SurveyState("s") == "done exhausted" })
		if got := fmt.Sprint(w.StatusCounts("s")); got != fmt.Sprintf("map[completed:%d]", people) {
			t.Errorf("its respondents are %s", got)
		}
		before := len(w.Lab.SentKeys())
		if w.Virtual {
			w.Pass(time.Hour)
		}
		w.Sent(before)
		if n := waitingContacts(w, "s"); n > 0 {
			t.Errorf("%d contacts of completed respondents wait", n)
		}
		if w.Outcomes("texts")["canceled"] == 0 {
			t.Error("no contact waited that could be canceled")
		}
		w.ExpectNoFaults()
	})
}

// Scenario 85: respondents whose contacts cannot be created are delayed for longer each
// time, and no other respondent waits for them.
func TestSurveyRetry_PoisonDelaysNoOther(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 5)
		w.EndContacts(func(world.LabAttempt) (time.Duration, string) { return time.Second, "completed" })
		// The name makes the text longer than any channel may send.
		body := world.BySMS("", world.Fields{"fallback_delay": "1m", "questionnaires": world.Fields{"q": world.Fields{"sms": []world.Fields{{"messages": []string{"{{respondent}} " + strings.Repeat("{{name}} ", 4)}}}}}})
		w.CreateSurvey("s", body, 0, 0)
		var poison, good []world.Fields
		for i := range 30 {
			poison = append(poison, world.Fields{"phone": world.Number(100 + i), "attributes": world.Fields{"name": strings.Repeat("x", 450)}})
			good = append(good, world.Fields{"phone": world.Number(200 + i), "attributes": world.Fields{"name": "Ana"}})
		}
		bad := w.AddRespondents("s", poison...)
		fine := w.AddRespondents("s", good...)
		w.SurveyCommand("s", "launch")
		w.Within(10*time.Minute, "everybody else", func() {
			w.Until("everybody else is over", func() bool {
				return !slices.ContainsFunc(fine, func(id string) bool { return w.Respondent("s", id)["status"] != "failed" })
			})
		})
		stumbles := w.Metric("weir_survey_respondents_stumbled_total")
		w.Pass(time.Hour)
		if n := w.Metric("weir_survey_respondents_stumbled_total") - stumbles; n > 5*30 {
			t.Errorf("they were tried %v times in an hour", n)
		}
		for _, id := range bad {
			if got := w.Respondent("s", id)["status"]; got != "pending" {
				t.Fatalf("%s is %s", id, got)
			}
		}
		if n := w.Metric("weir_survey_broker_panics_total") + w.Metric("weir_survey_rounds_failed_total"); n > 0 {
			t.Errorf("%v panics and failed rounds", n)
		}
	})
}
