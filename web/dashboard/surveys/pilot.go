package surveys

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/api"
	"weir/surveys"
	"weir/surveys/questions"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// pilotData is the data of the page of pilots: the form that begins one, and what came back of one.
type pilotData struct {
	*locale.Locale
	Survey    string
	Asks      bool // Weir itself asks the questions
	Open      bool // a pilot can begin
	Next      int  // number of the pilot that the form begins
	Numbers   string
	Languages []questions.Language // to choose from; nil: there is no choice
	Language  string
	Has       []pilotAttribute
	Mistakes  map[string]string
	Problem   *page.Problem
	Shown     *api.PilotView // nil: there is none yet
	Others    []api.PilotSummary
}

// pilotAttribute is an attribute that the texts of a survey use.
type pilotAttribute struct{ Name, Value string }

// Field returns the name of the input.
func (a pilotAttribute) Field() string { return "has_" + a.Name }

// Says describes an answer of a respondent.
func (d *pilotData) Says(a api.AnswerView) string {
	if a.Status == questions.Answered {
		return a.Question + ": " + a.Value
	}
	return a.Question + ": " + becameText(d.Locale, a.Status)
}

func pilotLink(survey string) string { return Link(survey) + "/pilot" }

// openPilot reads what the page of pilots shows.
func openPilot(v *page.Visit) (*pilotData, error) {
	s, err := readSurvey(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	d := &pilotData{Locale: v.Locale, Survey: s.Survey, Asks: s.Questions != nil, Mistakes: map[string]string{}}
	d.Open = Card{SurveySummary: s.SurveySummary}.Importable() // as for respondents
	if s.Questions != nil && len(s.Questions.Languages) > 1 {
		d.Languages, d.Language = s.Questions.Languages, shownLanguage(v.Locale, s.Questions)
	}
	if plan, _ := surveys.Definition(s.SurveyDefinition).Compile(surveys.Defaults{}); plan != nil {
		for _, name := range plan.RequiredAttributes() {
			d.Has = append(d.Has, pilotAttribute{Name: name})
		}
	}
	var list api.PilotList
	if err := v.Get(page.Path("v1", "surveys", s.Survey, "pilots"), nil, &list); err != nil {
		return nil, err
	}
	d.Next = list.Next
	asked, _ := strconv.Atoi(v.Request.URL.Query().Get("pilot"))
	at := max(0, slices.IndexFunc(list.Pilots, func(p api.PilotSummary) bool { return p.Pilot == asked }))
	if len(list.Pilots) > 0 {
		d.Shown = &api.PilotView{}
		if err := v.Get(page.Path("v1", "surveys", s.Survey, "pilots", strconv.Itoa(list.Pilots[at].Pilot)), nil, d.Shown); err != nil {
			return nil, err
		}
		d.Others = slices.Delete(list.Pilots, at, at+1)
	}
	return d, nil
}

func (d *pilotData) content() *page.Content {
	return &page.Content{Title: d.T("Pilot of %s", d.Survey), Crumbs: surveyCrumbs(d.Locale, d.Survey, page.Crumb{Text: d.T("Pilot")}), Data: d}
}

func loadPilot(v *page.Visit) (*page.Content, error) {
	d, err := openPilot(v)
	if err != nil {
		return nil, err
	}
	return d.content(), nil
}

// beginPilot begins a pilot. The form has its number, so that a form that is sent twice asks nobody twice.
func beginPilot(v *page.Visit) (*page.Content, error) {
	d, err := openPilot(v)
	if err != nil {
		return nil, err
	}
	body := d.read(v.Request.PostForm)
	c := d.content()
	err = v.Call(http.MethodPut, page.Path("v1", "surveys", d.Survey, "pilots", strconv.Itoa(d.Next)), body, nil)
	if err == nil {
		c.To, c.Flash = pilotLink(d.Survey), &page.Flash{Text: d.T("Pilot %[1]s of %[2]s has begun.", strconv.Itoa(d.Next), d.Survey)}
		return c, nil
	}
	status, p := page.StatusOf(err)
	switch status {
	case http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusConflict:
	default:
		return nil, err
	}
	d.Problem = page.Place(p, d.Mistakes, d.spot)
	c.Status, c.Flash = status, &page.Flash{Bad: true, Text: d.T("Nobody was contacted.")}
	return c, nil
}

// read fills in what was posted, and returns the body that it makes.
func (d *pilotData) read(form url.Values) api.PilotBody {
	if n, err := strconv.Atoi(form.Get("pilot")); err == nil {
		d.Next = n
	}
	d.Numbers = form.Get("numbers")
	attributes := map[string]any{}
	for i := range d.Has {
		a := &d.Has[i]
		if a.Value = strings.TrimSpace(form.Get(a.Field())); a.Value != "" {
			attributes[a.Name] = a.Value
		}
	}
	if d.Languages != nil && form.Get("language") != "" {
		d.Language = form.Get("language")
		attributes["language"] = d.Language
	}
	body := api.PilotBody{Respondents: []api.RespondentBody{}}
	for line := range strings.Lines(d.Numbers) {
		if line = strings.TrimSpace(line); line != "" {
			body.Respondents = append(body.Respondents, api.RespondentBody{Phone: line, Attributes: attributes})
		}
	}
	return body
}

// spot returns the field that a mistake of the API is about.
func (d *pilotData) spot(e *weir.FieldError) form.Spot {
	at := strings.Split(strings.TrimPrefix(e.Pointer, "/respondents"), "/")
	switch {
	case len(at) == 4 && at[2] == "attributes" && slices.ContainsFunc(d.Has, func(a pilotAttribute) bool { return a.Name == at[3] }):
		return form.Spot{Field: "has_" + at[3]}
	case strings.HasPrefix(e.Pointer, "/respondents"):
		return form.Spot{Field: "numbers"}
	}
	return form.Spot{}
}
