package surveys_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// money returns what is spent of a survey's budget.
func spentOf(w *world.World, survey string) string {
	w.Helper()
	b, _ := w.Want(http.StatusOK, "GET", "/v1/surveys/"+survey+"/stats", nil).Body["budget"].(map[string]any)
	text, _ := b["spent"].(string)
	return text
}

// Scenario 343: a survey ends by itself when its budget pays for nobody's next contact, after what
// is in flight, and never costs more; also after crashes.
func TestBudget_ASurveyEndsWhenItIsSpent(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 5)
		w.Want(http.StatusCreated, "PUT", "/v1/prices/texts", world.Fields{"currency": "USD", "per_attempt": "0.4"})
		ids := w.LaunchSurvey("s", world.BySMS("", world.Fields{"budget": world.Fields{"money": "1", "currency": "USD"}}), 0, 6)
		w.Sent(2)
		w.SurveyBecause("s", "budget_spent", "0.80 of 1.00 USD, and a contact for 0.40 more would exceed it")
		w.Restart() // the process that has seen a claim refused is gone
		if got := w.SurveyState("s"); got != "running" {
			t.Errorf("with contacts in flight it is %s", got)
		}
		sent := slices.Clone(w.Lab.SentKeys())
		var reached []string
		for _, id := range ids {
			if slices.ContainsFunc(sent, func(key string) bool { return strings.Contains(key, " "+id+" ") }) {
				reached = append(reached, id)
			}
		}
		w.Report(sent[0], "all", "completed")
		w.Report(sent[1], "all", "completed")
		w.ReportDisposition("s", reached[0], world.Fields{"disposition": "completed"})
		if w.Virtual {
			w.Pass(20 * time.Second)
		}
		if got := w.SurveyState("s"); got != "running" {
			t.Errorf("while somebody may answer it is %s", got)
		}
		w.ReportDisposition("s", reached[1], world.Fields{"disposition": "completed"})
		w.Restart()
		w.Until("the survey is done", func() bool { return w.SurveyState("s") == "done budget_spent" })
		w.Sent(2)
		if got := spentOf(w, "s"); got != "0.80" {
			t.Errorf("spent: %s", got)
		}
		for _, id := range ids {
			want := "canceled, "
			if slices.Contains(reached, id) {
				want = "completed, completed"
			}
			if got := w.RespondentState("s", id); !strings.HasPrefix(got, want) {
				t.Errorf("%s is %s", id, got)
			}
		}
		w.Until("nothing waits", func() bool { return w.Figure("texts", "queued") == 0 })
		var causes []any
		for _, e := range w.PublishedEvents("weir.survey.state") {
			if e["state"] == "done" {
				causes = append(causes, e["cause"])
			}
		}
		if len(causes) != 1 || causes[0] != "budget_spent" {
			t.Errorf("the events of its end: %v", causes)
		}
		// What comes late for the survey costs nothing either, until its name is free.
		w.Restart()
		late := w.Accept("texts", world.SMS("late", world.Fields{"survey": "s"}))
		if got := w.Done(late["late"]); got != "suppressed" {
			t.Errorf("a late contact is %s", got)
		}
		w.Want(http.StatusNoContent, "DELETE", "/v1/surveys/s", nil)
		w.Accept("texts", world.SMS("of no survey", world.Fields{"survey": "s"}))
		w.Sent(3)
		w.ExpectNoFaults()
	})
}

// Scenario 344: what contacts have not cost goes to others, and a raised budget is spent further.
func TestBudget_IsSpentOnOthersWhenContactsCostLess(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("calls", 5, world.Fields{"type": "labcall"})
		w.Want(http.StatusCreated, "PUT", "/v1/prices/calls", world.Fields{"currency": "USD", "per_minute": "0.5"})
		w.LaunchSurvey("s", world.ByIVR("", world.Fields{"budget": world.Fields{"money": "1", "currency": "USD"}}), 0, 8)
		w.Sent(2)
		w.Pass(5 * time.Minute)
		w.Sent(2)
		w.Report(w.Lab.SentKeys()[0], "all", "no_answer")
		w.Pass(2 * time.Minute)
		w.Sent(3)
		if got := spentOf(w, "s"); got != "1.00" {
			t.Errorf("spent: %s", got)
		}
		less := w.Want(http.StatusUnprocessableEntity, "PATCH", "/v1/surveys/s", world.Fields{"budget": world.Fields{"money": "0.99"}})
		if !strings.Contains(less.Text, `"pointer":"/budget/money","code":"minimum","detail":"must be at least 1.00 USD, which is spent or reserved already"`) {
			t.Errorf("a budget below what is spent: %s", less.Text)
		}
		gone := w.Want(http.StatusConflict, "DELETE", "/v1/prices/calls", nil)
		if !strings.Contains(gone.Text, "the budget of survey s counts USD") {
			t.Errorf("a price that is needed: %s", gone.Text)
		}
		w.Want(http.StatusOK, "PATCH", "/v1/surveys/s", world.Fields{"budget": world.Fields{"money": "1.5"}})
		w.Pass(2 * time.Minute)
		w.Sent(4)
		for _, key := range w.Lab.SentKeys()[1:] {
			w.Report(key, "all", "completed")
		}
		w.Pass(24 * time.Hour)
		if got := w.SurveyState("s"); got != "done budget_spent" {
			t.Errorf("it is %s", got)
		}
		w.Sent(4)
		w.ExpectNoFaults()
	})
}

// Scenario 345: a launch on a budget that cannot be kept is refused with every reason, and the check
// before it says about how many attempts the budget pays for.
func TestBudget_ALaunchNeedsPricesInItsCurrency(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 5)
		bad := w.Want(http.StatusUnprocessableEntity, "PUT", "/v1/surveys/s", world.BySMS("", world.Fields{"budget": world.Fields{"money": "0", "currency": "dollars", "what": 1}}))
		for _, pointer := range []string{"/budget/money", "/budget/currency", "/budget/what"} {
			if strings.Count(bad.Text, `"pointer":"`+pointer+`"`) != 1 {
				t.Errorf("%s: %s", pointer, bad.Text)
			}
		}
		w.CreateSurvey("s", world.BySMS("", world.Fields{"budget": world.Fields{"money": "0.05", "currency": "USD"}}), 0, 3)
		refused := func(want ...string) {
			t.Helper()
			launch := w.Want(http.StatusUnprocessableEntity, "POST", "/v1/surveys/s:launch", nil)
			check := w.Want(http.StatusOK, "GET", "/v1/surveys/s/launch-check", nil)
			for _, text := range want {
				if !strings.Contains(launch.Text, text) || !strings.Contains(check.Text, text) {
					t.Errorf("%s is not in %s and %s", text, launch.Text, check.Text)
				}
			}
		}
		refused(`"pointer":"/modes/sms/channel","code":"no_price"`)
		w.Want(http.StatusCreated, "PUT", "/v1/prices/texts", world.Fields{"currency": "KES", "per_segment": "0.02"})
		refused(`"pointer":"/modes/sms/channel","code":"no_price"`)
		w.Want(http.StatusOK, "PUT", "/v1/prices/texts", world.Fields{"currency": "USD", "per_segment": "0.02"})
		ids := w.Accept("texts", world.SMS("before", world.Fields{"survey": "s"}), world.SMS("another", world.Fields{"survey": "s"}), world.SMS("third", world.Fields{"survey": "s"}))
		w.Sent(3)
		refused(`"pointer":"/budget/money","code":"minimum","detail":"must be more than 0.06 USD`)
		w.Finish("before", "another", "third")
		w.Done(ids["third"])
		w.Want(http.StatusOK, "PATCH", "/v1/surveys/s", world.Fields{"budget": world.Fields{"money": "0.13"}})
		check, _ := w.Want(http.StatusOK, "GET", "/v1/surveys/s/launch-check", nil).Body["budget"].(map[string]any)
		if check["attempts"] != 3.0 || check["per_attempt"] != "0.02" || check["left"] != "0.07" {
			t.Errorf("the check: %v", check)
		}
		w.SurveyCommand("s", "launch")
		w.Sent(6)
	})
}

// Scenario 344: respondents whose numbers cost more than is left keep nobody from being contacted
// who can be paid for.
func TestBudget_PaysForCheaperNumbersFirstWhenLittleIsLeft(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(9, 0), func(w *world.World) {
		w.Channel("texts", 5)
		w.Want(http.StatusCreated, "PUT", "/v1/prices/texts", world.Fields{"currency": "USD", "per_attempt": "0.5", "prefixes": []world.Fields{{"prefix": "+44", "per_attempt": "0.1"}}})
		ids := w.CreateSurvey("s", world.BySMS("", world.Fields{"batch_size": 2, "budget": world.Fields{"money": "1.2", "currency": "USD"}}), 0, 7)
		cheap := w.AddRespondents("s", world.Fields{"phone": "+447700900001"}, world.Fields{"phone": "+447700900002"})
		w.SurveyCommand("s", "launch")
		w.Sent(2)
		w.ReportDisposition("s", ids[0], world.Fields{"disposition": "completed"})
		w.ReportDisposition("s", ids[1], world.Fields{"disposition": "completed"})
		for _, key := range w.Lab.SentKeys() {
			w.Report(key, "all", "completed")
		}
		w.Pass(10 * time.Minute)
		w.Sent(4)
		if got := spentOf(w, "s"); got != "1.20" {
			t.Errorf("spent: %s", got)
		}
		if got := w.SurveyState("s"); got != "running" {
			t.Errorf("while the cheaper ones may answer it is %s", got)
		}
		w.ReportDisposition("s", cheap[0], world.Fields{"disposition": "completed"})
		w.ReportDisposition("s", cheap[1], world.Fields{"disposition": "completed"})
		for _, key := range w.Lab.SentKeys()[2:] {
			w.Report(key, "all", "completed")
		}
		w.Pass(2 * time.Minute)
		if got := w.SurveyState("s"); got != "done budget_spent" {
			t.Errorf("at the end it is %s", got)
		}
		w.ExpectNoFaults()
	})
}
