package questionnaire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"weir"
	"weir/people"
	"weir/surveys/questions"
	"weir/web/dashboard/form"
)

// Document is a questionnaire as its JSON. It holds what was typed, right or wrong.
type Document map[string]any

// DocumentOf returns a definition as a document.
func DocumentOf(d *questions.Definition) (Document, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("questionnaire: %w", err)
	}
	return decode(raw)
}

func decode(raw []byte) (d map[string]any, err error) {
	from := json.NewDecoder(bytes.NewReader(raw))
	from.UseNumber()
	if err := from.Decode(&d); err != nil {
		return nil, fmt.Errorf("questionnaire: %w", err)
	}
	return d, nil
}

// Definition reads the definition that the document is, with every mistake that prevents that.
func (d Document) Definition() (questions.Definition, []weir.FieldError) {
	raw, err := json.Marshal(d)
	if err != nil {
		return questions.Definition{}, []weir.FieldError{{Code: "format", Detail: err.Error()}}
	}
	return questions.Read(raw)
}

func (d Document) questions() []map[string]any { return objects(d["questions"]) }

func objects(v any) (list []map[string]any) {
	all, _ := v.([]any)
	for _, one := range all {
		if m, ok := one.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

// array returns objects as a document has them.
func array(list []map[string]any) []any {
	all := make([]any, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}

func text(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// set sets a text; an empty one is left out.
func set(m map[string]any, name, value string) {
	if m[name] = value; value == "" {
		delete(m, name)
	}
}

// Languages returns the languages, of which there is always one.
func (d Document) Languages() (list []questions.Language) {
	for _, l := range objects(d["languages"]) {
		list = append(list, questions.Language{Code: text(l, "code"), Name: text(l, "name")})
	}
	if list == nil {
		list = []questions.Language{{Code: "en", Name: "English"}}
	}
	return list
}

// Bounds of what a form is read for, which are wider than those of a questionnaire so that the latter
// are reported.
const (
	maxCards   = questions.MaxQuestions + 20
	maxChoices = 300
)

// prefix returns what the names of the inputs of a question begin with.
func prefix(question int) string { return fmt.Sprintf("q%d.", question) }

func choicePrefix(question, choice int) string { return fmt.Sprintf("q%d.c%d.", question, choice) }

// draft is an answer as it was filled in, with what is said in conditions of other questions.
type draft struct {
	choice           map[string]any
	name             string // that it had
	then, thenBefore string // where it leads, and what was shown
}

// Read returns the document that a browser sent as the form of an [Editor].
func Read(sent url.Values) Document {
	d := kept(sent.Get("rest"))
	d["languages"] = array(readLanguages(sent.Get("languages"), objects(d["languages"])))
	fill(d, frameFields(Document(d).Languages()), "", sent, "languages")
	return Document(d).withQuestions(sent)
}

func (d Document) withQuestions(sent url.Values) Document {
	var list []map[string]any
	var drafts [][]draft
	for i := range count(sent.Get("questions"), maxCards) {
		q, answers := d.readQuestion(sent, i)
		list, drafts = append(list, q), append(drafts, answers)
	}
	d["questions"] = array(list)
	renamed := d.rename(sent)
	d.name()
	for i := range list {
		for _, a := range drafts[i] {
			d.renameChoice(i, a.name, text(a.choice, "name"))
			if a.then == a.thenBefore { // a condition that was written by hand stays
				continue
			}
			delete(a.choice, "end")
			then := a.then
			if is := renamed[then]; is != "" {
				then = is
			}
			if end, ok := strings.CutPrefix(then, ends); ok {
				a.choice["end"], then = end, next
			}
			d.lead(i, text(a.choice, "name"), then)
		}
	}
	return d
}

func count(text string, most int) int {
	n, _ := strconv.Atoi(text)
	return min(max(n, 0), most)
}

// kept returns the members that a part of the form keeps.
func kept(raw string) map[string]any {
	if d, err := decode([]byte(raw)); err == nil && d != nil {
		return d
	}
	return map[string]any{}
}

// fill sets the members that a form has.
func fill(d map[string]any, fields *form.Declaration, prefix string, sent url.Values, but ...string) {
	f := fields.Under(prefix).New(false)
	f.Fill(sent)
	for name, v := range f.Body() {
		if v != false && (len(but) == 0 || name != but[0]) {
			d[name] = v
		}
	}
}

// readLanguages reads lines of a code and a name. Those that were there keep their words.
func readLanguages(lines string, before []map[string]any) (list []map[string]any) {
	for line := range strings.Lines(lines) {
		code, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if code == "" {
			continue
		}
		l := map[string]any{"code": code}
		for _, b := range before {
			if text(b, "code") == code && b["words"] != nil {
				l["words"] = b["words"]
			}
		}
		set(l, "name", strings.TrimSpace(name))
		list = append(list, l)
	}
	return list
}

func (d Document) readQuestion(sent url.Values, i int) (q map[string]any, drafts []draft) {
	p := prefix(i)
	q = kept(sent.Get(p + "rest"))
	kind := questions.Kind(sent.Get(p + "kind"))
	fill(q, questionFields(kind, d.Languages()), p, sent)
	if kind != questions.Choose && kind != questions.ChooseMany {
		return q, nil
	}
	var choices []map[string]any
	for j := range count(sent.Get(p+"choices"), maxChoices) {
		p := choicePrefix(i, j)
		c := kept(sent.Get(p + "rest"))
		before := len(c)
		if fill(c, choiceFields(kind, d.Languages()), p, sent); len(c) == before {
			continue
		}
		choices = append(choices, c)
		drafts = append(drafts, draft{c, sent.Get(p + "was"), sent.Get(p + "then"), sent.Get(p + "then.was")})
	}
	if choices != nil {
		q["choices"] = array(choices)
	}
	return q, drafts
}

// rename lets conditions and texts follow the names of questions that were changed, and returns the
// new names.
func (d Document) rename(sent url.Values) map[string]string {
	renamed := map[string]string{}
	var pairs []string
	for i, q := range d.questions() {
		if was, is := sent.Get(prefix(i)+"was"), text(q, "name"); was != "" && is != "" && was != is {
			renamed[was] = is
			pairs = append(pairs, "${"+was+"}", "${"+is+"}", "{{"+was+"}}", "{{"+is+"}}")
		}
	}
	if follow := strings.NewReplacer(pairs...); len(pairs) > 0 {
		replaced(d["messages"], follow)
		replaced(d["questions"], follow)
	}
	return renamed
}

// renameChoice lets the conditions by which an answer leads somewhere follow its name.
func (d Document) renameChoice(question int, was, is string) {
	list := d.questions()
	if was == "" || was == is {
		return
	}
	name := text(list[question], "name")
	for _, q := range list[question+1:] {
		parts := conjuncts(text(q, "relevant"))
		for i := range parts {
			if squeeze(parts[i]) == squeeze(unless(name, was)) {
				parts[i] = unless(name, is)
			}
		}
		set(q, "relevant", join(parts))
	}
}

// replaced replaces in all texts of a value.
func replaced(v any, r *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return r.Replace(v)
	case map[string]any:
		for name := range v {
			v[name] = replaced(v[name], r)
		}
	case []any:
		for i := range v {
			v[i] = replaced(v[i], r)
		}
	}
	return v
}

// name gives names to what has none: to questions by their place, to answers by their text.
func (d Document) name() {
	taken := map[string]bool{}
	for _, q := range d.questions() {
		taken[strings.ToLower(text(q, "name"))] = true
	}
	for i, q := range d.questions() {
		if text(q, "name") == "" {
			n := i + 1
			for taken["q"+strconv.Itoa(n)] {
				n++
			}
			q["name"] = "q" + strconv.Itoa(n)
			taken["q"+strconv.Itoa(n)] = true
		}
		used := map[string]bool{}
		for _, c := range objects(q["choices"]) {
			used[text(c, "name")] = true
		}
		for _, c := range objects(q["choices"]) {
			if text(c, "name") == "" {
				c["name"] = choiceName(d.firstText(c), used)
			}
		}
	}
}

// firstText returns the text in the first language that has one.
func (d Document) firstText(of map[string]any) string {
	texts, _ := of["text"].(map[string]any)
	for _, l := range d.Languages() {
		if s := text(texts, l.Code); strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// maxChoiceName is the max length of the name that is made of a text.
const maxChoiceName = 24

// choiceName makes a name that a questionnaire takes, whatever the script of the text.
func choiceName(from string, used map[string]bool) string {
	base := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return -1
		}
		return r
	}, strings.Join(people.FoldWords(from), "_"))
	base = strings.Trim(base[:min(len(base), maxChoiceName)], "_")
	if base == "" {
		base = "a"
	}
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name += "_" + strconv.Itoa(n)
		}
		if !used[name] {
			used[name] = true
			return name
		}
	}
}
