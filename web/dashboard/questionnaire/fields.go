package questionnaire

import (
	"slices"

	"weir/surveys/questions"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
)

// maxText is the max length of a text that a person gets.
const maxText = 1600

// inLanguages returns a field for each language. A member that has a text for each is labelled with the
// name of the language alone if there are several.
func inLanguages(languages []questions.Language, f form.Field) (list []form.Field) {
	at := f.At
	if at == nil {
		at = []string{f.Name}
	}
	for _, l := range languages {
		one := f
		one.Name, one.At = f.Name+"."+l.Code, append(slices.Clone(at), l.Code)
		if one.In = named(l); len(languages) == 1 {
			one.In = ""
		}
		list = append(list, one)
	}
	return list
}

func named(l questions.Language) string {
	if l.Name != "" {
		return l.Name
	}
	return l.Code
}

// frameFields declares the form for what is of all questions.
func frameFields(languages []questions.Language) *form.Declaration {
	codes := make([]string, len(languages))
	for i, l := range languages {
		codes[i] = l.Code
	}
	fields := []form.Field{
		{Name: "languages", Kind: form.Area, Rows: 2, Label: "Languages", Help: "One a line: a code and a name, such as <code>es Español</code>. Every text is then asked for in each."},
	}
	if len(languages) > 1 {
		fields = append(fields, form.Field{Name: "default_language", Kind: form.Select, Values: codes, Label: "Language of people whose language is not known", Unset: "the first"})
	}
	texts := func(name string, label, help locale.Message) {
		fields = append(fields, inLanguages(languages, form.Field{Name: "messages." + name, At: []string{"messages", name}, Kind: form.Area, MaxLength: maxText, Folded: true, Label: label, Help: help})...)
	}
	texts("thanks", "Thanks, after the last question", "Empty: a usual text, where Weir has one in the language.")
	texts("not_understood", "Before a question that is asked again", "Empty: a usual text, where Weir has one in the language.")
	texts("reminder", "Before the question of who has stopped answering", "Empty: a usual text, where Weir has one in the language.")
	texts("help", "To who asks for help", "")
	texts("over", "To who writes after the end, once", "")
	texts("ineligible", "At an end as not eligible", "")
	texts("refused", "At an end as refused", "")
	texts("breakoff", "To who has answered nothing that fits too often", "")
	texts("rejected", "To who is not needed any more, because a quota is full", "")
	fields = append(fields,
		form.Field{Name: "tries", Min: 1, Max: 10, Folded: true, Label: "How often a question is asked in all", Help: "Empty: 3."},
		afterTries("", "the conversation is broken off"),
	)
	fields = append(fields, inLanguages(languages, form.Field{Name: "refused", Kind: form.List, Folded: true, Label: "Words by which a question is refused", Help: "With commas between. They count where a question allows it."})...)
	fields = append(fields, inLanguages(languages, form.Field{Name: "dont_know", Kind: form.List, Folded: true, Label: "Words for not knowing", Help: "With commas between. Empty: usual ones."})...)
	return form.Of(questions.Definition{}, []string{"questions"}, fields...)
}

func afterTries(name string, unset locale.Message) form.Field {
	return form.Field{
		Name: name + "after_tries", At: []string{"after_tries"}, Kind: form.Select, Folded: true, Label: "If no answer fits", Unset: unset,
		Values: []string{"breakoff", "refused", "skip"}, Labels: []locale.Message{"the conversation is broken off", "it counts as refused, and the conversation ends", "the next question is asked"},
	}
}

// kinds returns the kinds of questions and their names.
func kinds() (values []string, labels []locale.Message) {
	for _, k := range questions.Kinds() {
		values, labels = append(values, string(k)), append(labels, kindLabel(k))
	}
	return values, labels
}

func kindLabel(k questions.Kind) locale.Message {
	switch k {
	case questions.Choose:
		return "one of several answers"
	case questions.ChooseMany:
		return "several of several answers"
	case questions.Number:
		return "a number"
	case questions.FreeText:
		return "a text"
	case questions.Date:
		return "a date"
	case questions.Statement:
		return "no question: a text"
	case questions.Calculation:
		return "no question: a calculated value"
	default:
		return "no question: the end"
	}
}

func endings() (values []string, labels []locale.Message) {
	return []string{string(questions.Completed), string(questions.Ineligible), string(questions.EndedRefused)},
		[]locale.Message{"the end: completed", "the end: not eligible", "the end: refused"}
}

// questionFields declares the form of a question of a kind.
func questionFields(kind questions.Kind, languages []questions.Language) *form.Declaration {
	kindValues, kindLabels := kinds()
	endValues, endLabels := endings()
	var fields []form.Field
	if kind != questions.Calculation {
		fields = inLanguages(languages, form.Field{Name: "text", Kind: form.Area, Rows: 3, MaxLength: maxText, Label: "Text", Help: "<code>{{name}}</code> stands for the answer to an earlier question or an attribute."})
	}
	fields = append(fields,
		form.Field{Name: "kind", Kind: form.Select, Required: true, Values: kindValues, Labels: kindLabels, Label: "Answer"},
		form.Field{Name: "name", Kind: form.Code, MaxLength: 64, Label: "Name", Help: "Of the column in the results, and in conditions. Empty: one is made."},
	)
	add := func(f ...form.Field) { fields = append(fields, f...) }
	only := func(is bool, f ...form.Field) {
		if is {
			add(f...)
		}
	}
	asked, choosing := questions.Asked(kind), kind == questions.Choose || kind == questions.ChooseMany
	only(kind == questions.Calculation, form.Field{Name: "calculation", Kind: form.Script, Rows: 1, Label: "Value", Help: "Such as <code>%s</code>.", Example: "${children} + ${adults}"})
	only(kind == questions.End, form.Field{Name: "end", Kind: form.Select, Values: endValues, Labels: endLabels, Unset: "the end: completed", Label: "How it ends"})
	only(kind == questions.Number,
		form.Field{Name: "min", Label: "Least number"}, form.Field{Name: "max", Label: "Greatest number"}, form.Field{Name: "decimal", Label: "It may have a fraction"})
	only(kind == questions.Number, inLanguages(languages, form.Field{Name: "unit", Kind: form.List, Folded: true, Label: "Words that may follow the number", Help: "With commas between, such as <code>months, month</code>."})...)
	only(kind == questions.FreeText,
		form.Field{Name: "min_length", Folded: true, Label: "Least characters"}, form.Field{Name: "max_length", Folded: true, Label: "Most characters"},
		form.Field{Name: "pattern", Kind: form.Code, Folded: true, Label: "Pattern", Help: "A regular expression that the whole text matches, such as <code>[A-Z]{2}[0-9]{4}</code>."})
	only(kind == questions.Date,
		form.Field{Name: "earliest", Kind: form.Code, Label: "First date", Help: "Such as 2026-01-31."}, form.Field{Name: "latest", Kind: form.Code, Label: "Last date"})
	add(form.Field{Name: "relevant", Kind: form.Script, Rows: 1, Label: "Only if", Help: "A condition, such as <code>%s</code>. Empty: always. “Then” at an answer writes it.", Example: "${age} >= 18"})
	only(choosing, form.Field{Name: "shuffle", Folded: true, Label: "In an order of chance"})
	only(kind == questions.Choose,
		form.Field{Name: "consent", Folded: true, Label: "It asks for consent", Help: "It is then the first question, and one of its answers leads to the end: refused."},
		form.Field{Name: "set_language", Folded: true, Label: "It asks for the language", Help: "The names of its answers are codes of languages."})
	if asked {
		add(form.Field{Name: "allow", Kind: form.Checks, Folded: true, Values: []string{"dont_know", "refused"}, Labels: []locale.Message{"not knowing", "refusing to answer"}, Label: "Accepted instead of an answer"})
		add(form.Field{Name: "constraint", Kind: form.Script, Rows: 1, Folded: true, Label: "Condition that an answer has to meet", Help: "The answer is the full stop: <code>. &gt;= 0 and . &lt;= 240</code>."})
		add(inLanguages(languages, form.Field{Name: "message", Kind: form.Area, MaxLength: maxText, Folded: true, Label: "Before it is asked again because an answer is out of bounds", Help: ""})...)
		add(form.Field{Name: "tries", Min: 1, Max: 10, Folded: true, Label: "How often a question is asked in all", Help: "Empty: as for all questions."})
		add(afterTries("", "as for all questions"))
		add(form.Field{Name: "default", Folded: true, Label: "Value that stands for a missing answer", Help: "In conditions and texts of other questions."})
		add(form.Field{Name: "partial", Folded: true, Label: "Whoever has answered it has answered enough to count as partial"})
	}
	return form.Of(questions.Question{}, []string{"text_in", "choices"}, fields...)
}

// choiceFields declares the form of a choice of a question of a kind.
func choiceFields(kind questions.Kind, languages []questions.Language) *form.Declaration {
	fields := inLanguages(languages, form.Field{Name: "text", Kind: form.Text, MaxLength: maxText, Label: "Answer"})
	fields = append(fields, inLanguages(languages, form.Field{Name: "words", Kind: form.List, Label: "Also"})...)
	fields = append(fields, form.Field{Name: "name", Kind: form.Code, MaxLength: 64, Label: "Value"})
	kept := []string{"key", "relevant", "end", "fixed"}
	if kind == questions.ChooseMany {
		fields = append(fields, form.Field{Name: "exclusive", Label: "Excludes the others"})
	} else {
		kept = append(kept, "exclusive")
	}
	return form.Of(questions.Choice{}, kept, fields...)
}
