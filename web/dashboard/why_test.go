package dashboard_test

import (
	"strings"
	"testing"

	"weir/surveys"
	"weir/web/api"
	"weir/web/surveyapi"
)

// Scenario 121: the page of anything that waits shows the reason.
func TestScenario121_PagesShowWhySomethingWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	r.survey("flu", 2)
	r.routed()
	b := r.login("admin")
	reason := func(path, sentence string) {
		t.Helper()
		b.get(path).want(200).has(`id="why"`, sentence)
	}
	r.channel("a")
	var list api.ContactList
	r.api("GET", "/v1/contacts?channel=a&state=queued", "", &list)
	if len(list.Contacts) == 0 || !strings.Contains(list.Contacts[0].Why, "channel a is paused") {
		t.Fatalf("the contacts of the channel: %+v", list.Contacts)
	}
	reason("/contacts/"+list.Contacts[0].ID, "channel a is paused")
	reason("/channels/a", "channel a is paused")
	b.get("/contacts?channel=a").want(200).has("channel a is paused")
	reason("/surveys/flu", "a draft contacts no respondents; launch it")
	var people surveyapi.RespondentList
	r.api("GET", "/v1/surveys/flu/respondents", "", &people)
	reason("/surveys/flu/respondents/"+people.Respondents[0].ID, "a draft contacts no respondents; launch it")
	reason("/router/jobs/one", "offered to worker ann; the offer expires at ")
}

// Scenario 121: this also holds for the page of a survey that another version of
// Weir stored and this one cannot run.
func TestScenario121_PageOfASurveyThatCannotBeRun(t *testing.T) {
	t.Parallel()
	r := newRigAfter(t, func(r *rig) {
		store := r.open()
		defer func() { _ = store.Close(t.Context()) }()
		if err := store.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		flu, _, err := store.PutSurvey(t.Context(), surveys.Survey{Name: "flu"})
		if err != nil {
			t.Fatal(err)
		}
		flu.State = surveys.Running
		if _, err := store.UpdateSurvey(t.Context(), flu); err != nil {
			t.Fatal(err)
		}
	}, nil, "router")
	r.login("admin").get("/surveys/flu").want(200).has(`id="why"`, "the definition cannot be run: ", "No statistics")
}
