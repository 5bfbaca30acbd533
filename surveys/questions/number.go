package questions

import (
	"strconv"
	"strings"
	"unicode"

	"weir/surveys/questions/language"
)

func itoa(n int) string { return strconv.Itoa(n) }

// maxDigits is how many digits a number may have: so many every float64 keeps.
const maxDigits = 15

// readNumber returns the only number of a message, in plain digits. In front of it may stand a sign,
// and behind it a word of the unit.
func (q *question) readNumber(text, code string) (string, bool) {
	text = strings.NewReplacer("−", "-", "٫", ".", "．", ".", "，", ",", "٬", "").Replace(plainDigits(text))
	text = strings.TrimRightFunc(text, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.Nd) })
	text = strings.TrimLeftFunc(text, func(r rune) bool { return !strings.ContainsRune("+-.,", r) && !unicode.In(r, unicode.L, unicode.Nd) })
	sign := ""
	switch {
	case strings.HasPrefix(text, "-"):
		if q.Min != nil && *q.Min >= 0 {
			return "", false
		}
		sign, text = "-", text[1:]
	case strings.HasPrefix(text, "+"):
		text = text[1:]
	}
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, ",") {
		text = "0" + text
	}
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789., \u00a0'’", r) })
	unit := ""
	if end >= 0 {
		text, unit = text[:end], text[end:]
	}
	text = strings.TrimRight(text, " \u00a0.,'’")
	if unit != "" && !q.isUnit(unit) || !startsWithDigit(text) {
		return "", false
	}
	text, ok := plainNumber(text, q.Decimal, language.Of(code))
	if !ok || len(strings.Replace(text, ".", "", 1)) > maxDigits {
		return "", false
	}
	return sign + text, true
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// isUnit reports whether a text is a word of the unit, in any language.
func (q *question) isUnit(text string) bool {
	for _, words := range q.Unit {
		if foldedIn(words, fold(text)) {
			return true
		}
	}
	return false
}

// plainNumber returns a number, written with decimal and grouping signs, with at most a point. What
// could be either, such as 1.000, is grouped only if the language groups so, and has a fraction only
// if the language writes fractions so; it is refused if the language leaves it open.
func plainNumber(s string, decimal bool, l language.Language) (string, bool) {
	s = strings.NewReplacer("\u00a0", " ", "’", "'").Replace(s)
	signs := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
	if signs == "" {
		return s, true
	}
	last := signs[len(signs)-1:]
	group := signs[:1]
	whole, fraction := s, ""
	switch single := len(signs) == 1; {
	case strings.Count(signs, group) == len(signs) && !single:
		// One sign several times: it groups, unless the language writes fractions with it.
		if rune(group[0]) == l.Decimal || group == " " && !strings.Contains(l.Groups, " ") {
			return "", false
		}
	case !single: // the last sign is that of the fraction
		if strings.Count(signs, last) != 1 || strings.Count(signs, group) != len(signs)-1 || last != "." && last != "," {
			return "", false
		}
		whole, fraction, _ = strings.Cut(s, last)
	case grouped(s, group) && strings.Contains(l.Groups, group): // 1,000 in English
	case last != "." && last != ",":
		return "", false
	case grouped(s, group) && (!decimal || rune(last[0]) != l.Decimal):
		return "", false
	default:
		group = ""
		whole, fraction, _ = strings.Cut(s, last)
	}
	if group != "" && strings.Contains(whole, group) && !grouped(whole, group) || fraction != "" && !decimal || fraction != "" && !digits(fraction) {
		return "", false
	}
	if group != "" {
		whole = strings.ReplaceAll(whole, group, "")
	}
	if !digits(whole) {
		return "", false
	}
	if fraction == "" {
		return whole, true
	}
	return whole + "." + fraction, true
}

// grouped reports whether a sign stands between groups of three digits.
func grouped(s, sign string) bool {
	parts := strings.Split(s, sign)
	if first := parts[0]; len(first) > 3 || !digits(first) || first[0] == '0' {
		return false
	}
	for _, part := range parts[1:] {
		if len(part) != 3 || !digits(part) {
			return false
		}
	}
	return true
}
