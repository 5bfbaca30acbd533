package surveys_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/document"
	"weir/internal/polling"
	"weir/surveys"
	"weir/test/scenarios/world"
)

// asked is the body of a pilot that asks numbers.
func asked(numbers ...int) world.Fields {
	var list []world.Fields
	for _, n := range numbers {
		list = append(list, world.Fields{"phone": world.Number(n)})
	}
	return world.Fields{"respondents": list}
}

// begin begins a pilot of survey s and returns the conversations with its respondents.
func begin(w *world.World, status, pilot int, numbers ...int) (list []*talk) {
	w.Helper()
	for _, r := range world.List(w.Want(status, "PUT", fmt.Sprint("/v1/surveys/s/pilots/", pilot), asked(numbers...)).Body["respondents"]) {
		list = append(list, &talk{World: w, survey: fmt.Sprint("s~pilot", pilot), id: fmt.Sprint(r["id"]), number: fmt.Sprint(r["phone"])})
	}
	if len(list) != len(numbers) {
		w.Fatalf("pilot %d has %d respondents, want %d", pilot, len(list), len(numbers))
	}
	return list
}

// Scenario 476: a pilot of a draft asks for real while the draft stays one; its answers are seen with it. A
// request that is repeated, also after a crash, asks nobody twice; whoever is asked anew, after the
// definition has changed, is asked from the beginning and no more by the pilot before.
func TestPilot_OfADraftAsksForReal(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 20)
		body := byQuestions("1h", nil)
		body["schedule"].(world.Fields)["start_date"] = "2099-01-01"
		w.CreateSurvey("s", body, 0, 0)
		who := begin(w, 201, 1, 7, 8)
		one, two := who[0], who[1]
		one.hears(one.begins())
		two.hears(two.begins())
		one.says("2")
		one.hears("Why not?")
		w.Restart()
		begin(w, 200, 1, 8, 7)
		w.Want(409, "PUT", "/v1/surveys/s/pilots/1", asked(7))
		w.Want(409, "PUT", "/v1/surveys/s/pilots/1", asked(7, 9))
		one.says("No time")
		one.hears("How many months?")
		pilot := w.Want(200, "GET", "/v1/surveys/s/pilots/1", nil).Body
		if got := fmt.Sprint(world.List(world.List(pilot["respondents"])[0]["answers"])[1]["value"]); got != "No time" || pilot["current"] != true || pilot["pilot_of"] != "s" {
			t.Errorf("the pilot is shown as %v", pilot)
		}
		if got := w.SurveyState("s"); got != "draft" {
			t.Errorf("the survey is %s", got)
		}

		body["questions"].(world.Fields)["questions"].([]world.Fields)[0]["text"] = world.Fields{"en": "Good day {{respondent}}."}
		w.Want(200, "PUT", "/v1/surveys/s", body)
		again := begin(w, 201, 2, 7)[0]
		again.hears(strings.Replace(again.begins(), "Hello", "Good day", 1))
		w.ExpectRespondent("s~pilot1", one.id, "canceled, started")
		if got := w.Respondent("s~pilot1", two.id)["status"]; got != "active" {
			t.Errorf("who is not asked anew is %v", got)
		}
		again.says("1")
		w.Until("the answer counts where it was asked last", func() bool { return again.answers() == "vaccinated answered yes, why skipped" })
		list := w.Want(200, "GET", "/v1/surveys/s/pilots", nil).Body
		if got := world.List(list["pilots"]); len(got) != 2 || got[0]["pilot"] != 2.0 || got[0]["current"] != true || got[1]["current"] != false || list["next"] != 3.0 {
			t.Errorf("the pilots are %v", list)
		}
		if got := world.List(w.Want(200, "GET", "/v1/surveys", nil).Body["surveys"]); len(got) != 1 {
			t.Errorf("the list of surveys has pilots: %v", got)
		}
		w.Until("the next question is sent in both pilots", func() bool { return w.Sends("How many months?") == 2 })
		for text, want := range map[string]int{one.begins(): 1, two.begins(): 1, "Why not?": 1, "How many months?": 2} { // the last in both pilots
			if n := w.Sends(text); n != want {
				t.Errorf("%q was sent %d times, want %d", text, n, want)
			}
		}
		w.ExpectNoFaults()
	})
}

// Scenario 477: whatever pilots answer, everything that a survey shows is the same as of one without pilots; it
// ends while they go on, and whoever is in a pilot is asked by the survey all the same.
func TestPilot_IsInNothingThatTheSurveyShows(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 200) // everything stays in flight
		// Not of the clock, which is always the same in a bubble.
		seed := rand.Uint64()
		t.Log("seed", seed)
		draw := rand.New(rand.NewPCG(seed, 45))
		const people = 6
		quota := world.Fields{"where": world.Fields{"vaccinated": world.Fields{"in": []string{"yes"}}}, "quota": 2}
		body := byQuestions("", world.Fields{"quotas": []world.Fields{quota, {"where": world.Fields{"vaccinated": world.Fields{"in": []string{"no", "quit"}}}, "quota": people}}, "title": "The same"})
		w.CreateSurvey("s", body, 100, people)
		w.CreateSurvey("t", body, 200, people)
		pilots := begin(w, 201, 1, 100, 101, 300)
		w.SurveyCommand("s", "launch")
		w.SurveyCommand("t", "launch")
		pilots = append(pilots, begin(w, 201, 2, 301, 302)...)
		for _, p := range pilots[2:] {
			p.hears(p.begins())
			p.says("yes")
			w.Until("a pilot has answered", func() bool { return p.answers() == "vaccinated answered yes, why skipped" })
			if draw.IntN(2) == 0 {
				p.says("7")
			}
		}
		pool := []string{"yes", "no", "quit", "STOP"}
		for n := range people {
			says := pool[draw.IntN(len(pool))]
			for survey, first := range map[string]int{"s": 100, "t": 200} {
				r := world.List(w.Want(200, "GET", fmt.Sprint("/v1/surveys/", survey, "/respondents?phone=%2B", world.Number(first + n)[1:]), nil).Body["respondents"])
				if len(r) != 1 {
					t.Fatalf("%s has %d respondents with number %d", survey, len(r), n)
				}
				c := &talk{World: w, survey: survey, id: fmt.Sprint(r[0]["id"]), number: world.Number(first + n)}
				c.hears(c.begins())
				if survey == "s" && n < 2 { // in a pilot, too: that is stopped first, so that the answer is the survey's
					w.Want(200, "POST", "/v1/surveys/s~pilot1/respondents/"+pilots[n].id+"/stop", nil)
				}
				c.says(says)
				for heard := 1; ; heard++ {
					w.Until("it was heard, and answered", func() bool {
						p := w.Respondent(survey, c.id)
						return p["messages_received"] == float64(heard) && (p["disposition"] == "refused" || p["messages_sent"] == float64(heard+1))
					})
					if w.Respondent(survey, c.id)["status"] != "active" || heard > 5 {
						break
					}
					c.says("7")
				}
			}
		}
		for _, survey := range []string{"s", "t"} {
			w.Until(survey+" is done", func() bool { return strings.HasPrefix(w.SurveyState(survey), "done") })
		}
		for _, path := range []string{"", "/stats", "/answers", "/answers?by=arm", "/answers?by=language", "/results.csv", "/codebook.csv", "/dispositions.csv", "/incentives.csv", "/respondents?limit=1000", "/log?limit=1000", "/answers/why/texts", "/answers/vaccinated/texts"} {
			compare(w, path)
		}
		var course [2]string // without the hours, which may differ
		for i, survey := range []string{"s", "t"} {
			is := w.Want(200, "GET", "/v1/surveys/"+survey+"/course", nil).Body
			course[i] = fmt.Sprint(is["started"], is["answered"], is["completed"], is["modes"], is["arms"])
		}
		if course[0] != course[1] {
			t.Errorf("/course with pilots:\n%s\nand without:\n%s", course[0], course[1])
		}
		w.ExpectNoFaults()
	})
}

// compare waits until a path shows the same of both surveys: a contact that a STOP has called off ends a moment after
// its survey.
func compare(w *world.World, path string) {
	w.Helper()
	var a, b string
	if !polling.Until(5*time.Second, 100*time.Millisecond, func() bool {
		a, b = sameAs(w, "s", path), sameAs(w, "t", path)
		return a == b
	}) {
		w.Errorf("%s with pilots:\n%s\nand without:\n%s", path, a, b)
	}
}

// sameAs returns what a survey shows, without what differs from survey to survey: its name, ids, numbers,
// instants and the order.
func sameAs(w *world.World, survey, path string) string {
	w.Helper()
	hide := []string{`"survey":"` + survey + `"`, "", "\r", ""}
	for _, r := range world.List(w.Want(200, "GET", "/v1/surveys/"+survey+"/respondents?limit=1000", nil).Body["respondents"]) {
		for _, field := range []string{"token", "id", "contact", "phone"} {
			if x, ok := r[field].(string); ok {
				hide = append(hide, `"`+x+`"`, "~", "\n"+x+",", "\n~,", ","+x+",", ",~,", ","+strings.TrimPrefix(x, "+")+",", ",~,")
			}
		}
	}
	text := strings.NewReplacer(hide...).Replace(w.Want(200, "GET", "/v1/surveys/"+survey+path, nil).Text)
	// An id may have the digits of a number.
	for _, x := range []string{`"(id|version)":"?[0-9a-z]+"?`, `20\d\d-\d\d-\d\dT[0-9:.]+Z`, `1202\d{7}`, `"rate_per_minute":[0-9.]+`} {
		text = regexp.MustCompile(x).ReplaceAllString(text, "~")
	}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '{' || r == '}' })
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Scenario 488: a program tells what is of a pilot by the name of the pilot, in events, at webhooks and in metrics; a
// webhook and the series of the survey have nothing of it.
func TestPilot_IsMarkedWhereProgramsRead(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		hooks := &world.Receivers{}
		w.Hooks = &world.Hooks{Receivers: hooks}
		w.Restart()
		w.Channel("texts", 200)
		w.EndContacts(func(world.LabAttempt) (time.Duration, string) { return time.Second, "completed" })
		ids := w.CreateSurvey("s", byQuestions("10h", nil), 100, 2)
		w.Want(201, "POST", "/v1/webhooks", world.Fields{"url": "https://survey.test/", "types": []string{"weir.contact.done"}, "survey": "s"})
		w.Want(201, "POST", "/v1/webhooks", world.Fields{"url": "https://all.test/", "types": []string{"weir.contact.done"}})
		people := begin(w, 201, 1, 7, 8)
		w.SurveyCommand("s", "launch")
		for n, id := range ids {
			people = append(people, &talk{World: w, survey: "s", id: id, number: world.Number(100 + n)})
		}
		is := map[string]string{} // the survey of each respondent
		for _, p := range people {
			is[p.id] = p.survey
			p.hears(p.begins())
			p.says("yes")
			w.Until("it is answered", func() bool { return p.answers() == "vaccinated answered yes, why skipped" })
		}
		for _, p := range []*talk{people[0], people[2]} { // one of the pilot, one of the survey
			p.says("7")
			w.Until("the interview is over", func() bool { return w.Respondent(p.survey, p.id)["disposition"] == "completed" })
		}
		for _, survey := range []string{"s", "s~pilot1"} {
			w.Until("the metrics of "+survey+" have its own respondents", func() bool {
				return w.Metric("weir_survey_respondents_started_total", "survey", survey) == 2 && w.Metric("weir_survey_respondents_finished_total", "survey", survey) == 1
			})
		}

		for _, survey := range []string{"s", "s~pilot1"} {
			w.Until("the attempts of "+survey+" are its own", func() bool {
				return fmt.Sprint(w.Want(200, "GET", "/v1/surveys/"+survey+"/stats", nil).Body["attempts"]) == "[map[count:2 mode:sms outcome:completed]]"
			})
		}
		states := map[string]string{}
		for _, e := range w.PublishedEvents("weir.survey.state") {
			states[fmt.Sprint(e["survey"])] += fmt.Sprint(e["state"])
		}
		if states["s"] != "running" || states["s~pilot1"] != "running" || len(states) != 2 {
			t.Errorf("the states of surveys are published as %v", states)
		}
		ended := w.PublishedEvents("weir.survey.respondent")
		for _, e := range ended {
			if of := is[fmt.Sprint(e["respondent"])]; e["survey"] != of {
				t.Errorf("the end of a respondent of %s is published as one of %v", of, e["survey"])
			}
		}
		if len(ended) != 2 {
			t.Errorf("%d ends of respondents are published", len(ended))
		}
		w.ExpectNoFaults()
		expectCalls(w, hooks)
	})
}

// expectCalls waits until the webhook of survey s has got the ends of the contacts of s alone, and the one for all of all.
func expectCalls(w *world.World, hooks *world.Receivers) {
	w.Helper()
	of, count := map[string]string{}, map[string]int{}
	w.Until("contacts of the survey and of its pilot have ended", func() bool {
		clear(count)
		for _, e := range w.PublishedEvents("weir.contact.done") {
			survey := fmt.Sprint(e["survey"])
			of[fmt.Sprint(e["contact"])] = survey
			count[survey]++
		}
		return len(of) == 10
	})
	if count["s"] != 5 || count["s~pilot1"] != 5 { // two questions to two people each, and thanks to one
		w.Errorf("the ends of contacts are of %v", count)
	}
	got := map[string]map[string]bool{"https://survey.test/": {}, "https://all.test/": {}}
	w.Until("webhooks have got what is of them", func() bool {
		hooks.Mu.Lock()
		defer hooks.Mu.Unlock()
		for _, c := range hooks.Calls {
			got[c.URL][c.Contact] = true
		}
		return len(got["https://all.test/"]) == len(of) && len(got["https://survey.test/"]) >= count["s"]
	})
	for contact := range got["https://survey.test/"] {
		if of[contact] != "s" {
			w.Errorf("the webhook of the survey has got contact %s of %s", contact, of[contact])
		}
	}
}

// Scenario 478: what a crash leaves of a pilot that was not begun contacts nobody, and makes room; pilots are
// few, have respondents of their own alone, cannot be changed, and go with their survey.
func TestPilot_HasBounds(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 200) // everything stays in flight
		body := byQuestions("1h", nil)
		w.CreateSurvey("s", body, 0, 1)
		have, err := w.Store.Survey(w.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		have.Name, have.ID = surveys.PilotName("s", 1), 0
		left, _, err := w.Store.PutSurvey(w.Context(), have, document.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Store.Add(w.Context(), left.ID, 0, []surveys.Respondent{{Survey: left.ID, Phone: world.Number(1), Bucket: surveys.NoBucket, Progress: surveys.NewProgress(), Added: time.Now()}}); err != nil {
			t.Fatal(err)
		}
		w.Restart()
		one := begin(w, 201, 1, 2)[0]
		one.hears(one.begins())
		w.Sent(1)

		w.RefusedAt("/respondents/1/phone", "PUT", "/v1/surveys/s/pilots/2", asked(3, 3))
		w.RefusedAt("/respondents", "PUT", "/v1/surveys/s/pilots/2", asked())
		w.RefusedAt("/respondents", "PUT", "/v1/surveys/s/pilots/2", asked(11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31))
		w.RefusedAt("/pilot", "PUT", "/v1/surveys/s/pilots/0", asked(3))
		w.RefusedAt("/survey", "PUT", "/v1/surveys/s~pilot3", body)
		for _, x := range []struct {
			method, path string
			body         world.Fields
		}{
			{"PATCH", "s~pilot1", world.Fields{"title": "other"}}, {"POST", "s~pilot1/respondents", asked(5)}, {"PUT", "s~pilot1/pilots/1", asked(5)},
			{"DELETE", "s~pilot1", nil}, {"DELETE", "s", nil},
		} {
			w.Want(409, x.method, "/v1/surveys/"+x.path, x.body)
		}
		begin(w, 201, 2, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29)
		w.Want(409, "PUT", "/v1/surveys/s/pilots/3", asked(30))
		w.Sent(20)
		begin(w, 201, 3, 2)
		if got := w.Respondent("s~pilot1", one.id)["status"]; got != "canceled" {
			t.Errorf("who is asked by another pilot is %v", got)
		}
		w.Until("a pilot of whom nobody is left is done", func() bool { return strings.HasPrefix(w.SurveyState("s~pilot1"), "done") })
		w.Want(204, "DELETE", "/v1/surveys/s~pilot1", nil)
		w.Want(404, "GET", "/v1/surveys/s/pilots/1", nil)
		for _, pilot := range []string{"s~pilot2", "s~pilot3"} {
			w.SurveyCommand(pilot, "stop")
			w.Until(pilot+" is done", func() bool { return strings.HasPrefix(w.SurveyState(pilot), "done") })
		}
		w.SurveyCommand("s", "launch")
		w.SurveyCommand("s", "stop")
		w.Until("s is done", func() bool { return strings.HasPrefix(w.SurveyState("s"), "done") })
		w.Want(409, "PUT", "/v1/surveys/s/pilots/4", asked(30))
		w.Want(204, "DELETE", "/v1/surveys/s", nil)
		w.Want(404, "GET", "/v1/surveys/s~pilot2", nil)
		w.ExpectNoDuplicates()
		w.ExpectNoFaults()
	})
}
