package scenarios_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// money returns what is spent of a survey's budget.
func (w *world) spentOf(survey string) string {
	w.Helper()
	b, _ := w.want(http.StatusOK, "GET", "/v1/surveys/"+survey+"/stats", nil).Body["budget"].(map[string]any)
	text, _ := b["spent"].(string)
	return text
}

// Scenario 343: a survey ends by itself when its budget pays for nobody's next contact, after what
// is in flight, and never costs more; also after crashes.
func TestBudget_ASurveyEndsWhenItIsSpent(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 5)
		w.want(http.StatusCreated, "PUT", "/v1/prices/texts", fields{"currency": "USD", "per_attempt": "0.4"})
		ids := w.launchSurvey("s", bySMS("", fields{"budget": fields{"money": "1", "currency": "USD"}}), 0, 6)
		w.sent(2)
		w.surveyBecause("s", "budget_spent", "0.80 of 1.00 USD, and a contact for 0.40 more would exceed it")
		w.restart() // the process that has seen a claim refused is gone
		if got := w.surveyState("s"); got != "running" {
			t.Errorf("with contacts in flight it is %s", got)
		}
		sent := slices.Clone(w.lab.sentKeys())
		var reached []string
		for _, id := range ids {
			if slices.ContainsFunc(sent, func(key string) bool { return strings.Contains(key, " "+id+" ") }) {
				reached = append(reached, id)
			}
		}
		w.report(sent[0], "all", "completed")
		w.report(sent[1], "all", "completed")
		w.reportDisposition("s", reached[0], fields{"disposition": "completed"})
		if w.virtual {
			w.pass(20 * time.Second)
		}
		if got := w.surveyState("s"); got != "running" {
			t.Errorf("while somebody may answer it is %s", got)
		}
		w.reportDisposition("s", reached[1], fields{"disposition": "completed"})
		w.restart()
		w.until("the survey is done", func() bool { return w.surveyState("s") == "done budget_spent" })
		w.sent(2)
		if got := w.spentOf("s"); got != "0.80" {
			t.Errorf("spent: %s", got)
		}
		for _, id := range ids {
			want := "canceled, "
			if slices.Contains(reached, id) {
				want = "completed, completed"
			}
			if got := w.respondentState("s", id); !strings.HasPrefix(got, want) {
				t.Errorf("%s is %s", id, got)
			}
		}
		w.until("nothing waits", func() bool { return w.figure("texts", "queued") == 0 })
		var causes []any
		for _, e := range w.publishedEvents("weir.survey.state") {
			if e["state"] == "done" {
				causes = append(causes, e["cause"])
			}
		}
		if len(causes) != 1 || causes[0] != "budget_spent" {
			t.Errorf("the events of its end: %v", causes)
		}
		// What comes late for the survey costs nothing either, until its name is free.
		w.restart()
		late := w.accept("texts", sms("late", fields{"survey": "s"}))
		if got := w.done(late["late"]); got != "suppressed" {
			t.Errorf("a late contact is %s", got)
		}
		w.want(http.StatusNoContent, "DELETE", "/v1/surveys/s", nil)
		w.accept("texts", sms("of no survey", fields{"survey": "s"}))
		w.sent(3)
		w.expectNoFaults()
	})
}

// Scenario 344: what contacts have not cost goes to others, and a raised budget is spent further.
func TestBudget_IsSpentOnOthersWhenContactsCostLess(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("calls", 5, fields{"type": "labcall"})
		w.want(http.StatusCreated, "PUT", "/v1/prices/calls", fields{"currency": "USD", "per_minute": "0.5"})
		w.launchSurvey("s", byIVR("", fields{"budget": fields{"money": "1", "currency": "USD"}}), 0, 8)
		w.sent(2)
		w.pass(5 * time.Minute)
		w.sent(2)
		w.report(w.lab.sentKeys()[0], "all", "no_answer")
		w.pass(2 * time.Minute)
		w.sent(3)
		if got := w.spentOf("s"); got != "1.00" {
			t.Errorf("spent: %s", got)
		}
		less := w.want(http.StatusUnprocessableEntity, "PATCH", "/v1/surveys/s", fields{"budget": fields{"money": "0.99"}})
		if !strings.Contains(less.Text, `"pointer":"/budget/money","code":"minimum","detail":"must be at least 1.00 USD, which is spent or reserved already"`) {
			t.Errorf("a budget below what is spent: %s", less.Text)
		}
		gone := w.want(http.StatusConflict, "DELETE", "/v1/prices/calls", nil)
		if !strings.Contains(gone.Text, "the budget of survey s counts USD") {
			t.Errorf("a price that is needed: %s", gone.Text)
		}
		w.want(http.StatusOK, "PATCH", "/v1/surveys/s", fields{"budget": fields{"money": "1.5"}})
		w.pass(2 * time.Minute)
		w.sent(4)
		for _, key := range w.lab.sentKeys()[1:] {
			w.report(key, "all", "completed")
		}
		w.pass(24 * time.Hour)
		if got := w.surveyState("s"); got != "done budget_spent" {
			t.Errorf("it is %s", got)
		}
		w.sent(4)
		w.expectNoFaults()
	})
}

// Scenario 345: a launch on a budget that cannot be kept is refused with every reason, and the check
// before it says about how many attempts the budget pays for.
func TestBudget_ALaunchNeedsPricesInItsCurrency(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("texts", 5)
		bad := w.want(http.StatusUnprocessableEntity, "PUT", "/v1/surveys/s", bySMS("", fields{"budget": fields{"money": "0", "currency": "dollars", "what": 1}}))
		for _, pointer := range []string{"/budget/money", "/budget/currency", "/budget/what"} {
			if strings.Count(bad.Text, `"pointer":"`+pointer+`"`) != 1 {
				t.Errorf("%s: %s", pointer, bad.Text)
			}
		}
		w.createSurvey("s", bySMS("", fields{"budget": fields{"money": "0.05", "currency": "USD"}}), 0, 3)
		refused := func(want ...string) {
			t.Helper()
			launch := w.want(http.StatusUnprocessableEntity, "POST", "/v1/surveys/s:launch", nil)
			check := w.want(http.StatusOK, "GET", "/v1/surveys/s/launch-check", nil)
			for _, text := range want {
				if !strings.Contains(launch.Text, text) || !strings.Contains(check.Text, text) {
					t.Errorf("%s is not in %s and %s", text, launch.Text, check.Text)
				}
			}
		}
		refused(`"pointer":"/modes/sms/channel","code":"no_price"`)
		w.want(http.StatusCreated, "PUT", "/v1/prices/texts", fields{"currency": "KES", "per_segment": "0.02"})
		refused(`"pointer":"/modes/sms/channel","code":"no_price"`)
		w.want(http.StatusOK, "PUT", "/v1/prices/texts", fields{"currency": "USD", "per_segment": "0.02"})
		ids := w.accept("texts", sms("before", fields{"survey": "s"}), sms("another", fields{"survey": "s"}), sms("third", fields{"survey": "s"}))
		w.sent(3)
		refused(`"pointer":"/budget/money","code":"minimum","detail":"must be more than 0.06 USD`)
		w.finish("before", "another", "third")
		w.done(ids["third"])
		w.want(http.StatusOK, "PATCH", "/v1/surveys/s", fields{"budget": fields{"money": "0.13"}})
		check, _ := w.want(http.StatusOK, "GET", "/v1/surveys/s/launch-check", nil).Body["budget"].(map[string]any)
		if check["attempts"] != 3.0 || check["per_attempt"] != "0.02" || check["left"] != "0.07" {
			t.Errorf("the check: %v", check)
		}
		w.surveyCommand("s", "launch")
		w.sent(6)
	})
}

// Scenario 344: respondents whose numbers cost more than is left keep nobody from being contacted
// who can be paid for.
func TestBudget_PaysForCheaperNumbersFirstWhenLittleIsLeft(t *testing.T) {
	onSurveysFrom(t, monday(9, 0), func(w *world) {
		w.channel("texts", 5)
		w.want(http.StatusCreated, "PUT", "/v1/prices/texts", fields{"currency": "USD", "per_attempt": "0.5", "prefixes": []fields{{"prefix": "+44", "per_attempt": "0.1"}}})
		ids := w.createSurvey("s", bySMS("", fields{"batch_size": 2, "budget": fields{"money": "1.2", "currency": "USD"}}), 0, 7)
		cheap := w.addRespondents("s", fields{"phone": "+447700900001"}, fields{"phone": "+447700900002"})
		w.surveyCommand("s", "launch")
		w.sent(2)
		w.reportDisposition("s", ids[0], fields{"disposition": "completed"})
		w.reportDisposition("s", ids[1], fields{"disposition": "completed"})
		for _, key := range w.lab.sentKeys() {
			w.report(key, "all", "completed")
		}
		w.pass(10 * time.Minute)
		w.sent(4)
		if got := w.spentOf("s"); got != "1.20" {
			t.Errorf("spent: %s", got)
		}
		if got := w.surveyState("s"); got != "running" {
			t.Errorf("while the cheaper ones may answer it is %s", got)
		}
		w.reportDisposition("s", cheap[0], fields{"disposition": "completed"})
		w.reportDisposition("s", cheap[1], fields{"disposition": "completed"})
		for _, key := range w.lab.sentKeys()[2:] {
			w.report(key, "all", "completed")
		}
		w.pass(2 * time.Minute)
		if got := w.surveyState("s"); got != "done budget_spent" {
			t.Errorf("at the end it is %s", got)
		}
		w.expectNoFaults()
	})
}
