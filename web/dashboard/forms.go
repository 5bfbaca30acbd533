package dashboard

import (
	"html/template"
	"net/http"
	"slices"

	"weir"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
)

// formData is the data of a page with a form.
type formData struct {
	*form.Form
	Action, Back string
	About        locale.Message // what the form is about
	After        *remark        // below the fields; nil: there is none
	Delete       string         // link to the question; empty: there is nothing to delete
	Problem      *problem       // an error of the API, as far as it is about no field
}

// remark is a paragraph that can be named.
type remark struct {
	ID   string
	Text template.HTML
}

// refusedWords say that a form had no effect.
type refusedWords struct {
	nothing locale.Message // for a mistake that is about no field
	correct locale.Message // if fields are marked
}

// notSaved are the words of a form that saves something.
func notSaved() refusedWords {
	return refusedWords{"Nothing was saved.", "Nothing was saved. Correct the marked fields of the form."}
}

// ownPlace says which field a mistake of the API is about, as in [form.Form.Place].
type ownPlace func(field string, e *weir.FieldError) string

// place shows the mistakes of the API beside the fields that they are about, and returns what is about none; nil: nothing is.
func place(p *problem, beside map[string]string, find func(*weir.FieldError) form.Spot) *problem {
	rest := *p
	if rest.Errors = form.Place(beside, p.Errors, find); len(beside) > 0 && len(rest.Errors) == 0 {
		return nil
	}
	return &rest
}

// refused shows a form again after the API has refused it, each mistake beside its field, and returns
// what is about none. An error that is not about what was sent it returns as it is.
func (c *content) refused(l *locale.Locale, f *form.Form, err error, own ownPlace, words refusedWords) (*problem, error) {
	status, p := statusOf(err)
	switch status {
	case http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed:
	default:
		return nil, err
	}
	f.Place(p.Errors, own)
	c.status, c.flash = status, &flash{Bad: true, Text: l.T(words.correct)}
	if len(f.Mistakes) == 0 {
		c.flash.Text = l.T(words.nothing)
	}
	if f.Placed() {
		return nil, nil
	}
	rest := *p
	rest.Errors = f.Rest
	return &rest, nil
}

// filled returns the fields that have a value: pairs of name and value.
func filled(pairs ...string) map[string]any {
	fields := map[string]any{}
	for pair := range slices.Chunk(pairs, 2) {
		if name, value := pair[0], pair[1]; value != "" {
			fields[name] = value
		}
	}
	return fields
}
