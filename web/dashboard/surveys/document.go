package surveys

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"weir"
	"weir/api"
	"weir/internal/validation"
	"weir/operators"
	"weir/surveys"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// newSurveyPath is the path of no survey: their names begin with a letter or a digit.
const newSurveyPath = "/surveys/_new"

// maxDefinition is the max size of a definition in the text area, encoded as a form.
const maxDefinition = 2 << 20

// surveyBody returns what a client would write to get a survey. The secret of the application
// is never read.
func surveyBody(s *api.SurveyView) api.SurveyBody {
	b := api.SurveyBody{Title: s.Title, SurveyDefinition: s.SurveyDefinition}
	if s.Application != nil && s.Application.URL != "" {
		b.Application = &api.ApplicationBody{URL: s.Application.URL}
	}
	return b
}

// documentOf returns a value as a JSON document. Numbers stay as they are written.
func documentOf(v any) (document map[string]any, err error) {
	raw, err := json.Marshal(v)
	if err == nil {
		err = decodeExact(raw, &document)
	}
	return document, err
}

// decodeExact decodes JSON without rounding large numbers.
func decodeExact(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

// mergePatch returns the JSON merge patch (RFC 7396) that makes after of before.
func mergePatch(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for name := range before {
		if _, ok := after[name]; !ok {
			patch[name] = nil
		}
	}
	for name, is := range after {
		was, had := before[name]
		from, fromObject := was.(map[string]any)
		to, toObject := is.(map[string]any)
		switch {
		case fromObject && toObject:
			if part := mergePatch(from, to); len(part) > 0 {
				patch[name] = part
			}
		case !had || !reflect.DeepEqual(was, is):
			patch[name] = is
		}
	}
	return patch
}

// indented returns a value as JSON for people.
func indented(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.String(), err
}

// textMistake is a mistake in a text, and where it is: on a line of what is no JSON, at a pointer of what is.
type textMistake struct {
	Line    int // 0: not known
	Pointer string
	Detail  string
}

// Text returns the mistake with its place in words.
func (m textMistake) Text(l *locale.Locale) string {
	text := m.Detail
	if m.Pointer != "" {
		text = l.T("%[1]s: %[2]s", m.Pointer, text)
	}
	if m.Line > 0 {
		text = l.T("Line %[1]s: %[2]s", strconv.Itoa(m.Line), text)
	}
	return text
}

// documentForm is the form that sets a definition as JSON.
type documentForm struct {
	*locale.Locale
	New        bool
	Name, Text string
	Version    int64 // that the text was made of
	Mistakes   map[string]string
	Wrong      []textMistake // in the text
	Problem    *page.Problem
}

// Back returns the page to return to.
func (f *documentForm) Back() string {
	if f.New {
		return "/surveys"
	}
	return Link(f.Name)
}

// exampleDefinition is the text of a new survey.
const exampleDefinition = `{
  "title": "",
  "schedule": {
    "time_zone": "UTC",
    "weekdays": ["mon", "tue", "wed", "thu", "fri"],
    "windows": [{"from": "09:00", "to": "18:00"}]
  },
  "modes": {"sms": {"channel": "", "retries": "1d"}},
  "arms": [{"modes": ["sms"]}],
  "questionnaires": {"main": {"sms": [{"messages": ["Hello {{first_name}}, may we ask you something?"]}]}}
}
`

func (f *documentForm) content() *page.Content {
	if f.New {
		return &page.Content{Title: f.T("New survey, as JSON"), Crumbs: []page.Crumb{{Text: f.T("Surveys"), Link: "/surveys"}, {Text: f.T("New"), Link: newSurveyPath}, {Text: "JSON"}}, Data: f}
	}
	return &page.Content{Title: f.T("Edit survey %s as JSON", f.Name), Crumbs: surveyCrumbs(f.Locale, f.Name, page.Crumb{Text: f.T("Edit as JSON")}), Data: f}
}

func newDocument(v *page.Visit) (*page.Content, error) {
	f := &documentForm{Locale: v.Locale, New: true, Text: exampleDefinition}
	return f.content(), nil
}

func editDocument(v *page.Visit) (*page.Content, error) {
	s, err := readSurvey(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	f := &documentForm{Locale: v.Locale, Name: s.Survey, Version: s.Version}
	f.Text, err = indented(surveyBody(&s))
	return f.content(), err
}

func readDocumentForm(l *locale.Locale, form url.Values) *documentForm {
	f := &documentForm{Locale: l, Name: strings.TrimSpace(form.Get("name")), Text: strings.ReplaceAll(form.Get("definition"), "\r\n", "\n"), Mistakes: map[string]string{}}
	f.Version, _ = strconv.ParseInt(form.Get("version"), 10, 64)
	return f
}

// parse returns the JSON object that the text is; nil: it is none, or an object of it has a name twice.
func (f *documentForm) parse() (document map[string]any) {
	var whole json.RawMessage
	err := json.Unmarshal([]byte(f.Text), &whole)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at, detail := int(syntax.Offset)-1, syntax.Error()
		if end := len(strings.TrimRight(f.Text, " \t\r\n")); at >= end-1 && strings.Contains(detail, "unexpected end") {
			at, detail = end, f.T("the text ends before the definition does")
		}
		f.Wrong = []textMistake{{Line: 1 + strings.Count(f.Text[:min(max(at, 0), len(f.Text))], "\n"), Detail: display.Sentence(detail)}}
		return nil
	}
	at, twice, err := validation.Duplicate([]byte(f.Text), strings.Clone)
	switch {
	case err != nil:
		f.Wrong = []textMistake{{Detail: display.Sentence(f.Mistake(err.Error()))}}
	case twice != "":
		f.Wrong = []textMistake{{Pointer: at, Detail: f.T("Is there twice.")}}
	case decodeExact(whole, &document) != nil || document == nil:
		f.Wrong = []textMistake{{Line: 1, Detail: f.T("The definition must be a JSON object: { … }.")}}
	}
	return document
}

func createDocument(v *page.Visit) (*page.Content, error) {
	f := readDocumentForm(v.Locale, v.Request.PostForm)
	f.New = true
	document := f.parse()
	name, wrong := newSurveyName(v.Caller, f.Name)
	if wrong != "" {
		f.Mistakes["name"] = wrong
	}
	if document == nil {
		return f.failed(&page.Problem{Status: http.StatusUnprocessableEntity})
	}
	return f.done(v.Save(http.MethodPut, page.Path("v1", "surveys", name)+page.Creating(true), document, f.Mistakes, nil))
}

func changeDocument(v *page.Visit) (*page.Content, error) {
	f := readDocumentForm(v.Locale, v.Request.PostForm)
	f.Name = v.Request.PathValue("name")
	document := f.parse()
	if document == nil {
		return f.failed(&page.Problem{Status: http.StatusUnprocessableEntity})
	}
	s, err := readSurvey(v.Caller, f.Name)
	if err != nil {
		return nil, err
	}
	before, err := documentOf(surveyBody(&s))
	if err != nil {
		return nil, err
	}
	return f.done(patchSurvey(v.Caller, f.Name, f.Version, mergePatch(before, document)))
}

// patchSurvey changes a survey if it still has the version that the change was made of.
func patchSurvey(c *page.Caller, name string, version int64, patch map[string]any) error {
	return c.Call(http.MethodPatch, page.Path("v1", "surveys", name)+"?version="+strconv.FormatInt(version, 10), patch, nil)
}

// newSurveyName checks the name of a new survey. If it is wrong, the name returned is one for a dry run, which finds the other
// mistakes.
func newSurveyName(c *page.Caller, name string) (free, wrong string) {
	none := c.NewName(operators.ScopeSurveysAdmin)
	if !surveyName.MatchString(name) {
		return none, c.T("1 to 63 characters: a-z, 0-9, dots, underscores and hyphens. It begins with a letter or a digit.")
	}
	if !c.MaySurvey(name, operators.ScopeSurveysAdmin) {
		return none, c.NameOutside(operators.ScopeSurveysAdmin)
	}
	return name, ""
}

// nameTaken reports whether the API refuses a survey because there is one of its name, and says so in words.
func nameTaken(l *locale.Locale, e *weir.FieldError) bool {
	taken := e.Pointer == "/survey" && e.Code == "conflict"
	if taken {
		e.Detail = l.T("There is a survey of this name already: choose another one, or edit that survey.")
	}
	return taken
}

// surveyName matches the name of a survey.
var surveyName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// done sends the browser on, or shows the form again with every mistake.
func (f *documentForm) done(err error) (*page.Content, error) {
	if err == nil {
		return savedSurvey(f.Locale, f.Name, f.New), nil
	}
	status, p := page.StatusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest && status != http.StatusConflict {
		return nil, err
	}
	return f.failed(p)
}

func (f *documentForm) failed(p *page.Problem) (*page.Content, error) {
	rest := *p
	rest.Errors = nil
	for _, e := range p.Errors {
		switch e.Pointer {
		case "/survey":
			if nameTaken(f.Locale, &e) {
				f.Mistakes["name"] = e.Detail
			} // all else is said beside the name already
		case "/version":
			rest.Errors = append(rest.Errors, e)
		default:
			f.Wrong = append(f.Wrong, textMistake{Pointer: e.Pointer, Detail: display.Sentence(e.Detail)})
		}
	}
	if p.Detail != "" && (len(f.Wrong)+len(f.Mistakes) == 0 || len(rest.Errors) > 0 || p.Status == http.StatusConflict) {
		f.Problem = &rest
	}
	c := f.content()
	c.Status, c.Flash = p.Status, &page.Flash{Bad: true, Text: f.T("Nothing was saved. Correct the mistakes that are listed.")}
	return c, nil
}

// savedSurvey is the result of a form that has saved a survey.
func savedSurvey(l *locale.Locale, name string, created bool) *page.Content {
	c := &page.Content{To: Link(name), Flash: &page.Flash{Text: l.T("Survey %s is changed.", name)}}
	if created {
		c.Flash.Text = l.T("Survey %s is created. Import its respondents, then launch it.", name)
	}
	return c
}

// definitionData is the data of the page of a definition.
type definitionData struct {
	api.SurveySummary
	Text      string
	HasSecret bool
}

// Editable reports whether anything but the title and the application can change.
func editableSurvey(s *api.SurveySummary) bool {
	return s.PilotOf == "" && !s.Locked && (s.State == surveys.Draft || s.State == surveys.Running || s.State == surveys.Paused)
}

// Editable reports whether the definition can be changed.
func (d *definitionData) Editable() bool { return editableSurvey(&d.SurveySummary) }

func loadDefinition(v *page.Visit) (*page.Content, error) {
	s, err := readSurvey(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	d := &definitionData{SurveySummary: s.SurveySummary, HasSecret: s.Application != nil && s.Application.HasSecret}
	d.Text, err = indented(surveyBody(&s))
	return &page.Content{Title: v.T("Definition of %s", s.Survey), Crumbs: surveyCrumbs(v.Locale, s.Survey, page.Crumb{Text: v.T("Definition")}), Data: d}, err
}

// definitionFile answers with the definition, as "weir survey put" reads it.
func definitionFile(v *page.Visit, w http.ResponseWriter) error {
	s, err := readSurvey(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return err
	}
	text, err := indented(surveyBody(&s))
	if err != nil {
		return err
	}
	attach(w, "application/json", s.Survey+".json")
	_, _ = io.WriteString(w, text) // the browser may have disconnected
	return nil
}

// attach marks a response as a file. The name contains only characters of names of surveys.
func attach(w http.ResponseWriter, kind, name string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

func askClone(v *page.Visit) (*page.Question, error) {
	s, err := readSurvey(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	q := &page.Question{
		Title: v.T("Clone survey %s", s.Survey), Button: v.T("Clone"), Back: Link(s.Survey), Crumbs: surveyCrumbs(v.Locale, s.Survey, page.Crumb{Text: v.T("Clone")}),
		Text:   v.T("A draft with the same definition is created. Respondents are not copied."),
		Fields: []page.Field{{Name: "name", Label: v.T("Name of the new survey"), Type: "text", Required: true, Help: v.T("Such as flu-2027. It cannot be changed later.")}},
	}
	if s.Application != nil && s.Application.HasSecret {
		q.Text += " " + v.T("The secret of the application cannot be read and is not copied: set it before the launch.")
	}
	return q, nil
}

func cloneSurvey(v *page.Visit) (*page.Done, error) {
	s, err := readSurvey(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	name := strings.TrimSpace(v.Request.PostForm.Get("name"))
	free, wrong := newSurveyName(v.Caller, name)
	if wrong == "" {
		err = v.Call(http.MethodPut, page.Path("v1", "surveys", free)+page.Creating(true), surveyBody(&s), nil)
		if _, p := page.StatusOf(err); err != nil && len(p.Errors) == 1 && nameTaken(v.Locale, &p.Errors[0]) {
			wrong = p.Errors[0].Detail
		}
	}
	if wrong != "" {
		return nil, &page.Problem{Status: http.StatusUnprocessableEntity, Detail: v.T("the survey was not cloned"), Errors: []weir.FieldError{{Detail: v.T("the name: %s", wrong)}}}
	}
	return &page.Done{Text: v.T("Survey %[1]s is created from %[2]s.", name, s.Survey), To: Link(name)}, err
}
