package questions

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/internal/segments"
	"weir/internal/validation"
	"weir/people"
	"weir/surveys/questions/language"
)

// checkLanguages checks the languages, and sets the default one.
func (c *compiler) checkLanguages() {
	if len(c.in.Languages) == 0 || len(c.in.Languages) > maxLanguages {
		c.Add("/languages", "length", "must list 1 to %d languages", maxLanguages)
		return
	}
	words := map[string]int{}
	for i, l := range c.in.Languages {
		at := "/languages/" + strconv.Itoa(i)
		if base, _, _ := strings.Cut(l.Code, "-"); len(base) < 2 || len(base) > 3 || len(l.Code) > 20 || strings.Trim(strings.ToLower(l.Code), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			c.Add(at+"/code", "format", "is no code of a language, such as es or pt-BR")
		}
		if slices.ContainsFunc(c.in.Languages[:i], func(o Language) bool { return strings.EqualFold(o.Code, l.Code) }) {
			c.Add(at+"/code", "duplicate", "is listed already")
		}
		c.checkLength(l.Name, maxName, at+"/name")
		c.checkWords(l.Words, at+"/words")
		for _, w := range append([]string{l.Name}, l.Words...) {
			if other, taken := words[fold(w)]; taken && other != i && w != "" {
				c.Add(at, "words", "%q switches to %s already", validation.Clip(w), c.in.Languages[other].Code)
			}
			words[fold(w)] = i
		}
	}
	c.out.def = cmp.Or(c.in.DefaultLanguage, c.in.Languages[0].Code)
	if !slices.ContainsFunc(c.in.Languages, func(l Language) bool { return l.Code == c.out.def }) {
		c.Add("/default_language", "unknown", "is not one of the languages")
	}
}

func (c *compiler) knows(code string) bool {
	return slices.ContainsFunc(c.in.Languages, func(l Language) bool { return l.Code == code })
}

// checkFrame checks what is not of a question.
func (c *compiler) checkFrame() {
	c.checkTries(c.in.Tries, c.in.AfterTries, "")
	c.checkWordsIn(c.in.Refused, "/refused")
	c.checkWordsIn(c.in.DontKnow, "/dont_know")
	for _, m := range sortedKeys(c.in.Messages) {
		at := "/messages/" + validation.Token(string(m))
		if !slices.Contains(messages(), m) {
			c.Add(at, "unknown", "is not one of %v", messages())
		}
		if len(c.in.Messages[m]) > 0 {
			c.checkText(c.in.Messages[m], at, len(c.in.Questions))
		}
	}
	for _, m := range []Message{NotUnderstood, Thanks, Reminder} {
		for _, l := range c.in.Languages {
			if _, given := c.in.Messages[m]; !given && language.Of(l.Code).Messages[string(m)] == "" {
				c.Add("/messages/"+string(m), "language", "is required in %s: Weir has no text of its own in it", named(l))
			}
		}
	}
}

func named(l Language) string {
	if l.Name == "" {
		return l.Code
	}
	return l.Name + " (" + l.Code + ")"
}

func (c *compiler) checkTries(tries int, after After, at string) {
	if tries < 0 || tries > maxTries {
		c.Add(at+"/tries", "range", "must be from 1 to %d", maxTries)
	}
	if !slices.Contains([]After{"", AfterBreakoff, AfterRefused, AfterSkip}, after) {
		c.Add(at+"/after_tries", "unknown", "is not one of breakoff, refused and skip")
	}
}

func (c *compiler) checkLength(s string, most int, at string) {
	if utf8.RuneCountInString(s) > most {
		c.Add(at, "length", "must have at most %d characters", most)
	}
}

// checkText checks a text that stands before a question.
func (c *compiler) checkText(t Text, at string, before int) {
	for _, l := range c.in.Languages {
		if strings.TrimSpace(t[l.Code]) == "" {
			c.Add(at, "language", "has no text in %s", named(l))
		}
	}
	for _, code := range sortedKeys(t) {
		at := at + "/" + validation.Token(code)
		if !c.knows(code) {
			c.Add(at, "unknown", "is not one of the languages")
		}
		c.checkLength(t[code], maxText, at)
		names, err := fieldsOf(t[code])
		if err != nil {
			c.Add(at, "format", "%v", err)
		}
		for _, name := range names {
			if _, err := c.operand(name, before); err != nil {
				c.Add(at, "field", "{{%s}}: %s", validation.Clip(name), err.Message)
			}
		}
		if strings.Contains(t[code], "${") {
			c.warnings.Add(at, "field", "${ is sent as it is; write {{name}} for an answer or an attribute")
		}
	}
}

func (c *compiler) checkWords(words []string, at string) {
	if len(words) > maxWords {
		c.Add(at, "length", "must have at most %d words", maxWords)
	}
	for i, w := range words {
		if fold(w) == "" || len(w) > people.MaxWord {
			c.Add(at+"/"+strconv.Itoa(i), "length", "must have 1 to %d bytes and show something", people.MaxWord)
		}
	}
}

func (c *compiler) checkWordsIn(words Words, at string) {
	for _, code := range sortedKeys(words) {
		at := at + "/" + validation.Token(code)
		if !c.knows(code) {
			c.Add(at, "unknown", "is not one of the languages")
		}
		c.checkWords(words[code], at)
	}
}

// checkQuestion checks a question, apart from its expressions.
func (c *compiler) checkQuestion(i int, q *question) {
	at := place(i)
	c.checkTries(c.in.Questions[i].Tries, c.in.Questions[i].AfterTries, at)
	if q.Kind != Calculation && (q.Kind != End || len(q.Text) > 0) {
		c.checkText(q.Text, at+"/text", i)
	}
	for _, mode := range sortedKeys(q.TextIn) {
		if c.ctx.Modes != nil && !slices.Contains(c.ctx.Modes, mode) {
			c.Add(at+"/text_in/"+validation.Token(mode), "unknown", "is not one of %v", c.ctx.Modes)
		}
		c.checkText(q.TextIn[mode], at+"/text_in/"+validation.Token(mode), i)
	}
	if len(q.Message) > 0 {
		c.checkText(q.Message, at+"/message", i)
	}
	c.checkWordsIn(q.Unit, at+"/unit")
	c.checkFields(at, q)
	c.checkBounds(at, q)
	c.checkChoices(at, i, q)
	c.checkAllowed(at, q)
	if q.Consent && (!slices.ContainsFunc(q.Choices, func(o Choice) bool { return o.End == EndedRefused }) ||
		slices.ContainsFunc(c.in.Questions[:i], func(o Question) bool { return Asked(o.Kind) && !o.SetLanguage })) {
		c.Add(at+"/consent", "conflict", "must be the first question, but for that for the language, and have a choice that ends as refused")
	}
	if Asked(q.Kind) {
		c.warnOfSize(at, q)
	}
}

// checkFields reports what means nothing for the kind of a question.
func (c *compiler) checkFields(at string, q *question) {
	for _, f := range []struct {
		name  string
		given bool
		kinds []Kind
	}{
		{"choices", q.Choices != nil, []Kind{Choose, ChooseMany}},
		{"shuffle", q.Shuffle, []Kind{Choose, ChooseMany}},
		{"decimal", q.Decimal, []Kind{Number}},
		{"min", q.Min != nil, []Kind{Number}},
		{"max", q.Max != nil, []Kind{Number}},
		{"unit", q.Unit != nil, []Kind{Number}},
		{"min_length", q.MinLength != 0, []Kind{FreeText}},
		{"max_length", q.MaxLength != 0, []Kind{FreeText}},
		{"pattern", q.Pattern != "", []Kind{FreeText}},
		{"earliest", q.Earliest != "", []Kind{Date}},
		{"latest", q.Latest != "", []Kind{Date}},
		{"calculation", q.Calculation != "", []Kind{Calculation}},
		{"end", q.End != "", []Kind{End}},
		{"consent", q.Consent, []Kind{Choose}},
		{"set_language", q.SetLanguage, []Kind{Choose}},
		{"constraint", q.Constraint != "", []Kind{Choose, ChooseMany, Number, FreeText, Date}},
		{"message", q.Message != nil, []Kind{Choose, ChooseMany, Number, FreeText, Date}},
		{"allow", q.Allow != nil, []Kind{Choose, ChooseMany, Number, FreeText, Date}},
		{"default", q.Default != "", []Kind{Choose, ChooseMany, Number, FreeText, Date}},
		{"text", q.Text != nil, []Kind{Choose, ChooseMany, Number, FreeText, Date, Statement, End}},
	} {
		if f.given && !slices.Contains(f.kinds, q.Kind) {
			c.Add(at+"/"+f.name, "conflict", "means nothing for a %s", q.Kind)
		}
	}
	if q.Kind == Calculation && q.Calculation == "" {
		c.Add(at+"/calculation", "required", "a calculation needs an expression")
	}
	if !slices.Contains([]Ending{"", Completed, Ineligible, EndedRefused}, q.End) {
		c.Add(at+"/end", "unknown", "is not one of completed, ineligible and refused")
	}
}

func (c *compiler) checkBounds(at string, q *question) {
	if q.Min != nil && q.Max != nil && *q.Min > *q.Max {
		c.Add(at+"/min", "range", "must not be greater than max")
	}
	if q.MinLength < 0 || q.MaxLength < 0 || q.MinLength > maxText || q.MaxLength > maxText || q.MaxLength > 0 && q.MinLength > q.MaxLength {
		c.Add(at+"/min_length", "range", "must be from 0 to max_length, which is at most %d", maxText)
	}
	for _, bound := range []struct{ name, day string }{{"earliest", q.Earliest}, {"latest", q.Latest}} {
		if bound.day != "" && !validDay(bound.day) {
			c.Add(at+"/"+bound.name, "format", "is no date; write it as 2026-01-31")
		}
	}
	if q.Earliest != "" && q.Latest != "" && q.Earliest > q.Latest {
		c.Add(at+"/earliest", "range", "must not be later than latest")
	}
	if q.Default != "" && Asked(q.Kind) {
		if value, problem := q.canonical(q.Default); problem != fits || value != q.Default {
			c.Add(at+"/default", "format", "is no value that an answer to this question can have")
		}
	}
}

func (c *compiler) checkAllowed(at string, q *question) {
	for j, s := range q.Allow {
		at := at + "/allow/" + strconv.Itoa(j)
		switch {
		case s != Refused && s != DontKnow:
			c.Add(at, "unknown", "is not one of refused and dont_know")
		case slices.Contains(q.Allow[:j], s):
			c.Add(at, "duplicate", "is listed already")
		}
		for _, l := range c.in.Languages {
			words := c.out.instead(s, l.Code)
			if len(words) == 0 {
				c.Add(at, "words", "there are no words for it in %s; list them in /%s", named(l), s)
			}
			for _, w := range words {
				for _, o := range q.choices {
					if slices.Contains(o.forms[l.Code], fold(w)) || slices.Contains(o.forms[""], fold(w)) {
						c.Add(at, "words", "%q is also an answer: %s", validation.Clip(w), o.Name)
					}
				}
			}
		}
	}
}

// warnOfSize reports texts that take more than two segments.
func (c *compiler) warnOfSize(at string, q *question) {
	for _, l := range c.in.Languages {
		if size := segments.Count(withChoices(q.Text[l.Code], q.offered(nil), l.Code, c.out.def)); size.Segments > 2 {
			c.warnings.Add(at+"/text/"+validation.Token(l.Code), "segments", "%d SMS each time it is asked (%d characters)", size.Segments, size.Units)
		}
	}
}

// checkChoices checks the choices of a question.
func (c *compiler) checkChoices(at string, i int, q *question) {
	if (q.Kind == Choose || q.Kind == ChooseMany) && (len(q.Choices) == 0 || len(q.Choices) > maxChoices) {
		c.Add(at+"/choices", "length", "must list 1 to %d choices", maxChoices)
		return
	}
	taken := map[string][]use{} // of forms
	for j := range q.choices {
		o, at := &q.choices[j], at+"/choices/"+strconv.Itoa(j)
		c.checkText(o.Text, at+"/text", i)
		c.checkWordsIn(o.Words, at+"/words")
		if !validName("x"+o.Name) || o.Name == "" {
			c.Add(at+"/name", "format", "has 1 to %d letters without accents, digits, _, - and .", maxName-1)
		}
		if slices.ContainsFunc(q.choices[:j], func(other choice) bool { return other.Name == o.Name }) {
			c.Add(at+"/name", "duplicate", "another choice has this name")
		}
		if !slices.Contains([]Ending{"", Completed, Ineligible, EndedRefused}, o.End) {
			c.Add(at+"/end", "unknown", "is not one of completed, ineligible and refused")
		} else if o.End != "" && q.Kind == ChooseMany {
			c.Add(at+"/end", "conflict", "only a choice of one ends the conversation; write an end with a condition")
		}
		if o.Exclusive && q.Kind != ChooseMany {
			c.Add(at+"/exclusive", "conflict", "means nothing where only one is chosen")
		}
		if q.SetLanguage && !c.knows(o.Name) {
			c.Add(at+"/name", "unknown", "is not one of the languages")
		}
		if (o.Key == "") != (q.choices[0].Key == "") || len(o.Key) > 2 || strings.Trim(o.Key, "0123456789") != "" {
			c.Add(at+"/key", "format", "has one or two digits, and either all choices of a question have one or none")
		}
		c.checkForms(at, j, q, taken)
		c.checkStopWords(at, o)
	}
}

// use is the use of a form for a choice in a language, or in all.
type use struct {
	code   string
	choice int
}

// checkForms reports that a message chooses two choices.
func (c *compiler) checkForms(at string, j int, q *question, taken map[string][]use) {
	o := &q.choices[j]
	for _, code := range sortedKeys(o.forms) {
		for _, form := range o.forms[code] {
			for _, t := range taken[form] {
				if t.choice != j && (t.code == code || t.code == "" || code == "") {
					c.Add(at, "words", "%q is also an answer for choice %q", form, q.choices[t.choice].Name)
				}
			}
			taken[form] = append(taken[form], use{code, j})
			for k := range q.choices {
				if k != j && form == keyOf(q.choices, k) && code != "" {
					c.Add(at, "words", "%q is the key of choice %q", form, q.choices[k].Name)
				}
			}
		}
	}
	if q.Shuffle || slices.ContainsFunc(q.choices, func(o choice) bool { return o.Relevant != "" }) {
		for _, code := range sortedKeys(o.forms) {
			if i := slices.IndexFunc(o.forms[code], digits); i >= 0 && o.Key == "" {
				c.Add(at, "words", "%q can be the number of another choice, because the places of the choices change; give each a key", o.forms[code][i])
			}
		}
	}
	for k := range j {
		if o.Key != "" && o.Key == q.choices[k].Key {
			c.Add(at+"/key", "duplicate", "is the key of choice %q", q.choices[k].Name)
		}
	}
}

// neverAnswers are words that refuse whatever is asked.
func neverAnswers() []string {
	return []string{"stop", "stop all", "unsubscribe", "opt out", "alto", "arret", "arrete", "arretez", "desuscribir", "desabonner", "descadastrar"}
}

func foldedIn(words []string, form string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return fold(w) == form })
}

// checkStopWords reports words of a choice by which people refuse.
func (c *compiler) checkStopWords(at string, o *choice) {
	for _, code := range sortedKeys(o.forms) {
		for _, form := range o.forms[code] {
			switch {
			case foldedIn(neverAnswers(), form):
				c.Add(at, "stop_word", "%q always refuses, and cannot be an answer", form)
			case foldedIn(c.ctx.StopWords, form):
				c.warnings.Add(at, "stop_word", "%q is also a word by which people refuse; it counts as the answer while this question is asked", form)
			}
		}
	}
}
