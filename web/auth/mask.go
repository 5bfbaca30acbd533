package auth

import (
	"regexp"
	"strings"

	"weir/ops"
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
	numberPlus = regexp.MustCompile(`\+[0-9]{7,15}`)
	words      = regexp.MustCompile(`[\pL\pN]+`)
)

// MaskNumber keeps the last digits of a number and hides its length.
func MaskNumber(number string) string {
	if len(number) <= visibleDigits {
		return "***"
	}
	return "***" + number[len(number)-visibleDigits:]
}

// MaskText masks every number in a text written by people.
func MaskText(text string) string { return ops.ReplacePhoneNumbers(text, MaskNumber) }

// MaskValue masks the numbers in a value set by programs, but not the digits of
// an id or an instant.
func MaskValue(value string) string {
	if isNumber(strings.TrimPrefix(value, "+"), identifying, maxDigits) {
		return MaskNumber(value)
	}
	return maskPlus(value)
}

// isNumber reports whether a text is a number of least to most digits.
func isNumber(text string, least, most int) bool {
	return len(text) >= least && len(text) <= most && strings.Trim(text, "0123456789") == ""
}

// maskPlus masks each number with a plus.
func maskPlus(text string) string {
	if !strings.Contains(text, "+") { // most texts have none, and the pattern takes a third of the time of masking an event
		return text
	}
	return numberPlus.ReplaceAllStringFunc(text, MaskNumber)
}

func MaskValues(values map[string]string) map[string]string {
	if values == nil {
		return nil
	}
	out := make(map[string]string, len(values))
	for name, value := range values {
		out[name] = MaskValue(value)
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
	return ops.ReplacePhoneNumbers(text, func(found string) string {
		if plain := Digits(found); strings.Contains(plain, digits) {
			return MaskNumber(plain)
		}
		return found
	})
}

func Digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}
