package page

import (
	"html/template"
	"net/http"
	"slices"

	"weir"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
)

// FormData is the data of a page with a form.
type FormData struct {
	*form.Form
	Action, Back string
	About        locale.Message // what the form is about
	After        *Remark        // below the fields; nil: there is none
	Delete       string         // link to the question; empty: there is nothing to delete
	Problem      *Problem       // an error of the API, as far as it is about no field
}

// Remark is a paragraph that can be named.
type Remark struct {
	ID   string
	Text template.HTML
}

// RefusedWords say that a form had no effect.
type RefusedWords struct {
	Nothing locale.Message // for a mistake that is about no field
	Correct locale.Message // if fields are marked
}

// NotSaved are the words of a form that saves something.
func NotSaved() RefusedWords {
	return RefusedWords{"Nothing was saved.", "Nothing was saved. Correct the marked fields of the form."}
}

// OwnPlace says which field a mistake of the API is about, as in [form.Form.Place].
type OwnPlace func(field string, e *weir.FieldError) string

// Place shows the mistakes of the API beside the fields that they are about, and returns what is about none; nil: nothing is.
func Place(p *Problem, beside map[string]string, find func(*weir.FieldError) form.Spot) *Problem {
	rest := *p
	if rest.Errors = form.Place(beside, p.Errors, find); len(beside) > 0 && len(rest.Errors) == 0 {
		return nil
	}
	return &rest
}

// Refused shows a form again after the API has refused it, each mistake beside its field, and returns
// what is about none. An error that is not about what was sent it returns as it is.
func (c *Content) Refused(l *locale.Locale, f *form.Form, err error, own OwnPlace, words RefusedWords) (*Problem, error) {
	status, p := StatusOf(err)
	switch status {
	case http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed:
	default:
		return nil, err
	}
	f.Place(l, p.Errors, own)
	c.Status, c.Flash = status, &Flash{Bad: true, Text: l.T(words.Correct)}
	if len(f.Mistakes) == 0 {
		c.Flash.Text = l.T(words.Nothing)
	}
	if f.Placed() {
		return nil, nil
	}
	rest := *p
	rest.Errors = f.Rest
	return &rest, nil
}

// Filled returns the fields that have a value: pairs of name and value.
func Filled(pairs ...string) map[string]any {
	fields := map[string]any{}
	for pair := range slices.Chunk(pairs, 2) {
		if name, value := pair[0], pair[1]; value != "" {
			fields[name] = value
		}
	}
	return fields
}
