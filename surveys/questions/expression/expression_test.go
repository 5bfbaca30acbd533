package expression_test

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/surveys/questions/expression"
)

//go:embed testdata/values.txt
var valuesTable string

// scope knows questions by the first letter of their name.
func scope() expression.Scope {
	self := expression.Any
	return expression.Scope{Self: &self, Name: func(name string) (expression.Type, *expression.Error) {
		switch name[0] {
		case 'n':
			return expression.NumberType, nil
		case 't':
			return expression.TextType, nil
		case 'd':
			return expression.DateType, nil
		case 'c':
			return expression.ChoiceType, nil
		case 's':
			return expression.ChoicesType, nil
		case 'a':
			return expression.Any, nil
		default:
			return 0, &expression.Error{Message: name + " is neither a question nor an attribute"}
		}
	}}
}

func parse(t *testing.T, source string) *expression.Expression {
	t.Helper()
	e, err := expression.Parse(source, scope())
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return e
}

func TestExpression_ValuesWithoutAnswers(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(valuesTable) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		source, want, _ := strings.Cut(line, "\t")
		want, _, _ = strings.Cut(want, "\t")
		got := "error"
		if e, err := expression.Parse(source, scope()); err == nil {
			got = e.Value(&expression.Env{Now: time.Unix(0, 0)}).Text()
		}
		if got != want {
			t.Errorf("%s is %q, want %q", source, got, want)
		}
	}
}

func TestExpression_ValuesOfAnswers(t *testing.T) {
	t.Parallel()
	// 03:00 UTC of February is still January in Mexico City.
	now := time.Date(2026, 2, 1, 3, 4, 5, 6e6, time.UTC).In(time.FixedZone("", -6*3600))
	answers := map[string]expression.Value{
		"n": expression.Number(42), "nzero": expression.Number(0), "t": expression.Text("x"), "d": expression.Date("2026-01-09"),
		"c": expression.Text("yes"), "s": expression.Text("fever cough"),
	}
	env := expression.Env{
		Name: func(name string) expression.Value { return answers[name] }, Self: expression.Number(7), Now: now, Language: "es",
		Label: func(question, choice string) string { return question + ":" + choice },
	}
	for source, want := range map[string]string{
		// A question without an answer.
		"${none} < 5": "false", "${none} > 5": "false", "${none} = 0": "false", "${none} != 0": "true", "${none} + 1": "NaN",
		"boolean(${none})": "false", "if(${none}, 1, 2)": "2", "not(${none})": "true", "${none} = ''": "true", "selected(${snone}, '')": "true",
		"coalesce(${none}, 5)": "5", "count-selected(${snone})": "0", "string-length(${tnone})": "0", "${dnone} = ''": "true",
		// Typed answers.
		"${n} = '42.0'": "true", "${n} = 42": "true", "${n} div 5": "8.4", "${nzero} = ''": "false", "boolean(${nzero})": "false", "${n}-1": "41", "concat(${n}, '')": "42",
		"${c} = 'yes'": "true", "selected(${s}, 'cough')": "true", "selected-at(${s}, 0)": "fever", "count-selected(${s}) > 1": "true",
		"jr:choice-name(${c}, '${c}')": "c:yes", "jr:choice-name(${s}, '${s}')": "s:fever, s:cough",
		// The answer itself.
		". >= 0 and . <= 10": "true", "not(selected(., 'none') and count-selected(.) > 1)": "true", "once('x')": "7", ".5 + .": "7.5",
		// Dates.
		"${d} > '2026-01-01'": "true", "${d} = '2026-01-09'": "true", "${d} + 1": "20463", "date(${d} + 1)": "2026-01-10", "string(${d})": "2026-01-09", "${d} < today()": "true",
		"today()": "2026-01-31", "now()": "2026-01-31T21:04:05.006", "today() - ${d}": "22", "format-date(today(), '%e %b %a')": "31 ene sáb", "format-date-time(now(), '%H:%M:%S.%3')": "21:04:05.006",
		"date('2026-01-31T23:59:59Z')": "2026-01-31", "date-time('2026-01-31T06:00:00.000-06:00')": "2026-01-31T06:00:00.000", "decimal-date-time(date-time('1970-01-01T12:00'))": "0.5", "date(${t})": "",
		"format-date(${tnone}, '%Y')": "", "floor((today() - ${d}) div 7)": "3", "date(today() - 365.25 * 18)": "2008-01-31", "format-date(${d}, '%W %h')": "2 0",
	} {
		if got := parse(t, source).Value(&env).Text(); got != want {
			t.Errorf("%s is %q, want %q", source, got, want)
		}
	}
}

func TestParse_ReportsThePlaceOfAMistake(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"":                               "character 1: expected a value before the end",
		"${a} = = 1":                     `character 8: expected a value after "="`,
		">= 0":                           `character 1: expected a value before ">="`,
		"field-list":                     `character 1: "field-list" is neither an operator nor a function; write ${field-list} for an answer and 'field-list' for a text`,
		"${a} > 1 pulldata('x')":         `character 10: expected an operator before "pulldata"`,
		"pulldata('x', 'y')":             "character 1: pulldata is not known here: import the value as an attribute and write ${attribute}",
		"nonsense(1)":                    `character 1: "nonsense" is not a function`,
		"substring('a', 1)":              "character 1: substring is not known here: use substr, which counts from 0 and excludes its end",
		"${a":                            "character 1: a reference is a name between ${ and }",
		"$a":                             "character 1: $ begins a reference: write ${name}",
		"${x} = 1":                       "character 1: x is neither a question nor an attribute",
		"'abc":                           "character 1: the text that begins here has no closing '",
		"1 = ‘a’":                        `character 5: "‘" is no quotation mark of expressions; write ' or "`,
		"/data/a = 1":                    `character 1: "/" is part of a path, which is not known here; write ${name}, and div for a division`,
		"1 & 2":                          `character 3: "&" is not part of an expression`,
		"(1 + 2":                         "character 1: the parenthesis that opens here is not closed",
		"(1 2)":                          `character 4: expected an operator or ")" before "2"`,
		"not()":                          "character 1: not takes 1 argument",
		"if(1, 2)":                       "character 1: if takes 3 arguments",
		"concat()":                       "character 1: concat takes at least 1 argument",
		"today(1)":                       "character 1: today takes no arguments",
		"substr('a')":                    "character 1: substr takes 2 to 3 arguments",
		"max(1, )":                       `character 8: expected a value after ","`,
		"true":                           "character 1: true is a function: write true()",
		"selected(${t}, 'a')":            "character 10: selected takes a question with choices",
		"regex(${t}, '(?=a)')":           "character 13: the pattern does not compile: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
		"regex(${t}, ${a})":              "character 1: the pattern of regex is a text in quotes",
		"date('2026-02-30')":             `character 6: "2026-02-30" is no date; write it as '2026-01-31'`,
		"${d} > 'soon'":                  `character 8: "soon" is compared with a date and is none; write it as '2026-01-31'`,
		"${n} = 'many'":                  `character 8: "many" is compared with a number and is none`,
		"format-date(${d}, '%Q')":        `character 19: "%Q" is not known in a format; known are %Y %y %m %n %b %d %e %H %h %M %S %3 %a %W`,
		"jr:choice-name('a', 'b')":       "character 21: the second argument of jr:choice-name is a question in quotes: '${name}'",
		"jr:choice-name('a', '${n}')":    "character 21: ${n} has no choices",
		"ñ('a')":                         `character 1: "ñ" is not a function`,
		strings.Repeat("(", 101) + "1":   "character 102: expected an operator",
		strings.Repeat("-", 200) + "1":   "character 101: an expression is nested at most 100 times",
		strings.Repeat("1", 8<<10) + "1": "character 8193: an expression has at most 8192 bytes",
		"\xff":                           "character 1: the expression is not valid UTF-8",
	} {
		if strings.HasPrefix(source, "((") {
			want = "character 101: an expression is nested at most 100 times"
		}
		if _, err := expression.Parse(source, scope()); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", source, err, want)
		}
	}
	if _, err := expression.Parse(". > 1", expression.Scope{}); err == nil || err.Character != 1 {
		t.Errorf("a full stop without an answer: %v", err)
	}
}

func TestParse_WarnsOfWhatOtherProgramsMisread(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"${d} > '2026-01-01'": "character 8: write date('2026-01-01'): other programs compare no date with a text",
		"selected(${s}, 1)":   "character 16: put the number in quotes: other programs take a text only",
		"${c} > 1":            "character 6: > compares numbers; the answer to a question of this kind is a text",
		"'a' < 'b'":           `character 5: < compares numbers, and "b" is none`,
		"${n} > 1":            "", "${t} = ''": "", "selected(${s}, 'a')": "",
	} {
		got := ""
		if w := parse(t, source).Warnings(); len(w) > 0 {
			got = w[0].Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

func TestExpression_ListsWhatItRefersTo(t *testing.T) {
	t.Parallel()
	e := parse(t, "${c} = 'no' and selected(., 'x') or 'b' != ${s} and ${c} = ''")
	refs := e.Refs()
	if len(refs) != 3 || refs[0] != (expression.Ref{Name: "c", Character: 1}) || refs[1] != (expression.Ref{Name: "s", Character: 44}) {
		t.Errorf("references: %v", refs)
	}
	list := e.Comparisons()
	if len(list) != 3 || list[0] != (expression.Comparison{Ref: expression.Ref{Name: "c", Character: 8}, Text: "no"}) || list[1].Name != "." || list[2].Text != "b" {
		t.Errorf("comparisons: %v", list)
	}
}

func TestExpression_UnknownOperands(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"false() and ${a}": "false", "${a} and false()": "false", "true() or ${a}": "true", "true() and ${a}": "?", "${a} = 1": "?", "${a} + 1": "?", "not(${a})": "?",
		"if(${a}, 'x', 'x')": "x", "if(${a}, 'x', 'y')": "?", "coalesce('x', ${a})": "x", "coalesce(${a}, 'x')": "?", "today() > ${a}": "?", "concat('a', today())": "?", "jr:choice-name('a', '${c}')": "?",
	} {
		got := "?"
		if v := parse(t, source).Value(&expression.Env{}); v.Known() {
			got = v.Text()
		}
		if got != want {
			t.Errorf("%s is %q, want %q", source, got, want)
		}
	}
}

// drawn draws an expression of a type that is valid: truth, number or text.
func drawn(t *rapid.T, depth int, of string) string {
	if depth == 0 {
		return rapid.SampledFrom(map[string][]string{
			"truth": {"${a}", "true()", "false()"}, "number": {"${a}", "${n}", "1", "0", "2.5"}, "text": {"${a}", "${c}", "'yes'", "''"},
		}[of]).Draw(t, "operand")
	}
	part := func(of string) string { return drawn(t, rapid.IntRange(0, depth-1).Draw(t, "depth"), of) }
	some := func() string { return part(rapid.SampledFrom([]string{"truth", "number", "text"}).Draw(t, "type")) }
	operations := map[string]func() string{
		"if":       func() string { return "if(" + some() + ", " + part(of) + ", " + part(of) + ")" },
		"coalesce": func() string { return "coalesce(" + part(of) + ", " + part(of) + ")" },
	}
	switch of {
	case "truth":
		operations["and"] = func() string { return "(" + some() + ") and (" + some() + ")" }
		operations["or"] = func() string { return "(" + some() + ") or (" + some() + ")" }
		operations["not"] = func() string { return "not(" + some() + ")" }
		operations["="] = func() string { return "(" + part("text") + ") = (" + part("text") + ")" }
		operations["= of numbers"] = func() string { return "(" + part("number") + ") = (" + part("number") + ")" }
		operations["<"] = func() string { return "(" + part("number") + ") < (" + part("number") + ")" }
		operations["selected"] = func() string { return "selected(concat('', " + some() + "), " + part("text") + ")" }
	case "number":
		operations["+"] = func() string { return "(" + part(of) + ") + (" + part(of) + ")" }
	default:
		operations["concat"] = func() string { return "concat(" + some() + ", " + some() + ")" }
	}
	return operations[rapid.SampledFrom(slices.Sorted(maps.Keys(operations))).Draw(t, "operation")]()
}

func TestExpression_WhatIsKnownWithoutOperandsHoldsForAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		source := drawn(t, rapid.IntRange(1, 4).Draw(t, "depth"), rapid.SampledFrom([]string{"truth", "number", "text"}).Draw(t, "type"))
		e, err := expression.Parse(source, scope())
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		known := e.Value(&expression.Env{})
		given := map[string]expression.Value{}
		for _, name := range []string{"a", "n", "c"} {
			given[name] = rapid.SampledFrom([]expression.Value{expression.Text(""), expression.Text("yes"), expression.Number(0), expression.Number(2.5), expression.Bool(true)}).Draw(t, name)
		}
		got := e.Value(&expression.Env{Name: func(name string) expression.Value { return given[name] }})
		if !got.Known() {
			t.Errorf("%s is unknown with %v", source, given)
		}
		if known.Known() && known.Text() != got.Text() {
			t.Errorf("%s is %q whatever the operands are, and %q with %v", source, known.Text(), got.Text(), given)
		}
	})
}

func FuzzParse(f *testing.F) {
	for line := range strings.Lines(valuesTable) {
		source, _, _ := strings.Cut(line, "\t")
		f.Add(source)
	}
	for _, source := range []string{"${a} >= 18 and selected(${s}, 'a')", "jr:choice-name(${c}, '${c}')", "regex(., '^[a-z]$')", "format-date(today(), '%Y')", "((((", "‘a’", "${", "$"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		e, err := expression.Parse(source, scope())
		if err != nil {
			if err.Character < 1 || err.Character > max(len(source), expression.MaxLength)+1 || err.Message == "" {
				t.Errorf("%q: %v", source, err)
			}
			return
		}
		env := expression.Env{Now: time.Unix(1e9, 0).UTC(), Self: expression.Text("x"), Name: func(string) expression.Value { return expression.Number(3) }, Label: func(a, b string) string { return a + b }}
		if a, b := e.Value(&env), e.Value(&env); a.Text() != b.Text() || !a.Known() {
			t.Errorf("%q: %v and %v", source, a, b)
		}
		if e.String() != source {
			t.Errorf("%q became %q", source, e.String())
		}
	})
}
