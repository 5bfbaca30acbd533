package scenarios_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/channels"
)

// surveyBecause waits until a survey and its figures name this reason for contacting
// no respondents.
func (w *world) surveyBecause(name, code, sentence string) {
	w.Helper()
	var v map[string]any
	w.until(name+" waits because of "+code, func() bool {
		v = w.want(200, "GET", "/v1/surveys/"+name, nil).Body
		return v["why_code"] == code
	})
	if why := fmt.Sprint(v["why"]); !strings.Contains(why, sentence) {
		w.Errorf("%s waits because of %q, want %q", name, why, sentence)
	}
	w.namesInstants(v)
	stats := w.want(200, "GET", "/v1/surveys/"+name+"/stats", nil).Body
	w.namesInstants(stats)
	if got := stats["why_code"]; got != code {
		w.Errorf("by its figures %s waits because of %v, want %s", name, got, code)
	}
}

// personBecause waits until a respondent waits for this reason.
func (w *world) personBecause(survey, id, code, sentence string) {
	w.Helper()
	w.until(id+" waits because of "+code, func() bool { return w.respondent(survey, id)["why_code"] == code })
	r := w.respondent(survey, id)
	w.namesInstants(r)
	if why := fmt.Sprint(r["why"]); !strings.Contains(why, sentence) {
		w.Errorf("respondent %s waits because of %q, want %q", id, why, sentence)
	}
}

// Scenario 117: a survey that contacts no respondents names the reason: a draft, a pause,
// its channel, no free slots, its batch, its limit per minute, its target.
func TestSurveyWhy_SurveysNameTheirReason(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 2)
		ids := w.createSurvey("s", bySMS("", fields{"cutoff": 3}), 0, 12)
		w.surveyBecause("s", "draft", "launch it")
		w.pause("texts", true)
		w.surveyCommand("s", "launch")
		w.surveyBecause("s", "channel_paused", "channel texts is paused")
		w.personBecause("s", ids[0], "channel_paused", "channel texts is paused")
		w.pause("texts", false)
		w.sent(2)
		w.surveyBecause("s", "batch", "pacing limit reached: 3 of 3 respondents in progress")
		w.surveyCommand("s", "pause")
		w.surveyBecause("s", "survey_paused", "paused")
		w.personBecause("s", ids[5], "survey_paused", "paused")
		w.surveyCommand("s", "resume")

		w.launchSurvey("more", bySMS(""), 100, 9)
		w.surveyBecause("more", "capacity", "channel texts: 2 of 2 slots in use; ")
		w.channel("calls", 5, fields{"type": "labcall"})
		w.launchSurvey("few", byIVR("", fields{"limit_per_minute": 1}), 200, 2)
		w.surveyBecause("few", "rate_limit", "the limit of 1 a minute is reached; the next is contacted at ")
		w.channel("links", 5)
		long := strings.Repeat("long ", 3)
		large := surveyBody([]string{"mobileweb"}, fields{"questionnaires": fields{"q": fields{"mobileweb": []fields{{"messages": []string{long, long, long}}}}}})
		w.launchSurvey("large", large, 300, 1)
		w.until("all of them are started", func() bool { return w.statusCounts("large")["active"] == 1 })
		w.surveyBecause("large", "active", "all respondents started; 1 in progress")
		w.capacity("links", 2)
		w.createSurvey("larger", large, 400, 1)
		w.surveyCommand("larger", "launch")
		w.surveyBecause("larger", "too_large", "a contact takes 3 slots and channel links has 2 for it")
		target := w.launchSurvey("target", byIVR("", fields{"cutoff": 1, "initial_success_rate": 0.5}), 500, 5)
		w.until("two are active", func() bool { return w.statusCounts("target")["active"] == 2 })
		w.reportDisposition("target", target[0], fields{"disposition": "completed"})
		w.surveyBecause("target", "target_reached", "target reached (1 completed); 1 in progress")
		w.expectNoFaults()
	})
}

// Scenario 117: the survey also names a reason if none of its respondents can be started.
func TestSurveyWhy_AllRespondentsAreDelayed(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 5)
		texts := []fields{{"messages": []string{strings.Repeat("{{name}}", 4)}}}
		w.createSurvey("s", bySMS("", fields{"questionnaires": fields{"q": fields{"sms": texts}}}), 0, 0)
		id := w.addRespondents("s", fields{"phone": number(0), "attributes": fields{"name": strings.Repeat("x", 500)}})[0]
		w.surveyCommand("s", "launch")
		w.personBecause("s", id, "aside", "its contact could not be built")
		w.surveyBecause("s", "aside", "every pending respondent is delayed")
	})
}

// Scenario 117: a survey reports that its channel is being deleted, is gone or has become
// one of another type, that it is stopping, and that its definition cannot be run.
func TestSurveyWhy_SurveysNameWhatEnded(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("calls", 2, fields{"type": "labcall"})
		w.channel("texts", 2)
		ids := w.launchSurvey("s", byIVR("10m"), 0, 10)
		other := w.launchSurvey("other", bySMS(""), 100, 10)
		w.sent(4)
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		defer release()
		w.lab.behave(func(l *lab) {
			l.onCancel = func(context.Context, labAttempt) channels.Cancellation {
				<-held
				return channels.Cancellation{Canceled: true}
			}
		})
		both := func(code, sentence string) {
			t.Helper()
			w.surveyBecause("s", code, sentence)
			w.personBecause("s", ids[9], code, sentence)
		}
		w.want(202, "DELETE", "/v1/channels/calls?cancel=true", nil)
		both("channel_deleting", "channel calls is being deleted")
		w.surveyCommand("other", "stop")
		w.surveyBecause("other", "survey_stopping", "its respondents are being canceled")
		w.personBecause("other", other[9], "survey_stopping", "its respondents are being canceled")
		release()
		w.until("the other is done", func() bool { return w.surveyState("other") == "done stopped" })
		both("channel_gone", "channel calls does not exist any more")
		w.channel("calls", 2)
		both("channel_unfit", `ivr needs a channel for calls; channel "calls" is of type lab`)

		survey, err := w.store.Survey(w.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		survey.Definition.Arms = nil // as another version of Weir might allow it
		if _, err := w.store.UpdateSurvey(w.Context(), survey); err != nil {
			t.Fatal(err)
		}
		w.personBecause("s", ids[9], "survey_broken", "the definition cannot be run: ")
		if got := w.want(200, "GET", "/v1/surveys/s", nil).Body["why_code"]; got != "survey_broken" { // such a survey has no figures
			t.Errorf("it waits because of %v", got)
		}
		w.expectNoFaults()
	})
}

// Scenario 118: near the end of a window a survey names it as the reason; while the
// schedule is closed, respondents of a full quota name the quota instead.
func TestSurveyWhy_NamesTheEndOfItsWindow(t *testing.T) {
	onSurveysFrom(t, monday(17, 50), func(w *world) {
		w.channel("texts", 20)
		day := fields{"schedule": daily("UTC", "09:00", "18:00")}
		w.accept("texts", many("out", 20)...)
		w.sent(20)
		w.channel("calls", 50, fields{"type": "labcall"})
		w.createSurvey("s", byIVR("", quotas(1, 2), day), 0, 0)
		var list []fields
		for i := range 6 {
			list = append(list, fields{"phone": number(200 + i), "attributes": fields{"age": []string{"young", "old"}[i%2]}})
		}
		ids := w.addRespondents("s", list...)
		w.surveyCommand("s", "launch")
		w.until("three are active", func() bool { return w.statusCounts("s")["active"] == 3 })
		w.pass(time.Until(monday(17, 59).Add(55 * time.Second)))
		w.launchSurvey("many", bySMS("", day), 0, 60)
		w.surveyBecause("many", "window", "the window closes at "+stamp(monday(18, 0))+", before channel texts could dispatch another contact")
		w.pass(6 * time.Second)
		w.surveyBecause("many", "window", "the schedule opens at 2026-01-13 09:00:00 UTC")
		w.reportDisposition("s", ids[0], fields{"disposition": "completed"})
		w.personBecause("s", ids[4], "quota_full", "its quota is full")
		w.personBecause("s", ids[5], "window", "the schedule opens at 2026-01-13 09:00:00 UTC")
		w.expectNoFaults()
	})
}

// Scenario 118: a survey and its respondents wait for the schedule in its zone,
// for retries, for contacts, for an answer.
func TestSurveyWhy_RespondentsNameTheirReason(t *testing.T) {
	onSurveysFrom(t, monday(7, 0), func(w *world) {
		w.channel("texts", 2)
		ids := w.launchSurvey("s", bySMS("30m", fields{"schedule": daily("America/Mexico_City", "09:00", "18:00"), "fallback_delay": "1h"}), 0, 4)
		w.surveyBecause("s", "window", "the schedule opens at 2026-01-12 15:00:00 UTC (Mon 09:00 America/Mexico_City)")
		w.personBecause("s", ids[0], "window", "the schedule opens at 2026-01-12 15:00:00 UTC (Mon 09:00 America/Mexico_City)")
		w.pass(time.Until(monday(15, 0).Add(time.Second)))
		w.sent(2)
		w.personBecause("s", ids[0], "report", "its contact: awaiting delivery report")
		w.until("the third waits", func() bool { return w.respondent("s", ids[2])["contact"] != nil })
		w.personBecause("s", ids[2], "capacity", "its contact: channel texts: 2 of 2 slots in use")
		w.personBecause("s", ids[3], "capacity", "channel texts: 2 of 2 slots in use")
		w.report(textKey("s", ids[0], 1), "all", "no_answer")
		w.personBecause("s", ids[0], "retry", "attempt 2 by sms is due at 2026-01-12 15:30:00 UTC (Mon 09:30 America/Mexico_City)")
		w.finish(textKey("s", ids[1], 1))
		w.sent(4)
		w.finish(textKey("s", ids[2], 1), textKey("s", ids[3], 1))
		w.pass(31 * time.Minute)
		w.sent(6)
		w.finish(textKey("s", ids[1], 2))
		w.finish(textKey("s", ids[0], 2))
		w.personBecause("s", ids[0], "answer", "waiting for an answer until 2026-01-12 ")
		w.surveyBecause("s", "active", "all respondents started; 4 in progress; next step at ")
		w.reportDisposition("s", ids[0], fields{"disposition": "completed"})
		if why := w.respondent("s", ids[0])["why"]; why != nil {
			t.Errorf("who is done waits because of %v", why)
		}
		w.expectNoFaults()
	})
}

// Scenario 119: the provider's report about a channel is the state of the channel
// everywhere: in the API, the metric, the survey that uses it, and the reason.
func TestSurveyWhy_AChannelHasOneState(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 5)
		w.launchSurvey("s", bySMS(""), 0, 3)
		w.sent(3)
		w.lab.behave(func(l *lab) {
			l.sick["texts"] = channels.Status{Health: weir.Down, Reason: "the phone is not connected"}
		})
		w.addRespondents("s", fields{"phone": number(50)})
		w.patch("texts", fields{"name": "checked again"})
		w.until("the survey sees it", func() bool {
			use := w.want(200, "GET", "/v1/surveys/s/stats", nil).Body["channels"].([]any)[0].(map[string]any)
			return use["state"] == "down"
		})
		w.waitIdle()
		ch := w.want(200, "GET", "/v1/channels/texts", nil).Body
		if ch["state"] != "down" || ch["state_reason"] != "the phone is not connected" {
			t.Errorf("the channel is %v: %v", ch["state"], ch["state_reason"])
		}
		listed := w.want(200, "GET", "/v1/channels", nil).Body["channels"].([]any)[0].(map[string]any)
		if listed["state"] != "down" {
			t.Errorf("in the list it is %v", listed["state"])
		}
		if got := w.metric("weir_channel_state", "channel", "texts", "state", "down"); got != 1 {
			t.Errorf("weir_channel_state of down is %v", got)
		}
		w.addRespondents("s", fields{"phone": number(60)})
		w.surveyBecause("s", "channel_down", "channel texts is down: the phone is not connected")
	})
}
