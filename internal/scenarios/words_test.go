package scenarios_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"weir"
)

const (
	helpText    = "We are the health survey."
	confirmText = "You get no more messages."
)

// storesOnly stores a message, and crashes before anything is done about it.
func (w *world) storesOnly(channel, from, text string) {
	w.Helper()
	ch, err := w.store.Channel(w.Context(), channel)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.store.Receive(w.Context(), ch.ID, weir.Incoming{From: from, Body: text, GUID: text + from, ReceivedAt: time.Now()}); err != nil {
		w.Fatal(err)
	}
	w.restart()
}

// endedOf returns the contacts of a channel that are done, by their first message.
func (w *world) endedOf(channel string) map[string]map[string]any {
	w.Helper()
	out := map[string]map[string]any{}
	for _, c := range w.want(http.StatusOK, "GET", "/v1/contacts?state=done&limit=100&channel="+channel, nil).Body["contacts"].([]any) {
		c := w.contact(c.(map[string]any)["id"].(string))
		out[c["messages"].([]any)[0].(string)] = c
	}
	return out
}

// Scenario 334.
func TestWords_WhoAsksForHelpIsAnsweredOnce(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 1)
		w.channel("others", 5)
		now := time.Now().UTC()
		quiet := fields{"from": now.Add(-time.Hour).Format("15:04"), "to": now.Add(2 * time.Hour).Format("15:04")}
		w.purpose("default", fields{"help": helpText, "quiet_hours": quiet, "time_zone": "UTC"})
		w.accept("texts", sms("in flight", fields{"to": "+15550101", "priority": "reply"}))
		w.sent(1)
		for range 2 { // the provider may repeat it
			w.receiveMessage("texts", "15550100", "Help!")
		}
		w.crash()
		w.start()
		w.receiveMessage("texts", "15550100", "Help!")
		w.receiveMessage("others", "+15550100", "info")
		w.report("in flight", "all", "completed")
		w.sent(2)
		if a := w.lab.attempt(helpText); a.channel != "texts" || a.to != "+15550100" {
			t.Errorf("the answer went to %s over %s", a.to, a.channel)
		}
		w.report(helpText, "all", "completed")
		w.storesOnly("texts", "15550103", "ayuda")
		w.sent(2)
		w.receiveMessage("texts", "15550103", "ayuda") // it was not acknowledged
		w.until("the person is answered", func() bool { return w.sends(helpText) == 2 })
		w.report(helpText, "all", "completed")
		w.says("+15550104", "refused")
		w.receiveMessage("texts", "15550104", "help")
		w.until("whoever refused is not answered", func() bool { return w.endings("texts")["suppressed"] == 1 })
		w.sent(3)
	})
}

// endings counts the contacts of a channel that are done.
func (w *world) endings(channel string) map[string]int {
	w.Helper()
	out := map[string]int{}
	for _, c := range w.want(http.StatusOK, "GET", "/v1/contacts?state=done&limit=100&channel="+channel, nil).Body["contacts"].([]any) {
		out[c.(map[string]any)["outcome"].(string)]++
	}
	return out
}

// Scenario 335.
func TestWords_ARefusalIsConfirmedOnce(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 1)
		w.channel("others", 5)
		now := time.Now().UTC()
		w.purpose("default", fields{
			"confirmation": confirmText, "time_zone": "UTC",
			"quiet_hours": fields{"from": now.Add(-time.Hour).Format("15:04"), "to": now.Add(2 * time.Hour).Format("15:04")}, "caps": []fields{{"max": 1, "within": "1d"}},
		})
		w.accept("texts", sms("in flight", fields{"to": "+15550101", "priority": "reply"}), sms("waits"))
		w.sent(1)
		w.storesOnly("texts", "15550100", "STOP")
		for range 2 {
			w.receiveMessage("texts", "15550100", "STOP")
		}
		w.crash() // between the refusal and its confirmation
		w.start()
		w.receiveMessage("texts", "15550100", "stop!")
		w.receiveMessage("others", "+15550100", "Unsubscribe")
		replies := w.accept("others", sms("a reply", fields{"priority": "reply"}))
		if got := w.done(replies["a reply"]); got != "suppressed" {
			t.Errorf("a reply of a client ended as %s", got)
		}
		w.report("in flight", "all", "completed")
		w.sent(2)
		if a := w.lab.attempt(confirmText); a.channel != "texts" || a.to != "+15550100" {
			t.Errorf("the confirmation went to %s over %s", a.to, a.channel)
		}
		w.report(confirmText, "all", "failed")
		w.until("the confirmation is done", func() bool { return w.endings("texts")["failed"] == 1 })
		if list := w.want(http.StatusOK, "GET", "/v1/dead-letters", nil).Body["dead_letters"]; list != nil && len(list.([]any)) > 0 {
			t.Errorf("it can be queued again: %v", list)
		}
		w.sent(2)
	})
}

// Scenario 335, whose five minutes are over, also while no process ran.
func TestWords_ALateConfirmationIsSuppressed(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.channel("texts", 1)
		w.purpose("default", fields{"confirmation": confirmText})
		w.accept("texts", sms("in flight", fields{"to": "+15550101"}))
		w.sent(1)
		w.receiveMessage("texts", "15550100", "STOP")
		w.pass(5 * time.Minute)
		w.report("in flight", "all", "completed")
		w.until("it is suppressed", func() bool { return w.endedOf("texts")[confirmText] != nil })
		if c := w.endedOf("texts")[confirmText]; c["outcome"] != "suppressed" || !strings.Contains(c["reason"].(string), "five minutes") {
			t.Errorf("it is %v", c)
		}
		// The message counts, not when its provider repeats it.
		w.storesOnly("texts", "15550102", "STOP")
		w.pass(5 * time.Minute)
		w.receiveMessage("texts", "15550102", "STOP")
		w.until("it is suppressed, too", func() bool { return w.endings("texts")["suppressed"] == 2 })
		// A day later the person is confirmed again; meanwhile not.
		w.receiveMessage("texts", "15550100", "end")
		w.pass(24 * time.Hour)
		w.sent(1)
		w.receiveMessage("texts", "15550100", "quit")
		w.sent(2)
	})
}

// Scenario 336.
func TestWords_WhatMayBeARefusalWaitsForADecision(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("texts", 5)
		for range 2 {
			w.receiveMessage("texts", "15550100", "please STOP calling me")
		}
		w.receiveMessage("texts", "15550101", "no quiero más, BAJA")
		w.receiveMessage("texts", "15550102", "at the end of the month")
		w.receiveMessage("texts", "15550103", "YES")
		w.accept("texts", sms("meanwhile"))
		w.sent(1) // nothing is recorded until somebody decides
		w.crash()
		w.start()
		list := w.want(http.StatusOK, "GET", "/v1/consents:undecided", nil).Body
		messages := list["messages"].([]any)
		if list["waiting"] != 3.0 || len(messages) != 3 {
			t.Fatalf("what waits is %v", list)
		}
		decide := func(i int, decision string, status int) map[string]any {
			return w.want(status, "POST", "/v1/consents:decide", fields{"id": messages[i].(map[string]any)["id"], "decision": decision}).Body
		}
		for range 2 {
			if got := decide(0, "refused", 200); got["state"].(map[string]any)["source"] != "operator" {
				t.Errorf("decided: %v", got)
			}
		}
		decide(1, "refused", 200)
		decide(2, "dismissed", 200)
		decide(2, "refused", 409)
		ids := w.accept("texts", sms("theirs"), sms("hers", fields{"to": "+15550101"}), sms("his", fields{"to": "+15550102"}))
		for key, want := range map[string]string{"theirs": "suppressed", "hers": "suppressed"} {
			if got := w.done(ids[key]); got != want {
				t.Errorf("%s ended as %s", key, got)
			}
		}
		w.says("+15550100", "given") // it was the person's own
		again := w.accept("texts", sms("again"))
		if got := w.done(again["again"]); got != "suppressed" {
			t.Errorf("after a client's consent it ended as %s", got)
		}
		w.receiveMessage("texts", "15550100", "yes")
		w.receiveMessage("texts", "15550100", "START")
		w.sent(2)
		w.accept("texts", sms("back"))
		w.sent(3)
	})
}

// Scenario 337.
func TestWords_ASurveySaysWhatAnswersItsQuestions(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 5)
		w.purpose("research", fields{"help": helpText, "confirmation": confirmText})
		w.purpose("default", fields{"help": "not this one"})
		ids := w.launchSurvey("s", surveyBody([]string{"sms"}, fields{"purpose": "research", "answer_words": []string{"end", "start"}, "help_words": []string{"who"}}), 0, 2)
		w.until("the respondents are contacted", func() bool { return w.sends(textKey("s", ids[0], 1))+w.sends(textKey("s", ids[1], 1)) == 2 })
		w.finish(textKey("s", ids[0], 1), textKey("s", ids[1], 1))
		w.receiveMessage("texts", number(0), "End")
		w.receiveMessage("texts", number(0), "help") // no word of this survey
		w.receiveMessage("texts", number(0), "in the end")
		w.receiveMessage("texts", number(0), "Who?")
		w.until("the respondent is answered", func() bool { return w.sends(helpText) == 1 })
		w.receiveMessage("texts", number(1), "quit")
		w.until("the refusal is confirmed", func() bool { return w.sends(confirmText) == 1 })
		w.expectRespondent("s", ids[1], "failed, refused")
		if r := w.respondent("s", ids[0]); r["opted_out"] == true || r["status"] != "active" {
			t.Errorf("an answer made the respondent %v", r)
		}
		if n := w.want(http.StatusOK, "GET", "/v1/consents:undecided", nil).Body["waiting"]; n != 0.0 {
			t.Errorf("%v messages wait for a decision", n)
		}
		if n := w.sends("not this one"); n > 0 {
			t.Errorf("the text of another purpose was sent")
		}
	})
}
