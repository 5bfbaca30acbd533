package phonenumber

import (
	"strings"
	"unicode"
)

// Clean returns a text as it would be typed on a plain keyboard, without what programs add when a
// number is copied or exported. It removes invisible characters, maps blanks, hyphens and digits
// of every script to ASCII, and drops the apostrophe by which spreadsheets mark a text. It also
// drops the fraction of zeros that data frames and spreadsheets append to a number
// (254722123456.0), which must never become digits of it.
//
// It returns an error if the text is a number that a spreadsheet has rounded, or two numbers.
func Clean(text string) (string, error) {
	text = strings.TrimSpace(strings.Map(plain, text))
	if rest := strings.TrimLeft(text, "'`"); len(text)-len(rest) == 1 {
		text = strings.TrimSpace(rest)
	}
	if scientific.MatchString(text) {
		return "", errScientific
	}
	if hasSecond(text) {
		return "", errTwoNumbers
	}
	return withoutFraction(text)
}

// hasSecond reports whether what is behind a slash is a second number, or the last digits of one:
// there is a whole number before it, and not an area code alone.
func hasSecond(text string) bool {
	head, tail, _ := strings.Cut(text, "/")
	whole := 7
	if strings.HasPrefix(head, "00") || strings.Contains(head, "+") {
		whole += 3 // of the country
	}
	before, behind := countDigits(head), countDigits(tail)
	return behind > 0 && Written(text) && (before >= whole || before >= 7 && behind <= 3)
}

// withoutFraction removes a fraction of zeros behind a number. What is behind the only point, or
// comma, of a text is a fraction if it is one or two digits, or five zeros and more, or if there are nothing but the
// digits of a whole number before it; otherwise the point separates groups of digits. A single zero
// behind several points may be either, so that such a number is refused.
func withoutFraction(text string) (string, error) {
	at := strings.LastIndexAny(text, ".,")
	if at < 0 {
		return text, nil
	}
	head, tail := text[:at], text[at+1:]
	if strings.ContainsAny(head, ".,") {
		if tail == "0" && countDigits(head) >= 3 && Written(head) { // or the last digit of a number in groups of three
			return "", errRounded
		}
		return text, nil
	}
	bare := strings.Trim(strings.TrimPrefix(head, "+"), "0123456789") == ""
	switch {
	case tail == "" || strings.Trim(tail, "0123456789") != "" || countDigits(head) < 3 || !Written(head):
		return text, nil
	case strings.Trim(tail, "0") == "" && (bare || len(tail) <= 2 || len(tail) >= 5):
		return head, nil
	case len(tail) <= 2 || bare && countDigits(head) >= 7:
		return "", errRounded
	}
	return text, nil
}

func countDigits(text string) (n int) {
	for i := range len(text) {
		if text[i] >= '0' && text[i] <= '9' {
			n++
		}
	}
	return n
}

// plain maps a character of a phone number to ASCII; -1: it is invisible and dropped.
func plain(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case unicode.In(r, unicode.Cf, unicode.Variation_Selector):
		return -1
	case unicode.Is(unicode.Nd, r):
		return '0' + digitOf(r)
	case unicode.IsSpace(r):
		return ' '
	case unicode.Is(unicode.Pd, r), r == '\u2212': // minus
		return '-'
	case r == '\u2018', r == '\u2019', r == '\u02bc':
		return '\''
	case r == '\ufe62': // small plus
		return '+'
	case r >= '\uff01' && r <= '\uff5e': // full width
		return r - '\uff01' + '!'
	}
	return r
}

// digitOf returns the value of a decimal digit: each range of them consists of whole tens.
func digitOf(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if lo, hi := rune(t.Lo), rune(t.Hi); lo <= r && r <= hi {
			return (r - lo) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if lo, hi := rune(t.Lo), rune(t.Hi); lo <= r && r <= hi {
			return (r - lo) % 10
		}
	}
	return 0
}
