package people_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"weir/test/scenarios/world"
)

// Scenario 290.
func TestConsent_WhoeverWroteStopIsContactedNoMore(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		const them, other = "+15550100", "+15550101"
		w.Channel("texts", 1)
		w.Channel("another", 5)
		// The channel is full: theirs wait behind somebody else's.
		ids := w.Accept("texts", world.SMS("first", world.Fields{"to": other}), world.SMS("waits"), world.SMS("behind", world.Fields{"to": other}))
		w.Sent(1)
		w.ReceiveMessage("texts", "15550100", "Stop!")
		w.Report("first", "all", "completed")
		if got := w.Done(ids["waits"]); got != "suppressed" {
			t.Errorf("what waited ended as %s", got)
		}
		if c := w.Contact(ids["waits"]); !strings.Contains(c["reason"].(string), "stop word") || c["attempts"] != nil && len(c["attempts"].([]any)) > 0 {
			t.Errorf("it is %v", c)
		}
		w.Sent(2) // the one behind it is not held up
		w.Report("behind", "all", "completed")
		later := w.Accept("another", world.SMS("direct"), world.SMS("theirs not", world.Fields{"to": other}))
		if got := w.Done(later["direct"]); got != "suppressed" {
			t.Errorf("over another channel it ended as %s", got)
		}
		w.Sent(3)
		w.Report("theirs not", "all", "completed")
		w.ReceiveMessage("another", "+15550100", "start")
		again := w.Accept("texts", world.SMS("taken back"))
		w.Sent(4)
		w.Report("taken back", "all", "completed")
		if got := w.Done(again["taken back"]); got != "completed" {
			t.Errorf("after the refusal was taken back it ended as %s", got)
		}
	})
}

// Scenario 291.
func TestConsent_RefusalsOutliveACrash(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 1)
		ids := w.Accept("texts", world.SMS("first", world.Fields{"to": "+15550101"}), world.SMS("waits"))
		w.Sent(1)
		w.Says("+1 (555) 0100", "refused")
		w.Crash()
		w.Begin()
		w.Report("first", "all", "completed")
		if got := w.Done(ids["waits"]); got != "suppressed" {
			t.Errorf("after a crash what waited ended as %s", got)
		}
		w.Sent(1)
	})
}

// Scenario 292.
func TestConsent_ASurveyGivesUpWhoeverRefusedElsewhere(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("calls", 1, world.Fields{"type": "labcall"})
		w.Channel("texts", 1)
		ids := w.CreateSurvey("s", world.ByIVR("1m"), 0, 3)
		w.Says(world.Number(1), "refused")
		w.SurveyCommand("s", "launch")
		for _, i := range []int{0, 2} {
			w.Until("the respondent is called", func() bool { return w.Sends(world.CallKey("s", ids[i], 1)) == 1 })
			w.ReportDisposition("s", ids[i], world.Fields{"disposition": "completed"})
			w.Finish(world.CallKey("s", ids[i], 1))
		}
		w.Until("the survey is done", func() bool { return strings.HasPrefix(w.SurveyState("s"), "done") })
		if n := w.Sends(world.CallKey("s", ids[1], 1)); n != 0 {
			t.Errorf("whoever had refused was called %d times", n)
		}
		r := w.Respondent("s", ids[1])
		if r["status"] != "failed" || r["opted_out"] != true {
			t.Errorf("the respondent is %v", r)
		}
	})
}

// Scenario 293.
func TestConsent_ConversationsThatEndInARefusalCountEverywhere(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("calls", 1, world.Fields{"type": "labcall"})
		w.Channel("texts", 1)
		ids := w.LaunchSurvey("s", world.ByIVR("1m"), 0, 1)
		w.Until("the respondent is called", func() bool { return w.Sends(world.CallKey("s", ids[0], 1)) == 1 })
		for range 2 { // the application may repeat it
			w.ReportDisposition("s", ids[0], world.Fields{"stop": true})
		}
		direct := w.Accept("texts", world.SMS("direct", world.Fields{"to": world.Number(0)}))
		if got := w.Done(direct["direct"]); got != "suppressed" {
			t.Errorf("a direct contact ended as %s", got)
		}
		w.Finish(world.CallKey("s", ids[0], 1))
	})
}

// Scenario 420: whatever has become of the interview, and of the report.
func TestConsent_RefusalsReportedAfterTheEndCount(t *testing.T) {
	for _, end := range []string{"completed", "ineligible", "partial", "refused"} {
		for _, late := range []world.Fields{{"stop": true}, {"stop": true, "disposition": "refused"}, {"stop": true, "disposition": "started"}, {"stop": true, "disposition": end}} {
			t.Run(fmt.Sprint(end, " then ", late), func(t *testing.T) {
				world.OnSurveys(t, func(w *world.World) {
					w.Channel("calls", 1, world.Fields{"type": "labcall"})
					w.Channel("texts", 1)
					ids := w.LaunchSurvey("s", world.ByIVR("1m"), 0, 1)
					w.Until("the respondent is called", func() bool { return w.Sends(world.CallKey("s", ids[0], 1)) == 1 })
					w.ReportDisposition("s", ids[0], world.Fields{"disposition": end})
					w.Finish(world.CallKey("s", ids[0], 1))
					before := w.RespondentState("s", ids[0])
					a := w.Call("POST", "/v1/surveys/s/respondents/"+ids[0]+"/disposition", late)
					if a.Status == http.StatusConflict && !strings.HasSuffix(fmt.Sprint(a.Body["detail"]), "; the refusal of the person is recorded") || a.Status != http.StatusConflict && a.Status != http.StatusOK {
						t.Errorf("the report was answered %d %s", a.Status, a.Text)
					}
					if got := w.RespondentState("s", ids[0]); got != before {
						t.Errorf("the respondent was %s and is %s", before, got)
					}
					direct := w.Accept("texts", world.SMS("direct", world.Fields{"to": world.Number(0)}))
					if got := w.Done(direct["direct"]); got != "suppressed" {
						t.Errorf("a direct contact ended as %s", got)
					}
				})
			})
		}
	}
}

// Scenario 309.
func TestConsent_WhatIsInFlightIsCalledOff(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		const other = "+15550101"
		w.Channel("texts", 5)
		w.Channel("calls", 5, world.Fields{"type": "labcall"})
		purpose(w, "emergency", world.Fields{"exempt_from": []string{"consent"}, "exempt_reason": "floods"})
		ids := w.Accept("calls", world.Call("theirs"), world.Call("warning", world.Fields{"purpose": "emergency"}), world.Call("somebody's", world.Fields{"to": other}))
		w.Sent(3)
		w.Until("they are active", func() bool {
			return w.Contact(ids["theirs"])["state"] == "active" && w.Contact(ids["warning"])["state"] == "active"
		})
		answer := w.Want(http.StatusOK, "POST", "/v1/consents", world.Fields{"consents": []world.Fields{{"to": "+15550100", "status": "refused"}}}).Body
		if answer["in_flight"] != 1.0 {
			t.Errorf("the answer is %v", answer)
		}
		if got := w.Done(ids["theirs"]); got != "canceled" {
			t.Errorf("what was in flight ended as %s", got)
		}
		// A message, too, calls off what is in flight over another channel.
		more := w.Accept("calls", world.Call("of another", world.Fields{"to": other}))
		w.Sent(4)
		w.Until("it is active", func() bool { return w.Contact(more["of another"])["state"] == "active" })
		w.ReceiveMessage("texts", other, "stop")
		for _, id := range []string{ids["somebody's"], more["of another"]} {
			if got := w.Done(id); got != "canceled" {
				t.Errorf("after a stop word it ended as %s", got)
			}
		}
		// A repetition of that message does not count once it was taken back.
		w.ReceiveMessage("texts", other, "start")
		back := w.Accept("calls", world.Call("taken back", world.Fields{"to": other}))
		w.Until("it is active", func() bool { return w.Contact(back["taken back"])["state"] == "active" })
		w.ReceiveMessage("texts", other, "stop")
		w.Report(world.CallURL("taken back"), "all", "completed")
		if got := w.Done(back["taken back"]); got != "completed" {
			t.Errorf("after a late repetition of a stop word it ended as %s", got)
		}
		if slices.Contains(w.Lab.CanceledKeys(), world.CallURL("taken back")) {
			t.Error("after a late repetition of a stop word the provider was asked to cancel")
		}
		if c := w.Contact(ids["warning"]); c["state"] != "active" || c["canceling"] != nil {
			t.Errorf("a contact of an exempt purpose is %v", c)
		}
		w.Report(world.CallURL("warning"), "all", "completed")
	})
}

// Scenario 376: a refusal counts although the channel over which it comes was deleted: its secret proves who calls.
func TestConsent_StopWordsToADeletedChannelCount(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		const them, other = "+15550100", "+15550101"
		w.Channel("former", 1)
		first := w.Accept("former", world.SMS("first"))["first"]
		w.Sent(1)
		w.Report("first", "all", "completed")
		w.Done(first)
		w.Until("the channel can be deleted", func() bool {
			s := w.Call("DELETE", "/v1/channels/former", nil).Status
			return s == 200 || s == 204
		})
		w.ReceiveMessage("former", them, "STOP")
		w.ReceiveMessage("former", other, "please stop by")
		w.Channel("texts", 5)
		ids := w.Accept("texts", world.SMS("theirs"), world.SMS("other", world.Fields{"to": other}))
		if got := w.Done(ids["theirs"]); got != "suppressed" {
			t.Errorf("after STOP to a deleted channel the contact is %s", got)
		}
		w.Sent(2)
		w.Report("other", "all", "completed")
		if n := len(w.Want(http.StatusOK, "GET", "/v1/consents:undecided", nil).Body["messages"].([]any)); n != 1 {
			t.Errorf("%d messages wait for a decision, want 1", n)
		}
	})
}

// Scenario 377: gateways use ids again: a message of another sender, or with another text, is another message.
func TestConsent_MessagesWithAReusedIDCount(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 5)
		for _, m := range []struct{ from, text string }{{"+15550100", "hello"}, {"+15550101", "STOP"}, {"+15550100", "STOP"}, {"+15550100", "STOP"}} {
			w.ReceiveMessageAs("texts", "always the same", m.from, m.text)
		}
		ids := w.Accept("texts", world.SMS("one"), world.SMS("two", world.Fields{"to": "+15550101"}))
		for key, id := range ids {
			if got := w.Done(id); got != "suppressed" {
				t.Errorf("%s is %s although the person wrote STOP", key, got)
			}
		}
		list := w.Want(http.StatusOK, "GET", "/v1/channels/texts/incoming", nil).Body["incoming"].([]any)
		if len(list) != 3 {
			t.Errorf("%d messages are stored, want 3: one was delivered twice", len(list))
		}
	})
}

// Scenario 378: what a provider reports of its own block stops its channel alone, whatever is queued, and only its own
// report or the person takes it back. What it reports of a channel that is gone counts over every channel, whatever has
// its name now, until the person takes it back.
func TestConsent_OptOutsThatAProviderReportsStopItsChannel(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		notice := func(says, guid string) {
			q := url.Values{"from": {"15550100"}, "says": {says}, "guid": {guid}}
			w.Want(http.StatusOK, "POST", w.Lab.Address["texts"]+"/consent?"+q.Encode(), nil)
		}
		refused := func(channel, key string, want bool) {
			id := w.Accept(channel, world.SMS(key))[key]
			if !want {
				w.Until(key+" is sent", func() bool { return w.Sends(key) == 1 })
				w.Report(key, "all", "completed")
			}
			if got := w.Done(id) == "suppressed"; got != want || want && !strings.Contains(w.Contact(id)["reason"].(string), "the provider reports an opt-out") {
				t.Errorf("%s over %s: %v", key, channel, w.Contact(id))
			}
		}
		w.Channel("texts", 5)
		w.Channel("another", 5)
		refused("texts", "before", false)
		notice("refused", "1")
		refused("texts", "after", true)
		refused("another", "elsewhere", false)
		w.Crash()
		w.Begin()
		refused("texts", "after a crash", true)
		notice("given", "2")
		refused("texts", "taken back", false)
		notice("refused", "1") // once more
		refused("texts", "after a repetition", false)
		notice("refused", "3")
		w.ReceiveMessage("another", "+15550100", "START")
		refused("texts", "taken back by the person", false)
		w.ReceiveMessage("another", "+15550100", "STOP")
		notice("given", "4") // a yes to another question, by which the provider lifts its block
		id := w.Accept("texts", world.SMS("after a yes"))["after a yes"]
		if got := w.Done(id); got != "suppressed" {
			t.Errorf("after the person's own refusal and the provider's word it ended as %s", got)
		}
		w.Until("the channel can be deleted", func() bool {
			s := w.Call("DELETE", "/v1/channels/texts", nil).Status
			return s == 200 || s == 204
		})
		w.ReceiveMessageAs("another", "START again", "+15550100", "START")
		notice("given", "5") // of the channel that is gone, as the next one
		notice("refused", "6")
		w.Channel("texts", 5)
		refused("texts", "of the same name", true)
		refused("another", "after the channel is gone", true)
		w.ReceiveMessageAs("another", "START at last", "+15550100", "START")
		refused("texts", "taken back at last", false)
	})
}
