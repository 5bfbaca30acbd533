package surveys

import (
	"net/url"
	"slices"
	"strings"

	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/dashboard/files"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// fieldAttribute is the field of a column whose values become an attribute of its name.
const fieldAttribute = "attribute"

// respondentFile imports the rows of a file as respondents of a survey.
type respondentFile struct {
	*locale.Locale
	link       string // to the survey
	survey     string
	region     string
	needs      []string // attributes that the texts use
	duplicates string
	over       bool // the survey takes nobody in
}

func newRespondentFile(v *page.Visit, form url.Values) (files.Use, error) {
	s, err := readSurvey(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	f := &respondentFile{
		Locale: v.Locale, link: v.Link("/surveys", s.Survey), survey: s.Survey,
		region: s.Region, duplicates: "skip", over: !Card{SurveySummary: s.SurveySummary}.Importable(),
	}
	if plan, _ := surveys.Definition(s.SurveyDefinition).Compile(surveys.Defaults{}); plan != nil {
		f.needs = plan.RequiredAttributes()
	}
	if form.Get("duplicates") == "update" {
		f.duplicates = "update"
	}
	return f, nil
}

func (f *respondentFile) About() *files.Words {
	first := f.T("Nothing is imported before you have seen how.")
	if f.over {
		first = f.T("This survey takes no more respondents; a clone of it does.")
	}
	return &files.Words{
		Title: f.T("Import respondents of %s", f.survey), Crumbs: surveyCrumbs(f.Locale, f.survey, page.Crumb{Text: f.T("Import")}), Path: Link(f.survey) + "/import", Verb: f.T("Import"),
		Help:  f.T("The first line names the columns, separated by commas, semicolons or tabs. Excel on Windows saves CSV as windows-1252. The phone number identifies a respondent within the survey."),
		First: first,
		Named: "Name of the attribute", NamedOf: "Name of the attribute of column %s", Shown: []string{respondents.FieldPhone}, Heads: []string{f.T("Phone number"), f.T("Attributes")},
		Done: f.T("File imported"), DoneInPart: f.T("File imported in part"), Stopped: "Not all of %[1]s was imported, because %[2]s.",
		Whole: f.T("Or mend and send the whole file: what was imported is not imported twice."),
		Again: f.T("Import the same file again: nobody is added twice."),
		Next:  page.Crumb{Text: f.T("To the survey"), Link: f.link},
	}
}

func (f *respondentFile) Columns() *files.Rules {
	return &files.Rules{
		Max: respondents.MaxAttributes + 4, // the phone number and the remarks
		Fields: []files.ColumnField{
			{Option: page.Option{Value: respondents.FieldPhone, Text: f.T("phone number")}, Required: true},
			{Option: page.Option{Value: fieldAttribute, Text: f.T("attribute")}, Many: true, Named: true},
		},
		NameOf: attributeName,
		NameRule: func(name string) string {
			switch {
			case !respondents.ValidName(name):
				return respondents.NameRule
			case respondents.BuiltIn(name) || name == respondents.FieldPhone:
				return f.T("%s is a reserved name", name)
			default:
				return ""
			}
		},
	}
}

// attributeName makes the name of an attribute of a header, as far as that is possible.
func attributeName(header string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_':
			return r
		case r == ' ' || r == '-' || r == '.':
			return '_'
		default:
			return -1
		}
	}, strings.ToLower(strings.TrimSpace(header)))
}

func (f *respondentFile) Fields(*page.Caller) (first, more []files.Field, err error) {
	return nil, []files.Field{{Name: "duplicates", Label: f.T("Numbers that the survey has already"), Value: f.duplicates, Choices: []page.Option{
		{Value: "skip", Text: f.T("keep the respondent as it is")}, {Value: "update", Text: f.T("update its attributes, if it was not contacted yet")},
	}}}, nil
}

func (*respondentFile) Mistakes() []string { return nil }

func (f *respondentFile) Request() (path string, query url.Values, defaults map[string]any) {
	return page.Path("v1", "surveys", f.survey, "respondents"), url.Values{"on_error": {"skip"}, "duplicates": {f.duplicates}}, nil
}

func (*respondentFile) OfAPI(name string) (field, own string) {
	if name == "" || name == respondents.FieldPhone {
		return name, ""
	}
	return fieldAttribute, name
}

func (*respondentFile) ToAPI(field, own string) string {
	if field == fieldAttribute {
		return own
	}
	return field
}

func (*respondentFile) Row(told *files.AnswerRow) map[string]any {
	body := map[string]any{respondents.FieldPhone: told.Phone}
	for name, value := range told.Attributes {
		body[name] = value
	}
	return body
}

// Notes says what the texts use that rows lack. A launch is refused because of these rows.
func (f *respondentFile) Notes(form *files.Form, told *files.Answer, whole bool) (notes []string) {
	if f.region == "" && slices.ContainsFunc(told.Errors, func(e respondents.RowError) bool { return e.Reason == respondents.ReasonNoRegion }) {
		notes = append(notes, f.T("Numbers without a country code need the region of the survey: set it under “Region of phone numbers” when you edit the survey, or write the numbers with + and the country code."))
	}
	for _, name := range f.needs {
		n := told.Missing[name]
		switch {
		case n == 0:
		case !slices.ContainsFunc(form.Columns, func(c files.Column) bool { return c.Field == fieldAttribute && c.Name == name }):
			notes = append(notes, f.T("The texts use {{%s}}, which no column is. Name a column so, or add one to the file: without a value for everybody the survey cannot be launched.", name))
		case whole:
			notes = append(notes, f.T("%[1]d rows have no value for {{%[2]s}}, which the texts use. The survey cannot be launched for these respondents.", n, name))
		}
	}
	return notes
}

func (*respondentFile) Outcome(l *locale.Locale, told *files.Answer) (figures []files.Figure, text string) {
	// A duplicate that could not be updated is among the rejected rows, too.
	rejected := max(0, told.Added+told.Duplicates+told.Rejected-told.Rows)
	unchanged := max(0, told.Duplicates-told.Updated-rejected)
	text = l.T("%d respondents were added.", told.Added)
	if told.Updated > 0 {
		text = l.T("%d respondents were added, %s.", told.Added, l.T("%d were updated", told.Updated))
	}
	return []files.Figure{{ID: "added", Text: l.T("Added"), N: told.Added}, {ID: "updated", Text: l.T("Updated"), N: told.Updated}, {ID: "unchanged", Text: l.T("Already there"), N: unchanged}}, text
}
