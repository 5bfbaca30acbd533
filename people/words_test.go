package people

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// spellings are the ways to write a text that case and composition allow.
var spellings = map[string]func(string) string{
	"upper case": cases.Upper(language.Und).String, "lower case": cases.Lower(language.Und).String, "title case": cases.Title(language.Und).String,
	"simple upper case": strings.ToUpper, "simple lower case": strings.ToLower,
	"Turkish upper case": cases.Upper(language.Turkish).String, "Turkish lower case": cases.Lower(language.Turkish).String, "Greek upper case": cases.Upper(language.Greek).String,
	"composed": norm.NFC.String, "decomposed": norm.NFD.String, "composed, compatible": norm.NFKC.String, "decomposed, compatible": norm.NFKD.String,
}

// accented are the scripts whose marks do not count.
var accented = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew}

// Scenario 387.
func TestFold_OneFormForEachSpelling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.OneOf(rapid.RuneFrom(nil, accented...), rapid.RuneFrom([]rune("ְًّ̨̧֑́̀̈̇̂̃̌ـ iIıİßẞſςσΣŉǰΐﬁᾳ")))
		s := rapid.OneOf(rapid.String(), rapid.StringOf(runes)).Draw(t, "text")
		want := fold(s)
		if again := fold(want); again != want {
			t.Errorf("%q becomes %q and then %q", s, want, again)
		}
		for name, spelled := range spellings {
			if strings.Contains(name, "compos") || !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) && !unicode.In(r, accented...) }) {
				if name == "Greek upper case" && strings.ContainsRune(norm.NFD.String(s), '\u0345') {
					continue // an iota subscript becomes an iota in the others, and nothing here
				}
				if got := fold(spelled(s)); got != want {
					t.Errorf("%q becomes %+q, and in %s %+q", s, want, name, got)
				}
			}
		}
	})
}

// Scenario 387.
func TestFold_MarksOfOtherScriptsMakeOtherWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Ethiopic"}).Draw(t, "script")
		var letters, marks []rune
		for r := rune(0x900); r < 0x1800; r++ {
			switch {
			case !unicode.Is(unicode.Scripts[name], r):
			case unicode.IsMark(r):
				marks = append(marks, r)
			case unicode.IsLetter(r):
				letters = append(letters, r)
			}
		}
		word := string(rapid.SampledFrom(letters).Draw(t, "first")) + "%" + string(rapid.SampledFrom(letters).Draw(t, "last"))
		one, other := string(rapid.SampledFrom(marks).Draw(t, "mark")), string(rapid.SampledFrom(append(marks, -1)).Draw(t, "other mark"))
		if other == string(rune(-1)) {
			other = ""
		}
		a, b := strings.Replace(word, "%", one, 1), strings.Replace(word, "%", other, 1)
		if norm.NFKD.String(a) != norm.NFKD.String(b) && fold(a) == fold(b) {
			t.Errorf("%q and %q both become %q", a, b, fold(a))
		}
	})
}

// Scenario 387.
func TestFold_WordsThatPeopleWrite(t *testing.T) {
	t.Parallel()
	for listed, said := range map[string]map[string]Said{
		"बंद":    {"बंद": SaidStop, "बंद!": SaidStop, "बाद": "", "बद": "", "बंद करो": SaidMaybe, "बाद में": ""},
		"हटाओ":   {"हटाओ।": SaidStop, "मेरा नंबर हटाओ": SaidMaybe, "हटा": "", "ओ": ""},
		"หยุด":   {"หยุด": SaidStop, "หยด": ""},
		"çık":    {"ÇIK": SaidStop, "çik": SaidStop, "ÇİK": SaidStop, "Cik.": SaidStop},
		"İptal":  {"iptal": SaidStop, "IPTAL": SaidStop, "ıptal": SaidStop},
		"τέλος":  {"ΤΕΛΟΣ": SaidStop, "Τέλος": SaidStop, "τελοσ": SaidStop},
		"schluß": {"SCHLUSS": SaidStop, "Schluß": SaidStop, "schluẞ": SaidStop, "schlus": ""},
		"توقف":   {"توقـــف": SaidStop, "تَوَقَّفْ": SaidStop, "من فضلك توقـف": SaidMaybe, "وقف": ""},
		"стой":   {"СТОЙ": SaidStop, "Стои\u0306": SaidStop},
		"די":     {"דַּי": SaidStop},
		"がく":     {"かく": ""},
	} {
		w := NewWords(WordLists{Stop: []string{listed}})
		for message, want := range said {
			if got, _ := w.Find(message); got != want {
				t.Errorf("with the word %s, %s is %q, want %q", listed, message, got, want)
			}
		}
	}
}

// Scenario 387: whoever writes a usual refusal in a language of the default words is not overlooked.
func TestDefaultWords_DecideInTenLanguages(t *testing.T) {
	t.Parallel()
	w := DefaultWords()
	for message, want := range map[string]Said{
		"SALIR": SaidStop, "salir.": SaidStop, "no más": SaidMaybe, "NO MAS MENSAJES": SaidMaybe, "¡Basta ya!": SaidMaybe, "ya no me llamen": SaidMaybe,
		"Arrêtez": SaidStop, "arrêtez de m'appeler": SaidMaybe, "Ne m’appelez plus": SaidMaybe, "me désinscrire svp": SaidMaybe,
		"NÃO MAIS": SaidMaybe, "por favor parem": SaidMaybe,
		"Tafadhali usinipigie tena": SaidMaybe, "acha kunitumia ujumbe": SaidMaybe,
		"توقف": SaidMaybe, "الرجاء الغاء الاشتراك": SaidMaybe, "إلغاء": SaidMaybe, "لا تتصل بي": SaidMaybe,
		"BERHENTI": SaidMaybe, "unreg": SaidMaybe, "tolong jangan hubungi saya": SaidMaybe,
		"RET": SaidMaybe, "İPTAL": SaidMaybe, "ÇIK": SaidMaybe, "Beni bir daha aramayın": SaidMaybe,
		"СТОП": SaidMaybe, "больше не звоните мне": SaidMaybe, "Отписаться": SaidMaybe,
		"बंद करो": SaidMaybe, "मुझे कॉल मत करो": SaidMaybe, "फ़ोन मत करो": SaidMaybe,
		// Answers are none of them.
		"más": "", "no": "", "oui": "", "sim": "", "ndiyo": "", "نعم": "", "tidak": "", "hayır": "", "нет": "", "बाद में": "", "नहीं": "", "acha": "", "plus": "", "mais": "",
	} {
		if got, by := w.Find(message); got != want {
			t.Errorf("%q is %q by %q, want %q", message, got, by, want)
		}
	}
	for _, phrase := range w.Lists().Phrases {
		if len(phrase) > MaxWord || Affirmative(phrase) {
			t.Errorf("%q is too long, or a yes", phrase)
		}
	}
}
