package form

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/web/dashboard/locale"
)

// Choice is one of the choices of a field.
type Choice struct {
	Value, Text string
	Chosen      bool
	Gone        bool // it was deleted
}

// Offer says that there is nothing to choose from, and where the first is made.
type Offer struct{ Text, Link, Label string }

// Input is a field as it was filled in.
type Input struct {
	Field
	Form    *Form
	Value   string
	Chosen  []string // of several choices
	Table   []*Form  // rows of inputs
	Choices []Choice
	More    template.HTML // follows the help
	None    Offer         // instead of choices
	Args    []any         // of the note
	Advice  []any         // arguments of the help
	Set     bool          // a secret that has a value
	Remove  bool          // a secret that is to be removed
	Lost    bool          // a secret that was typed, and is not sent back
	Fixed   bool          // it is shown as it is, and cannot change
}

// Member returns which member of the body the field is, or is in.
func (in *Input) Member() string { return in.place()[0] }

// Sent returns what a browser sends back of a field that cannot change.
func (in *Input) Sent() []string {
	switch {
	case in.Kind == Checks || in.Kind == TextList:
		return in.Chosen
	case in.Value != "":
		return []string{in.Value}
	}
	return nil
}

// Reads returns the value of a field that cannot change, for a reader; empty: there is none.
func (in *Input) Reads(l *locale.Locale) string {
	var list []string
	switch in.Kind {
	case Select, Checks:
		for _, c := range in.Options(l) {
			if c.Chosen {
				list = append(list, c.Text)
			}
		}
		return strings.Join(list, ", ")
	case Switch:
		if in.Value == "true" {
			return l.T("yes")
		}
		return ""
	default:
		return in.Value
	}
}

// Describes reports whether the field has a help text.
func (in *Input) Describes() bool { return in.Help != "" || in.Hints != "" }

// DefaultHint returns the default, unless the input itself shows it.
func (in *Input) DefaultHint() string {
	if in.Kind == Switch || len(in.Values) > 0 {
		return ""
	}
	return in.Default
}

// Title returns the label.
func (in *Input) Title(l *locale.Locale) string {
	if in.Words != "" {
		return in.Words
	}
	if in.In != "" {
		return l.T(in.Label) + " – " + in.In
	}
	return l.T(in.Label)
}

// Prose returns the note of the part that begins with the field.
func (in *Input) Prose(l *locale.Locale) template.HTML { return l.HTML(in.Note, in.Args...) }

// Helps returns the help in the words of the declaration.
func (in *Input) Helps(l *locale.Locale) template.HTML {
	if in.Example != "" {
		return l.HTML(in.Help, in.Example)
	}
	return l.HTML(in.Help, in.Advice...)
}

// Options returns the choices of a field of which one is chosen: those of [Input.Choose], if it has had some.
func (in *Input) Options(l *locale.Locale) (list []Choice) {
	if in.Choices != nil {
		return in.Choices
	}
	for i, value := range in.Values {
		c := Choice{Value: value, Text: value, Chosen: value == in.Value}
		if i < len(in.Labels) {
			c.Text = l.T(in.Labels[i])
		}
		list = append(list, c)
	}
	return list
}

// Lines reports whether the value has lines.
func (in *Input) Lines() bool {
	return slices.Contains([]Kind{Area, Script, JSON, Words, Pairs, Dates}, in.Kind)
}

// Plain reports whether no browser should correct the value.
func (in *Input) Plain() bool {
	return slices.Contains([]Kind{Code, URL, Script, JSON, Words, Zone, Pairs, Dates}, in.Kind)
}

// Height returns how many lines are shown.
func (in *Input) Height() int {
	switch {
	case in.Rows > 0:
		return in.Rows
	case in.Kind == JSON:
		return 10
	}
	return 2
}

// ID returns the id of a choice.
func (in *Input) ID(choice int) string {
	if in.Item != "" {
		return in.Item + "-" + strconv.Itoa(choice)
	}
	return in.Name + "-" + strconv.Itoa(choice)
}

// Offer lets the reader choose among the values of the field.
func (in *Input) Offer(l *locale.Locale) {
	var all []Choice
	for _, c := range in.Options(l) {
		all = append(all, Choice{Value: c.Value, Text: c.Text})
	}
	in.Choose(all, false)
}

// Choose sets the choices of a field. Those that were chosen are always among them; if complete, the
// choices are all that there are.
func (in *Input) Choose(choices []Choice, complete bool) {
	rest := slices.Clone(in.Chosen)
	for _, c := range choices {
		c.Chosen = slices.Contains(in.Chosen, c.Value)
		in.Choices = append(in.Choices, c)
		rest = slices.DeleteFunc(rest, func(s string) bool { return s == c.Value })
	}
	for _, value := range slices.Compact(rest) {
		in.Choices = append(in.Choices, Choice{Value: value, Chosen: true, Gone: complete})
	}
}

// show fills in a value of a document; nil: there is none.
func (in *Input) show(v any) {
	if in.Table != nil {
		in.showRows(v)
		in.digest()
		return
	}
	switch v := v.(type) {
	case nil:
		in.Value, in.Chosen = "", nil
		return
	case string:
		in.Value = strings.TrimSpace(v)
		return
	case bool:
		if in.Value = ""; v {
			in.Value = "true"
		}
		return
	case json.Number:
		if in.Value = v.String(); in.Value == "0" && in.Min > 0 {
			in.Value = "" // it stands for nothing
		}
		return
	case []any:
		if in.Kind == Dates {
			in.Value = showDates(v)
			return
		}
		if between, ok := map[Kind]string{Words: "\n", Checks: "\n", Only: "\n", List: ", "}[in.Kind]; ok {
			in.Chosen = nil
			for _, x := range v {
				in.Chosen = append(in.Chosen, fmt.Sprint(x))
			}
			in.Value = strings.Join(in.Chosen, between)
			return
		}
	}
	if raw, err := json.MarshalIndent(v, "", "  "); err == nil { // it was read from JSON
		in.Value = string(raw)
	}
}

// fill fills in what a browser sent.
func (in *Input) fill(sent map[string][]string) {
	if in.Table != nil {
		for _, row := range in.Table {
			row.Fill(sent)
		}
		in.digest()
		return
	}
	text := ""
	if list := sent[in.Name]; len(list) > 0 {
		text = list[0]
	}
	in.Remove = len(sent[in.Name+"-remove"]) > 0
	switch {
	case in.Kind == Secret:
		in.Value = text // blanks can be a part of it
		return
	case in.Kind == Checks:
		in.Chosen = sent[in.Name]
		return
	case in.Kind == TextList:
		in.Chosen = nil
		for _, text := range sent[in.Name] {
			// Browsers count a line break as one character, and send two.
			if text = strings.ReplaceAll(text, "\r\n", "\n"); strings.TrimSpace(text) != "" {
				in.Chosen = append(in.Chosen, text)
			}
		}
		in.Value = strings.Join(in.Chosen, "\x00")
		return
	case in.Kind != Words: // in which lines are blanks like others
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if in.Value = strings.TrimSpace(text); in.Upper {
		in.Value = strings.ToUpper(in.Value)
	}
	if in.Kind == Select && in.Value != "" {
		in.Chosen = []string{in.Value}
	}
}

// Understood reports whether what was typed can be read as what the field asks for, where the API could
// not say so: it gets a moment as an instant, and pairs as an object.
func (in *Input) Understood() bool {
	switch in.Kind {
	case Moment:
		_, ok := ReadMoment(in.Value)
		return ok || in.Value == ""
	case Pairs:
		_, ok := in.pairs()
		return ok
	default:
		return true
	}
}

// ReadMoment reads a date and a time, as browsers and people write them: in UTC, unless the text says otherwise.
func ReadMoment(text string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.DateOnly, "2006-01-02 15:04", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// pairs reads lines NAME=VALUE. ok is false if one has no equals sign.
func (in *Input) pairs() (all map[string]string, ok bool) {
	all, ok = map[string]string{}, true
	for line := range strings.Lines(in.Value) {
		name, value, is := strings.Cut(strings.TrimSpace(line), "=")
		if name = strings.TrimSpace(name); is {
			all[name] = strings.TrimSpace(value)
		} else if name != "" {
			ok = false
		}
	}
	return all, ok
}

// json returns the value for the body; nil: there is none.
func (in *Input) json() any {
	switch in.Kind {
	case Rows, Group, Named:
		return in.objects()
	case Dates:
		if list := in.dates(); list != nil {
			return list
		}
		return nil
	case Only:
		if in.Value != "" {
			return []string{in.Value}
		}
		return nil
	case Checks:
		if len(in.Chosen) > 0 {
			return in.Chosen
		}
		return nil
	case Words:
		if words := strings.Fields(in.Value); len(words) > 0 {
			return words
		}
		return nil
	case List:
		var list []string
		for text := range strings.SplitSeq(in.Value, ",") {
			if text = strings.TrimSpace(text); text != "" {
				list = append(list, text)
			}
		}
		if list != nil {
			return list
		}
		return nil
	case TextList:
		if len(in.Chosen) > 0 {
			return in.Chosen
		}
		return nil
	case Pairs:
		if all, _ := in.pairs(); len(all) > 0 {
			return all
		}
		return nil
	case Moment:
		if t, ok := ReadMoment(in.Value); ok {
			return t.Format(time.RFC3339)
		}
	case Switch:
		return in.Value == "true"
	case Number:
		if n, err := strconv.Atoi(in.Value); err == nil {
			return n
		}
	case Real:
		if n, err := strconv.ParseFloat(in.Value, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
			return n
		}
	default: // texts
	}
	if in.Value == "" {
		return nil
	}
	return in.Value
}

// none returns what stands for no value in a patch: of a text of the document itself, an empty one.
func (in *Input) none() any {
	if in.Kind == Text && len(in.place()) == 1 {
		return ""
	}
	return nil
}
