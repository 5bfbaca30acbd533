package expression

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type kind int

const (
	textKind kind = iota
	numberKind
	boolKind
	dateKind    // a day
	instantKind // a day and a time of day
	unknownKind
)

// Value is the value of an expression. The zero value is the empty text, which stands for a
// question without an answer.
type Value struct {
	kind   kind
	text   string
	number float64 // of a date the days since 1970, of a bool 0 or 1
}

// Text returns a text.
func Text(s string) Value { return Value{text: s} }

// Number returns a number.
func Number(n float64) Value { return Value{kind: numberKind, number: n} }

// Bool returns a truth value.
func Bool(b bool) Value {
	if b {
		return Value{kind: boolKind, number: 1}
	}
	return Value{kind: boolKind}
}

// Date returns the day that a text names as 2026-01-31; the empty text if it names none.
func Date(s string) Value {
	if days := parseDays(s); !math.IsNaN(days) {
		return dateOf(days)
	}
	return Value{}
}

// Unknown returns the value of an operand of which nothing is known.
func Unknown() Value { return Value{kind: unknownKind} }

func dateOf(days float64) Value { return Value{kind: dateKind, number: math.Floor(days)} }

func instantOf(days float64) Value { return Value{kind: instantKind, number: days} }

// daysAt returns the days since 1970 of what a clock and a calendar show at an instant.
func daysAt(t time.Time) float64 {
	_, offset := t.Zone()
	return (float64(t.Unix()+int64(offset)) + float64(t.Nanosecond())/1e9) / 86400
}

// Known reports whether the value is known.
func (v Value) Known() bool { return v.kind != unknownKind }

// IsNumber reports whether the value is a number, which may be NaN.
func (v Value) IsNumber() bool { return v.kind == numberKind }

// Bool returns the value as a truth value: texts are true unless they are empty, numbers unless
// they are 0 or NaN.
func (v Value) Bool() bool {
	switch v.kind {
	case textKind:
		return v.text != ""
	case dateKind, instantKind:
		return true
	default:
		return v.number != 0 && !math.IsNaN(v.number)
	}
}

// Number returns the value as a number; NaN if it is none. A date is its days since 1970.
func (v Value) Number() float64 {
	if v.kind != textKind {
		return v.number
	}
	s := strings.TrimSpace(v.text)
	if plainNumber(s) {
		if n, err := strconv.ParseFloat(s, 64); err == nil {
			return n
		}
	}
	return parseDays(s)
}

// plainNumber reports whether a text is a number as XPath writes it, without exponent and plus.
func plainNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	digits := strings.Replace(s, ".", "", 1)
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// Text returns the value as a text.
func (v Value) Text() string {
	switch v.kind {
	case numberKind:
		return formatNumber(v.number)
	case boolKind:
		return strconv.FormatBool(v.number != 0)
	case dateKind:
		return v.time().Format("2006-01-02")
	case instantKind:
		return v.time().Format("2006-01-02T15:04:05.000")
	default:
		return v.text
	}
}

// maxDays bounds dates to the years that have four digits.
const maxDays = 2932896

// time returns the instant at which a clock in UTC shows the date.
func (v Value) time() time.Time {
	days := math.Max(-719528, math.Min(v.number, maxDays))
	return time.UnixMilli(int64(math.Round(days * 86400000))).UTC()
}

// formatNumber returns the shortest digits that read back as the number.
func formatNumber(n float64) string {
	switch {
	case math.IsInf(n, 1):
		return "Infinity"
	case math.IsInf(n, -1):
		return "-Infinity"
	case n == 0: // and minus zero
		return "0"
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// parseDays returns the days since 1970 of a date, or of a date and time, in ISO 8601; NaN if a
// text is neither. A zone is ignored: what its clock shows counts.
func parseDays(s string) float64 {
	day, clock, timed := strings.Cut(strings.TrimSpace(s), "T")
	t, err := time.Parse("2006-01-02", day)
	if err != nil || len(day) != len("2006-01-02") {
		return math.NaN()
	}
	days := daysAt(t)
	if !timed {
		return days
	}
	m := regexp.MustCompile(`^(\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:Z|[+-]\d\d(?::?\d\d)?)?$`).FindStringSubmatch(clock)
	if m == nil {
		return math.NaN()
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if c, err := time.Parse(layout, m[1]); err == nil {
			return days + c.Sub(c.Truncate(24*time.Hour)).Seconds()/86400
		}
	}
	return math.NaN()
}

// numeric reports whether a comparison with the value is one of numbers.
func (v Value) numeric() bool {
	return v.kind == numberKind || v.kind == dateKind || v.kind == instantKind
}

// compare evaluates a comparison.
func compare(op string, a, b Value) bool {
	switch op {
	case "<":
		return a.Number() < b.Number()
	case "<=":
		return a.Number() <= b.Number()
	case ">":
		return a.Number() > b.Number()
	case ">=":
		return a.Number() >= b.Number()
	}
	var equal bool
	switch {
	case a.kind == boolKind || b.kind == boolKind:
		equal = a.Bool() == b.Bool()
	case a.numeric() || b.numeric():
		equal = a.Number() == b.Number()
	default:
		equal = a.text == b.text
	}
	return equal == (op == "=")
}
