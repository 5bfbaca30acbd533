package acd

import (
	"slices"
	"strings"
	"unicode/utf8"

	"weir"
	"weir/router/label"
	"weir/router/resource"
)

// gender is the attribute that the short form of a filter names second.
const gender = "gender"

// several reports whether an agent may have more than one value of an
// attribute.
func several(attribute string) bool { return attribute == "language" || attribute == "skill" }

// ParseFilter parses a caller's requirements: Q#Spanish#M, short for
// language=Spanish,gender=M, or selectors as in [resource.ParseSelectors]. In
// selectors, language=Spanish requires the skill Spanish, as does Spanish
// alone.
func ParseFilter(text string) ([]resource.WorkerSelector, error) {
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
	out, err := resource.ParseSelectors(text)
	for i, s := range out {
		if value, ok := s.Value.Text(); ok && several(s.Key) && (s.Operator == label.Equal || s.Operator == label.NotEqual) {
			out[i].Key, out[i].Value = value, label.Bool(true)
		}
	}
	return out, err
}

// combination requires a language and a gender.
func combination(language, sex string) []resource.WorkerSelector {
	return []resource.WorkerSelector{
		{Key: language, Operator: label.Equal, Value: label.Bool(true)},
		{Key: gender, Operator: label.Equal, Value: label.Text(sex)},
	}
}

// SameFilter reports whether two filters have the same conditions, in any
// order.
func SameFilter(a, b []resource.WorkerSelector) bool {
	within := func(a, b []resource.WorkerSelector) bool {
		for _, s := range a {
			if !slices.ContainsFunc(b, func(o resource.WorkerSelector) bool {
				return s.Key == o.Key && s.Operator == o.Operator && s.Value == o.Value
			}) {
				return false
			}
		}
		return true
	}
	return within(a, b) && within(b, a)
}
