package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"weir/internal/document"
	"weir/surveys"
	"weir/surveys/questions"
)

// asking stores a survey of questions with answers of its respondents, before the daemon starts.
func (r *rig) asking(name string, answers ...map[string]questions.Answer) {
	r.t.Helper()
	ctx := r.t.Context()
	must := func(err error) {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
	}
	store := r.open()
	must(store.Join(ctx))
	defer func() { _ = store.Close(ctx) }()
	text := func(en, es string) questions.Text { return questions.Text{"en": en, "es": es} }
	asked := &questions.Definition{Languages: []questions.Language{{Code: "en"}, {Code: "es"}}, Questions: []questions.Question{
		{Name: "well", Kind: questions.Choose, Text: text("Are you <b>well</b>?", "¿Está bien?"), Choices: []questions.Choice{{Name: "yes", Text: text("Yes", "Sí")}, {Name: "no", Text: text("No", "No")}}},
		{Name: "age", Kind: questions.Number, Text: text("How old are you?", "¿Cuántos años tiene?")},
		{Name: "why", Kind: questions.FreeText, Text: text("Why not?", "¿Por qué no?"), Relevant: "${well} = 'no'"},
		{Name: "born", Kind: questions.Date, Text: text("When?", "¿Cuándo?")},
	}}
	v, _, err := store.PutSurvey(ctx, surveys.Survey{Name: name, Definition: surveys.Definition{
		Breakdowns: []surveys.Breakdown{{Attribute: "region", Values: []string{"north", "<south>"}}},
		Questions:  asked, Arms: []surveys.Arm{{Modes: []surveys.Mode{surveys.SMS}, Ratio: 50}, {Modes: []surveys.Mode{surveys.SMS}, Ratio: 50}},
	}}, document.Condition{})
	must(err)
	var people []surveys.Respondent
	for i := range max(1, len(answers)) {
		people = append(people, surveys.Respondent{Phone: fmt.Sprintf("+1555%07d", i), Bucket: surveys.NoBucket, Progress: surveys.NewProgress()})
		if region := []string{"North", "<south>", "east", ""}[i%4]; region != "" {
			people[i].Attributes = map[string]string{"region": region}
		}
	}
	added, err := store.Add(ctx, v.ID, 0, people)
	must(err)
	var moves []surveys.Move
	for i, of := range answers {
		list, err := store.RespondentsByID(ctx, []surveys.RespondentID{added[i].ID})
		must(err)
		m := surveys.Move{Was: list[0], Is: list[0]}
		m.Is.Status, m.Is.Disposition, m.Is.Started, m.Is.Arm, m.Is.Talk.Turn = surveys.Active, surveys.Started, time.Now(), i%2, 1
		m.Is.Rev++
		for question, a := range of {
			a.Question = question
			if a.Day == 0 && i > 0 { // of the first neither day nor language is known
				a.Day, a.Language = 20_000+i/2, []string{"en", "es"}[i%2]
			}
			m.Answers = append(m.Answers, surveys.Recorded{Answer: a, Kind: questions.KindOf(asked, question), Turn: 1, At: time.Now()})
		}
		moves = append(moves, m)
	}
	if len(moves) > 0 {
		done, err := store.Work(ctx, surveys.Work{Survey: v.ID, Definition: &v.Definition, Moves: moves})
		must(err)
		if len(done.Stale)+len(done.Refused) > 0 {
			r.t.Fatalf("%+v", done)
		}
	}
}

func given(value string) questions.Answer {
	return questions.Answer{Status: questions.Answered, Value: value, Raw: value}
}

// The page of results has a bar for each answer, what became of every question, and the texts for whom they are.
func TestSurveyAnswers_ShowEachQuestion(t *testing.T) {
	t.Parallel()
	skipped := questions.Answer{Status: questions.Skipped}
	r := newRigAfter(t, func(r *rig) {
		r.asking("flu",
			map[string]questions.Answer{"well": given("yes"), "why": skipped, "age": given("30.5"), "born": given("2001-05-06")},
			map[string]questions.Answer{"well": given("no"), "why": given("Está <i>lejos</i>"), "age": {Status: questions.Invalid}, "born": {Status: questions.NotReached}},
			map[string]questions.Answer{"well": given("yes"), "why": skipped, "age": {Status: questions.Refused}},
			map[string]questions.Answer{},
		)
	}, nil, "surveys:admin", "surveys:admin pii:read", "router")
	b := r.login("surveys:admin pii:read")
	b.get("/surveys/flu").want(200).has(`id="to-answers" href="/surveys/flu/answers"`)
	page := b.get("/surveys/flu/answers").want(200).has(
		"Are you &lt;b&gt;well&lt;/b&gt;?", `<th scope="row">Yes</th><td class="number">2</td><td class="number">67 %</td>`, `<th scope="row">No</th><td class="number">1</td><td class="number">33 %</td>`,
		"Respondents: 4.", "<dt>Not asked yet</dt><dd>1</dd>", "<dt>No answer fitted</dt><dd>1</dd>", "<dt>Refused</dt><dd>1</dd>", "<dt>Skipped by a condition</dt><dd>2</dd>", "<dt>The interview ended before</dt><dd>1</dd>",
		"<dt>Mean</dt><dd>30.5</dd>", "<dt>Median</dt><dd>2001-05-06</dd>", `href="/surveys/flu/answers/why"`, `data-stream="/live/surveys/flu/answers"`,
	).hasNot("<b>well", "lejos")
	if page.title() != "Results of flu – Weir" {
		t.Errorf("title %q", page.title())
	}
	b.get("/surveys/flu/answers?arm=1").want(200).has(`<option value="1" selected>`, `<th scope="row">Yes</th><td class="number">0</td>`, `<th scope="row">No</th><td class="number">1</td><td class="number">100 %</td>`).hasNot("Not asked yet")
	b.get("/surveys/flu/answers/why").want(200).has("Está &lt;i&gt;lejos&lt;/i&gt;", "/surveys/flu/respondents/").hasNot("<i>lejos")
	b.get("/surveys/flu/answers/why?search=ESTA").want(200).has("lejos", `value="ESTA"`)
	b.get("/surveys/flu/answers/why?search=near").want(200).has("No such texts").hasNot("lejos")
	b.get("/surveys/flu/answers/age").want(200).has("30.5")
	b.get("/surveys/flu/answers/none").want(http.StatusNotFound)
	b.get("/surveys/none/answers").want(http.StatusNotFound)
	b.get("/surveys/flu/codebook.csv", "Accept-Language", "en").want(200).has("column,question,kind,code,label_en,label_es,asked_if,allowed", "well,well,choice,yes,Yes,Sí,,")
	b.post("/language", url.Values{"language": {"es"}, "back": {"/"}}).want(303)
	b.get("/surveys/flu/answers").want(200).has("¿Cuántos años tiene?", `<th scope="row">Sí</th>`, "<dt>Media</dt><dd>30,5</dd>", "Omitida por una condición")
	masked := r.login("surveys:admin")
	masked.get("/surveys/flu/answers").want(200)
	masked.get("/surveys/flu/answers/why").want(200).has("pii:read").hasNot("lejos")
	r.login("router").get("/surveys/flu/answers").want(http.StatusForbidden)
}

// Scenario 486: the page of results has a table for each question with count and share of each answer by day, arm or
// language, in the language of the reader, and offers only what tells answers apart.
func TestSurveyAnswers_TablesByDayArmAndLanguage(t *testing.T) {
	t.Parallel()
	many := make([]map[string]questions.Answer, 34)
	for i := range many {
		a := given("yes")
		a.Day, a.Language = 20_100+i, "en"
		many[i] = map[string]questions.Answer{"well": a}
	}
	r := newRigAfter(t, func(r *rig) {
		r.asking("flu",
			map[string]questions.Answer{"well": given("yes"), "age": given("30")},
			map[string]questions.Answer{"well": given("no"), "age": given("7"), "why": given("Far <i>away</i>"), "born": given("2001-05-06")},
			map[string]questions.Answer{"well": given("yes"), "age": {Status: questions.Refused}, "born": given("2001-05-07")},
			map[string]questions.Answer{"well": given("yes"), "age": given("40")},
			map[string]questions.Answer{"well": given("no"), "age": given("50")},
		)
		r.asking("long", many...)
	}, nil, surveyScope)
	b := r.login(surveyScope)
	b.get("/surveys/flu/answers").want(200).has(`<option value="day">Day</option>`, `<option value="arm">Arm</option>`, `<option value="language">Language</option>`).hasNot(`id="groups-1"`)
	b.get("/surveys/flu/answers?by=mode").want(200).hasNot(`id="groups-1"`)
	b.get("/surveys/flu/answers?by=day").want(200).has(`<option value="day" selected>`, `data-stream="/live/surveys/flu/answers?by=day"`,
		`<th scope="col">Day</th><th scope="col" class="number">Answered</th><th scope="col" class="number">Yes</th><th scope="col" class="number">No</th>`,
		`<th scope="row">unknown</th><td class="number">1</td><td class="number">1 <span class="quiet">100 %</span></td><td class="number">0 <span class="quiet">0 %</span></td>`,
		`<th scope="row">2024-10-05</th><td class="number">2</td><td class="number">2 <span class="quiet">100 %</span></td>`,
		`<th scope="row">2024-10-06</th><td class="number">1</td><td class="number">0 <span class="quiet">0 %</span></td><td class="number">1 <span class="quiet">100 %</span></td>`,
		`<th scope="col" class="number">Mean</th><th scope="col" class="number">Median</th>`, `<td class="number">40</td><td class="number">40</td>`,
	).hasNot("<i>away", "The tables have the latest")
	b.get("/surveys/flu/answers?by=arm").want(200).has(`<th scope="row">0</th><td class="number">3</td><td class="number">2 <span class="quiet">67 %</span></td>`, `<th scope="row">1</th><td class="number">2</td><td class="number">1 <span class="quiet">50 %</span></td>`)
	b.get("/surveys/flu/answers?by=language&arm=1").want(200).has(`<th scope="row">es</th><td class="number">2</td>`).hasNot(`<th scope="row">en</th>`)
	b.get("/surveys/flu/answers?by=attribute.region").want(200).has(`<option value="attribute.region" selected>region</option>`, `<th scope="col">region</th>`,
		`<th scope="row">north</th><td class="number">2</td><td class="number">1 <span class="quiet">50 %</span></td>`,
		`<th scope="row">&lt;south&gt;</th><td class="number">1</td><td class="number">0 <span class="quiet">0 %</span></td>`,
		`<th scope="row">other</th><td class="number">1</td>`, `<th scope="row">none</th><td class="number">1</td>`)
	b.get("/surveys/flu/answers?by=attribute.region&arm=1").want(200).has(`<th scope="row">&lt;south&gt;</th>`, `<th scope="row">none</th>`).hasNot(`<th scope="row">north</th>`)
	b.get("/surveys/flu/answers?by=attribute.sex").want(200).hasNot(`id="groups-1"`)
	b.get("/surveys/long/answers?by=day").want(200).has("The tables have the latest 31 days", ">2025-02-14<").hasNot(">2025-01-14<")
	b.post("/language", url.Values{"language": {"es"}, "back": {"/"}}).want(303)
	b.get("/surveys/flu/answers?by=language").want(200).has(`<th scope="col">Idioma</th><th scope="col" class="number">Contestado</th>`, `<th scope="row">desconocido</th>`)
	b.get("/surveys/flu/answers?by=attribute.region").want(200).has(`<th scope="row">otros</th>`, `<th scope="row">ninguno</th>`)
}

// Without questions, or without answers, the page says what to do.
func TestSurveyAnswers_EmptyPagesNameTheNextStep(t *testing.T) {
	t.Parallel()
	r := newRigAfter(t, func(r *rig) { r.asking("new") }, nil, surveyScope)
	r.survey("flu", 1)
	b := r.login(surveyScope)
	b.get("/surveys/flu").want(200).hasNot(`id="to-answers"`)
	b.get("/surveys/flu/answers").want(200).has("Weir asks no questions in this survey", `href="/surveys/flu/questions"`)
	b.get("/surveys/new/answers").want(200).has("No answers yet").hasNot("Are you")
}
