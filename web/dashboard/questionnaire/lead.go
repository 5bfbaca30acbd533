package questionnaire

import (
	"slices"
	"strings"
	"unicode"
)

// Where an answer can lead, beside the name of a question.
const (
	next = "" // the next question
	// ends is before the name of an end, which no name of a question begins with.
	ends = "end:"
)

// unless returns the condition that an answer was not chosen.
func unless(question, choice string) string {
	quote := "'"
	if strings.Contains(choice, quote) {
		quote = `"`
	}
	return "${" + question + "} != " + quote + choice + quote
}

// lead makes an answer to a question go on with another question: those between are asked only if
// something else was chosen. What it led to before is forgotten.
func (d Document) lead(question int, choice, target string) {
	list := d.questions()
	condition := unless(text(list[question], "name"), choice)
	skip := target != next
	for _, q := range list[question+1:] {
		if text(q, "name") == target {
			skip = false
		}
		parts := slices.DeleteFunc(conjuncts(text(q, "relevant")), func(p string) bool { return squeeze(p) == squeeze(condition) })
		if skip {
			parts = append(parts, condition)
		}
		set(q, "relevant", join(parts))
	}
}

// leads returns the question that an answer goes on with, as far as [Document.lead] says it: the first one
// behind those that are not asked. Empty: the next one.
func (d Document) leads(question int, choice string) string {
	list := d.questions()
	condition := squeeze(unless(text(list[question], "name"), choice))
	skipped := false
	for _, q := range list[question+1:] {
		has := slices.ContainsFunc(conjuncts(text(q, "relevant")), func(p string) bool { return squeeze(p) == condition })
		if !has && skipped {
			return text(q, "name")
		}
		if skipped = has; !has {
			return next
		}
	}
	if skipped {
		return ends + "completed"
	}
	return next
}

// conjuncts returns the parts of a condition that all have to hold.
func conjuncts(condition string) (parts []string) {
	begin, either := 0, false
	eachWord(condition, func(at int, word string) {
		switch word {
		case "and":
			parts, begin = append(parts, condition[begin:at]), at+len(word)
		case "or":
			either = true
		}
	})
	if parts = append(parts, condition[begin:]); either { // one of several has to hold: it is one part
		parts = []string{condition}
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}

// join returns the condition that all parts hold.
func join(parts []string) string {
	if len(parts) > 1 {
		for i, p := range parts {
			eachWord(p, func(_ int, word string) {
				if word == "or" {
					parts[i] = "(" + p + ")"
				}
			})
		}
	}
	return strings.Join(parts, " and ")
}

// eachWord finds the words of a condition that are in no text and in no brackets.
func eachWord(condition string, found func(at int, word string)) {
	depth, quote, begin := 0, rune(0), -1
	for i, r := range condition + " " {
		letter := quote == 0 && depth == 0 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.:", r))
		if letter && begin < 0 {
			begin = i
		}
		if !letter && begin >= 0 {
			found(begin, condition[begin:i])
			begin = -1
		}
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == '(' || r == '{':
			depth++
		case r == ')' || r == '}':
			depth--
		}
	}
}

// squeeze returns a condition without its blanks, by which two are compared.
func squeeze(condition string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, condition)
}
