// Package language holds what the reading of answers and the writing of questions need to know of
// a language: names of months and days, words of numbers, how numbers and dates are written, and
// the messages of a questionnaire that has none of its own.
//
// A fact that differs between countries of one language is left open, unless the code names the
// country: Spanish writes 1,5 in Spain and 1.5 in Mexico, so es knows no decimal sign. What is
// open makes an answer ambiguous, and an ambiguous answer is asked again.
package language

import (
	"slices"
	"strings"
)

// Order is the order in which a date is written in digits.
type Order string

// The orders. The zero value is not known.
const (
	DayFirst   Order = "day first"
	MonthFirst Order = "month first"
)

// Language is what is known of a language. The zero value knows nothing.
type Language struct {
	Months    []string // from January
	Weekdays  []string // from Monday
	Digits    []string // words of 1 to 9
	And       []string // words between the parts of a list
	Particles []string // words in a date besides the month
	Ordinals  []string // letters after the day of a date
	DontKnow  []string // usual answers of who does not know
	Decimal   rune     // decimal sign; 0: differs
	Groups    string   // signs between thousands; empty: differs
	Dates     Order
	Messages  map[string]string // not_understood, thanks and reminder of a questionnaire; nil: it has to bring its own
}

// Codes returns the languages that are known.
func Codes() []string { return []string{"ar", "en", "es", "fr", "hi", "id", "pt", "ru", "sw", "tr"} }

// Of returns what is known of a language by its code, such as es or es-MX.
func Of(code string) Language {
	code = strings.ToLower(strings.ReplaceAll(code, "_", "-"))
	base, country, _ := strings.Cut(code, "-")
	l := of(base)
	switch {
	case base == "en" && country == "us":
		l.Dates = MonthFirst
	case base == "en" && country != "" || base == "es" && country == "us":
		l.Dates = DayFirst
	}
	if base == "es" && country != "" {
		l.Decimal, l.Groups = ',', ". "
		if slices.Contains([]string{"mx", "us", "gt", "hn", "ni", "sv", "pa", "pr", "do", "pe", "bo"}, country) {
			l.Decimal, l.Groups = '.', ","
		}
	}
	return l
}

// Abbreviation returns the first letters of a name in a list, as many as distinguish it and at
// least three. Names in scripts that do not abbreviate so are returned whole.
func Abbreviation(names []string, i int) string {
	name := []rune(names[i])
	if slices.ContainsFunc(name, func(r rune) bool { return r > 0x5ff }) {
		return names[i]
	}
	for n := 3; n < len(name); n++ {
		short := string(name[:n])
		if !slices.ContainsFunc(names, func(s string) bool { return s != names[i] && strings.HasPrefix(s, short) }) {
			return short
		}
	}
	return names[i]
}

func list(s string) []string { return strings.Split(s, " ") }
