// Package display defines how values appear on pages: functions of templates, and SVG pictures of bars, charts and days. Its
// functions are pure; words and numbers are those of a [locale.Locale].
package display

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weir/web/dashboard/locale"
)

// Functions returns the functions that templates can call, in a language. t and markup return a
// message, as the methods of a Locale do; locale is the language itself, which pictures take.
func Functions(l *locale.Locale) template.FuncMap {
	return template.FuncMap{
		"locale":   func() *locale.Locale { return l },
		"t":        l.T,
		"markup":   l.HTML,
		"known":    known,
		"instant":  locale.Instant,
		"ago":      l.Ago,
		"since":    locale.Since,
		"span":     l.Span,
		"number":   l.Number,
		"amount":   l.Amount,
		"rounded":  l.Rounded,
		"percent":  locale.Percent,
		"words":    func(v any) string { return l.Word(fmt.Sprint(v)) },
		"dict":     dict,
		"minus":    func(a, b int) int { return a - b },
		"truncate": Truncate,
		"value":    value,
		"minutes":  func(n int) string { return l.Span(time.Duration(n) * time.Minute) },
	}
}

// maxValueText is the maximum length of a text in a list of facts.
const maxValueText = 500

// known returns an instant, or nil for the zero one, which a template would take for true.
func known(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// value formats a value that may be a time or a text.
func value(v any) any {
	switch x := v.(type) {
	case time.Time, *time.Time:
		return locale.Instant(v)
	case string:
		return Truncate(maxValueText, x)
	}
	return v
}

// Join joins names of the API.
func Join[T ~string](names []T, separator string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, separator)
}

// Truncate shortens a text from an outside source.
func Truncate(most int, text string) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}

// dict passes several values to a template, by name.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict: %d values are no pairs", len(pairs))
	}
	out := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is no name", pairs[i])
		}
		out[name] = pairs[i+1]
	}
	return out, nil
}

// SettingText formats the value of a setting.
func SettingText(v any) string {
	if list, ok := v.([]any); ok {
		texts := make([]string, len(list))
		for i := range list {
			texts[i] = SettingText(list[i])
		}
		return strings.Join(texts, ", ")
	}
	return fmt.Sprint(v)
}

// CamelWords splits a name such as longestIdle into words.
func CamelWords(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte(' ')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Sentence returns a detail of the API as a sentence.
func Sentence(detail string) string {
	first, size := utf8.DecodeRuneInString(detail)
	if size == 0 {
		return detail
	}
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(detail[size:], ".") + "."
}
