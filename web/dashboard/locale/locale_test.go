package locale

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func english() *Locale {
	return New().Choose("en", "")
}

func TestLocale_TimesAndNumbersAreForPeople(t *testing.T) {
	t.Parallel()
	l := english()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0: "now", 3 * time.Second: "now", 17 * time.Second: "15 s ago", 90 * time.Second: "1 min ago", 3 * time.Hour: "3 h ago",
		26*time.Hour + 5*time.Minute: "1 d 2 h ago", -10 * time.Minute: "in 10 min",
	} {
		text := string(l.Ago(now, now.Add(-d)))
		if inner := regexp.MustCompile(`>([^<]*)<`).FindStringSubmatch(text); inner[1] != want || !strings.Contains(text, " UTC\"") {
			t.Errorf("%v ago: %s, want %s", d, text, want)
		}
	}
	var never *time.Time
	if got := string(l.Ago(now, never)); strings.Contains(got, "time") {
		t.Errorf("never: %s", got)
	}
	for want, n := range map[string]any{"0": 0, "999": int64(999), "1,000": 1000, "-12,345,678": -12345678, "1.5": 1.5, "200": 199.7} {
		if got := l.Number(n); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
	if got := Percent(1, 3); got != "33 %" {
		t.Errorf("a third: %s", got)
	}
	if got := Percent(1, 0); got != "–" {
		t.Errorf("of nothing: %s", got)
	}
}

func TestElapsed_HasTheUnitThatTellsTheMost(t *testing.T) {
	t.Parallel()
	en := english()
	for d, want := range map[time.Duration]string{
		7 * time.Millisecond: "7 ms", 999 * time.Millisecond: "999 ms", 1040 * time.Millisecond: "1 s", 3440 * time.Millisecond: "3.4 s",
		59 * time.Second: "59 s", 90 * time.Second: "1 min", 150 * time.Minute: "2 h 30 min",
	} {
		if got := en.Elapsed(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// Every catalog can be used: a text that names a placeholder of its own, as ${name}, cannot.
func TestLocales_CanBeUsed(t *testing.T) {
	t.Parallel()
	for _, l := range New().List() {
		if l.T("Overview") == "" {
			t.Errorf("%s has no words", l.Code)
		}
	}
}

// A sentence is found by its format whatever its values are, and by no other one's.
func TestMistakes_AreFoundByTheirFormats(t *testing.T) {
	t.Parallel()
	verb := regexp.MustCompile(`%(?:\[(\d)\])?[.\d]*([a-zA-Z])`)
	values := map[string][]string{"d": {"7", "-3", "12"}, "f": {"-9", "8", "1"}, "g": {"0.5"}, "X": {"00AD"}, "q": {`"a \"b\" 7"`, `"x"`, `"12"`}}
	for _, l := range New().List()[1:] {
		texts, err := Mistakes(l.Code)
		if err != nil || len(texts) == 0 {
			t.Fatalf("%s: %d mistakes, %v", l.Code, len(texts), err)
		}
		for format, text := range texts {
			var with []string
			said := verb.ReplaceAllStringFunc(format, func(v string) string {
				list := append(values[v[len(v)-1:]], "north", "[sms ivr]", "n-7") //nolint:gocritic // appendAssign: a new one
				with = append(with, list[len(with)%len(list)])
				return with[len(with)-1]
			})
			n := 0
			want := verb.ReplaceAllStringFunc(text, func(v string) string {
				if at := strings.IndexByte(v, '['); at >= 0 {
					n = int(v[at+1] - '1')
				}
				n++
				return with[n-1]
			})
			if got := l.Mistake(said); got != want {
				t.Errorf("%s: %q is %q, want %q", l.Code, said, got, want)
			}
		}
	}
}

// A mean is for readers: the API has all its decimals.
func TestLocale_RoundsForReaders(t *testing.T) {
	t.Parallel()
	es := New().Choose("es", "")
	for text, want := range map[string]string{
		"30.1538461538": "30,15", "3.05357142857": "3,05", "2.5": "2,5", "0.999": "0,999", "0.0034512": "0,00345", "-0.25": "-0,25", "-12.3456": "-12,35",
		"99.999": "100", "1200300": "1200300", "0.0": "0", "2001-05-06": "2001-05-06", "": "",
	} {
		if got := es.Rounded(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// A sentence within another is translated, too, and what no format fits stays as it is.
func TestMistakes_AreTranslatedWithinOthers(t *testing.T) {
	t.Parallel()
	es := New().Choose("es", "")
	for said, want := range map[string]string{
		`is before start_date; to end the survey, :stop it`: "es anterior a start_date; para terminar la encuesta, deténgala",
		`must have 1 to 63 characters`:                      "debe tener de 1 a 63 caracteres",
		`channel "a b" does not work: no answer`:            `el canal "a b" no funciona: no answer`,
		"Server nicht erreichbar":                           "Server nicht erreichbar",
		"":                                                  "",
	} {
		if got := es.Mistake(said); got != want {
			t.Errorf("%q is %q, want %q", said, got, want)
		}
	}
	if got := english().Mistake("is before start_date"); got != "is before start_date" {
		t.Errorf("in English: %q", got)
	}
}

// Any text can be looked for, in every language, and one that nothing says stays as it is.
func FuzzMistake(f *testing.F) {
	set := New()
	for _, said := range []string{"must have 1 to 63 characters", `channel "a" does not work: is missing`, `"`, "%s", "{{a}}: {{b}}: is missing", "must be from - to e"} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		for _, l := range set.List() {
			if got := l.Mistake("\x00" + said); l.Code == "en" && got != "\x00"+said {
				t.Errorf("%s: %q", l.Code, got)
			}
			l.Mistake(said)
		}
	})
}
