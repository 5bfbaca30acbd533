package questions_test

import (
	"strings"
	"testing"

	"weir/surveys/questions"
)

// answer returns the value that a message has as the answer to a question in a language; "?": it is
// not understood.
func answer(t *testing.T, question, language, message string) string {
	t.Helper()
	raw := `{"languages": [{"code": "` + language + `"}], "messages": {"thanks": {"` + language + `": "."}, "reminder": {"` + language + `": "."}, "not_understood": {"` + language + `": "."}}, "questions": [` +
		strings.ReplaceAll(question, `"LANG"`, `"`+language+`"`) + `]}`
	c, _ := begin(t, compile(t, raw), nil)
	r := c.turn(message)
	switch r.Effect {
	case questions.EffectAnswered:
		if r.Answers[0].Status != questions.Answered {
			return string(r.Answers[0].Status)
		}
		return r.Answers[0].Value
	case questions.EffectNotUnderstood:
		return "?"
	default:
		return string(r.Effect)
	}
}

func TestReading_OneChoice(t *testing.T) {
	t.Parallel()
	yesNo := func(yes, no, words string) string {
		return `{"name": "q", "kind": "choice", "text": {"LANG": "?!"}, "choices": [{"name": "y", "text": {"LANG": "` + yes + `"}, "words": {"LANG": [` + words + `]}}, {"name": "n", "text": {"LANG": "` + no + `"}}]}`
	}
	for _, tc := range []struct {
		language, yes, no, words string
		answers                  map[string]string
	}{
		{"es", "Sí", "No", `"claro", "por supuesto"`, map[string]string{
			"Sí": "y", "si": "y", "SI!": "y", " ¡sí! ": "y", "1": "y", "1.": "y", "(1)": "y", "1)": "y", "1️⃣": "y", "①": "y", "１": "y", "١": "y", "२": "y", "uno": "y", " Uno. ": "y", "dos": "n", "claro": "y", "Por supuesto": "y", "por supuesto que sí": "y",
			"si claro": "y", "Sí, gracias": "y", "1 sí": "y", "No": "n", "n": "n", "no gracias": "n", "y": "y",
			"1 no": "?", "sí y no": "?", "sí 34": "?", "3": "?", "tres": "?", "0": "?", "quizás": "?", "no sé": "?", "No lo sé.": "?", "12": "?", "👍": "?", "y sí": "?", "s": "?",
		}},
		{"en", "Yes", "No", `"yep", "👍"`, map[string]string{"yes please": "y", "YES": "y", "one": "y", "Two": "n", "👍": "y", "👍🏽": "?", "yes and no": "?", "I don't know": "?", "nope": "?", "“Yes”": "y", "\u200eyes\u200f": "y"}},
		{"fr", "Oui", "Non", `"d'accord", "bien sûr"`, map[string]string{"OUI": "y", "bien sur": "y", "d’accord": "y", "un": "y", "deux": "n", "non merci": "n", "je ne sais pas": "?", "oui ou non": "?"}},
		{"pt", "Sim", "Não", "", map[string]string{"SIM": "y", "nao": "n", "não, obrigado": "n", "um": "y", "dois": "n", "não sei": "?"}},
		{"sw", "Ndiyo", "Hapana", "", map[string]string{"ndiyo": "y", "moja": "y", "mbili": "n", "sijui": "?"}},
		{"id", "Ya", "Tidak", "", map[string]string{"YA": "y", "dua": "n", "tidak tahu": "?"}},
		{"tr", "Evet", "Hayır", "", map[string]string{"EVET": "y", "HAYIR": "n", "hayir": "n", "bir": "y", "bilmiyorum": "?"}},
		{"ru", "Да", "Нет", "", map[string]string{"да": "y", "НЕТ": "n", "два": "n", "не знаю": "?"}},
		{"ar", "نعم", "لا", "", map[string]string{"نَعَم": "y", "لا": "n", "١": "y", "٢.": "n", "واحد": "y", "لا أعرف": "?"}},
		{"hi", "हाँ", "नहीं", "", map[string]string{"हाँ": "y", "नहीं": "n", "१": "y", "दो": "n", "पता नहीं": "?"}},
		{"am", "አዎ", "አይ", "", map[string]string{"አዎ": "y", "አይ": "n", "1": "y"}},
	} {
		if tc.language == "es" {
			tc.answers["२"] = "n" // a Devanagari two
		}
		for message, want := range tc.answers {
			if got := answer(t, yesNo(tc.yes, tc.no, tc.words), tc.language, message); got != want {
				t.Errorf("%s: %q is %s, want %s", tc.language, message, got, want)
			}
		}
	}
	keyed := `{"name": "q", "kind": "choice", "text": {"LANG": "?"}, "choices": [{"name": "0", "key": "0", "text": {"LANG": "Nunca"}}, {"name": "1", "key": "1", "text": {"LANG": "Siempre"}}, {"name": "dk", "key": "99", "text": {"LANG": "No sé"}}]}`
	for message, want := range map[string]string{"0": "0", "1": "1", "99": "dk", "no se": "dk", "2": "?", "nunca": "0"} {
		if got := answer(t, keyed, "es", message); got != want {
			t.Errorf("with keys, %q is %s, want %s", message, got, want)
		}
	}
}

func TestReading_WordsOfAnotherLanguageCount(t *testing.T) {
	t.Parallel()
	qs := compile(t, `{"questions": [{"name": "q", "kind": "choice", "text": {"es": "?", "en": "?"}, "choices": [{"name": "a", "text": {"es": "Sí", "en": "Yes"}}, {"name": "b", "text": {"es": "No", "en": "No"}}]}]}`)
	c, _ := begin(t, qs, nil)
	if r := c.turn("yes"); r.Effect != questions.EffectAnswered || r.Answers[0].Value != "a" || r.State.Language != "es" {
		t.Errorf("%+v", r)
	}
}

func TestReading_SeveralChoices(t *testing.T) {
	t.Parallel()
	fruit := `{"name": "q", "kind": "choices", "text": {"LANG": "?"}, "choices": [{"name": "a", "text": {"LANG": "Manzana verde"}}, {"name": "b", "text": {"LANG": "Pera"}}, {"name": "c", "text": {"LANG": "Uva"}}, {"name": "none", "exclusive": true, "text": {"LANG": "Ninguna"}}]}`
	for message, want := range map[string]string{
		"1": "a", "1 3": "a c", "3,1": "a c", "1, 3.": "a c", "1;3": "a c", "1/3": "a c", "1+3": "a c", "1 y 3": "a c", "13": "a c", "31": "a c", "1 1 1": "a", "123": "a b c",
		"manzana verde y pera": "a b", "Uva, manzana verde": "a c", "uva pera": "b c", "١ ٣": "a c", "4": "none", "ninguna": "none", "b c": "b c",
		"ninguna y pera": "?", "1 4": "?", "1 5": "?", "15": "?", "todas": "?", "manzana": "?", "1 quizás": "?", "y": "?", "1 y": "?", "14": "?",
	} {
		if got := answer(t, fruit, "es", message); got != want {
			t.Errorf("%q is %q, want %q", message, got, want)
		}
	}
}

func TestReading_Numbers(t *testing.T) {
	t.Parallel()
	whole := `{"name": "q", "kind": "number", "text": {"LANG": "?"}, "min": 0, "unit": {"LANG": ["años", "kg"]}}`
	decimal := `{"name": "q", "kind": "number", "decimal": true, "text": {"LANG": "?"}}`
	for _, tc := range []struct {
		question, language string
		answers            map[string]string
	}{
		{whole, "es", map[string]string{
			"34": "34", " 34. ": "34", "034": "34", "+34": "34", "٣٤": "34", "३४": "34", "３４": "34", "34 años": "34", "34años": "34", "34 ANOS": "34", "“34”": "34", "34 👍": "34", "0": "0", "1.000.000": "1000000", "1,000,000": "1000000",
			"34.5": "?", "34,5": "?", "-3": "?", "34 o 35": "?", "3-4": "?", "30-40": "?", "unos 3": "?", "34 meses": "?", "1.000": "?", "1,000": "?", "1 000": "?", "treinta": "?", "1e3": "?", "0x10": "?", "12345678901234567890": "?", "1.00.000": "?", "--3": "?", "3 4": "?", "1000": "1000", "½": "?", ".5": "?", ". 34": "?",
		}},
		{whole, "es-MX", map[string]string{"1,000": "1000", "1.000": "?", "1,000,000": "1000000", "1.000.000": "?"}},
		{whole, "en", map[string]string{"1,000": "1000", "1.000": "?", "10,00": "?"}},
		{whole, "pt", map[string]string{"1.000": "1000", "1,000": "?"}},
		{whole, "fr", map[string]string{"1 000": "1000", "1\u00a0000": "1000", "1\u202f000": "1000", "10 00": "?"}},
		{whole, "hi", map[string]string{"१,०००": "1000"}},
		{decimal, "es", map[string]string{"1.5": "1.5", "1,5": "1.5", "-1,5": "-1.5", "−1,5": "-1.5", "1.50": "1.5", "1.234,5": "1234.5", "1,234.5": "1234.5", "1.234": "?", "1,234": "?", "0,125": "0.125", "٣٫٥": "3.5", ".5": "0.5", ",5 ": "0.5", "...5": "?", "5.": "5", "1.2.3": "?", "1,2,3": "?", "12.34,56": "?", "-": "?"}},
		{decimal, "en", map[string]string{"1.234": "1.234", "1,234": "1234", "1,234.5": "1234.5", "1,5": "1.5"}},
		{decimal, "fr", map[string]string{"1,234": "1.234", "1.234": "1234", "1 234,5": "1234.5"}},
	} {
		for message, want := range tc.answers {
			if got := answer(t, tc.question, tc.language, message); got != want {
				t.Errorf("%s: %q is %q, want %q", tc.language, message, got, want)
			}
		}
	}
}

func TestReading_Dates(t *testing.T) {
	t.Parallel()
	date := `{"name": "q", "kind": "date", "text": {"LANG": "?"}, "earliest": "1900-01-01"}`
	for language, answers := range map[string]map[string]string{
		"es": {
			"2026-01-31": "2026-01-31", "31/1/2026": "2026-01-31", "31-01-2026": "2026-01-31", "31.1.2026": "2026-01-31", "31 1 2026": "2026-01-31", "٣١/١/٢٠٢٦": "2026-01-31", "2026/1/31": "2026-01-31",
			"31 de enero de 2026": "2026-01-31", "31 Enero 2026": "2026-01-31", "31 ene 2026": "2026-01-31", "el 1º de mayo de 2020.": "2020-05-01", "5 sept 1999": "1999-09-05", "31 jan 2026": "2026-01-31",
			"30/2/2026": "?", "1/31/2026": "?", "31/1/26": "?", "31 de enero": "?", "ayer": "?", "1/1899": "?", "1/1/1899": "?", "2026-13-01": "?", "31/1/2026 o 1/2/2026": "?", "3 ju 2026": "?", "20260131": "?",
		},
		"en":    {"January 9, 2026": "2026-01-09", "9th of January 2026": "2026-01-09", "the 1st May 2020": "2020-05-01", "1/2/2026": "?", "13/2/2026": "2026-02-13", "2/13/2026": "2026-02-13", "2/2/2026": "2026-02-02"},
		"en-US": {"1/2/2026": "2026-01-02", "13/2/2026": "?"},
		"en-GB": {"1/2/2026": "2026-02-01"},
		"fr":    {"1er février 2026": "2026-02-01", "14 juil. 1989": "1989-07-14", "14 jui 1989": "?"},
		"pt":    {"7 de setembro de 2022": "2022-09-07", "1 março 2020": "2020-03-01"},
		"ru":    {"9 мая 1995 года": "1995-05-09"},
		"ar":    {"٩ يناير ٢٠٢٦": "2026-01-09"},
		"hi":    {"9 जनवरी 2026": "2026-01-09"},
		"tr":    {"29 EKİM 2023": "2023-10-29", "29 ekim 2023": "2023-10-29"},
		"sw":    {"tarehe 9 Desemba 1961": "1961-12-09"},
		"id":    {"17 Agustus 1945": "1945-08-17"},
	} {
		for message, want := range answers {
			if got := answer(t, date, language, message); got != want {
				t.Errorf("%s: %q is %q, want %q", language, message, got, want)
			}
		}
	}
}

func TestReading_Texts(t *testing.T) {
	t.Parallel()
	pattern := `{"name": "q", "kind": "text", "pattern": "[A-Z]{2}[0-9]+", "min_length": 3, "text": {"LANG": "¿Código?"}, "constraint": "not(starts-with(., 'XX'))"}`
	for message, want := range map[string]string{"AB12": "AB12", " AB12\n": "AB12", "AB": "?", "ab12": "?", "AB12x": "?", "XX12": "?"} {
		if got := answer(t, pattern, "es", message); got != want {
			t.Errorf("%q is %q, want %q", message, got, want)
		}
	}
	free := `{"name": "q", "kind": "text", "allow": ["dont_know"], "text": {"LANG": "¿?"}}`
	for message, want := range map[string]string{"No": "No", "ni idea, no sé": "ni idea, no sé", "no sé": "dont_know", "👍": "👍"} {
		if got := answer(t, free, "es", message); got != want {
			t.Errorf("%q is %q, want %q", message, got, want)
		}
	}
}
