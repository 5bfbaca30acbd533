package surveys_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/test/scenarios/world"
)

// personBecause waits until a respondent waits for this reason.
func personBecause(w *world.World, survey, id, code, sentence string) {
	w.Helper()
	w.Until(id+" waits because of "+code, func() bool { return w.Respondent(survey, id)["why_code"] == code })
	r := w.Respondent(survey, id)
	w.NamesInstants(r)
	if why := fmt.Sprint(r["why"]); !strings.Contains(why, sentence) {
		w.Errorf("respondent %s waits because of %q, want %q", id, why, sentence)
	}
}

// Scenario 117: a survey that contacts no respondents names the reason: a draft, a pause,
// its channel, no free slots, its batch, its limit per minute, its target.
func TestSurveyWhy_SurveysNameTheirReason(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 2)
		ids := w.CreateSurvey("s", world.BySMS("", world.Fields{"cutoff": 3}), 0, 12)
		w.SurveyBecause("s", "draft", "launch it")
		w.Pause("texts", true)
		w.SurveyCommand("s", "launch")
		w.SurveyBecause("s", "channel_paused", "channel texts is paused")
		personBecause(w, "s", ids[0], "channel_paused", "channel texts is paused")
		w.Pause("texts", false)
		w.Sent(2)
		w.SurveyBecause("s", "batch", "pacing limit reached: 3 of 3 respondents in progress")
		w.SurveyCommand("s", "pause")
		w.SurveyBecause("s", "survey_paused", "paused")
		personBecause(w, "s", ids[5], "survey_paused", "paused")
		w.SurveyCommand("s", "resume")

		w.LaunchSurvey("more", world.BySMS(""), 100, 9)
		w.SurveyBecause("more", "capacity", "channel texts: 2 of 2 slots in use; ")
		w.Channel("calls", 5, world.Fields{"type": "labcall"})
		w.LaunchSurvey("few", world.ByIVR("", world.Fields{"limit_per_minute": 1}), 200, 2)
		w.SurveyBecause("few", "rate_limit", "the limit of 1 a minute is reached; the next is contacted at ")
		w.Channel("links", 5)
		long := strings.Repeat("long ", 3)
		large := world.SurveyBody([]string{"mobileweb"}, world.Fields{"questionnaires": world.Fields{"q": world.Fields{"mobileweb": []world.Fields{{"messages": []string{long, long, long}}}}}})
		w.LaunchSurvey("large", large, 300, 1)
		w.Until("all of them are started", func() bool { return w.StatusCounts("large")["active"] == 1 })
		w.SurveyBecause("large", "active", "all respondents started; 1 in progress")
		w.Capacity("links", 2)
		w.CreateSurvey("larger", large, 400, 1)
		w.SurveyCommand("larger", "launch")
		w.SurveyBecause("larger", "too_large", "a contact takes 3 slots and channel links has 2 for it")
		target := w.LaunchSurvey("target", world.ByIVR("", world.Fields{"cutoff": 1, "initial_success_rate": 0.5}), 500, 5)
		w.Until("two are active", func() bool { return w.StatusCounts("target")["active"] == 2 })
		w.ReportDisposition("target", target[0], world.Fields{"disposition": "completed"})
		w.SurveyBecause("target", "target_reached", "target reached (1 completed); 1 in progress")
		w.ExpectNoFaults()
	})
}

// Scenario 117: the survey also names a reason if none of its respondents can be started.
func TestSurveyWhy_AllRespondentsAreDelayed(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 5)
		texts := []world.Fields{{"messages": []string{strings.Repeat("{{name}}", 4)}}}
		w.CreateSurvey("s", world.BySMS("", world.Fields{"questionnaires": world.Fields{"q": world.Fields{"sms": texts}}}), 0, 0)
		id := w.AddRespondents("s", world.Fields{"phone": world.Number(0), "attributes": world.Fields{"name": strings.Repeat("x", 500)}})[0]
		w.SurveyCommand("s", "launch")
		personBecause(w, "s", id, "aside", "its contact could not be built")
		w.SurveyBecause("s", "aside", "every pending respondent is delayed")
	})
}

// Scenario 117: a survey reports that its channel is being deleted, is gone or has become
// one of another type, that it is stopping, and that its definition cannot be run.
func TestSurveyWhy_SurveysNameWhatEnded(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("calls", 2, world.Fields{"type": "labcall"})
		w.Channel("texts", 2)
		ids := w.LaunchSurvey("s", world.ByIVR("10m"), 0, 10)
		other := w.LaunchSurvey("other", world.BySMS(""), 100, 10)
		w.Sent(4)
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		defer release()
		w.Lab.Behave(func(l *world.Lab) {
			l.OnCancel = func(context.Context, world.LabAttempt) channels.Cancellation {
				<-held
				return channels.Cancellation{Canceled: true}
			}
		})
		both := func(code, sentence string) {
			t.Helper()
			w.SurveyBecause("s", code, sentence)
			personBecause(w, "s", ids[9], code, sentence)
		}
		w.Want(202, "DELETE", "/v1/channels/calls?cancel=true", nil)
		both("channel_deleting", "channel calls is being deleted")
		w.SurveyCommand("other", "stop")
		w.SurveyBecause("other", "survey_stopping", "its respondents are being canceled")
		personBecause(w, "other", other[9], "survey_stopping", "its respondents are being canceled")
		release()
		w.Until("the other is done", func() bool { return w.SurveyState("other") == "done stopped" })
		both("channel_gone", "channel calls does not exist any more")
		w.Channel("calls", 2)
		both("channel_unfit", `ivr needs a channel for calls; channel "calls" is of type lab`)

		survey, err := w.Store.Survey(w.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		survey.Definition.Arms = nil // as another version of Weir might allow it
		if _, err := w.Store.UpdateSurvey(w.Context(), survey); err != nil {
			t.Fatal(err)
		}
		personBecause(w, "s", ids[9], "survey_broken", "the definition cannot be run: ")
		if got := w.Want(200, "GET", "/v1/surveys/s", nil).Body["why_code"]; got != "survey_broken" { // such a survey has no figures
			t.Errorf("it waits because of %v", got)
		}
		w.ExpectNoFaults()
	})
}

// Scenario 118: near the end of a window a survey names it as the reason; while the
// schedule is closed, respondents of a full quota name the quota instead.
func TestSurveyWhy_NamesTheEndOfItsWindow(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(17, 50), func(w *world.World) {
		w.Channel("texts", 20)
		day := world.Fields{"schedule": world.Daily("UTC", "09:00", "18:00")}
		w.Accept("texts", world.Many("out", 20)...)
		w.Sent(20)
		w.Channel("calls", 50, world.Fields{"type": "labcall"})
		w.CreateSurvey("s", world.ByIVR("", quotas(1, 2), day), 0, 0)
		var list []world.Fields
		for i := range 6 {
			list = append(list, world.Fields{"phone": world.Number(200 + i), "attributes": world.Fields{"age": []string{"young", "old"}[i%2]}})
		}
		ids := w.AddRespondents("s", list...)
		w.SurveyCommand("s", "launch")
		w.Until("three are active", func() bool { return w.StatusCounts("s")["active"] == 3 })
		w.Pass(time.Until(world.Monday(17, 59).Add(55 * time.Second)))
		w.LaunchSurvey("many", world.BySMS("", day), 0, 60)
		w.SurveyBecause("many", "window", "the window closes at "+world.Stamp(world.Monday(18, 0))+", before channel texts could dispatch another contact")
		w.Pass(6 * time.Second)
		w.SurveyBecause("many", "window", "the schedule opens at 2026-01-13 09:00:00 UTC")
		w.ReportDisposition("s", ids[0], world.Fields{"disposition": "completed"})
		personBecause(w, "s", ids[4], "quota_full", "its quota is full")
		personBecause(w, "s", ids[5], "window", "the schedule opens at 2026-01-13 09:00:00 UTC")
		w.ExpectNoFaults()
	})
}

// Scenario 118: a survey and its respondents wait for the schedule in its zone,
// for retries, for contacts, for an answer.
func TestSurveyWhy_RespondentsNameTheirReason(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(7, 0), func(w *world.World) {
		w.Channel("texts", 2)
		ids := w.LaunchSurvey("s", world.BySMS("30m", world.Fields{"schedule": world.Daily("America/Mexico_City", "09:00", "18:00"), "fallback_delay": "1h"}), 0, 4)
		w.SurveyBecause("s", "window", "the schedule opens at 2026-01-12 15:00:00 UTC (Mon 09:00 America/Mexico_City)")
		personBecause(w, "s", ids[0], "window", "the schedule opens at 2026-01-12 15:00:00 UTC (Mon 09:00 America/Mexico_City)")
		w.Pass(time.Until(world.Monday(15, 0).Add(time.Second)))
		w.Sent(2)
		personBecause(w, "s", ids[0], "report", "its contact: awaiting delivery report")
		w.Until("the third waits", func() bool { return w.Respondent("s", ids[2])["contact"] != nil })
		personBecause(w, "s", ids[2], "capacity", "its contact: channel texts: 2 of 2 slots in use")
		personBecause(w, "s", ids[3], "capacity", "channel texts: 2 of 2 slots in use")
		w.Report(world.TextKey("s", ids[0], 1), "all", "no_answer")
		personBecause(w, "s", ids[0], "retry", "attempt 2 by sms is due at 2026-01-12 15:30:00 UTC (Mon 09:30 America/Mexico_City)")
		w.Finish(world.TextKey("s", ids[1], 1))
		w.Sent(4)
		w.Finish(world.TextKey("s", ids[2], 1), world.TextKey("s", ids[3], 1))
		w.Pass(31 * time.Minute)
		w.Sent(6)
		w.Finish(world.TextKey("s", ids[1], 2))
		w.Finish(world.TextKey("s", ids[0], 2))
		personBecause(w, "s", ids[0], "answer", "waiting for an answer until 2026-01-12 ")
		w.SurveyBecause("s", "active", "all respondents started; 4 in progress; next step at ")
		w.ReportDisposition("s", ids[0], world.Fields{"disposition": "completed"})
		if why := w.Respondent("s", ids[0])["why"]; why != nil {
			t.Errorf("who is done waits because of %v", why)
		}
		w.ExpectNoFaults()
	})
}

// Scenario 119: the provider's report about a channel is the state of the channel
// everywhere: in the API, the metric, the survey that uses it, and the reason.
func TestSurveyWhy_AChannelHasOneState(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 5)
		w.LaunchSurvey("s", world.BySMS(""), 0, 3)
		w.Sent(3)
		w.Lab.Behave(func(l *world.Lab) {
			l.Sick["texts"] = channels.Status{Health: weir.Down, Reason: "the phone is not connected"}
		})
		w.AddRespondents("s", world.Fields{"phone": world.Number(50)})
		w.Patch("texts", world.Fields{"name": "checked again"})
		w.Until("the survey sees it", func() bool {
			use := w.Want(200, "GET", "/v1/surveys/s/stats", nil).Body["channels"].([]any)[0].(map[string]any)
			return use["state"] == "down"
		})
		w.WaitIdle()
		ch := w.Want(200, "GET", "/v1/channels/texts", nil).Body
		if ch["state"] != "down" || ch["state_reason"] != "the phone is not connected" {
			t.Errorf("the channel is %v: %v", ch["state"], ch["state_reason"])
		}
		listed := w.Want(200, "GET", "/v1/channels", nil).Body["channels"].([]any)[0].(map[string]any)
		if listed["state"] != "down" {
			t.Errorf("in the list it is %v", listed["state"])
		}
		if got := w.Metric("weir_channel_state", "channel", "texts", "state", "down"); got != 1 {
			t.Errorf("weir_channel_state of down is %v", got)
		}
		w.AddRespondents("s", world.Fields{"phone": world.Number(60)})
		w.SurveyBecause("s", "channel_down", "channel texts is down: the phone is not connected")
	})
}
