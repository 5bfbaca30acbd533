package surveys_test

import (
	"fmt"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// An interview by a person is a mode like any other, with its own retry schedule,
// windows and end. The worker is chosen by an attribute of the respondent, who is
// called again if no worker picks up, and the interviewer's entry is the result.
func TestSurveyCATI_InterviewIsAModeLikeAnyOther(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		s := world.Hire(w, 5, false, nil)
		s.Worker("ann", "Spanish")
		s.Worker("bob", "English")
		body := world.SurveyBody(nil, world.Fields{
			"labels": []string{"language"}, "modes": world.Fields{"cati": world.Fields{"channel": "people", "retries": "2s"}},
			"arms":           []world.Fields{{"modes": []string{"cati"}}},
			"questionnaires": world.Fields{"q": world.Fields{"cati": []world.Fields{{"messages": []string{"Ask {{respondent}}"}, "call": world.Fields{"callback_url": "https://forms.example/{{respondent}}"}}}}},
		})
		w.Want(201, "PUT", "/v1/surveys/talks", body)
		ids := w.AddRespondents("talks",
			world.Fields{"phone": world.Number(1), "attributes": world.Fields{"language": "Spanish"}},
			world.Fields{"phone": world.Number(2), "attributes": world.Fields{"language": "English"}})
		w.SurveyCommand("talks", "launch")

		first := s.Interview(ids[0], 1)
		s.Close(first, s.Accept("ann", first), "no_answer")
		second := s.Interview(ids[1], 1)
		interview := s.Accept("bob", second)
		w.ReportDisposition("talks", ids[1], world.Fields{"disposition": "completed"})
		s.Close(second, interview, "")
		w.ExpectRespondent("talks", ids[1], "completed, completed")

		again := s.Interview(ids[0], 2)
		s.Close(again, s.Accept("ann", again), "no_answer")
		w.ExpectRespondent("talks", ids[0], "failed, failed")
		if n := w.AttemptsMade("talks", ids[0], "cati"); n != 2 {
			t.Errorf("%d interviews were tried, want 2", n)
		}
		w.Until("the survey is over", func() bool { return w.SurveyState("talks") == "done exhausted" })
		w.ExpectNoFaults()
	})
}

// A channel whose provider is a machine cannot be used for interviews by people.
func TestSurveyCATI_InterviewsNeedAChannelOfPeople(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("calls", 1, world.Fields{"type": "labcall"})
		body := world.SurveyBody([]string{"ivr"})
		body["modes"] = world.Fields{"cati": world.Fields{"channel": "calls"}}
		body["arms"] = []world.Fields{{"modes": []string{"cati"}}}
		body["questionnaires"] = world.Fields{"q": world.Fields{"cati": []world.Fields{{"messages": []string{"Ask"}}}}}
		w.Want(422, "PUT", "/v1/surveys/talks", body)
	})
}

// launchInterviews launches a survey of one respondent; the interviewer Ann is available.
func launchInterviews(w *world.World, retries string, settings world.Fields) (s *world.Staff, respondent string) {
	w.Helper()
	s = world.Hire(w, 5, false, settings)
	s.Worker("ann", "Spanish")
	w.Want(201, "PUT", "/v1/surveys/talks", world.SurveyBody(nil, world.Fields{
		"labels": []string{"language"}, "modes": world.Fields{"cati": world.Fields{"channel": "people", "retries": retries}},
		"arms":           []world.Fields{{"modes": []string{"cati"}}},
		"questionnaires": world.Fields{"q": world.Fields{"cati": []world.Fields{{"messages": []string{"Ask {{respondent}}"}}}}},
	}))
	ids := w.AddRespondents("talks", world.Fields{"phone": world.Number(1), "attributes": world.Fields{"language": "Spanish"}})
	w.SurveyCommand("talks", "launch")
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
			world.OnSurveys(t, func(w *world.World) {
				var settings world.Fields
				if code == "too young" {
					settings = world.Fields{"dispositions": "too_young=ineligible"}
				}
				s, respondent := launchInterviews(w, "1s 1s", settings)
				contact := s.Interview(respondent, 1)
				s.Close(contact, s.Accept("ann", contact), code)
				w.ExpectRespondent("talks", respondent, want)
				w.Until("the survey is done", func() bool { return w.SurveyState("talks") == "done exhausted" })
				if n := w.AttemptsMade("talks", respondent, "cati"); n != 1 {
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
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		s, respondent := launchInterviews(w, "", nil)
		contact := s.Interview(respondent, 1)
		at := time.Now().Add(5 * time.Hour).UTC().Truncate(time.Second)
		s.Close(contact, s.Accept("ann", contact), "callback@"+at.Format(time.RFC3339))
		again := nextContact(s, respondent, contact)
		if late := time.Since(at); late < 0 || late > time.Minute {
			t.Errorf("called back %v after the instant", late)
		}
		s.Close(again, s.Accept("ann", again), "completed")
		w.ExpectRespondent("talks", respondent, "completed, completed")
	})
}

// The delay to the next interview counts from the end of the last one, however
// long the job had waited for an interviewer.
// Scenario 146.
func TestSurveyCATI_InterviewsAreRetriedAfterTheirEnd(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		s, respondent := launchInterviews(w, "10m", nil)
		contact := s.Interview(respondent, 1)
		w.Pass(9 * time.Minute)
		assignment := s.Accept("ann", contact)
		w.Pass(6 * time.Minute)
		s.Close(contact, assignment, "no_answer")
		ended := time.Now()
		nextContact(s, respondent, contact)
		if after := time.Since(ended); after < 9*time.Minute || after > 11*time.Minute {
			t.Errorf("made again %v after its end, want 10m", after)
		}
	})
}

// nextContact waits for a contact of a respondent other than after, and returns its id.
func nextContact(s *world.Staff, respondent, after string) (contact string) {
	s.Helper()
	s.Until(fmt.Sprintf("a contact of %s after %s", respondent, after), func() bool {
		for _, c := range s.Want(200, "GET", "/v1/contacts?channel=people&survey=talks", nil).Body["contacts"].([]any) {
			c := c.(map[string]any)
			if c["labels"].(map[string]any)["respondent"] == respondent && c["id"] != after && c["state"] != "done" {
				contact = c["id"].(string)
			}
		}
		return contact != ""
	})
	return contact
}
