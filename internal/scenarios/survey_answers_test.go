package scenarios_test

import (
	"testing"
)

// bySex are quotas on an answer that no respondent has given before the launch.
func bySex(each int, more ...fields) fields {
	body := bySMS("1h", fields{"quotas": []fields{
		{"where": fields{"sex": fields{"in": []string{"f"}}}, "quota": each},
		{"where": fields{"sex": fields{"in": []string{"m"}}}, "quota": each},
	}})
	for _, m := range more {
		for k, v := range m {
			body[k] = v
		}
	}
	return body
}

// Scenario 91: quotas on answers. With an application the attributes may come
// later and nothing is said; without one the launch warns.
func TestScenario91_QuotasOnAnswers(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 20)
		ids := w.draft("s", bySex(1, fields{"application": fields{"url": "http://app.test/"}}), 0, 4)
		if a := w.want(200, "POST", "/v1/surveys/s:launch", nil).Body; a["warnings"] != nil {
			t.Errorf("with an application the launch warns: %v", a["warnings"])
		}
		w.sent(2)
		for i, sex := range []string{"F", "m"} {
			w.reported("s", ids[i], fields{"disposition": "completed", "answers": fields{"sex": sex}})
			if p := w.person("s", ids[i]); p["bucket"] != float64(i) || p["counted"] != true {
				t.Errorf("who answers %s: bucket %v, counted %v", sex, p["bucket"], p["counted"])
			}
		}
		w.until("the survey is done", func() bool { return w.surveyState("s") == "done reached" })

		w.draft("alone", bySex(1), 100, 1)
		warnings, _ := w.want(200, "POST", "/v1/surveys/alone:launch", nil).Body["warnings"].([]any)
		if len(warnings) != 2 || warnings[0].(map[string]any)["pointer"] != "/quotas/0/where/sex" {
			t.Errorf("without an application the launch warns of %v", warnings)
		}
		w.unbroken()
	})
}

// Scenario 92: the answer that decides the bucket finds it full. The question that
// the application wanted to ask does not go out; the survey's own message does, once,
// and the application is told in the answer and by an event.
func TestScenario92_FullQuotaEndsTheConversation(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 20)
		ids := w.launch("s", bySex(1, fields{"application": fields{"url": "http://app.test/"}, "quota_message": "{{respondent}} is not needed"}), 0, 8)
		silent := w.launch("silent", bySex(1), 100, 8)
		w.sent(4)
		for survey, ids := range map[string][]string{"s": ids, "silent": silent} {
			w.reported(survey, ids[0], fields{"disposition": "completed", "answers": fields{"sex": "f"}})
			for range 2 { // the answer to the first request may be lost
				got := w.reported(survey, ids[1], fields{"disposition": "started", "answers": fields{"sex": "f"}, "messages": []string{survey + " next question"}, "key": "q2"})
				if got["status"] != "rejected" || got["disposition"] != "rejected" || got["messages_withheld"] != true {
					t.Errorf("%s: the application hears %v", survey, got)
				}
			}
			if got := w.reported(survey, ids[1], fields{"messages": []string{survey + " another question"}}); got["messages_withheld"] != true {
				t.Errorf("%s: after the end the application hears %v", survey, got)
			}
		}
		w.speaks(ids[1] + " is not needed")
		w.rest()
		for _, text := range []string{"s next question", "s another question", "silent next question", silent[1] + " is not needed"} {
			if n := w.sends(text); n != 0 {
				t.Errorf("%q was sent %d times", text, n)
			}
		}
		if n := w.sends(ids[1] + " is not needed"); n != 1 {
			t.Errorf("the quota message was sent %d times", n)
		}
		told := 0
		for _, e := range w.told("weir.survey.respondent") {
			if e["respondent"] == ids[1] && e["status"] == "rejected" {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%d events say that the respondent is rejected", told)
		}
		got := w.reported("silent", silent[1], fields{"disposition": "rejected", "messages": []string{"goodbye"}, "key": "bye"})
		if got["messages_withheld"] != nil {
			t.Errorf("an application that reports the rejection itself hears %v", got)
		}
		w.speaks("goodbye")
		w.unbroken()
	})
}
