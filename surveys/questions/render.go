package questions

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/internal/segments"
	"weir/internal/validation"
	"weir/surveys/questions/expression"
)

// cutField returns a text before its first {{name}}, the name, and the text behind it.
func cutField(s string) (before, name, after string, found bool, err error) {
	before, rest, found := strings.Cut(s, "{{")
	if !found {
		return s, "", "", false, nil
	}
	name, after, closed := strings.Cut(rest, "}}")
	if name = strings.TrimSpace(name); !closed {
		return s, "", "", false, errors.New("{{ without }}")
	}
	if !validName(name) {
		return s, "", "", false, fmt.Errorf("{{%s}} is no name", validation.Clip(name))
	}
	return before, name, after, true, nil
}

// fieldsOf returns the names in a text.
func fieldsOf(s string) (names []string, _ error) {
	for {
		_, name, after, found, err := cutField(s)
		if !found {
			return names, err
		}
		names, s = append(names, name), after
	}
}

// fill writes the values of the fields into a text.
func fill(s string, value func(name string) string) string {
	var b strings.Builder
	for {
		before, name, after, found, _ := cutField(s)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(value(name))
		s = after
	}
}

// offered returns the choices that a question offers, in their order. Without a conversation it
// offers all, as they are written.
func (q *question) offered(t *talk) []option {
	options := make([]option, 0, len(q.choices))
	order := make([]int, len(q.choices))
	for i := range order {
		order[i] = i
	}
	if t != nil && q.Shuffle {
		free := slices.DeleteFunc(slices.Clone(order), func(i int) bool { return q.choices[i].Fixed })
		shuffled := slices.Clone(free)
		slices.SortStableFunc(shuffled, func(a, b int) int {
			return cmp.Compare(drawn(t.state.Seed, q.Name, q.choices[a].Name), drawn(t.state.Seed, q.Name, q.choices[b].Name))
		})
		for i, at := range free {
			order[at] = shuffled[i]
		}
	}
	for _, i := range order {
		o := &q.choices[i]
		if t != nil && o.relevant != nil && !o.relevant.Value(t.env(q)).Bool() {
			continue
		}
		options = append(options, option{o, cmp.Or(o.Key, itoa(len(options)+1))})
	}
	return options
}

// drawn returns a number that a seed draws for a choice.
func drawn(seed uint64, question, choice string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d\n%s\n%s", seed, question, choice)
	n := h.Sum64() // its high bits depend little on the last characters
	n ^= n >> 33
	n *= 0xff51afd7ed558ccd
	return n ^ n>>33
}

// withChoices returns the text of a question with its choices, each on a line of its own.
func withChoices(text string, options []option, code, def string) string {
	var b strings.Builder
	b.WriteString(text)
	for _, o := range options {
		b.WriteString("\n" + o.key + " " + textIn(o.Text, code, def))
	}
	return b.String()
}

// text returns the text of a question or statement in the language and mode of a conversation.
func (t *talk) text(q *question) string {
	text := q.Text
	if other, ok := q.TextIn[t.person.Mode]; ok {
		text = other
	}
	code := t.state.Language
	said := textIn(text, code, t.def)
	if q.SetLanguage {
		var all []string
		for _, l := range t.languages {
			if s := text[l.Code]; !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
		said = strings.Join(all, "\n")
	}
	if Asked(q.Kind) {
		said = withChoices(said, q.offered(t), code, t.def)
	}
	return t.fill(said)
}

// fill writes answers and attributes into a text. Of choices it writes the labels.
func (t *talk) fill(s string) string {
	return fill(s, func(name string) string {
		value := t.value(name)
		i, ok := t.index[name]
		if !ok || t.questions[i].Choices == nil {
			return value.Text()
		}
		return t.labels(name, value.Text())
	})
}

// labels returns the texts of chosen choices.
func (t *talk) labels(name, chosen string) string {
	var out []string
	for _, one := range strings.Fields(chosen) {
		out = append(out, t.label(name, one))
	}
	return strings.Join(out, ", ")
}

// label returns the text of a choice of a question.
func (t *talk) label(name, chosen string) string {
	if i, ok := t.index[name]; ok {
		for _, o := range t.questions[i].Choices {
			if o.Name == chosen {
				return textIn(o.Text, t.state.Language, t.def)
			}
		}
	}
	return chosen
}

// join makes messages of texts: one if they fit.
func join(separator string, texts ...string) (messages []string) {
	texts = slices.DeleteFunc(texts, func(s string) bool { return strings.TrimSpace(s) == "" })
	rest := strings.ToValidUTF8(strings.Join(texts, separator), "\ufffd") // attributes may hold anything
	for rest != "" && len(messages) < maxMessages {
		part := clip(rest, maxText)
		if len(part) < len(rest) {
			if cut := max(strings.LastIndexByte(part, '\n'), strings.LastIndexByte(part, ' ')); cut > 0 {
				part = part[:cut]
			}
		}
		rest = strings.TrimLeft(rest[len(part):], " \n")
		messages = append(messages, part)
	}
	return messages
}

// Size is how large a text of a definition is when it is sent.
type Size struct {
	Pointer    string
	Language   string
	Characters int
	segments.Size
}

// Sizes returns how large each question, with its choices, and each message is in each language.
// It needs no valid definition. Fields count as they are written.
func Sizes(d *Definition) (sizes []Size) {
	add := func(pointer, code, text string) {
		sizes = append(sizes, Size{pointer, code, utf8.RuneCountInString(text), segments.Count(text)})
	}
	for i := range d.Questions {
		q := question{Question: d.Questions[i]}
		for _, o := range q.Choices {
			q.choices = append(q.choices, choice{Choice: o})
		}
		for _, code := range sortedKeys(q.Text) {
			add(place(i)+"/text/"+validation.Escape(code), code, withChoices(q.Text[code], q.offered(nil), code, code))
		}
	}
	for _, m := range sortedKeys(d.Messages) {
		for _, code := range sortedKeys(d.Messages[m]) {
			add("/messages/"+validation.Escape(string(m))+"/"+validation.Escape(code), code, d.Messages[m][code])
		}
	}
	return sizes
}

// env returns what an expression of a question is evaluated with.
func (t *talk) env(q *question) *expression.Env {
	return &expression.Env{Name: t.value, Now: t.person.Now, Language: t.state.Language, Label: t.label, Self: t.value(q.Name)}
}

// value returns the value of a name: the answer to a question, or an attribute.
func (t *talk) value(name string) expression.Value {
	i, ok := t.index[name]
	if !ok {
		return expression.Text(t.person.Attributes[name])
	}
	q := &t.questions[i]
	a, ok := t.added[name]
	if !ok {
		a = t.person.Answers[name]
	}
	value := a.Value
	if a.Status == Refused || a.Status == DontKnow || a.Status == Invalid {
		value = q.Default
	}
	return q.typed(value)
}

// typed returns a stored value with its type.
func (q *question) typed(value string) expression.Value {
	switch {
	case value == "":
		return expression.Value{}
	case q.Kind == Number:
		return expression.Number(expression.Text(value).Number())
	case q.Kind == Date:
		return expression.Date(value)
	default:
		return expression.Text(value)
	}
}
