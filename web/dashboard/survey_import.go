package dashboard

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/dashboard/locale"
	"weir/web/route"
	surveyapi "weir/web/surveys"
)

// fieldAttribute is the field of a column whose values become an attribute of its name.
const fieldAttribute = "attribute"

// respondentFile imports the rows of a file as respondents of a survey.
type respondentFile struct {
	*locale.Locale
	link       string // to the survey
	survey     string
	launched   bool
	region     string
	needs      []string // attributes that the texts use
	duplicates string

	regionless bool           // the survey has no region, and rows need one
	lacking    map[string]int // how many rows have no value for an attribute of needs

	added, updated, unchanged int
}

func newRespondentFile(v *visit, form url.Values) (fileUse, error) {
	s, err := readSurvey(v.caller, v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	f := &respondentFile{
		Locale: v.Locale, link: v.Link("/surveys", s.Survey), survey: s.Survey, launched: s.State != surveys.Draft,
		region: s.Region, lacking: map[string]int{}, duplicates: "skip",
	}
	if plan, _ := s.Compile(surveys.Defaults{}); plan != nil {
		f.needs = plan.RequiredAttributes()
	}
	if form.Get("duplicates") == "update" {
		f.duplicates = "update"
	}
	return f, nil
}

func (f *respondentFile) about() *fileWords {
	return &fileWords{
		title: f.T("Import respondents of %s", f.survey), crumbs: surveyCrumbs(f.Locale, f.survey, crumb{Text: f.T("Import")}), Path: surveyLink(f.survey) + "/import", Verb: f.T("Import"),
		Help:  f.T("The first line names the columns, separated by commas, semicolons or tabs. Excel on Windows saves CSV as windows-1252. The phone number identifies a respondent within the survey."),
		First: f.T("Nothing is imported before you have seen how."),
		Named: "Name of the attribute", NamedOf: "Name of the attribute of column %s", Shown: []string{respondents.FieldPhone}, Heads: []string{f.T("Phone number"), f.T("Attributes")},
		done: f.T("File imported"), doneInPart: f.T("File imported in part"), Stopped: "Not all of %[1]s was imported, because %[2]s.",
		Whole: f.T("Or mend and send the whole file: what was imported is not imported twice."),
		Again: f.T("Import the same file again: nobody is added twice."),
		Next:  crumb{f.T("To the survey"), f.link},
	}
}

func (f *respondentFile) columns() *columnRules {
	return &columnRules{
		max: respondents.MaxAttributes + 4, // the phone number and the remarks
		fields: []columnField{
			{option: option{respondents.FieldPhone, f.T("phone number")}, headers: strings.Fields("phone phonenumber telephone mobile msisdn number tel telefono celular"), required: true},
			{option: option{fieldAttribute, f.T("attribute")}, many: true, named: true},
		},
		other:  fieldAttribute,
		nameOf: attributeName,
		nameRule: func(name string) string {
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

func (f *respondentFile) fields(*caller) (first, more []fileField, err error) {
	return nil, []fileField{{Name: "duplicates", Label: f.T("Numbers that the survey has already"), Value: f.duplicates, Choices: []option{
		{"skip", f.T("keep the respondent as it is")}, {"update", f.T("update its attributes, if it was not contacted yet")},
	}}}, nil
}

func (*respondentFile) mistakes() []string { return nil }

func (*respondentFile) row(columns []column, r *fileRow) map[string]any {
	body := map[string]any{}
	for i, c := range columns {
		switch value := strings.TrimSpace(r.cells[i]); {
		case c.Field == "" || value == "":
		case c.Field == fieldAttribute:
			body[c.Name] = value
		default:
			body[c.Field] = value
		}
	}
	r.raw, _ = json.Marshal(body) // texts cannot fail
	return body
}

// check applies the rules by which the API will import the row.
func (f *respondentFile) check(r *fileRow, body map[string]any) {
	phone, _ := body[respondents.FieldPhone].(string)
	attributes := maps.Clone(body)
	delete(attributes, respondents.FieldPhone)
	row, wrong := respondents.RowOf(phone, attributes, f.region)
	if len(wrong) > 0 {
		f.regionless = f.regionless || f.region == "" && phone != "" && !strings.HasPrefix(phone, "+")
		r.refuse(path.Base(wrong[0].Pointer), wrong[0].Detail)
		return
	}
	body[respondents.FieldPhone] = row.Phone
	for _, name := range f.needs {
		if row.Attributes[name] != "" {
			continue
		}
		if f.launched {
			r.refuse(name, f.T("no value for {{%s}}, which the texts use", name))
			return
		}
		f.lacking[name]++
	}
}

// notes says what the texts use that rows lack. A launch is refused because of these rows.
func (f *respondentFile) notes(columns []column, whole bool) (notes []string) {
	if f.regionless {
		notes = append(notes, f.T("Numbers without a country code need the region of the survey: set it under “Region of phone numbers” when you edit the survey, or write the numbers with + and the country code."))
	}
	for _, name := range f.needs {
		n := f.lacking[name]
		switch {
		case n == 0:
		case !slices.ContainsFunc(columns, func(c column) bool { return c.Field == fieldAttribute && c.Name == name }):
			notes = append(notes, f.T("The texts use {{%s}}, which no column is. Name a column so, or add one to the file: without a value for everybody the survey cannot be launched.", name))
		case whole:
			notes = append(notes, f.T("%[1]d rows have no value for {{%[2]s}}, which the texts use. The survey cannot be launched for these respondents.", n, name))
		}
	}
	return notes
}

// send imports rows, a line each. Since a number is in a survey once, it can be repeated.
func (f *respondentFile) send(post fileRequest, _ []column, rows []*fileRow) error {
	lines := make([][]byte, len(rows))
	for i, r := range rows {
		lines[i] = r.raw
	}
	var done surveyapi.ImportView
	at := apiPath("v1", "surveys", f.survey, "respondents") + "?" + url.Values{"on_error": {"skip"}, "duplicates": {f.duplicates}}.Encode()
	if err := post(at, route.NDJSONType, bytes.Join(lines, []byte("\n")), &done); err != nil {
		return err
	}
	f.added, f.updated = f.added+done.Added, f.updated+done.Updated
	// A duplicate that could not be updated is among the rejected rows, too.
	rejectedDuplicates := done.Added + done.Duplicates + done.Rejected - len(rows)
	f.unchanged += done.Duplicates - done.Updated - rejectedDuplicates
	for _, why := range done.Errors {
		if i := why.Line - 1; i >= 0 && i < len(rows) {
			rows[i].refuse(why.Column, why.Reason)
		}
	}
	return nil
}

func (f *respondentFile) outcome(l *locale.Locale) (figures []fileFigure, text string) {
	text = l.T("%d respondents were added.", f.added)
	if f.updated > 0 {
		text = l.T("%d respondents were added, %s.", f.added, l.T("%d were updated", f.updated))
	}
	return []fileFigure{{"added", l.T("Added"), f.added}, {"updated", l.T("Updated"), f.updated}, {"unchanged", l.T("Already there"), f.unchanged}}, text
}
