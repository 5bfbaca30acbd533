package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"weir"
	"weir/operators"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	surveyapi "weir/web/surveys"
)

const (
	// maxRespondentForm fits 100 attributes of 500 characters, encoded as a form.
	maxRespondentForm = 1 << 20
	spareAttributes   = 3
)

// respondentForm is the form that corrects a respondent, as it was filled in.
type respondentForm struct {
	*locale.Locale
	Survey, ID string
	Phone      string // as typed
	Masked     string // the present number, if it may not be shown; the field is then empty
	Rows       []attributeRow
	Mistakes   map[string]string
	Problem    *problem
}

// attributeRow is a row for an attribute. Those that the respondent has keep their name.
type attributeRow struct {
	Row         int
	Name, Value string
	Has         bool
}

// NameField returns the name of the field for the attribute's name.
func (r attributeRow) NameField() string { return fmt.Sprintf("name_%d", r.Row) }

// ValueField returns the name of the field for its value.
func (r attributeRow) ValueField() string { return fmt.Sprintf("value_%d", r.Row) }

func respondentLink(survey, id string) string {
	return surveyLink(survey) + "/respondents/" + url.PathEscape(id)
}

func respondentCrumbs(l *locale.Locale, survey, id string, more ...crumb) []crumb {
	return append(surveyCrumbs(l, survey, crumb{Text: l.T("Respondents"), Link: surveyLink(survey) + "/respondents"}, crumb{Text: id, Link: respondentLink(survey, id)}), more...)
}

func readRespondent(v *visit) (r surveyapi.RespondentView, err error) {
	err = v.get(apiPath("v1", "surveys", v.r.PathValue("name"), "respondents", v.r.PathValue("id")), nil, &r)
	return r, err
}

func respondentFormOf(l *locale.Locale, r *surveyapi.RespondentView, shown bool) *respondentForm {
	f := &respondentForm{Locale: l, Survey: r.Survey, ID: r.ID, Phone: r.Phone, Mistakes: map[string]string{}}
	if !shown {
		f.Phone, f.Masked = "", r.Phone
	}
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		f.Rows = append(f.Rows, attributeRow{len(f.Rows) + 1, name, r.Attributes[name], true})
	}
	for range spareAttributes {
		f.Rows = append(f.Rows, attributeRow{Row: len(f.Rows) + 1})
	}
	return f
}

func (f *respondentForm) content() *content {
	return &content{title: f.T("Correct respondent %[1]s of %[2]s", f.ID, f.Survey), crumbs: respondentCrumbs(f.Locale, f.Survey, f.ID, crumb{Text: f.T("Correct")}), data: f}
}

func editRespondent(v *visit) (*content, error) {
	r, err := readRespondent(v)
	if err != nil {
		return nil, err
	}
	return respondentFormOf(v.Locale, &r, v.May(operators.ScopePIIRead)).content(), nil
}

// changeRespondent sends what differs from what the form showed, so that a masked value is
// never written.
func changeRespondent(v *visit) (*content, error) {
	r, err := readRespondent(v)
	if err != nil {
		return nil, err
	}
	f := respondentFormOf(v.Locale, &r, v.May(operators.ScopePIIRead))
	patch := f.read(v.r.PostForm, &r)
	err = v.call(http.MethodPatch, apiPath("v1", "surveys", f.Survey, "respondents", f.ID), patch, nil)
	c := f.content()
	if err == nil {
		c.to, c.flash = respondentLink(f.Survey, f.ID), &flash{Text: f.T("Respondent %s is corrected.", f.ID)}
		return c, nil
	}
	status, p := statusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest && status != http.StatusConflict {
		return nil, err
	}
	f.Problem = place(p, f.Mistakes, f.spot)
	c.status, c.flash = status, &flash{Bad: true, Text: f.T("Nothing was saved.")}
	return c, nil
}

// read fills in what was posted, and returns the changes.
func (f *respondentForm) read(form url.Values, r *surveyapi.RespondentView) map[string]any {
	patch, attributes := map[string]any{}, map[string]any{}
	if f.Phone = strings.TrimSpace(form.Get("phone")); f.Phone != "" && f.Phone != r.Phone {
		patch["phone"] = f.Phone
	}
	for i := range f.Rows {
		row := &f.Rows[i]
		if !row.Has {
			row.Name = strings.TrimSpace(form.Get(row.NameField()))
		} else if !form.Has(row.ValueField()) {
			continue
		}
		row.Value = strings.TrimSpace(form.Get(row.ValueField()))
		switch {
		case row.Name == "" && row.Value == "" || row.Value == r.Attributes[row.Name]:
		case row.Value == "":
			attributes[row.Name] = nil
		default:
			attributes[row.Name] = row.Value
		}
	}
	if len(attributes) > 0 {
		patch["attributes"] = attributes
	}
	return patch
}

// spot returns the field that a mistake of the API is about.
func (f *respondentForm) spot(e *weir.FieldError) form.Spot {
	if e.Pointer == "/phone" {
		return form.Spot{Field: "phone"}
	}
	if name, ok := strings.CutPrefix(e.Pointer, "/attributes/"); ok {
		if i := slices.IndexFunc(f.Rows, func(r attributeRow) bool { return r.Name == name && (name != "" || r.Value != "") }); i >= 0 {
			return form.Spot{Field: f.Rows[i].ValueField()}
		}
	}
	return form.Spot{}
}

// askRespondent returns the question about a respondent.
func askRespondent(about asking) func(*visit) (*question, error) {
	return func(v *visit) (*question, error) {
		r, err := readRespondent(v)
		if err != nil {
			return nil, err
		}
		q := about.question(v.Locale, r.ID, r.Survey)
		q.back, q.crumbs = respondentLink(r.Survey, r.ID), respondentCrumbs(v.Locale, r.Survey, r.ID, crumb{Text: q.Button})
		q.Facts = []fact{{v.T("Number"), r.Phone}, {v.T("Status"), v.Word(shownStatus(r.Status))}, {v.T("Disposition"), v.Word(string(r.Disposition))}}
		return q, nil
	}
}

func stopRespondent(v *visit) (*done, error) {
	name, id := v.r.PathValue("name"), v.r.PathValue("id")
	err := v.call(http.MethodPost, apiPath("v1", "surveys", name, "respondents", id, "stop"), nil, nil)
	return &done{text: v.T("Respondent %s is not contacted any more.", id), to: respondentLink(name, id)}, err
}

func removeRespondent(v *visit) (*done, error) {
	name, id := v.r.PathValue("name"), v.r.PathValue("id")
	err := v.call(http.MethodDelete, apiPath("v1", "surveys", name, "respondents", id), nil, nil)
	return &done{text: v.T("Respondent %s is removed.", id), to: surveyLink(name) + "/respondents"}, err
}
