package people_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/test/scenarios/world"
)

const (
	helpText    = "We are the health survey."
	confirmText = "You get no more messages."
)

// storesOnly stores a message, and crashes before anything is done about it.
func storesOnly(w *world.World, channel, from, text string) {
	w.Helper()
	ch, err := w.Store.Channel(w.Context(), channel)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.Store.Receive(w.Context(), ch.ID, weir.Incoming{From: "+" + from, Body: text, GUID: text + from, ReceivedAt: time.Now()}); err != nil {
		w.Fatal(err)
	}
	w.Restart()
}

// endedOf returns the contacts of a channel that are done, by their first message.
func endedOf(w *world.World, channel string) map[string]map[string]any {
	w.Helper()
	out := map[string]map[string]any{}
	for _, c := range w.Want(http.StatusOK, "GET", "/v1/contacts?state=done&limit=100&channel="+channel, nil).Body["contacts"].([]any) {
		c := w.Contact(c.(map[string]any)["id"].(string))
		out[c["messages"].([]any)[0].(string)] = c
	}
	return out
}

// Scenario 334.
func TestWords_WhoAsksForHelpIsAnsweredOnce(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 1)
		w.Channel("others", 5)
		now := time.Now().UTC()
		quiet := world.Fields{"from": now.Add(-time.Hour).Format("15:04"), "to": now.Add(2 * time.Hour).Format("15:04")}
		purpose(w, "default", world.Fields{"help": helpText, "quiet_hours": quiet, "time_zone": "UTC"})
		w.Accept("texts", world.SMS("in flight", world.Fields{"to": "+15550101", "priority": "reply"}))
		w.Sent(1)
		for range 2 { // the provider may repeat it
			w.ReceiveMessage("texts", "15550100", "Help!")
		}
		w.Crash()
		w.Begin()
		w.ReceiveMessage("texts", "15550100", "Help!")
		w.ReceiveMessage("others", "+15550100", "info")
		w.Report("in flight", "all", "completed")
		w.Sent(2)
		if a := w.Lab.Attempt(helpText); a.Channel != "texts" || a.To != "+15550100" {
			t.Errorf("the answer went to %s over %s", a.To, a.Channel)
		}
		w.Report(helpText, "all", "completed")
		storesOnly(w, "texts", "15550103", "ayuda")
		w.Sent(2)
		w.ReceiveMessage("texts", "15550103", "ayuda") // it was not acknowledged
		w.Until("the person is answered", func() bool { return w.Sends(helpText) == 2 })
		w.Report(helpText, "all", "completed")
		w.Says("+15550104", "refused")
		w.ReceiveMessage("texts", "15550104", "help")
		w.Until("whoever refused is not answered", func() bool { return endings(w, "texts")["suppressed"] == 1 })
		w.Sent(3)
	})
}

// endings counts the contacts of a channel that are done.
func endings(w *world.World, channel string) map[string]int {
	w.Helper()
	out := map[string]int{}
	for _, c := range w.Want(http.StatusOK, "GET", "/v1/contacts?state=done&limit=100&channel="+channel, nil).Body["contacts"].([]any) {
		out[c.(map[string]any)["outcome"].(string)]++
	}
	return out
}

// Scenario 335.
func TestWords_ARefusalIsConfirmedOnce(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 1)
		w.Channel("others", 5)
		now := time.Now().UTC()
		purpose(w, "default", world.Fields{
			"confirmation": confirmText, "time_zone": "UTC",
			"quiet_hours": world.Fields{"from": now.Add(-time.Hour).Format("15:04"), "to": now.Add(2 * time.Hour).Format("15:04")}, "caps": []world.Fields{{"max": 1, "within": "1d"}},
		})
		w.Accept("texts", world.SMS("in flight", world.Fields{"to": "+15550101", "priority": "reply"}), world.SMS("waits"))
		w.Sent(1)
		storesOnly(w, "texts", "15550100", "STOP")
		for range 2 {
			w.ReceiveMessage("texts", "15550100", "STOP")
		}
		w.Crash() // between the refusal and its confirmation
		w.Begin()
		w.ReceiveMessage("texts", "15550100", "stop!")
		w.ReceiveMessage("others", "+15550100", "Unsubscribe")
		replies := w.Accept("others", world.SMS("a reply", world.Fields{"priority": "reply"}))
		if got := w.Done(replies["a reply"]); got != "suppressed" {
			t.Errorf("a reply of a client ended as %s", got)
		}
		w.Report("in flight", "all", "completed")
		w.Sent(2)
		if a := w.Lab.Attempt(confirmText); a.Channel != "texts" || a.To != "+15550100" {
			t.Errorf("the confirmation went to %s over %s", a.To, a.Channel)
		}
		w.Report(confirmText, "all", "failed")
		w.Until("the confirmation is done", func() bool { return endings(w, "texts")["failed"] == 1 })
		if list := w.Want(http.StatusOK, "GET", "/v1/dead-letters", nil).Body["dead_letters"]; list != nil && len(list.([]any)) > 0 {
			t.Errorf("it can be queued again: %v", list)
		}
		w.Sent(2)
	})
}

// Scenario 335, whose five minutes are over, also while no process ran.
func TestWords_ALateConfirmationIsSuppressed(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Channel("texts", 1)
		purpose(w, "default", world.Fields{"confirmation": confirmText})
		w.Accept("texts", world.SMS("in flight", world.Fields{"to": "+15550101"}))
		w.Sent(1)
		w.ReceiveMessage("texts", "15550100", "STOP")
		w.Pass(5 * time.Minute)
		w.Report("in flight", "all", "completed")
		w.Until("it is suppressed", func() bool { return endedOf(w, "texts")[confirmText] != nil })
		if c := endedOf(w, "texts")[confirmText]; c["outcome"] != "suppressed" || !strings.Contains(c["reason"].(string), "five minutes") {
			t.Errorf("it is %v", c)
		}
		// The message counts, not when its provider repeats it.
		storesOnly(w, "texts", "15550102", "STOP")
		w.Pass(5 * time.Minute)
		w.ReceiveMessage("texts", "15550102", "STOP")
		w.Until("it is suppressed, too", func() bool { return endings(w, "texts")["suppressed"] == 2 })
		// A day later the person is confirmed again; meanwhile not.
		w.ReceiveMessage("texts", "15550100", "end")
		w.Pass(24 * time.Hour)
		w.Sent(1)
		w.ReceiveMessage("texts", "15550100", "quit")
		w.Sent(2)
	})
}

// Scenario 336.
func TestWords_WhatMayBeARefusalWaitsForADecision(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("texts", 5)
		for range 2 {
			w.ReceiveMessage("texts", "15550100", "please STOP calling me")
		}
		w.ReceiveMessage("texts", "15550101", "no quiero más, BAJA")
		w.ReceiveMessage("texts", "15550102", "at the end of the month")
		w.ReceiveMessage("texts", "15550103", "YES")
		w.Accept("texts", world.SMS("meanwhile"))
		w.Sent(1) // nothing is recorded until somebody decides
		w.Crash()
		w.Begin()
		list := w.Want(http.StatusOK, "GET", "/v1/consents:undecided", nil).Body
		messages := list["messages"].([]any)
		if list["waiting"] != 3.0 || len(messages) != 3 {
			t.Fatalf("what waits is %v", list)
		}
		decide := func(i int, decision string, status int) map[string]any {
			return w.Want(status, "POST", "/v1/consents:decide", world.Fields{"id": messages[i].(map[string]any)["id"], "decision": decision}).Body
		}
		for range 2 {
			if got := decide(0, "refused", 200); got["state"].(map[string]any)["source"] != "operator" {
				t.Errorf("decided: %v", got)
			}
		}
		decide(1, "refused", 200)
		decide(2, "dismissed", 200)
		decide(2, "refused", 409)
		ids := w.Accept("texts", world.SMS("theirs"), world.SMS("hers", world.Fields{"to": "+15550101"}), world.SMS("his", world.Fields{"to": "+15550102"}))
		for key, want := range map[string]string{"theirs": "suppressed", "hers": "suppressed"} {
			if got := w.Done(ids[key]); got != want {
				t.Errorf("%s ended as %s", key, got)
			}
		}
		w.Says("+15550100", "given") // it was the person's own
		again := w.Accept("texts", world.SMS("again"))
		if got := w.Done(again["again"]); got != "suppressed" {
			t.Errorf("after a client's consent it ended as %s", got)
		}
		w.ReceiveMessage("texts", "15550100", "yes")
		w.ReceiveMessage("texts", "15550100", "START")
		w.Sent(2)
		w.Accept("texts", world.SMS("back"))
		w.Sent(3)
	})
}

// Scenario 337.
func TestWords_ASurveySaysWhatAnswersItsQuestions(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 5)
		purpose(w, "research", world.Fields{"help": helpText, "confirmation": confirmText})
		purpose(w, "default", world.Fields{"help": "not this one"})
		ids := w.LaunchSurvey("s", world.SurveyBody([]string{"sms"}, world.Fields{"purpose": "research", "answer_words": []string{"end", "start"}, "help_words": []string{"who"}}), 0, 2)
		w.Until("the respondents are contacted", func() bool { return w.Sends(world.TextKey("s", ids[0], 1))+w.Sends(world.TextKey("s", ids[1], 1)) == 2 })
		w.Finish(world.TextKey("s", ids[0], 1), world.TextKey("s", ids[1], 1))
		w.ReceiveMessage("texts", world.Number(0), "End")
		w.ReceiveMessage("texts", world.Number(0), "help") // no word of this survey
		w.ReceiveMessage("texts", world.Number(0), "in the end")
		w.ReceiveMessage("texts", world.Number(0), "Who?")
		w.Until("the respondent is answered", func() bool { return w.Sends(helpText) == 1 })
		w.ReceiveMessage("texts", world.Number(1), "quit")
		w.Until("the refusal is confirmed", func() bool { return w.Sends(confirmText) == 1 })
		w.ExpectRespondent("s", ids[1], "failed, refused")
		if r := w.Respondent("s", ids[0]); r["opted_out"] == true || r["status"] != "active" {
			t.Errorf("an answer made the respondent %v", r)
		}
		if n := w.Want(http.StatusOK, "GET", "/v1/consents:undecided", nil).Body["waiting"]; n != 0.0 {
			t.Errorf("%v messages wait for a decision", n)
		}
		if n := w.Sends("not this one"); n > 0 {
			t.Errorf("the text of another purpose was sent")
		}
	})
}
