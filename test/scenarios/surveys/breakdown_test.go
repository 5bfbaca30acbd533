package surveys_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// inTwoLanguages returns a survey that asks a choice and a number, at any time of the days of Kathmandu.
func inTwoLanguages() world.Fields {
	text := func(en, es string) world.Fields { return world.Fields{"en": en, "es": es} }
	body := world.BySMS("10h", world.Fields{
		"questions": world.Fields{
			"languages": []world.Fields{{"code": "en", "name": "English"}, {"code": "es", "name": "Español"}},
			"questions": []world.Fields{
				{"name": "well", "kind": "choice", "text": text("Are you well, {{respondent}}?", "¿Está bien, {{respondent}}?"), "choices": []world.Fields{{"name": "yes", "text": text("Yes", "Sí")}, {"name": "no", "text": text("No", "No")}}},
				{"name": "age", "kind": "number", "min": 0, "max": 120, "text": text("How old are you, {{respondent}}?", "¿Cuántos años tiene, {{respondent}}?")},
			},
		},
		"schedule": world.Fields{"time_zone": "Asia/Kathmandu", "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, "windows": []world.Fields{{"from": "00:00", "to": "24:00"}}},
	})
	delete(body, "questionnaires")
	return body
}

// groups returns the answers of survey s to its questions, by group: "well yes", and "age 30" or "age refused".
func groups(w *world.World, by string) map[string]map[string]int {
	w.Helper()
	found := map[string]map[string]int{}
	questions, _ := w.Want(200, "GET", "/v1/surveys/s/answers?by="+by, nil).Body["questions"].([]any)
	for _, q := range questions {
		q := q.(map[string]any)
		left := map[string]any{}
		add := func(name, text string, n any, sign float64) {
			if sign > 0 && n != 0.0 {
				if found[name] == nil {
					found[name] = map[string]int{}
				}
				found[name][fmt.Sprint(q["question"], " ", text)] += int(n.(float64))
			}
			was, _ := left[text].(float64)
			left[text] = was + sign*n.(float64)
		}
		count := func(g map[string]any, name string, sign float64) {
			for _, v := range g["values"].([]any) {
				v := v.(map[string]any)
				add(name, fmt.Sprint(v["value"]), v["count"], sign)
			}
			for status, n := range g["by_status"].(map[string]any) {
				if status != "answered" {
					add(name, status, n, sign)
				}
			}
		}
		for _, g := range q["groups"].([]any) {
			count(g.(map[string]any), fmt.Sprint(g.(map[string]any)["group"]), 1)
		}
		count(q, "", -1)
		for text, n := range left {
			if n != 0.0 {
				w.Errorf("by %s: the groups of %s have %v more of %s than there are", by, q["question"], n, text)
			}
		}
	}
	return found
}

// Scenario 485: answers are read by the day of the survey's zone, by arm and by the language of the
// conversation; the groups are together what the whole survey was answered. Who is removed is in none.
func TestBreakdown_GroupsAreTheAnswersOfTheRespondents(t *testing.T) {
	world.OnSurveysFrom(t, world.Monday(18, 0), func(w *world.World) { // a quarter of an hour before midnight in Kathmandu
		w.Channel("texts", 20)
		w.EndContacts(func(world.LabAttempt) (time.Duration, string) { return time.Second, "completed" })
		ids := w.LaunchSurvey("s", inTwoLanguages(), 0, 8)
		w.RefusedAt("/by", "GET", "/v1/surveys/s/answers?by=day,arm", nil)
		want := map[string]map[string]map[string]int{"day": {}, "arm": {}, "language": {}}
		count := func(id, language, answer string, day int) {
			if id == ids[7] { // who is removed in the end
				return
			}
			for by, group := range map[string]string{
				"day": fmt.Sprint("2026-01-1", day), "language": language, "arm": fmt.Sprint(w.Respondent("s", id)["arm"]),
			} {
				if want[by][group] == nil {
					want[by][group] = map[string]int{}
				}
				want[by][group][answer]++
			}
		}
		var talks []*talk
		for i, id := range ids {
			c := talkOf(w, id)
			c.hears("Are you well, " + id + "?\n1 Yes\n2 No")
			talks = append(talks, c)
			if i%2 == 1 {
				c.says("Español")
				c.hears("¿Está bien, " + id + "?\n1 Sí\n2 No")
			}
		}
		next := func(i int) {
			said, answer := "1", "well yes"
			if i%3 == 0 {
				said, answer = "2", "well no"
			}
			talks[i].says(said)
			language, question, day := "en", "How old are you, ", 2
			if i%2 == 1 {
				language, question = "es", "¿Cuántos años tiene, "
			}
			if i >= 4 {
				day = 3
			}
			talks[i].hears(question + ids[i] + "?")
			count(ids[i], language, answer, day)
			if i == 5 {
				return // no age
			}
			talks[i].says(fmt.Sprint(30 + i/2))
			w.Until("the age is counted", func() bool { return strings.Contains(talks[i].answers(), "age answered") })
			count(ids[i], language, fmt.Sprint("age ", 30+i/2), day)
		}
		for i := range 4 {
			next(i)
		}
		w.Pass(time.Hour)
		for i := range 4 {
			next(4 + i)
		}
		w.Until("the last contact has ended", func() bool { return w.Call("DELETE", "/v1/surveys/s/respondents/"+ids[7], nil).Status == 204 })
		for _, by := range slices.Sorted(maps.Keys(want)) {
			if got := groups(w, by); fmt.Sprint(got) != fmt.Sprint(want[by]) {
				t.Errorf("by %s: %v, want %v", by, got, want[by])
			}
		}
		if len(want["day"]) != 2 || len(want["language"]) != 2 {
			t.Errorf("the script: %v", want)
		}
		if got := w.Want(200, "GET", "/v1/surveys/s/answers", nil).Text; strings.Contains(got, `"groups"`) || strings.Contains(got, `"by"`) {
			t.Errorf("without by: %s", got)
		}
		w.Want(422, "GET", "/v1/surveys/s/answers?by=region", nil)
		w.ExpectNoFaults()
	})
}
