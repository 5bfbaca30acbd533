package language_test

import (
	"testing"

	"weir/people"
	"weir/surveys/questions/language"
)

func TestOf_KnowsAllOfEachLanguage(t *testing.T) {
	t.Parallel()
	for _, code := range language.Codes() {
		l := language.Of(code)
		if len(l.Months) != 12 || len(l.Weekdays) != 7 || len(l.Digits) != 9 || len(l.And) == 0 || len(l.DontKnow) == 0 {
			t.Errorf("%s lacks something: %+v", code, l)
		}
		for _, names := range [][]string{l.Months, l.Weekdays, l.Digits, l.DontKnow} {
			seen := map[string]bool{}
			for i, name := range names {
				folded := ""
				for _, word := range people.FoldWords(name) {
					folded += word
				}
				if seen[folded] || folded == "" {
					t.Errorf("%s: %q is there twice, or empty", code, name)
				}
				seen[folded] = true
				if short := language.Abbreviation(names, i); short == "" {
					t.Errorf("%s: no abbreviation of %q", code, name)
				}
			}
		}
	}
	if got := language.Of("es-MX"); got.Decimal != '.' || language.Of("es").Decimal != 0 || language.Of("es_AR").Decimal != ',' {
		t.Errorf("decimal signs of Spanish: %q", got.Decimal)
	}
	if language.Of("en-US").Dates != language.MonthFirst || language.Of("en").Dates != "" || language.Of("en-GB").Dates != language.DayFirst {
		t.Error("orders of English dates")
	}
	if language.Of("xx").Months != nil {
		t.Error("an unknown language has months")
	}
	if months := language.Of("fr").Months; language.Abbreviation(months, 5) != "juin" || language.Abbreviation(months, 6) != "juil" || language.Abbreviation(months, 0) != "jan" {
		t.Error("abbreviations of French months")
	}
}
