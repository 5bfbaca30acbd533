package surveys_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// answerCall reports that the person has answered a call.
func answerCall(w *world.World, a world.LabAttempt) {
	w.Helper()
	w.Want(200, "POST", a.Callback+"/report/"+a.ID+"?answered=1", nil)
}

// Scenario 96: a respondent who picks up a call was contacted, even if the call is hung
// up at once without a report: the end is unresponsive, not failed.
func TestSurveyReached_AnsweredCallsReachTheRespondent(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("calls", 10, world.Fields{"type": "labcall"})
		ids := w.LaunchSurvey("s", world.ByIVR(""), 0, 3)
		w.Sent(3)
		first := w.Speaks(world.CallKey("s", ids[0], 1))
		answerCall(w, first)
		w.ExpectRespondent("s", ids[0], "active, contacted")
		w.ExpectInFlight("calls", 3)
		w.Restart()
		w.ExpectInFlight("calls", 3)
		w.ReportAttempt(first, "all", "failed")
		w.ExpectRespondent("s", ids[0], "failed, unresponsive")
		second := w.Speaks(world.CallKey("s", ids[1], 1))
		w.Lab.End(second, "all", "failed")
		w.Want(200, "POST", second.Callback+"/report/"+second.ID+"?outcome=failed&answered=1", nil)
		w.ExpectRespondent("s", ids[1], "failed, unresponsive")
		w.Report(world.CallKey("s", ids[2], 1), "all", "busy")
		w.ExpectRespondent("s", ids[2], "failed, failed")
		w.ExpectInFlight("calls", 0)
		w.ExpectNoFaults()
	})
}

// Scenario 97: the first message of a respondent starts the conversation; without an end
// it breaks off.
func TestSurveyReached_TheFirstReplyStartsTheConversation(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 10)
		ids := w.LaunchSurvey("s", world.BySMS(""), 0, 3)
		for i, id := range ids {
			w.Speaks(world.TextKey("s", id, 1))
			w.Finish(world.TextKey("s", id, 1))
			w.ExpectRespondent("s", id, "active, contacted")
			if i == 0 {
				w.ReceiveMessage("texts", world.Number(0), "hello")
			}
		}
		w.ExpectRespondent("s", ids[0], "active, started")
		for range 2 { // the response to the first request may be lost
			w.ReportDisposition("s", ids[1], world.Fields{"answers": world.Fields{"age": "34"}, "messages": []string{"thank you"}, "key": "k"})
		}
		w.Speaks("thank you")
		w.Finish("thank you")
		w.ExpectRespondent("s", ids[1], "active, started")
		w.Pass(3 * time.Hour)
		for i, want := range []string{"1 1", "2 0", "1 0"} {
			r := w.Respondent("s", ids[i])
			if got := fmt.Sprint(r["messages_sent"], " ", r["messages_received"]); got != want {
				t.Errorf("respondent %d was sent and sent %s messages, want %s", i, got, want)
			}
		}
		for i, want := range []string{"failed, breakoff", "failed, breakoff", "failed, unresponsive"} {
			if got := w.RespondentState("s", ids[i]); got != want {
				t.Errorf("respondent %d is %s, want %s", i, got, want)
			}
		}
		w.ExpectNoFaults()
	})
}

// Scenario 98: the provider's reason is in the log of the survey, as JSON and as CSV; the
// ids in the CSV are text.
func TestSurveyReached_ProvidersReasonIsInTheLog(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("calls", 10, world.Fields{"type": "labcall"})
		id := w.LaunchSurvey("s", world.ByIVR(""), 0, 1)[0]
		a := w.Speaks(world.CallKey("s", id, 1))
		w.Lab.End(a, "all", "failed")
		w.Want(200, "POST", a.Callback+"/report/"+a.ID+"?outcome=failed&answered=1&reason=Number+changed", nil)
		w.ExpectRespondent("s", id, "failed, unresponsive")
		reason, key := "", ""
		for _, e := range w.Want(200, "GET", "/v1/surveys/s/log", nil).Body["entries"].([]any) {
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
		text := w.Want(200, "GET", "/v1/surveys/s/log.csv", nil).Text
		if !strings.Contains(text, ",ended,ivr,calls,1,failed,,,Number changed") || !strings.Contains(text, key+",") {
			t.Errorf("log.csv is %s", text)
		}
	})
}

// Scenario 100: ids of respondents are consecutive; the tokens used in links cannot be
// guessed, and can replace the id in paths.
func TestSurveyReached_TokensCannotBeGuessed(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 10)
		w.Channel("calls", 10, world.Fields{"type": "labcall"})
		ids := w.LaunchSurvey("s", world.BySMS("", world.Fields{"questionnaires": world.Fields{"q": world.Fields{"sms": []world.Fields{{"messages": []string{"link {{token}}"}}}}}}), 0, 2)
		var tokens []string
		for _, id := range ids {
			token, _ := w.Respondent("s", id)["token"].(string)
			code, ok := strings.CutPrefix(token, id+"-")
			if !ok || len(code) != 32 {
				t.Fatalf("the token of %s is %q", id, token)
			}
			tokens = append(tokens, token)
			w.Speaks("link " + token)
		}
		w.Restart()
		for i, token := range tokens {
			if got := w.Respondent("s", token); got["id"] != ids[i] {
				t.Errorf("the token of %s is that of %v", ids[i], got["id"])
			}
		}
		w.ReportDisposition("s", tokens[0], world.Fields{"disposition": "completed"})
		stolen := ids[1] + strings.TrimPrefix(tokens[0], ids[0])
		w.Want(404, "POST", "/v1/surveys/s/respondents/"+stolen+"/disposition", world.Fields{"disposition": "completed"})
		w.Want(404, "GET", "/v1/surveys/s/respondents/"+tokens[1]+"0", nil)

		calls := w.LaunchSurvey("c", world.SurveyBody([]string{"ivr"}, world.Fields{"questionnaires": world.Fields{"q": world.Fields{"ivr": []world.Fields{{"call": world.Fields{"callback_url": "https://flow.test/{{token}}"}}}}}}), 10, 1)
		w.Speaks("https://flow.test/" + w.Respondent("c", calls[0])["token"].(string))
		w.ExpectNoFaults()
	})
}
