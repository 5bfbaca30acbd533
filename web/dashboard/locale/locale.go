// Package locale holds the languages of the dashboard: its words, numbers and days.
//
// A message is written in English where it is shown, as a [Message], which is its own key in the
// catalogs of the other languages. What a catalog does not have is shown in English. Texts that Weir did not write
// for a page (names, reasons of providers) are never messages. What the API says of mistakes, and the reasons that Weir words, have catalogs of their own: see
// [Locale.Mistake] and [Locale.Reason].
package locale

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
)

// Message is a text in English with the verbs of package fmt; a percent sign is written %%. Another language may
// take its arguments in another order, as %[2]s.
type Message string

// Locale is a language in which the dashboard is shown.
type Locale struct {
	Code string // of BCP 47, such as pt
	Name string // in the language itself

	words    func() *words
	mistakes func() *sentences
	reasons  func() *sentences
}

// words are the catalog of a language, ready for use.
type words struct {
	*message.Printer
	known map[Message]translation
}

// Set holds the languages of the dashboard; the first is English.
type Set struct {
	list    []*Locale
	matcher language.Matcher
}

//go:embed catalogs/*.json mistakes/*.json reasons/*.json
var files embed.FS

// New returns the languages. The catalog of one is read when it is first used: all of them took 23 ms of a program's start.
func New() *Set {
	s := &Set{list: []*Locale{{Code: "en", Name: "English"}, {Code: "es", Name: "Español"}, {Code: "fr", Name: "Français"}, {Code: "pt", Name: "Português"}}}
	var tags []language.Tag
	for _, l := range s.list {
		tag := language.Make(l.Code)
		l.words = sync.OnceValue(func() *words { return wordsOf(l.Code, tag) })
		l.mistakes = sync.OnceValue(func() *sentences { return sentencesOf(kindMistakes, l.Code) })
		l.reasons = sync.OnceValue(func() *sentences { return sentencesOf(kindReasons, l.Code) })
		tags = append(tags, tag)
	}
	s.matcher = language.NewMatcher(tags)
	return s
}

// wordsOf reads the catalog of a language. It is in the program, so that one that cannot be read is a mistake of ours.
func wordsOf(code string, tag language.Tag) *words {
	texts, err := catalogOf(code)
	builder := catalog.NewBuilder(catalog.Fallback(tag))
	for m, t := range texts {
		err = errors.Join(err, t.add(builder, tag, m))
	}
	if err != nil {
		panic(fmt.Sprintf("the catalog of the language %s: %v", code, err))
	}
	return &words{message.NewPrinter(tag, message.Catalog(builder)), texts}
}

// translation is a message in another language. One is used for a count of one, if the language
// has a form for it.
type translation struct{ One, Other string }

// UnmarshalJSON reads a text, or an object with the forms "one" and "other".
func (t *translation) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &t.Other); err == nil {
		return nil
	}
	type forms translation
	return json.Unmarshal(data, (*forms)(t))
}

// add adds the translation to a catalog. The form depends on the first argument.
func (t translation) add(to *catalog.Builder, tag language.Tag, m Message) error {
	if t.One == "" {
		return to.SetString(tag, string(m), t.Other)
	}
	return to.Set(tag, string(m), plural.Selectf(1, "", plural.One, t.One, plural.Other, t.Other))
}

// catalogOf reads the catalog of a language.
func catalogOf(code string) (map[Message]translation, error) {
	data, err := files.ReadFile("catalogs/" + code + ".json")
	if err != nil {
		return nil, err
	}
	out := map[Message]translation{}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("catalog %s: %w", code, err)
	}
	return out, nil
}

// Translations returns the forms of all messages in the catalog of a language. The English one has
// those that depend on a count.
func Translations(code string) (map[Message][]string, error) {
	catalog, err := catalogOf(code)
	out := make(map[Message][]string, len(catalog))
	for m, t := range catalog {
		out[m] = []string{t.Other}
		if t.One != "" {
			out[m] = append(out[m], t.One)
		}
	}
	return out, err
}

// List returns all languages.
func (s *Set) List() []*Locale { return slices.Clone(s.list) }

// Choose returns the language with a code, or else the one that a browser prefers, by its header Accept-Language.
func (s *Set) Choose(code, accepted string) *Locale {
	if i := slices.IndexFunc(s.list, func(l *Locale) bool { return l.Code == code }); i >= 0 {
		return s.list[i]
	}
	wanted, _, err := language.ParseAcceptLanguage(accepted)
	if err != nil {
		return s.list[0]
	}
	_, i, _ := s.matcher.Match(wanted...)
	return s.list[i]
}

// T returns a message with its arguments. Whole numbers are grouped as the language does it.
func (l *Locale) T(m Message, args ...any) string { return l.words().Sprintf(string(m), args...) }

// Text returns a message without arguments as it is in the catalog: what it has in braces is for the caller to fill in.
func (l *Locale) Text(m Message) string {
	if t, known := l.words().known[m]; known {
		return t.Other
	}
	return string(m)
}

// HTML returns a message that is HTML. Arguments that are no HTML are escaped.
func (l *Locale) HTML(m Message, args ...any) template.HTML {
	safe := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case template.HTML:
			safe[i] = string(a)
		case string:
			safe[i] = template.HTMLEscapeString(a)
		case int, int32, int64, uint64:
			safe[i] = a
		default:
			safe[i] = template.HTMLEscapeString(fmt.Sprint(a))
		}
	}
	return template.HTML(l.T(m, safe...)) //nolint:gosec // the message is a constant, and the arguments are escaped
}

// Word returns a name of the API, such as no_answer, in words.
func (l *Locale) Word(name string) string {
	text := Message(strings.ReplaceAll(name, "_", " "))
	if _, known := l.words().known[text]; known {
		return l.T(text)
	}
	return string(text)
}

// Day returns a date with its weekday, short.
func (l *Locale) Day(t time.Time) string {
	return l.T("%[1]s %[2]s %[3]s", l.Weekday(t.Weekday()), strconv.Itoa(t.Day()), l.Month(t.Month()))
}

// Weekday returns a day of the week, short.
func (l *Locale) Weekday(d time.Weekday) string {
	return l.T([]Message{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}[d])
}

// Month returns a month, short.
func (l *Locale) Month(m time.Month) string {
	return l.T([]Message{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}[m-1])
}
