package questionnaire

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/surveys/questions"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
)

// Editor is the page of a document.
type Editor struct {
	*form.Form // what is of all questions
	Cards      []*Card
	Kept       string            // members that the form does not show
	Mistakes   []weir.FieldError // that are about no field
	Warnings   []weir.FieldError
	Checked    bool // it was checked
	Wrong      int  // mistakes that were found
	locale     *locale.Locale
}

// Card is a question on the page.
type Card struct {
	*form.Form
	Number   int    // from 1
	Index    int    // from 0, for buttons
	Prefix   string // of the names of its inputs
	Name     string
	Kind     questions.Kind
	Kept     string
	Rows     []*Row
	Arrows   []questions.Arrow // where it leads; nil: not known
	Notes    []string          // what is wrong and about no field of it
	Warnings []string
	Sizes    []questions.Size
	Answer   string // on the telephone
	Way      bool   // the telephone has passed it
	Here     bool   // the telephone asks it
	First    bool
	Last     bool
}

// Row is an answer to choose from.
type Row struct {
	*form.Form
	Prefix     string
	Number     int
	Name       string
	Kept       string
	Then       string
	ThenChoice []form.Choice
	CanLead    bool
	Fixed      bool // where it leads cannot change: ThenChoice is what was chosen
}

// spareRows is how many answers a question has room for in the beginning; there is always one to spare.
const spareRows = 3

// Show returns the page of a document.
func Show(d Document, l *locale.Locale) (*Editor, error) {
	languages := d.Languages()
	e := &Editor{Form: frameFields(languages).New(false), locale: l}
	if err := e.Show(map[string]any(d)); err != nil {
		return nil, err
	}
	var lines []string
	for _, one := range languages {
		lines = append(lines, strings.TrimSpace(one.Code+" "+one.Name))
	}
	e.Input("languages").Value = strings.Join(lines, "\n")
	e.Kept = rest(d, e.Form, "questions")
	list := d.questions()
	for i, q := range list {
		c, err := d.card(i, q, l, languages)
		if err != nil {
			return nil, err
		}
		c.First, c.Last = i == 0, i == len(list)-1
		e.Cards = append(e.Cards, c)
	}
	return e, nil
}

// Freeze shows as it is what cannot change after the launch: all but texts, if they may be corrected. No text can be
// added, and no answer.
func (e *Editor) Freeze(texts bool) {
	freeze := func(f *form.Form) {
		for _, in := range f.Inputs {
			in.Fixed = !texts || in.Value == "" || !questions.Correctable(in.Member())
		}
	}
	freeze(e.Form)
	for _, c := range e.Cards {
		freeze(c.Form)
		c.Rows = slices.DeleteFunc(c.Rows, func(r *Row) bool { return r.Name == "" })
		for _, r := range c.Rows {
			freeze(r.Form)
			r.Fixed, r.ThenChoice = true, slices.DeleteFunc(r.ThenChoice, func(to form.Choice) bool { return !to.Chosen })
		}
	}
}

// rest returns the members of an object that its form does not show, as JSON. Languages are among
// them, because their words are not shown.
func rest(d map[string]any, f *form.Form, but ...string) string {
	kept := map[string]any{}
	for name, v := range d {
		if !slices.Contains(but, name) && (name == "languages" || len(f.Parts(name)) == 0) {
			kept[name] = v
		}
	}
	raw, _ := json.Marshal(kept) // it was read from JSON
	return string(raw)
}

func (d Document) card(i int, q map[string]any, l *locale.Locale, languages []questions.Language) (*Card, error) {
	c := &Card{Number: i + 1, Index: i, Prefix: prefix(i), Name: text(q, "name"), Kind: questions.Kind(text(q, "kind"))}
	c.Form = questionFields(c.Kind, languages).Under(c.Prefix).New(false)
	if err := c.Show(q); err != nil {
		return nil, err
	}
	if in := c.Input(c.Prefix + "allow"); in != nil {
		in.Offer(l)
	}
	c.Kept = rest(d.others(c, q), c.Form, "choices")
	if c.Kind != questions.Choose && c.Kind != questions.ChooseMany {
		return c, nil
	}
	choices := objects(q["choices"])
	for j := range min(max(len(choices)+1, spareRows), maxChoices) {
		r := &Row{Prefix: choicePrefix(i, j), Number: j + 1, Form: choiceFields(c.Kind, languages).Under(choicePrefix(i, j)).New(false), Kept: "{}", CanLead: c.Kind == questions.Choose}
		if j < len(choices) {
			if err := r.Show(choices[j]); err != nil {
				return nil, err
			}
			r.Name, r.Kept = text(choices[j], "name"), rest(choices[j], r.Form)
			if r.Then = d.leads(i, r.Name); text(choices[j], "end") != "" {
				r.Then = ends + text(choices[j], "end")
			}
		}
		if r.CanLead {
			r.ThenChoice = d.targets(i, r.Then, l)
		}
		c.Rows = append(c.Rows, r)
	}
	return c, nil
}

// others returns the members of a question without those of other kinds, which it had before its kind
// was changed.
func (Document) others(c *Card, q map[string]any) map[string]any {
	kept := map[string]any{}
	for name, v := range q {
		if len(c.Parts(name)) > 0 || name == "text_in" {
			kept[name] = v
		}
	}
	return kept
}

// targets returns where an answer can lead.
func (d Document) targets(question int, chosen string, l *locale.Locale) []form.Choice {
	list := []form.Choice{{Value: next, Text: l.T("the next question")}}
	for i, q := range d.questions() {
		if i > question+1 {
			list = append(list, form.Choice{Value: text(q, "name"), Text: strconv.Itoa(i+1) + " " + text(q, "name")})
		}
	}
	values, labels := endings()
	for i := range values {
		list = append(list, form.Choice{Value: ends + values[i], Text: l.T(labels[i])})
	}
	for i := range list {
		list[i].Chosen = list[i].Value == chosen
	}
	return list
}

// Check shows every mistake of the document beside its field, and what is probably not meant. It
// returns the questionnaire; nil: there are mistakes.
func (e *Editor) Check(d Document, ctx questions.Context) *questions.Questionnaire {
	definition, mistakes := d.Definition()
	if mistakes == nil {
		for _, s := range questions.Sizes(&definition) {
			if i, _, ok := questionOf(s.Pointer); ok && i < len(e.Cards) {
				e.Cards[i].Sizes = append(e.Cards[i].Sizes, s)
			}
		}
		var qs *questions.Questionnaire
		qs, mistakes, e.Warnings = questions.Compile(definition, ctx)
		for _, list := range [][]weir.FieldError{mistakes, e.Warnings} {
			for i := range list {
				list[i].Detail = e.locale.Mistake(list[i].Detail)
			}
		}
		if qs != nil {
			e.arrows(qs)
			e.Place(nil)
			return qs
		}
	}
	e.Place(mistakes)
	return nil
}

func (e *Editor) arrows(qs *questions.Questionnaire) {
	for _, a := range qs.Arrows() {
		for _, c := range e.Cards {
			if c.Name == a.From {
				c.Arrows = append(c.Arrows, a)
			}
		}
	}
}

// Place shows mistakes and the warnings beside what they are about.
func (e *Editor) Place(mistakes []weir.FieldError) {
	e.Checked, e.Wrong = true, len(mistakes)
	for _, m := range mistakes {
		i, inner, ok := questionOf(m.Pointer)
		if !ok || i >= len(e.Cards) {
			e.Form.Place(e.locale, []weir.FieldError{m}, nil)
			continue
		}
		e.Cards[i].place(e.locale, inner, m)
	}
	e.Mistakes = e.Rest
	var left []weir.FieldError
	for _, w := range e.Warnings {
		if i, _, ok := questionOf(w.Pointer); ok && i < len(e.Cards) {
			e.Cards[i].Warnings = append(e.Cards[i].Warnings, w.Detail)
		} else {
			left = append(left, w)
		}
	}
	e.Warnings = left
}

// place shows a mistake beside the field of a question or of one of its answers.
func (c *Card) place(l *locale.Locale, pointer string, m weir.FieldError) {
	m.Pointer = pointer
	f := c.Form
	if after, ok := strings.CutPrefix(pointer, "/choices/"); ok {
		number, inner, _ := strings.Cut(after, "/")
		if j, err := strconv.Atoi(number); err == nil && j >= 0 && j < len(c.Rows) {
			f, m.Pointer = c.Rows[j].Form, "/"+inner
		}
	}
	if m.Pointer == "/" {
		m.Pointer = "/text" // of what else would an answer be told
	}
	f.Place(l, []weir.FieldError{m}, func(field string, m *weir.FieldError) string {
		if field == "" { // a text that lacks a language
			for _, in := range f.Parts(strings.TrimPrefix(m.Pointer, "/")) {
				if field == "" || f.Mistakes[field] != "" || in.Value == "" && f.Input(field).Value != "" {
					field = in.Name
				}
			}
		}
		return field
	})
	for _, m := range f.Rest {
		c.Notes = append(c.Notes, m.Detail)
	}
	f.Rest = nil
}

// Forget leaves out the mistakes of a page that is not ready yet.
func (e *Editor) Forget() {
	e.Checked, e.Wrong, e.Mistakes = false, 0, nil
	clear(e.Form.Mistakes)
	for _, c := range e.Cards {
		c.Notes = nil
		clear(c.Mistakes)
		for _, r := range c.Rows {
			clear(r.Mistakes)
		}
	}
}

// questionOf returns the question that a JSON pointer is about, and the rest of it.
func questionOf(pointer string) (i int, inner string, ok bool) {
	after, ok := strings.CutPrefix(pointer, "/questions/")
	if !ok {
		return 0, "", false
	}
	number, inner, _ := strings.Cut(after, "/")
	i, err := strconv.Atoi(number)
	return i, "/" + inner, err == nil && i >= 0
}

// Marked reports whether a folded field is filled in or wrong.
func (c *Card) Marked() bool { return c.Unfolded() }

// Do changes a document as a button says: after:N adds a question behind one, up:N and down:N move
// one, delete:N removes one. Other words change nothing.
func (d Document) Do(what string) {
	verb, number, _ := strings.Cut(what, ":")
	i, err := strconv.Atoi(number)
	list := d.questions()
	if err != nil || i < -1 || i >= len(list) || i == -1 && verb != "after" {
		return
	}
	switch verb {
	case "after":
		list = slices.Insert(list, i+1, map[string]any{"kind": string(questions.Choose)})
	case "up", "down":
		j := i - 1
		if verb == "down" {
			j = i + 1
		}
		if j < 0 || j >= len(list) {
			return
		}
		list[i], list[j] = list[j], list[i]
	case "delete":
		d.forget(i)
		list = slices.Delete(list, i, i+1)
	default:
		return
	}
	d["questions"] = array(list)
	d.name()
}

// forget removes the conditions by which the answers to a question led somewhere.
func (d Document) forget(question int) {
	list := d.questions()
	begin := squeeze("${" + text(list[question], "name") + "} != ")
	for _, q := range list[question+1:] {
		set(q, "relevant", join(slices.DeleteFunc(conjuncts(text(q, "relevant")), func(p string) bool {
			return strings.HasPrefix(squeeze(p), begin) && strings.Count(p, "$") == 1
		})))
	}
}
