package scenarios_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Respondents of a running survey are corrected before they are contacted, stopped while
// a contact is queued or in flight, and removed after it ended; all of that outlives a
// crash.
func TestRespondents_AreCorrectedStoppedAndRemoved(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("calls", 2, fields{"type": "labcall"})
		ids := w.launchSurvey("s", byIVR("1h"), 0, 4)
		w.sent(2)
		one := func(i int) string { return "/v1/surveys/s/respondents/" + ids[i] }
		w.until("the third is queued", func() bool { return w.respondent("s", ids[2])["contact"] != nil })
		// In flight: neither corrected nor removed.
		for _, method := range []string{"PATCH", "DELETE"} {
			if a := w.call(method, one(0), map[string]any{"phone": number(100)}); a.Status != http.StatusConflict {
				t.Errorf("%s in flight: %d %s", method, a.Status, a.Text)
			}
		}
		// A contact in flight is canceled at the provider, a queued one in the queue.
		for _, i := range []int{0, 2} {
			if a := w.want(http.StatusOK, "POST", one(i)+"/stop", nil); a.Body["status"] != "canceled" {
				t.Errorf("stopped %d: %s", i, a.Text)
			}
		}
		w.restart()
		w.want(http.StatusOK, "POST", one(0)+"/stop", nil) // a repetition
		// Once more if the restart came before the provider's answer was written.
		called := w.lab.calledBack()
		if len(called) == 0 || slices.ContainsFunc(called, func(key string) bool { return key != callKey("s", ids[0], 1) }) {
			t.Errorf("canceled at the provider: %v", called)
		}
		for _, key := range w.lab.sentKeys() {
			if key == callKey("s", ids[2], 1) {
				t.Error("the queued respondent was called after the stop")
			}
		}
		w.until("the stopped one can be removed", func() bool { return w.call("DELETE", one(0), nil).Status == http.StatusNoContent })
		w.want(http.StatusNotFound, "GET", one(0), nil)
		w.report(callKey("s", ids[1], 1), "all", "completed")
		w.reportDisposition("s", ids[1], fields{"disposition": "completed"})
		w.until("the last is called", func() bool { return len(w.lab.sentKeys()) == 3 })
		w.report(callKey("s", ids[3], 1), "all", "completed")
		w.reportDisposition("s", ids[3], fields{"disposition": "completed"})
		w.until("the survey is done", func() bool { return strings.HasPrefix(w.surveyState("s"), "done") })
		stats := w.want(http.StatusOK, "GET", "/v1/surveys/s/stats", nil).Body
		by := stats["by_status"].(map[string]any)
		if stats["respondents"] != 3.0 || by["completed"] != 2.0 || by["canceled"] != 1.0 {
			t.Errorf("figures: %v, %v", stats["respondents"], by)
		}
		w.inFlight("calls", 0)
		w.expectNoFaults()
	})
}

// A respondent who is missing a value used in the texts prevents a launch, unless it is
// to be skipped; corrected in time, it is contacted like the others.
func TestLaunch_SkipsRespondentsThatAreMissingAValue(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("texts", 10)
		body := bySMS("1h")
		body["questionnaires"] = fields{"q": fields{"sms": []fields{{"messages": []string{"{{survey}} {{respondent}} {{attempt}} {{name}}"}}}}}
		body["schedule"] = daily("UTC", "10:00", "12:00")
		w.createSurvey("s", body, 0, 0)
		ids := w.addRespondents("s",
			fields{"phone": number(0), "attributes": fields{"name": "A"}}, fields{"phone": number(1)}, fields{"phone": number(2)})
		a := w.want(http.StatusUnprocessableEntity, "POST", "/v1/surveys/s:launch", nil)
		if !strings.Contains(a.Text, "2 respondents are missing a value used in the texts") || !strings.Contains(a.Text, ids[1]) {
			t.Errorf("refused: %s", a.Text)
		}
		a = w.want(http.StatusOK, "POST", "/v1/surveys/s:launch?missing=skip", nil)
		if !strings.Contains(a.Text, "/respondents/"+ids[2]+"/attributes/name") {
			t.Errorf("launched: %s", a.Text)
		}
		// A correction has to supply the value; an import may, too.
		w.want(http.StatusUnprocessableEntity, "PATCH", "/v1/surveys/s/respondents/"+ids[1], map[string]any{"attributes": fields{"city": "B"}})
		got := w.want(http.StatusOK, "POST", "/v1/surveys/s/respondents?duplicates=update", fields{"respondents": []fields{{"phone": number(1), "attributes": fields{"name": "B"}}}})
		if got.Body["updated"] != 1.0 {
			t.Errorf("imported again: %s", got.Text)
		}
		w.pass(61 * time.Minute)
		w.expectRespondent("s", ids[2], "failed, failed")
		if sent := strings.Join(w.lab.sentKeys(), "; "); len(w.lab.sentKeys()) != 2 || !strings.Contains(sent, ids[1]) {
			t.Errorf("sent: %s", sent)
		}
		// Corrected, the one that was skipped is contacted as well.
		w.want(http.StatusOK, "PATCH", "/v1/surveys/s/respondents/"+ids[2], map[string]any{"attributes": fields{"name": "C"}})
		w.until("it is contacted", func() bool { return len(w.lab.sentKeys()) == 3 })
		w.expectNoFaults()
	})
}
