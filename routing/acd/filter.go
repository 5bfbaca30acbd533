package acd

import (
	"slices"
	"strings"
	"unicode/utf8"

	"weir"
	"weir/routing"
)

// The attribute of agents that the short form of a filter names second.
const gender = "gender"

// several are the attributes of which an agent may have more than one.
func several(attribute string) bool { return attribute == "language" || attribute == "skill" }

// ParseFilter reads what a caller asks for: Q#Spanish#M, which is short for
// language=Spanish,gender=M, or selectors as of [routing.ParseSelectors], in
// which language=Spanish asks for the skill Spanish, as does Spanish alone.
func ParseFilter(text string) ([]routing.WorkerSelector, error) {
	if !utf8.ValidString(text) {
		return nil, weir.Errorf(weir.CodeInvalid, "the filter %q has to be UTF-8", text)
	}
	if short, ok := strings.CutPrefix(text, "Q#"); ok {
		language, sex, ok := strings.Cut(short, "#")
		if !ok || language == "" || sex == "" || strings.Contains(sex, "#") {
			return nil, weir.Errorf(weir.CodeInvalid, "%q is no filter; the short form is Q#language#gender, such as Q#Spanish#M", text)
		}
		return combination(language, sex), nil
	}
	out, err := routing.ParseSelectors(text)
	for i, s := range out {
		if value, ok := s.Value.Text(); ok && several(s.Key) && (s.Operator == routing.Equal || s.Operator == routing.NotEqual) {
			out[i].Key, out[i].Value = value, routing.Bool(true)
		}
	}
	return out, err
}

// combination asks for a language and a gender.
func combination(language, sex string) []routing.WorkerSelector {
	return []routing.WorkerSelector{
		{Key: language, Operator: routing.Equal, Value: routing.Bool(true)},
		{Key: gender, Operator: routing.Equal, Value: routing.Text(sex)},
	}
}

// Holds says whether labels pass a filter.
func Holds(filter []routing.WorkerSelector, labels routing.Labels) bool {
	for _, s := range filter {
		if !s.Operator.Holds(labels[s.Key], s.Value) {
			return false
		}
	}
	return true
}

// SameFilter says whether two filters have the same conditions, in any order.
func SameFilter(a, b []routing.WorkerSelector) bool {
	within := func(a, b []routing.WorkerSelector) bool {
		for _, s := range a {
			if !slices.ContainsFunc(b, func(o routing.WorkerSelector) bool {
				return s.Key == o.Key && s.Operator == o.Operator && s.Value == o.Value
			}) {
				return false
			}
		}
		return true
	}
	return within(a, b) && within(b, a)
}
