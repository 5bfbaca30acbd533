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
