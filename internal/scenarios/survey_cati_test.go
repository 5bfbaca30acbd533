package scenarios_test

import (
	"fmt"
	"testing"
	"time"
)

// An interview by a person is a mode like any other, with its own retry schedule,
// windows and end. The worker is chosen by an attribute of the respondent, who is
// called again if no worker picks up, and the interviewer's entry is the result.
func TestSurveyCATI_InterviewIsAModeLikeAnyOther(t *testing.T) {
	onSurveys(t, func(w *world) {
		s := hire(w, 5, false, nil)
		s.worker("ann", "Spanish")
		s.worker("bob", "English")
		body := surveyBody(nil, fields{
			"labels": []string{"language"}, "modes": fields{"cati": fields{"channel": "people", "retries": "2s"}},
			"arms":           []fields{{"modes": []string{"cati"}}},
			"questionnaires": fields{"q": fields{"cati": []fields{{"messages": []string{"Ask {{respondent}}"}, "call": fields{"callback_url": "https://forms.example/{{respondent}}"}}}}},
		})
		w.want(201, "PUT", "/v1/surveys/talks", body)
		ids := w.addRespondents("talks",
			fields{"phone": number(1), "attributes": fields{"language": "Spanish"}},
			fields{"phone": number(2), "attributes": fields{"language": "English"}})
		w.surveyCommand("talks", "launch")

		first := s.interview(ids[0], 1)
		s.close(first, s.accept("ann", first), "no_answer")
		second := s.interview(ids[1], 1)
		interview := s.accept("bob", second)
		w.reportDisposition("talks", ids[1], fields{"disposition": "completed"})
		s.close(second, interview, "")
		w.expectRespondent("talks", ids[1], "completed, completed")

		again := s.interview(ids[0], 2)
		s.close(again, s.accept("ann", again), "no_answer")
		w.expectRespondent("talks", ids[0], "failed, failed")
		if n := w.attemptsMade("talks", ids[0], "cati"); n != 2 {
			t.Errorf("%d interviews were tried, want 2", n)
		}
		w.until("the survey is over", func() bool { return w.surveyState("talks") == "done exhausted" })
		w.expectNoFaults()
	})
}

// A channel whose provider is a machine cannot be used for interviews by people.
func TestSurveyCATI_InterviewsNeedAChannelOfPeople(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("calls", 1, fields{"type": "labcall"})
		body := surveyBody([]string{"ivr"})
		body["modes"] = fields{"cati": fields{"channel": "calls"}}
		body["arms"] = []fields{{"modes": []string{"cati"}}}
		body["questionnaires"] = fields{"q": fields{"cati": []fields{{"messages": []string{"Ask"}}}}}
		w.want(422, "PUT", "/v1/surveys/talks", body)
	})
}

// interview waits for the contact of a respondent with this attempt number, and
// returns its id.
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

// launchInterviews launches a survey of one respondent; the interviewer Ann is available.
func launchInterviews(w *world, retries string, settings fields) (s *staff, respondent string) {
	w.Helper()
	s = hire(w, 5, false, settings)
	s.worker("ann", "Spanish")
	w.want(201, "PUT", "/v1/surveys/talks", surveyBody(nil, fields{
		"labels": []string{"language"}, "modes": fields{"cati": fields{"channel": "people", "retries": retries}},
		"arms":           []fields{{"modes": []string{"cati"}}},
		"questionnaires": fields{"q": fields{"cati": []fields{{"messages": []string{"Ask {{respondent}}"}}}}},
	}))
	ids := w.addRespondents("talks", fields{"phone": number(1), "attributes": fields{"language": "Spanish"}})
	w.surveyCommand("talks", "launch")
	return s, ids[0]
}

// The disposition code with which an interview is closed ends the respondent;
// no application has to report it.
// Scenario 145.
func TestSurveyCATI_InterviewsConclude(t *testing.T) {
	for code, want := range map[string]string{
		"completed": "completed, completed", "Refused": "completed, refused", "ineligible": "completed, ineligible",
		"partial": "completed, partial", "too young": "completed, ineligible",
	} {
		t.Run(code, func(t *testing.T) {
			onSurveys(t, func(w *world) {
				var settings fields
				if code == "too young" {
					settings = fields{"dispositions": "too_young=ineligible"}
				}
				s, respondent := launchInterviews(w, "1s 1s", settings)
				contact := s.interview(respondent, 1)
				s.close(contact, s.accept("ann", contact), code)
				w.expectRespondent("talks", respondent, want)
				w.until("the survey is done", func() bool { return w.surveyState("talks") == "done exhausted" })
				if n := w.attemptsMade("talks", respondent, "cati"); n != 1 {
					t.Errorf("%d interviews, want 1", n)
				}
			})
		})
	}
}

// A respondent who asks for a later call gets it at that instant, even if no
// retry is left.
// Scenario 145.
func TestSurveyCATI_RespondentIsCalledBackWhenAsked(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		s, respondent := launchInterviews(w, "", nil)
		contact := s.interview(respondent, 1)
		at := time.Now().Add(5 * time.Hour).UTC().Truncate(time.Second)
		s.close(contact, s.accept("ann", contact), "callback@"+at.Format(time.RFC3339))
		again := s.nextContact(respondent, contact)
		if late := time.Since(at); late < 0 || late > time.Minute {
			t.Errorf("called back %v after the instant", late)
		}
		s.close(again, s.accept("ann", again), "completed")
		w.expectRespondent("talks", respondent, "completed, completed")
	})
}

// The delay to the next interview counts from the end of the last one, however
// long the job had waited for an interviewer.
// Scenario 146.
func TestSurveyCATI_InterviewsAreRetriedAfterTheirEnd(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		s, respondent := launchInterviews(w, "10m", nil)
		contact := s.interview(respondent, 1)
		w.pass(9 * time.Minute)
		assignment := s.accept("ann", contact)
		w.pass(6 * time.Minute)
		s.close(contact, assignment, "no_answer")
		ended := time.Now()
		s.nextContact(respondent, contact)
		if after := time.Since(ended); after < 9*time.Minute || after > 11*time.Minute {
			t.Errorf("made again %v after its end, want 10m", after)
		}
	})
}

// nextContact waits for a contact of a respondent other than after, and returns its id.
func (s *staff) nextContact(respondent, after string) (contact string) {
	s.Helper()
	s.until(fmt.Sprintf("a contact of %s after %s", respondent, after), func() bool {
		for _, c := range s.want(200, "GET", "/v1/contacts?channel=people&survey=talks", nil).Body["contacts"].([]any) {
			c := c.(map[string]any)
			if c["labels"].(map[string]any)["respondent"] == respondent && c["id"] != after && c["state"] != "done" {
				contact = c["id"].(string)
			}
		}
		return contact != ""
	})
	return contact
}
