// Package display defines how values appear on pages: texts for times, durations and
// numbers, and SVG pictures of bars, charts and days. Its functions are pure.
package display

import (
	"fmt"
	"html/template"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Functions returns the functions that templates can call.
func Functions() template.FuncMap {
	return template.FuncMap{
		"instant":  Instant,
		"ago":      Ago,
		"since":    Since,
		"span":     Span,
		"number":   Number,
		"percent":  Percent,
		"words":    Words,
		"dict":     dict,
		"minus":    func(a, b int) int { return a - b },
		"truncate": Truncate,
		"value":    value,
		"minutes":  func(n int) string { return Span(time.Duration(n) * time.Minute) },
	}
}

// timeOf returns an instant that may be absent.
func timeOf(v any) time.Time {
	switch t := v.(type) {
	case time.Time:
		return t
	case *time.Time:
		if t != nil {
			return *t
		}
	}
	return time.Time{}
}

// Instant formats an instant in UTC.
func Instant(v any) template.HTML {
	t := timeOf(v).UTC()
	if t.IsZero() {
		return `<span class="quiet">–</span>`
	}
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `">` + t.Format("2006-01-02 15:04:05") + ` UTC</time>`) //nolint:gosec // digits only
}

// maxValueText is the maximum length of a text in a list of facts.
const maxValueText = 500

// value formats a value that may be a time or a text.
func value(v any) any {
	switch x := v.(type) {
	case time.Time, *time.Time:
		return Instant(v)
	case string:
		return Truncate(maxValueText, x)
	}
	return v
}

// Ago formats how long ago an instant was, or how far in the future it is, with the
// instant itself as the title.
func Ago(now time.Time, v any) template.HTML {
	t := timeOf(v).UTC()
	if t.IsZero() {
		return `<span class="quiet">–</span>`
	}
	text := Span(now.Sub(t).Abs())
	switch d := now.Sub(t); {
	case d.Abs() < 5*time.Second:
		text = "now"
	case d < 0:
		text = "in " + text
	default:
		text += " ago"
	}
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `" title="` + t.Format("2006-01-02 15:04:05.000") + ` UTC">` + text + `</time>`) //nolint:gosec // digits and our own words
}

// Since returns how long ago an instant was; 0 if it is absent or in the future.
func Since(now time.Time, v any) time.Duration {
	t := timeOf(v)
	if t.IsZero() {
		return 0
	}
	return max(0, now.Sub(t))
}

// Span formats a duration in one or two units. Durations below a minute are rounded
// down to five seconds, so that not every update changes the page.
func Span(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())/5*5) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 24*time.Hour:
		return twoUnits(int(d.Hours()), "h", int(d.Minutes())%60, "min")
	default:
		return twoUnits(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
	}
}

func twoUnits(a int, unit string, b int, smaller string) string {
	if b == 0 {
		return strconv.Itoa(a) + " " + unit
	}
	return fmt.Sprintf("%d %s %d %s", a, unit, b, smaller)
}

// Number formats a number of any type with commas between thousands, as the command
// line does.
func Number(v any) string {
	x := reflect.ValueOf(v)
	switch {
	case x.CanInt():
		return humanize.Comma(x.Int())
	case x.CanFloat():
		f := x.Float()
		if math.Abs(f) < 100 && f != math.Trunc(f) {
			return strconv.FormatFloat(f, 'f', 1, 64)
		}
		return humanize.Comma(int64(math.Round(f)))
	}
	return fmt.Sprint(v)
}

// Percent formats a share of a whole.
func Percent(part, whole float64) string {
	if whole == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*part/whole, 'f', 0, 64) + " %"
}

// Words turns a name of the API into words.
func Words(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") }

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

// Plural formats a count with its noun.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return strconv.FormatInt(n, 10) + " " + one
	}
	return humanize.Comma(n) + " " + many
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
