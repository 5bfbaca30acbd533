package scenarios_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// answerCall reports that the person has answered a call.
func (w *world) answerCall(a labAttempt) {
	w.Helper()
	w.want(200, "POST", a.callback+"/report/"+a.id+"?answered=1", nil)
}

// Scenario 96: a respondent who picks up a call was contacted, even if the call is hung
// up at once without a report: the end is unresponsive, not failed.
func TestSurveyReached_AnsweredCallsReachTheRespondent(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("calls", 10, fields{"type": "labcall"})
		ids := w.launchSurvey("s", byIVR(""), 0, 3)
		w.sent(3)
		first := w.speaks(callKey("s", ids[0], 1))
		w.answerCall(first)
		w.expectRespondent("s", ids[0], "active, contacted")
		w.expectInFlight("calls", 3)
		w.restart()
		w.expectInFlight("calls", 3)
		w.reportAttempt(first, "all", "failed")
		w.expectRespondent("s", ids[0], "failed, unresponsive")
		second := w.speaks(callKey("s", ids[1], 1))
		w.lab.end(second, "all", "failed")
		w.want(200, "POST", second.callback+"/report/"+second.id+"?outcome=failed&answered=1", nil)
		w.expectRespondent("s", ids[1], "failed, unresponsive")
		w.report(callKey("s", ids[2], 1), "all", "busy")
		w.expectRespondent("s", ids[2], "failed, failed")
		w.expectInFlight("calls", 0)
		w.expectNoFaults()
	})
}

// Scenario 97: the first message of a respondent starts the conversation; without an end
// it breaks off.
func TestSurveyReached_TheFirstReplyStartsTheConversation(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("texts", 10)
		ids := w.launchSurvey("s", bySMS(""), 0, 3)
		for i, id := range ids {
			w.speaks(textKey("s", id, 1))
			w.finish(textKey("s", id, 1))
			w.expectRespondent("s", id, "active, contacted")
			if i == 0 {
				w.receiveMessage("texts", number(0), "hello")
			}
		}
		w.expectRespondent("s", ids[0], "active, started")
		for range 2 { // the response to the first request may be lost
			w.reportDisposition("s", ids[1], fields{"answers": fields{"age": "34"}, "messages": []string{"thank you"}, "key": "k"})
		}
		w.speaks("thank you")
		w.finish("thank you")
		w.expectRespondent("s", ids[1], "active, started")
		w.pass(3 * time.Hour)
		for i, want := range []string{"1 1", "2 0", "1 0"} {
			r := w.respondent("s", ids[i])
			if got := fmt.Sprint(r["messages_sent"], " ", r["messages_received"]); got != want {
				t.Errorf("respondent %d was sent and sent %s messages, want %s", i, got, want)
			}
		}
		for i, want := range []string{"failed, breakoff", "failed, breakoff", "failed, unresponsive"} {
			if got := w.respondentState("s", ids[i]); got != want {
				t.Errorf("respondent %d is %s, want %s", i, got, want)
			}
		}
		w.expectNoFaults()
	})
}

// Scenario 98: the provider's reason is in the log of the survey, as JSON and as CSV; the
// ids in the CSV are text.
func TestSurveyReached_ProvidersReasonIsInTheLog(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("calls", 10, fields{"type": "labcall"})
		id := w.launchSurvey("s", byIVR(""), 0, 1)[0]
		a := w.speaks(callKey("s", id, 1))
		w.lab.end(a, "all", "failed")
		w.want(200, "POST", a.callback+"/report/"+a.id+"?outcome=failed&answered=1&reason=Number+changed", nil)
		w.expectRespondent("s", id, "failed, unresponsive")
		reason, key := "", ""
		for _, e := range w.want(200, "GET", "/v1/surveys/s/log", nil).Body["entries"].([]any) {
			e := e.(map[string]any)
			if e["event"] == "ended" {
				reason, _ = e["reason"].(string)
				key, _ = e["id"].(string)
			} else if e["outcome"] != nil {
				t.Errorf("%v has the outcome %v", e["event"], e["outcome"])
			}
		}
		if reason != "Number changed" || key == "" {
			t.Errorf("the log has the reason %q and the id %q", reason, key)
		}
		text := w.want(200, "GET", "/v1/surveys/s/log.csv", nil).Text
		if !strings.Contains(text, ",ended,ivr,calls,1,failed,,,Number changed") || !strings.Contains(text, key+",") {
			t.Errorf("log.csv is %s", text)
		}
	})
}

// Scenario 100: ids of respondents are consecutive; the tokens used in links cannot be
// guessed, and can replace the id in paths.
func TestSurveyReached_TokensCannotBeGuessed(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 10)
		w.channel("calls", 10, fields{"type": "labcall"})
		ids := w.launchSurvey("s", bySMS("", fields{"questionnaires": fields{"q": fields{"sms": []fields{{"messages": []string{"link {{token}}"}}}}}}), 0, 2)
		var tokens []string
		for _, id := range ids {
			token, _ := w.respondent("s", id)["token"].(string)
			code, ok := strings.CutPrefix(token, id+"-")
			if !ok || len(code) != 32 {
				t.Fatalf("the token of %s is %q", id, token)
			}
			tokens = append(tokens, token)
			w.speaks("link " + token)
		}
		w.restart()
		for i, token := range tokens {
			if got := w.respondent("s", token); got["id"] != ids[i] {
				t.Errorf("the token of %s is that of %v", ids[i], got["id"])
			}
		}
		w.reportDisposition("s", tokens[0], fields{"disposition": "completed"})
		stolen := ids[1] + strings.TrimPrefix(tokens[0], ids[0])
		w.want(404, "POST", "/v1/surveys/s/respondents/"+stolen+"/disposition", fields{"disposition": "completed"})
		w.want(404, "GET", "/v1/surveys/s/respondents/"+tokens[1]+"0", nil)

		calls := w.launchSurvey("c", surveyBody([]string{"ivr"}, fields{"questionnaires": fields{"q": fields{"ivr": []fields{{"call": fields{"callback_url": "https://flow.test/{{token}}"}}}}}}), 10, 1)
		w.speaks("https://flow.test/" + w.respondent("c", calls[0])["token"].(string))
		w.expectNoFaults()
	})
}
