package auth

import (
	"regexp"
	"strings"

	"weir/ops"
)

// visibleDigits is how many of a number's last digits stay readable.
const visibleDigits = 2

var (
	// numberOnly matches a value that is only a number, as programs write it.
	numberOnly = regexp.MustCompile(`^\+?[0-9]{7,15}$`)
	// numberPlus matches a number with a plus inside another text.
	numberPlus = regexp.MustCompile(`\+[0-9]{7,15}`)
	// shortCode matches a number that is too short to identify a person.
	shortCode = regexp.MustCompile(`^[0-9]{1,6}$`)
	words     = regexp.MustCompile(`[\pL\pN]+`)
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
	if numberOnly.MatchString(value) {
		return MaskNumber(value)
	}
	return numberPlus.ReplaceAllStringFunc(value, MaskNumber)
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

// identifying is how many of a number's last digits identify it: this many remain
// without the country code.
const identifying = 7

// MaskOwn masks one number wherever it occurs, in any notation, with or without
// its country code, and every other number with a plus. An id may happen to contain the
// digits of a short code, so a short code is masked only where it is a whole word.
func MaskOwn(text, number string) string {
	if digits := strings.TrimPrefix(number, "+"); shortCode.MatchString(digits) {
		text = words.ReplaceAllStringFunc(text, func(word string) string {
			if word == digits {
				return MaskNumber(word)
			}
			return word
		})
	} else if len(digits) > visibleDigits {
		text = strings.ReplaceAll(text, "+"+digits, MaskNumber(digits))
		text = strings.ReplaceAll(text, digits, MaskNumber(digits))
		text = ops.ReplacePhoneNumbers(text, func(found string) string {
			if plain := Digits(found); strings.Contains(plain, digits[max(0, len(digits)-identifying):]) {
				return MaskNumber(plain)
			}
			return found
		})
	}
	if inside := Digits(number); len(inside) >= identifying && inside != strings.TrimPrefix(number, "+") {
		return MaskOwn(text, inside) // the number within another kind of address
	}
	return numberPlus.ReplaceAllStringFunc(text, MaskNumber)
}

func Digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}
