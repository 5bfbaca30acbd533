package surveys

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir/api"
	"weir/surveys"
	"weir/surveys/questions"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	"weir/web/dashboard/questionnaire"
)

// maxQuestionnaireForm fits a questionnaire of [questions.MaxSize], encoded as a form.
const maxQuestionnaireForm = 4 << 20

// questionsData is the data of the page on which the questions of a survey are written and tried.
type questionsData struct {
	*questionnaire.Editor
	Survey    string
	Version   int64
	Launched  bool
	Open      bool // it was launched and is not over: its texts can be corrected
	New       bool // the survey has no questions yet
	Replaces  bool // saving replaces what the survey asks now
	Languages []questions.Language
	Phone     *questionnaire.Phone
	Problem   *page.Problem
}

// LastCard is the place of the last question, from 0; -1: there is none.
func (d *questionsData) LastCard() int { return len(d.Cards) - 1 }

// Arrow describes where the answers to a question lead.
func (d *questionsData) Arrow(l *locale.Locale, a questions.Arrow) string {
	to := l.T("the end")
	if a.To != "" {
		to = a.To
		for _, c := range d.Cards {
			if c.Name == a.To {
				to = strconv.Itoa(c.Number) + " " + a.To
			}
		}
	}
	switch {
	case a.Maybe && a.Choice != "":
		return l.T("%[1]s: perhaps %[2]s", a.Choice, to)
	case a.Maybe:
		return l.T("perhaps %s", to)
	case a.Choice != "":
		return l.T("%[1]s: %[2]s", a.Choice, to)
	}
	return to
}

// starter returns the questions that an empty page begins with: one for consent.
func starter(l *locale.Locale) questionnaire.Document {
	in := func(m locale.Message) map[string]any { return map[string]any{l.Code: l.T(m)} }
	return questionnaire.Document{
		"languages": []any{map[string]any{"code": l.Code, "name": l.Name}},
		"questions": []any{map[string]any{
			"name": "consent", "kind": string(questions.Choose), "consent": true, "text": in("May we ask you a few questions? You can stop at any time."),
			"choices": []any{map[string]any{"name": "yes", "text": in("Yes")}, map[string]any{"name": "no", "text": in("No"), "end": string(questions.EndedRefused)}},
		}},
	}
}

// surveyQuestions returns the questions of a survey, and the document that has them.
func surveyQuestions(s *api.SurveyView) (body map[string]any, asked questionnaire.Document, err error) {
	body, err = documentOf(surveyBody(s))
	asked, _ = body["questions"].(map[string]any)
	return body, asked, err
}

func (d *questionsData) content(v *page.Visit) *page.Content {
	return &page.Content{Title: v.T("Questions of %s", d.Survey), Crumbs: surveyCrumbs(v.Locale, d.Survey, page.Crumb{Text: v.T("Questions")}), Data: d}
}

// show fills in a document.
func (d *questionsData) show(v *page.Visit, asked questionnaire.Document) (err error) {
	d.Editor, err = questionnaire.Show(asked, v.Locale)
	d.Languages = asked.Languages()
	if err == nil && d.Launched {
		d.Freeze(d.Open)
	}
	return err
}

func openQuestions(v *page.Visit) (d *questionsData, s api.SurveyView, err error) {
	s, err = readSurvey(v.Caller, v.Request.PathValue("name"))
	open := s.State == surveys.Running || s.State == surveys.Paused
	return &questionsData{Survey: s.Survey, Version: s.Version, Launched: s.State != surveys.Draft, Open: open}, s, err
}

func loadQuestions(v *page.Visit) (*page.Content, error) {
	d, s, err := openQuestions(v)
	if err != nil {
		return nil, err
	}
	body, asked, err := surveyQuestions(&s)
	if err != nil {
		return nil, err
	}
	if d.New = asked == nil; d.New {
		asked, d.Replaces = starter(v.Locale), body["questionnaires"] != nil
	}
	if err := d.show(v, asked); err != nil {
		return nil, err
	}
	if qs := d.Check(asked, questions.Context{}); qs != nil {
		d.Phone = d.Try(qs, nil, person(v, d.Languages[0].Code))
	}
	return d.content(v), nil
}

func person(v *page.Visit, language string) questions.Person {
	return questions.Person{Now: v.Now(), Attributes: map[string]string{"language": language}}
}

// changeQuestions does what a button of the page says: it saves the questions, tries them, or changes
// the page alone.
func changeQuestions(v *page.Visit) (*page.Content, error) {
	d, s, err := openQuestions(v)
	if err != nil {
		return nil, err
	}
	sent := v.Request.PostForm
	do := sent.Get("do")
	body, before, err := surveyQuestions(&s)
	if err != nil {
		return nil, err
	}
	d.New, d.Replaces = before == nil, before == nil && body["questionnaires"] != nil
	asked := questionnaire.Read(sent)
	asked.Do(do)
	if err := d.show(v, asked); err != nil {
		return nil, err
	}
	c := d.content(v)
	if do == "save" {
		d.Version, _ = strconv.ParseInt(sent.Get("version"), 10, 64)
		return d.save(v, c, body, asked)
	}
	quiet := do != "check" && !spoken(sent)
	qs := d.Check(asked, questions.Context{})
	if qs == nil && quiet {
		d.Forget()
	}
	d.try(v, qs, sent)
	return c, nil
}

// spoken reports whether the telephone was used.
func spoken(sent url.Values) bool { return strings.TrimSpace(sent.Get("say")) != "" }

func (d *questionsData) try(v *page.Visit, qs *questions.Questionnaire, sent url.Values) {
	messages := slices.Clone(sent["said"])
	if spoken(sent) {
		messages = append(messages, sent.Get("say"))
	}
	if sent.Get("do") == "restart" {
		messages = nil
	}
	language := sent.Get("try_language")
	if !slices.ContainsFunc(d.Languages, func(l questions.Language) bool { return l.Code == language }) {
		language = d.Languages[0].Code
	}
	if d.Phone = (&questionnaire.Phone{Said: messages, Language: language}); qs != nil {
		d.Phone = d.Try(qs, messages, person(v, language))
	}
}

// save stores the questions, or shows the page again with every mistake.
func (d *questionsData) save(v *page.Visit, c *page.Content, body map[string]any, asked questionnaire.Document) (*page.Content, error) {
	after := map[string]any{}
	for name, value := range body {
		if !d.Replaces || name != "questionnaires" && name != "answer" && name != "application" && name != "quota_message" {
			after[name] = value
		}
	}
	after["questions"] = map[string]any(asked)
	err := patchSurvey(v.Caller, d.Survey, d.Version, mergePatch(body, after))
	if err == nil {
		c.To, c.Flash = Link(d.Survey)+"/questions", &page.Flash{Text: v.T("The questions of %s are saved.", d.Survey)}
		if d.Open {
			c.Flash.Text = v.T("The texts of %s are corrected.", d.Survey)
		}
		return c, nil
	}
	status, p := page.StatusOf(err)
	switch status {
	case http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed:
	default:
		return nil, err
	}
	for i := range p.Errors {
		p.Errors[i].Pointer = strings.TrimPrefix(p.Errors[i].Pointer, "/questions")
	}
	d.Place(p.Errors)
	if c.Status, c.Flash = status, (&page.Flash{Bad: true, Text: v.T("Nothing was saved. Correct the marked fields of the form.")}); len(p.Errors) == 0 {
		c.Flash.Text, d.Problem = v.T("Nothing was saved."), p
	}
	d.try(v, nil, v.Request.PostForm)
	return c, nil
}
