package locale

import (
	"html/template"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// none is shown where an instant or a share is not known.
const none = "–"

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

// Instant formats an instant in UTC, in the same way in all languages. The script shows it in the reader's zone.
func Instant(v any) template.HTML {
	t := timeOf(v).UTC()
	if t.IsZero() {
		return `<span class="quiet">` + none + `</span>`
	}
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `">` + t.Format("2006-01-02 15:04:05") + ` UTC</time>`) //nolint:gosec // digits only
}

// Ago formats how long ago an instant was, or how far in the future it is, with the
// instant itself as the title.
func (l *Locale) Ago(now time.Time, v any) template.HTML {
	t := timeOf(v).UTC()
	if t.IsZero() {
		return `<span class="quiet">` + none + `</span>`
	}
	text := l.Span(now.Sub(t).Abs())
	switch d := now.Sub(t); {
	case d.Abs() < 5*time.Second:
		text = l.T("now")
	case d < 0:
		text = l.T("in %s", text)
	default:
		text = l.T("%s ago", text)
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
func (l *Locale) Span(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return l.units(int(d.Seconds())/5*5, "s", 0, "")
	case d < time.Hour:
		return l.units(int(d.Minutes()), "min", 0, "")
	case d < 24*time.Hour:
		return l.units(int(d.Hours()), "h", int(d.Minutes())%60, "min")
	default:
		return l.units(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
	}
}

// Elapsed formats the time between two events that are known to the millisecond.
func (l *Locale) Elapsed(d time.Duration) string {
	switch {
	case d < time.Second:
		return l.Number(d.Milliseconds()) + " ms"
	case d < time.Minute:
		return l.Number(d.Round(100*time.Millisecond).Seconds()) + " " + l.T("s")
	default:
		return l.Span(d)
	}
}

func (l *Locale) units(a int, unit Message, b int, smaller Message) string {
	text := strconv.Itoa(a) + " " + l.T(unit)
	if b == 0 {
		return text
	}
	return text + " " + strconv.Itoa(b) + " " + l.T(smaller)
}

// Number formats a number of any type, in groups of three digits. A fraction below 100 has one
// decimal.
func (l *Locale) Number(v any) string {
	x := reflect.ValueOf(v)
	switch {
	case x.CanInt():
		return l.words().Sprint(number.Decimal(x.Int()))
	case x.CanFloat():
		f := x.Float()
		if math.Abs(f) < 100 && f != math.Trunc(f) {
			return l.words().Sprint(number.Decimal(f, number.Scale(1)))
		}
		return l.words().Sprint(number.Decimal(int64(math.Round(f))))
	}
	return l.words().Sprint(v)
}

// Amount formats an exact decimal of the API, such as a price, with the decimal sign of the language.
func (l *Locale) Amount(text string) string {
	return strings.Replace(text, ".", strings.Trim(l.Number(0.5), "05"), 1)
}

// Rounded formats an exact decimal of the API for a reader, such as a mean: with two decimals at most, or as many as
// show three digits of a number below one. What is no number stays as it is.
func (l *Locale) Rounded(text string) string {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.Contains(text, ".") {
		return l.Amount(text)
	}
	decimals := 2
	if size := math.Abs(x); size > 0 && size < 1 {
		decimals -= int(math.Floor(math.Log10(size)))
	}
	return l.Amount(strings.TrimRight(strings.TrimRight(strconv.FormatFloat(x, 'f', decimals, 64), "0"), "."))
}

// Percent formats a share of a whole.
func Percent(part, whole float64) string {
	if whole == 0 {
		return none
	}
	return strconv.FormatFloat(100*part/whole, 'f', 0, 64) + " %"
}

// DecimalComma reports whether decimals have a comma where a reader lives, whose browser sends
// this Accept-Language. Spreadsheets there expect semicolons in CSV files.
func (l *Locale) DecimalComma(acceptLanguage string) bool {
	tag := language.Make(l.Code)
	given, _, _ := language.ParseAcceptLanguage(acceptLanguage) // what is malformed has no region
	for _, t := range given {
		if a, _ := t.Base(); a.String() == l.Code {
			tag = t
			break
		}
	}
	return strings.Contains(message.NewPrinter(tag).Sprint(1.5), ",")
}
