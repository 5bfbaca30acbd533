package surveys

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

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

// respondentFields are the fields of a correction: one for each attribute that the respondent has, and rows for new ones.
func respondentFields(r *api.RespondentView) *form.Declaration {
	fields := []form.Field{{Name: "phone", Kind: form.Phone, Label: "Phone number", Help: "Empty: it stays."}}
	for i, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		fields = append(fields, form.Field{Name: fmt.Sprintf("value_%d", i+1), At: []string{"attributes", name}, Kind: form.Text, MaxLength: 500, Words: name})
	}
	fields = append(fields, form.Field{
		Name: "attributes", Kind: form.Named, Label: "Attribute %d", Names: "%[2]s_%[1]d", From: len(fields), Count: spareAttributes,
		Each: form.Of(newAttribute{}, nil,
			form.Field{Name: "name", Kind: form.Code, Size: 12, Label: "New attribute"},
			form.Field{Name: "value", Kind: form.Text, MaxLength: 500, Label: "Value"}),
	})
	fields[1].Head, fields[1].Note = "Attributes", "To remove an attribute, empty its value."
	return form.Of(api.RespondentPatch{}, nil, fields...)
}

// newAttribute is an attribute that is added.
type newAttribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

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

// respondentForm returns the page that corrects a respondent, and its form.
func respondentForm(v *page.Visit) (*api.RespondentView, *page.FormData, *page.Content, error) {
	r, err := readRespondent(v)
	if err != nil {
		return nil, nil, nil, err
	}
	f := respondentFields(&r).New(false)
	shown := map[string]any{"phone": r.Phone, "attributes": r.Attributes}
	if !v.May(operators.ScopePIIRead) {
		delete(shown, "phone")
		f.Input("phone").Hints = v.T("It is %s now; this token may not see it.", r.Phone)
	}
	d := &page.FormData{Form: f, Action: respondentLink(r.Survey, r.ID) + "/edit", Back: respondentLink(r.Survey, r.ID), About: "A respondent can be corrected before the first contact."}
	c := &page.Content{Title: v.T("Correct respondent %[1]s of %[2]s", r.ID, r.Survey), Crumbs: respondentCrumbs(v.Locale, r.Survey, r.ID, page.Crumb{Text: v.T("Correct")}), Data: d}
	return &r, d, c, f.Show(shown)
}

func editRespondent(v *page.Visit) (*page.Content, error) {
	_, _, c, err := respondentForm(v)
	return c, err
}

// changeRespondent sends what differs from what the form showed, so that a masked value is
// never written.
func changeRespondent(v *page.Visit) (*page.Content, error) {
	r, d, c, err := respondentForm(v)
	if err != nil {
		return nil, err
	}
	was, sent := d.Texts(), v.Request.PostForm
	for _, in := range d.Inputs {
		if in.At != nil && !sent.Has(in.Name) { // somebody else has added it meanwhile
			sent.Set(in.Name, in.Value)
		}
	}
	d.Fill(sent)
	patch := d.Changes(was)
	if d.Input("phone").Value == "" {
		delete(patch, "phone")
	}
	err = v.Call(http.MethodPatch, page.Path("v1", "surveys", r.Survey, "respondents", r.ID), patch, nil)
	if err == nil {
		c.To, c.Flash = d.Back, &page.Flash{Text: v.T("Respondent %s is corrected.", r.ID)}
		return c, nil
	}
	d.Problem, err = c.Refused(v.Locale, d.Form, err, nil, page.NotSaved())
	return c, err
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
