package auth

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/operators"
)

const (
	// visibleDigits is how many of a number's last digits stay readable.
	visibleDigits = 2
	// identifying is how many of a number's last digits identify it: this many remain
	// without the country code. A shorter number is a short code, of no person.
	identifying = 7
	// maxDigits is the max length of a number (ITU-T E.164).
	maxDigits = 15
)

var (
	// numberPlus matches a number with a plus inside another text.
	numberPlus = regexp.MustCompile(`[+＋]\p{Nd}{7,15}`)
	words      = regexp.MustCompile(`[\pL\pN]+`)
)

// MaskNumber keeps the last digits of a number and hides its length.
func MaskNumber(number string) string {
	kept := len(number)
	for range visibleDigits { // whole characters: digits of other scripts take several bytes
		_, size := utf8.DecodeLastRuneInString(number[:kept])
		kept -= size
	}
	if kept == 0 {
		return "***"
	}
	return "***" + number[kept:]
}

// MaskText masks every number in a text written by people.
func MaskText(text string) string { return operators.ReplacePhoneNumbers(text, MaskNumber) }

// MaskValue masks the numbers in a value set by programs, but not the digits of
// an id or an instant.
func MaskValue(value string) string {
	if isNumber(strings.TrimPrefix(strings.TrimPrefix(value, "＋"), "+"), identifying, maxDigits) {
		return MaskNumber(value)
	}
	return maskPlus(value)
}

// isNumber reports whether a text is a number of least to most digits, of any script.
func isNumber(text string, least, most int) bool {
	if len(text) < least || len(text) > most*utf8.UTFMax {
		return false
	}
	count := 0
	for _, r := range text {
		if !unicode.IsDigit(r) {
			return false
		}
		count++
	}
	return count >= least && count <= most
}

// maskPlus masks each number with a plus.
func maskPlus(text string) string {
	if !strings.ContainsAny(text, "+＋") { // most texts have none, and the pattern takes a third of the time of masking an event
		return text
	}
	return numberPlus.ReplaceAllStringFunc(text, MaskNumber)
}

// MaskValues masks the numbers in values set by programs and in their names, and one
// person's own number in any notation. No value is lost if two names are alike once masked.
func MaskValues(values map[string]string, own string) map[string]string {
	if values == nil {
		return nil
	}
	out := make(map[string]string, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		shown := MaskOwn(MaskValue(name), own)
		for _, taken := out[shown]; taken; _, taken = out[shown] {
			shown += "′"
		}
		out[shown] = MaskOwn(MaskValue(values[name]), own)
	}
	return out
}

// MaskOwn masks one number wherever it occurs, in any notation, with or without
// its country code, and every other number with a plus. An id may happen to contain the
// digits of a short code, so a short code is masked only where it is a whole word.
func MaskOwn(text, number string) string {
	digits := strings.TrimPrefix(number, "+")
	switch {
	case isNumber(digits, 1, identifying-1):
		text = words.ReplaceAllStringFunc(text, func(word string) string {
			if word == digits {
				return MaskNumber(word)
			}
			return word
		})
	case len(digits) > visibleDigits:
		text = strings.ReplaceAll(text, "+"+digits, MaskNumber(digits))
		text = strings.ReplaceAll(text, digits, MaskNumber(digits))
		text = maskContaining(text, digits[max(0, len(digits)-identifying):])
	}
	if inside := Digits(number); len(inside) >= identifying && inside != digits {
		return MaskOwn(text, inside) // the number within another kind of address
	}
	return maskPlus(text)
}

// maskContaining masks each number of a text whose digits contain the given ones.
func maskContaining(text, digits string) string {
	if !strings.Contains(Digits(text), digits) { // then none of its numbers has them
		return text
	}
	return operators.ReplacePhoneNumbers(text, func(found string) string {
		if plain := Digits(found); strings.Contains(plain, digits) {
			return MaskNumber(plain)
		}
		return found
	})
}

// Digits returns the digits of a text, those of other scripts as ASCII digits.
func Digits(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9':
			return r
		case r < utf8.RuneSelf || !unicode.IsDigit(r):
			return -1
		}
		return '0' + digit(r)
	}, text)
}

// digit returns the value of a decimal digit. Unicode encodes those of a script in order,
// from zero on.
func digit(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r >= rune(t.Lo) && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	return 0
}
