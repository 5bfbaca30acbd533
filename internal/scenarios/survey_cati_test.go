package scenarios_test

import (
	"testing"
)

// An interview by a person is a mode as any other: its ladder, its windows, its
// end. The worker is chosen by an attribute of the respondent, who is called
// again when nobody picks up, and what the interviewer enters is the result.
func TestInterviewsOfASurvey(t *testing.T) {
	onSurveys(t, func(w *world) {
		s := hire(w, 5, false, nil)
		s.worker("ann", "Spanish")
		s.worker("bob", "English")
		body := asking(nil, fields{
			"labels": []string{"language"}, "modes": fields{"cati": fields{"channel": "people", "retries": "2s"}},
			"arms":           []fields{{"modes": []string{"cati"}}},
			"questionnaires": fields{"q": fields{"cati": []fields{{"messages": []string{"Ask {{respondent}}"}, "call": fields{"callback_url": "https://forms.example/{{respondent}}"}}}}},
		})
		w.want(201, "PUT", "/v1/surveys/talks", body)
		ids := w.join("talks",
			fields{"phone": number(1), "attributes": fields{"language": "Spanish"}},
			fields{"phone": number(2), "attributes": fields{"language": "English"}})
		w.step("talks", "launch")

		first := s.interview(ids[0], 1)
		s.close(first, s.accept("ann", first), "no_answer")
		second := s.interview(ids[1], 1)
		interview := s.accept("bob", second)
		w.reported("talks", ids[1], fields{"disposition": "completed"})
		s.close(second, interview, "")
		w.standing("talks", ids[1], "completed, completed")

		again := s.interview(ids[0], 2)
		s.close(again, s.accept("ann", again), "no_answer")
		w.standing("talks", ids[0], "failed, failed")
		if n := w.tried("talks", ids[0], "cati"); n != 2 {
			t.Errorf("%d interviews were tried, want 2", n)
		}
		w.until("the survey is over", func() bool { return w.surveyState("talks") == "done exhausted" })
		w.unbroken()
	})
}

// A channel to machines is no channel to people.
func TestInterviewsNeedPeople(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("calls", 1, fields{"type": "labcall"})
		body := asking([]string{"ivr"})
		body["modes"] = fields{"cati": fields{"channel": "calls"}}
		body["arms"] = []fields{{"modes": []string{"cati"}}}
		body["questionnaires"] = fields{"q": fields{"cati": []fields{{"messages": []string{"Ask"}}}}}
		w.want(422, "PUT", "/v1/surveys/talks", body)
	})
}

// interview waits for a contact of a respondent, by the attempt's number, and
// gives its id.
func (s *staff) interview(respondent string, attempt int) (contact string) {
	s.Helper()
	s.until("an interview with "+respondent, func() bool {
		for _, c := range s.want(200, "GET", "/v1/contacts?channel=people&survey=talks", nil).Body["contacts"].([]any) {
			c := c.(map[string]any)
			labels := c["labels"].(map[string]any)
			if labels["respondent"] == respondent && labels["attempt"] == string(rune('0'+attempt)) {
				contact = c["id"].(string)
			}
		}
		return contact != ""
	})
	return contact
}
