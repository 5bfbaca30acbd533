package dashboard_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"weir"
	"weir/api"
	"weir/internal/document"
	"weir/surveys"
)

// brake makes the brake of a stored channel act, beside the daemon.
func (r *rig) brake(name string) {
	r.t.Helper()
	store := r.open()
	defer func() { _ = store.Close(r.t.Context()) }()
	if err := store.Join(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	ch, _, err := store.PutChannel(r.t.Context(), weir.Channel{
		Name: name, Type: "nuntium", Capacity: 7, Brake: &weir.Brake{Failed: 20, Reasons: map[string]int{"<b>odd</b>": 30}},
		Settings: weir.Settings{"base_url": "http://127.0.0.1:1", "account": "a", "application": "b", "channel": "c", "password": "p"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	acted, err := store.BrakeChannel(r.t.Context(), ch.ID, weir.Braked{
		At: time.Now().Add(-time.Minute), Cause: weir.BrakeReason, Reason: "<b>odd</b>", Count: 9, Of: 20, Percent: 30, Touched: 340,
		Text: `paused itself: 9 of the last 20 contacts ended with the reason "<b>odd</b>", the bound is 30 %`,
	})
	if err != nil || !acted {
		r.t.Fatal(acted, err)
	}
}

func TestBrake_ItsChannelShowsWhatHappenedAndResumes(t *testing.T) {
	t.Parallel()
	r := newRigAfter(t, func(r *rig) { r.brake("texts") }, nil, "contacts:read channels:admin", "contacts:read")
	b := r.login("contacts:read channels:admin")
	const text = "paused itself: 9 of the last 20 contacts ended with the reason &#34;&lt;b&gt;odd&lt;/b&gt;&#34;, the bound is 30 %"
	b.get("/channels/texts").want(200).has(`id="braked"`, text, "340 contacts had ended", "It pauses itself if, of the last 100 contacts, from 20 on, more than 20 % failed", "/channels/texts/resume").hasNot("<b>odd")
	b.get("/").want(200).has(text)
	r.login("contacts:read").get("/channels/texts").want(200).has(`id="braked"`).hasNot("/channels/texts/resume")
	b.post("/channels/texts/resume", nil).want(http.StatusSeeOther)
	b.get("/channels/texts").want(200).has("is resumed", "It pauses itself if").hasNot(`id="braked"`)
	r.api("PATCH", "/v1/channels/texts", `{"brake":null}`, nil)
	b.get("/channels/texts").want(200).hasNot("It pauses itself if", "brake-head")
}

// brakeSurvey stores a survey that has paused itself.
func (r *rig) brakeSurvey(name string) {
	r.t.Helper()
	store := r.open()
	defer func() { _ = store.Close(r.t.Context()) }()
	if err := store.Join(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	s := surveys.Survey{Name: name}
	if err := json.Unmarshal([]byte(flu), &s.Definition); err != nil {
		r.t.Fatal(err)
	}
	s.Definition.Brake = &api.Brake{OptedOut: 5}
	s, _, err := store.PutSurvey(r.t.Context(), s, document.Condition{})
	if err != nil {
		r.t.Fatal(err)
	}
	s.State, s.Launched = surveys.Paused, time.Now()
	s.Braked = &weir.Braked{At: time.Now(), Cause: weir.BrakeOptedOut, Count: 9, Of: 100, Percent: 5, Touched: 340, Text: "paused itself: 9 of the last 100 contacts opted out, the bound is 5 %"}
	if _, err := store.UpdateSurvey(r.t.Context(), s); err != nil {
		r.t.Fatal(err)
	}
}

func TestBrake_ItsSurveyShowsWhatHappenedAndResumes(t *testing.T) {
	t.Parallel()
	r := newRigAfter(t, func(r *rig) { r.brakeSurvey("flu") }, nil, surveyScope)
	b := r.login(surveyScope)
	const text = "paused itself: 9 of the last 100 contacts opted out, the bound is 5 %"
	b.get("/surveys/flu").want(200).has(`id="braked"`, text, "Paused itself:", "340 contacts had ended", "more than 5 % opted out", "/surveys/flu/resume")
	b.post("/surveys/flu/resume", nil).want(http.StatusSeeOther)
	b.get("/surveys/flu").want(200).has("more than 5 % opted out").hasNot(`id="braked"`)
}
