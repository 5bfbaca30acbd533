package dashboard_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"weir/api"
	"weir/internal/document"
	"weir/surveys"
	"weir/web/dashboard/locale"
)

// zoneless stores a running survey and a respondent of it in time zones that are none, as a version did that did not check
// them.
func (r *rig) zoneless(name, ofSurvey, ofRespondent string) (respondent string) {
	r.t.Helper()
	ctx, store := r.t.Context(), r.open()
	defer func() { _ = store.Close(ctx) }()
	v := surveys.Survey{Name: name}
	err := errors.Join(store.Join(ctx), json.Unmarshal([]byte(flu), &v.Definition))
	v.Definition.Schedule.TimeZone = ofSurvey
	if err == nil {
		v, _, err = store.PutSurvey(ctx, v, document.Condition{})
	}
	if v.State, v.Launched = surveys.Running, time.Now(); err == nil {
		v, err = store.UpdateSurvey(ctx, v)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	added, err := store.Add(ctx, v.ID, 0, []surveys.Respondent{{
		Phone: "+12125550100", Bucket: surveys.NoBucket, Progress: surveys.NewProgress(), Attributes: map[string]string{"first_name": "Ana", "time_zone": ofRespondent},
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	return added[0].ID.String()
}

// The pages of a survey and of a respondent whose stored time zone is none are shown, and have its name, so that somebody
// can correct it.
func TestSurvey_PagesNameAStoredTimeZoneThatIsNone(t *testing.T) {
	t.Parallel()
	var inNoZone, of string
	r := newRigAfter(t, func(r *rig) {
		r.zoneless("broken", "Mars/Olympus", "UTC+3")
		inNoZone, of = r.zoneless("flu", "America/Mexico_City", "UTC+3"), "flu"
	}, nil, surveyScope)
	b := r.login("admin")
	const noZone = "The time zone of the schedule, %s, is no IANA time zone, like Africa/Nairobi: nobody is contacted. Correct it in the definition."
	for _, l := range locale.New().List() {
		b.cookies["weir_language"] = l.Code
		for path, want := range map[string]string{
			"/surveys/broken": `id="no-zone">` + strings.ReplaceAll(l.Text(noZone), "%s", "Mars/Olympus"), "/surveys/broken/edit": "Mars/Olympus", "/surveys/broken/edit/json": "Mars/Olympus", "/surveys/broken/definition": "Mars/Olympus",
			"/surveys/" + of + "/respondents/" + inNoZone: "<dd>UTC+3</dd>", "/surveys/" + of + "/respondents/" + inNoZone + "/edit": "UTC+3",
		} {
			b.get(path).want(200).has(want)
		}
		for _, path := range []string{"/", "/surveys", "/surveys/_calendar", "/surveys/broken/respondents", "/surveys/" + of, "/surveys/" + of + "/respondents"} {
			b.get(path).want(200)
		}
	}
}

// The page of a survey names the respondent that the figures name, in each language, and nobody if they name none.
func TestSurvey_PageNamesARespondentWhoseTimeZoneIsNone(t *testing.T) {
	t.Parallel()
	const id = "1-71"
	for language, want := range map[string]string{
		"en": "The time_zone of respondent " + id + ", and perhaps of others, is no IANA time zone", "es": "El time_zone del encuestado " + id + ", y quizás de otros, no es una zona horaria IANA",
		"fr": "Le time_zone de la personne interrogée " + id + ", et peut-être d’autres, n’est pas un fuseau horaire IANA", "pt": "O time_zone do entrevistado " + id + ", e talvez de outros, não é um fuso horário IANA",
	} {
		given := surveyAnswers()
		for _, known := range []string{id, ""} {
			given["/v1/surveys/a/stats"] = api.StatsView{Respondents: 1, Zoneless: known}
			page := surveyPage(t, language, given)
			if strings.Contains(page, want) != (known != "") || strings.Contains(page, "IANA") != (known != "") {
				t.Errorf("%s: of %q the page says\n%s", language, known, page)
			}
		}
	}
}
