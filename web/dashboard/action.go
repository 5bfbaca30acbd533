package dashboard

import (
	"net/http"

	"weir/ops"
)

// action is something a user can do: a GET of its path asks for confirmation and
// shows the consequences, a POST does it. The question is a page of its own, which
// the script shows as a dialog.
type action struct {
	path   string
	scopes []ops.Scope // one is needed; the API checks again
	ask    func(*visit) (*question, error)
	run    func(*visit) (*done, error)
}

// question asks for confirmation of an action.
type question struct {
	title  string
	Text   string  // the consequences
	Facts  []fact  // the objects affected, above all their number
	Fields []field // inputs to fill in
	Button string
	Danger bool
	back   string // the page to return to on cancel, below the prefix
	crumbs []crumb
}

// fact is a line of a question.
type fact struct{ Name, Value string }

// field is an input of a question.
type field struct {
	Name, Label, Help string
	Type              string // of the input: number, text, checkbox, hidden, select
	Value             string
	Min, Max          string
	Options           []option
	Required          bool
}

// option is a choice of a field of type select.
type option struct{ Value, Text string }

// done is the result of an action.
type done struct {
	text string // shown on the next page
	to   string // the next page, below the prefix
}

// questionData is the data of the question template.
type questionData struct {
	*question
	Action, Back string
	Wrong        *problem
}

// ask serves the question of an action.
func (d *Dashboard) ask(a *action) handler {
	return func(v *visit, w http.ResponseWriter) error {
		q, err := a.ask(v)
		if err != nil {
			return err
		}
		return d.question(v, w, http.StatusOK, q, nil)
	}
}

func (d *Dashboard) question(v *visit, w http.ResponseWriter, status int, q *question, wrong *problem) error {
	data := questionData{question: q, Action: d.Prefix + v.r.URL.EscapedPath(), Back: d.Prefix + q.back, Wrong: wrong}
	if v.r.URL.RawQuery != "" {
		data.Action += "?" + v.r.URL.RawQuery
	}
	return d.render(v, w, status, "question", &content{title: q.title, crumbs: q.crumbs, data: data})
}

// act performs an action. If the API rejects it with 400, 409 or 422, the question
// is shown again with the errors above it and the values entered.
func (d *Dashboard) act(a *action) handler {
	return func(v *visit, w http.ResponseWriter) error {
		if err := v.readForm(w); err != nil {
			return err
		}
		out, err := a.run(v)
		if err == nil {
			d.setFlash(v, w, flash{Text: out.text})
			d.redirect(w, localPath(out.to))
			return nil
		}
		status, p := statusOf(err)
		if status != http.StatusConflict && status != http.StatusUnprocessableEntity && status != http.StatusBadRequest {
			return err
		}
		q, failed := a.ask(v)
		if failed != nil {
			return err
		}
		for i := range q.Fields {
			if sent, ok := v.r.PostForm[q.Fields[i].Name]; ok && q.Fields[i].Type != "hidden" {
				q.Fields[i].Value = sent[0]
			}
		}
		return d.question(v, w, status, q, p)
	}
}
