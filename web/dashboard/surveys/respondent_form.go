package surveys

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
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
	Problem    *page.Problem
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
	return Link(survey) + "/respondents/" + url.PathEscape(id)
}

func respondentCrumbs(l *locale.Locale, survey, id string, more ...page.Crumb) []page.Crumb {
	return append(surveyCrumbs(l, survey, page.Crumb{Text: l.T("Respondents"), Link: Link(survey) + "/respondents"}, page.Crumb{Text: id, Link: respondentLink(survey, id)}), more...)
}

func readRespondent(v *page.Visit) (r api.RespondentView, err error) {
	err = v.Get(page.Path("v1", "surveys", v.Request.PathValue("name"), "respondents", v.Request.PathValue("id")), nil, &r)
	return r, err
}

func respondentFormOf(l *locale.Locale, r *api.RespondentView, shown bool) *respondentForm {
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

func (f *respondentForm) content() *page.Content {
	return &page.Content{Title: f.T("Correct respondent %[1]s of %[2]s", f.ID, f.Survey), Crumbs: respondentCrumbs(f.Locale, f.Survey, f.ID, page.Crumb{Text: f.T("Correct")}), Data: f}
}

func editRespondent(v *page.Visit) (*page.Content, error) {
	r, err := readRespondent(v)
	if err != nil {
		return nil, err
	}
	return respondentFormOf(v.Locale, &r, v.May(operators.ScopePIIRead)).content(), nil
}

// changeRespondent sends what differs from what the form showed, so that a masked value is
// never written.
func changeRespondent(v *page.Visit) (*page.Content, error) {
	r, err := readRespondent(v)
	if err != nil {
		return nil, err
	}
	f := respondentFormOf(v.Locale, &r, v.May(operators.ScopePIIRead))
	patch := f.read(v.Request.PostForm, &r)
	err = v.Call(http.MethodPatch, page.Path("v1", "surveys", f.Survey, "respondents", f.ID), patch, nil)
	c := f.content()
	if err == nil {
		c.To, c.Flash = respondentLink(f.Survey, f.ID), &page.Flash{Text: f.T("Respondent %s is corrected.", f.ID)}
		return c, nil
	}
	status, p := page.StatusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest && status != http.StatusConflict {
		return nil, err
	}
	f.Problem = page.Place(p, f.Mistakes, f.spot)
	c.Status, c.Flash = status, &page.Flash{Bad: true, Text: f.T("Nothing was saved.")}
	return c, nil
}

// read fills in what was posted, and returns the changes.
func (f *respondentForm) read(form url.Values, r *api.RespondentView) map[string]any {
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
func askRespondent(about page.Asking) func(*page.Visit) (*page.Question, error) {
	return func(v *page.Visit) (*page.Question, error) {
		r, err := readRespondent(v)
		if err != nil {
			return nil, err
		}
		q := about.Question(v.Locale, r.ID, r.Survey)
		q.Back, q.Crumbs = respondentLink(r.Survey, r.ID), respondentCrumbs(v.Locale, r.Survey, r.ID, page.Crumb{Text: q.Button})
		q.Facts = []page.Fact{{Name: v.T("Number"), Value: r.Phone}, {Name: v.T("Status"), Value: v.Word(shownStatus(r.Status))}, {Name: v.T("Disposition"), Value: v.Word(r.Disposition)}}
		return q, nil
	}
}

func stopRespondent(v *page.Visit) (*page.Done, error) {
	name, id := v.Request.PathValue("name"), v.Request.PathValue("id")
	err := v.Call(http.MethodPost, page.Path("v1", "surveys", name, "respondents", id, "stop"), nil, nil)
	return &page.Done{Text: v.T("Respondent %s is not contacted any more.", id), To: respondentLink(name, id)}, err
}

func removeRespondent(v *page.Visit) (*page.Done, error) {
	name, id := v.Request.PathValue("name"), v.Request.PathValue("id")
	err := v.Call(http.MethodDelete, page.Path("v1", "surveys", name, "respondents", id), nil, nil)
	return &page.Done{Text: v.T("Respondent %s is removed.", id), To: Link(name) + "/respondents"}, err
}
