package scenarios_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// says records a consent over the API.
func (w *world) says(to, status string) {
	w.Helper()
	w.want(http.StatusOK, "POST", "/v1/consents", fields{"consents": []fields{{"to": to, "status": status}}})
}

// Scenario 290.
func TestConsent_WhoeverWroteStopIsContactedNoMore(t *testing.T) {
	onStores(t, func(w *world) {
		const them, other = "+15550100", "+15550101"
		w.channel("texts", 1)
		w.channel("another", 5)
		// The channel is full: theirs wait behind somebody else's.
		ids := w.accept("texts", sms("first", fields{"to": other}), sms("waits"), sms("behind", fields{"to": other}))
		w.sent(1)
		w.receiveMessage("texts", "15550100", "Stop!")
		w.report("first", "all", "completed")
		if got := w.done(ids["waits"]); got != "suppressed" {
			t.Errorf("what waited ended as %s", got)
		}
		if c := w.contact(ids["waits"]); !strings.Contains(c["reason"].(string), "stop word") || c["attempts"] != nil && len(c["attempts"].([]any)) > 0 {
			t.Errorf("it is %v", c)
		}
		w.sent(2) // the one behind it is not held up
		w.report("behind", "all", "completed")
		later := w.accept("another", sms("direct"), sms("theirs not", fields{"to": other}))
		if got := w.done(later["direct"]); got != "suppressed" {
			t.Errorf("over another channel it ended as %s", got)
		}
		w.sent(3)
		w.report("theirs not", "all", "completed")
		w.receiveMessage("another", "+15550100", "start")
		again := w.accept("texts", sms("taken back"))
		w.sent(4)
		w.report("taken back", "all", "completed")
		if got := w.done(again["taken back"]); got != "completed" {
			t.Errorf("after the refusal was taken back it ended as %s", got)
		}
	})
}

// Scenario 291.
func TestConsent_RefusalsOutliveACrash(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 1)
		ids := w.accept("texts", sms("first", fields{"to": "+15550101"}), sms("waits"))
		w.sent(1)
		w.says("+1 (555) 0100", "refused")
		w.crash()
		w.start()
		w.report("first", "all", "completed")
		if got := w.done(ids["waits"]); got != "suppressed" {
			t.Errorf("after a crash what waited ended as %s", got)
		}
		w.sent(1)
	})
}

// Scenario 292.
func TestConsent_ASurveyGivesUpWhoeverRefusedElsewhere(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("calls", 1, fields{"type": "labcall"})
		w.channel("texts", 1)
		ids := w.createSurvey("s", byIVR("1m"), 0, 3)
		w.says(number(1), "refused")
		w.surveyCommand("s", "launch")
		for _, i := range []int{0, 2} {
			w.until("the respondent is called", func() bool { return w.sends(callKey("s", ids[i], 1)) == 1 })
			w.reportDisposition("s", ids[i], fields{"disposition": "completed"})
			w.finish(callKey("s", ids[i], 1))
		}
		w.until("the survey is done", func() bool { return strings.HasPrefix(w.surveyState("s"), "done") })
		if n := w.sends(callKey("s", ids[1], 1)); n != 0 {
			t.Errorf("whoever had refused was called %d times", n)
		}
		r := w.respondent("s", ids[1])
		if r["status"] != "failed" || r["opted_out"] != true {
			t.Errorf("the respondent is %v", r)
		}
	})
}

// Scenario 293.
func TestConsent_ConversationsThatEndInARefusalCountEverywhere(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("calls", 1, fields{"type": "labcall"})
		w.channel("texts", 1)
		ids := w.launchSurvey("s", byIVR("1m"), 0, 1)
		w.until("the respondent is called", func() bool { return w.sends(callKey("s", ids[0], 1)) == 1 })
		for range 2 { // the application may repeat it
			w.reportDisposition("s", ids[0], fields{"stop": true})
		}
		direct := w.accept("texts", sms("direct", fields{"to": number(0)}))
		if got := w.done(direct["direct"]); got != "suppressed" {
			t.Errorf("a direct contact ended as %s", got)
		}
		w.finish(callKey("s", ids[0], 1))
	})
}

// Scenario 309.
func TestConsent_WhatIsInFlightIsCalledOff(t *testing.T) {
	onStores(t, func(w *world) {
		const other = "+15550101"
		w.channel("texts", 5)
		w.channel("calls", 5, fields{"type": "labcall"})
		w.purpose("emergency", fields{"exempt_from": []string{"consent"}, "exempt_reason": "floods"})
		ids := w.accept("calls", call("theirs"), call("warning", fields{"purpose": "emergency"}), call("somebody's", fields{"to": other}))
		w.sent(3)
		w.until("they are active", func() bool {
			return w.contact(ids["theirs"])["state"] == "active" && w.contact(ids["warning"])["state"] == "active"
		})
		answer := w.want(http.StatusOK, "POST", "/v1/consents", fields{"consents": []fields{{"to": "+15550100", "status": "refused"}}}).Body
		if answer["in_flight"] != 1.0 {
			t.Errorf("the answer is %v", answer)
		}
		if got := w.done(ids["theirs"]); got != "canceled" {
			t.Errorf("what was in flight ended as %s", got)
		}
		// A message, too, calls off what is in flight over another channel.
		more := w.accept("calls", call("of another", fields{"to": other}))
		w.sent(4)
		w.until("it is active", func() bool { return w.contact(more["of another"])["state"] == "active" })
		w.receiveMessage("texts", other, "stop")
		for _, id := range []string{ids["somebody's"], more["of another"]} {
			if got := w.done(id); got != "canceled" {
				t.Errorf("after a stop word it ended as %s", got)
			}
		}
		// A repetition of that message does not count once it was taken back.
		w.receiveMessage("texts", other, "start")
		back := w.accept("calls", call("taken back", fields{"to": other}))
		w.until("it is active", func() bool { return w.contact(back["taken back"])["state"] == "active" })
		w.receiveMessage("texts", other, "stop")
		w.report(callURL("taken back"), "all", "completed")
		if got := w.done(back["taken back"]); got != "completed" {
			t.Errorf("after a late repetition of a stop word it ended as %s", got)
		}
		if slices.Contains(w.lab.canceledKeys(), callURL("taken back")) {
			t.Error("after a late repetition of a stop word the provider was asked to cancel")
		}
		if c := w.contact(ids["warning"]); c["state"] != "active" || c["canceling"] != nil {
			t.Errorf("a contact of an exempt purpose is %v", c)
		}
		w.report(callURL("warning"), "all", "completed")
	})
}
