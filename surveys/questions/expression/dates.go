package expression

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/surveys/questions/language"
)

func temporal(name string) *function {
	switch name {
	case "today", "now":
		return &function{0, 0, func(env *Env, _ []Value) Value {
			switch {
			case env.Now.IsZero():
				return Unknown()
			case name == "today":
				return dateOf(daysAt(env.Now))
			default:
				return instantOf(daysAt(env.Now))
			}
		}}
	case "date":
		return dated(dateOf)
	case "date-time":
		return dated(instantOf)
	case "decimal-date-time":
		return number(func(n float64) float64 { return n })
	case "format-date", "format-date-time":
		return &function{2, 2, func(env *Env, a []Value) Value {
			days := a[0].Number()
			if math.IsNaN(days) || math.Abs(days) > maxDays {
				return Value{}
			}
			return Text(formatDate(instantOf(days).time(), a[1].Text(), env.Language))
		}}
	default:
		return nil
	}
}

// dated makes a function of one that makes a date of days; what is no date becomes the empty text.
func dated(f func(days float64) Value) *function {
	return &function{1, 1, func(_ *Env, a []Value) Value {
		if days := a[0].Number(); math.Abs(days) <= maxDays { // not NaN
			return f(days)
		}
		return Value{}
	}}
}

const knownEscapes = "%Y %y %m %n %b %d %e %H %h %M %S %3 %a %W"

// unknownEscape returns the first escape of a format that is not known.
func unknownEscape(format string) string {
	signs := []rune(format)
	for i := 0; i < len(signs); i++ {
		if signs[i] != '%' {
			continue
		}
		if i++; i == len(signs) {
			return "%"
		}
		if signs[i] == ' ' || !strings.Contains(knownEscapes, "%"+string(signs[i])) {
			return "%" + string(signs[i])
		}
	}
	return ""
}

func formatDate(t time.Time, format, code string) string {
	names := language.Of(code)
	if names.Months == nil {
		names = language.Of("en")
	}
	var b strings.Builder
	signs := []rune(format)
	for i := 0; i < len(signs); i++ {
		if signs[i] != '%' || i+1 == len(signs) {
			b.WriteRune(signs[i])
			continue
		}
		i++
		switch signs[i] {
		case 'Y':
			fmt.Fprintf(&b, "%04d", t.Year())
		case 'y':
			fmt.Fprintf(&b, "%02d", t.Year()%100)
		case 'm':
			fmt.Fprintf(&b, "%02d", int(t.Month()))
		case 'n':
			b.WriteString(strconv.Itoa(int(t.Month())))
		case 'b':
			b.WriteString(language.Abbreviation(names.Months, int(t.Month())-1))
		case 'd':
			fmt.Fprintf(&b, "%02d", t.Day())
		case 'e':
			b.WriteString(strconv.Itoa(t.Day()))
		case 'H':
			fmt.Fprintf(&b, "%02d", t.Hour())
		case 'h':
			b.WriteString(strconv.Itoa(t.Hour()))
		case 'M':
			fmt.Fprintf(&b, "%02d", t.Minute())
		case 'S':
			fmt.Fprintf(&b, "%02d", t.Second())
		case '3':
			fmt.Fprintf(&b, "%03d", t.Nanosecond()/1e6)
		case 'a':
			b.WriteString(language.Abbreviation(names.Weekdays, (int(t.Weekday())+6)%7))
		case 'W':
			_, week := t.ISOWeek()
			b.WriteString(strconv.Itoa(week))
		}
	}
	return b.String()
}
