package surveys_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// Respondents of a running survey are corrected before they are contacted, stopped while
// a contact is queued or in flight, and removed after it ended; all of that outlives a
// crash.
func TestRespondents_AreCorrectedStoppedAndRemoved(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("calls", 2, world.Fields{"type": "labcall"})
		ids := w.LaunchSurvey("s", world.ByIVR("1h"), 0, 4)
		w.Sent(2)
		one := func(i int) string { return "/v1/surveys/s/respondents/" + ids[i] }
		w.Until("the third is queued", func() bool { return w.Respondent("s", ids[2])["contact"] != nil })
		// In flight: neither corrected nor removed.
		for _, method := range []string{"PATCH", "DELETE"} {
			if a := w.Call(method, one(0), map[string]any{"phone": world.Number(100)}); a.Status != http.StatusConflict {
				t.Errorf("%s in flight: %d %s", method, a.Status, a.Text)
			}
		}
		// A contact in flight is canceled at the provider, a queued one in the queue.
		for _, i := range []int{0, 2} {
			if a := w.Want(http.StatusOK, "POST", one(i)+"/stop", nil); a.Body["status"] != "canceled" {
				t.Errorf("stopped %d: %s", i, a.Text)
			}
		}
		w.Restart()
		w.Want(http.StatusOK, "POST", one(0)+"/stop", nil) // a repetition
		// Once more if the restart came before the provider's answer was written.
		called := w.Lab.CalledBack()
		if len(called) == 0 || slices.ContainsFunc(called, func(key string) bool { return key != world.CallKey("s", ids[0], 1) }) {
			t.Errorf("canceled at the provider: %v", called)
		}
		for _, key := range w.Lab.SentKeys() {
			if key == world.CallKey("s", ids[2], 1) {
				t.Error("the queued respondent was called after the stop")
			}
		}
		w.Until("the stopped one can be removed", func() bool { return w.Call("DELETE", one(0), nil).Status == http.StatusNoContent })
		w.Want(http.StatusNotFound, "GET", one(0), nil)
		w.Report(world.CallKey("s", ids[1], 1), "all", "completed")
		w.ReportDisposition("s", ids[1], world.Fields{"disposition": "completed"})
		w.Until("the last is called", func() bool { return len(w.Lab.SentKeys()) == 3 })
		w.Report(world.CallKey("s", ids[3], 1), "all", "completed")
		w.ReportDisposition("s", ids[3], world.Fields{"disposition": "completed"})
		w.Until("the survey is done", func() bool { return strings.HasPrefix(w.SurveyState("s"), "done") })
		stats := w.Want(http.StatusOK, "GET", "/v1/surveys/s/stats", nil).Body
		by := stats["by_status"].(map[string]any)
		if stats["respondents"] != 3.0 || by["completed"] != 2.0 || by["canceled"] != 1.0 {
			t.Errorf("figures: %v, %v", stats["respondents"], by)
		}
		w.InFlight("calls", 0)
		w.ExpectNoFaults()
	})
}

// A respondent who is missing a value used in the texts prevents a launch, unless it is
// to be skipped; corrected in time, it is contacted like the others.
func TestLaunch_SkipsRespondentsThatAreMissingAValue(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 10)
		body := world.BySMS("1h")
		body["questionnaires"] = world.Fields{"q": world.Fields{"sms": []world.Fields{{"messages": []string{"{{survey}} {{respondent}} {{attempt}} {{name}}"}}}}}
		body["schedule"] = world.Daily("UTC", "10:00", "12:00")
		w.CreateSurvey("s", body, 0, 0)
		ids := w.AddRespondents("s",
			world.Fields{"phone": world.Number(0), "attributes": world.Fields{"name": "A"}}, world.Fields{"phone": world.Number(1)}, world.Fields{"phone": world.Number(2)})
		a := w.Want(http.StatusUnprocessableEntity, "POST", "/v1/surveys/s:launch", nil)
		if !strings.Contains(a.Text, "2 respondents are missing a value used in the texts") || !strings.Contains(a.Text, ids[1]) {
			t.Errorf("refused: %s", a.Text)
		}
		a = w.Want(http.StatusOK, "POST", "/v1/surveys/s:launch?missing=skip", nil)
		if !strings.Contains(a.Text, "/respondents/"+ids[2]+"/attributes/name") {
			t.Errorf("launched: %s", a.Text)
		}
		// A correction has to supply the value; an import may, too.
		w.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/surveys/s/respondents/"+ids[1], map[string]any{"attributes": world.Fields{"city": "B"}})
		got := w.Want(http.StatusOK, "POST", "/v1/surveys/s/respondents?duplicates=update", world.Fields{"respondents": []world.Fields{{"phone": world.Number(1), "attributes": world.Fields{"name": "B"}}}})
		if got.Body["updated"] != 1.0 {
			t.Errorf("imported again: %s", got.Text)
		}
		w.Pass(61 * time.Minute)
		w.ExpectRespondent("s", ids[2], "failed, failed")
		if sent := strings.Join(w.Lab.SentKeys(), "; "); len(w.Lab.SentKeys()) != 2 || !strings.Contains(sent, ids[1]) {
			t.Errorf("sent: %s", sent)
		}
		// Corrected, the one that was skipped is contacted as well.
		w.Want(http.StatusOK, "PATCH", "/v1/surveys/s/respondents/"+ids[2], map[string]any{"attributes": world.Fields{"name": "C"}})
		w.Until("it is contacted", func() bool { return len(w.Lab.SentKeys()) == 3 })
		w.ExpectNoFaults()
	})
}
