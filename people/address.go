package people

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"weir/internal/phonenumber"
)

// scheme begins the canonical address of a phone number.
const scheme = "tel:"

// Canonical returns the one form of an address under which a person is known, whatever
// channel, file or gateway it comes from: a phone number as "tel:+E164", in the form of
// [phonenumber.Identity]; anything else as "other:" and the address in lower case. A number
// without a plus begins with its country code.
func Canonical(address string) string { return CanonicalIn(address, "") }

// CanonicalIn is [Canonical] for an address that may be written as it is dialed in a region.
func CanonicalIn(address, region string) string {
	if phonenumber.IsE164(address) { // most are: they were normalized when the contact was accepted
		return scheme + phonenumber.Identity(address)
	}
	if number, ok := phonenumber.Reported(address, region); ok {
		return scheme + phonenumber.Identity(number)
	}
	if clean, err := phonenumber.Clean(address); err == nil {
		address = clean
	}
	return "other:" + strings.ToLower(strings.TrimSpace(address))
}

// IsNumber reports whether a canonical address is that of a phone number.
func IsNumber(canonical string) bool { return strings.HasPrefix(canonical, scheme) }

// IsPossibleNumber reports whether a canonical address is that of a phone number which its country
// could have. A refusal for another one counts only for contacts to the very same digits, such as
// the id of a chat, or those of a channel without a region.
func IsPossibleNumber(canonical string) bool {
	number, ok := strings.CutPrefix(canonical, scheme)
	return ok && phonenumber.Possible(number)
}

// Numbers returns the notations in which channels, surveys and former versions may know the
// number of a canonical address, as E.164; none: it is not a phone number.
func Numbers(canonical string) []string {
	number, ok := strings.CutPrefix(canonical, scheme)
	if !ok {
		return nil
	}
	return phonenumber.Notations(number)
}

// Aliases returns the canonical addresses under which what a person has said may be recorded:
// the address itself, and for a number that its country has changed those of the old numbers,
// which were other addresses before Weir knew of the change.
func Aliases(canonical string) []string {
	numbers := Numbers(canonical)
	if len(numbers) < 2 {
		return []string{canonical}
	}
	for i := range numbers {
		numbers[i] = scheme + numbers[i]
	}
	return numbers
}

// National reports whether an address is a phone number as it is dialed within its country: it
// begins with 0 instead of a country code. [Canonical] takes it for an address of its own, so
// that what is recorded for it does not count for the person.
func National(address string) bool { return errors.Is(CheckAddress(address), errNational) }

var (
	errNational = errors.New("has no country code, because it begins with 0: write it with + and the country code")
	errNoNumber = errors.New("looks like a phone number and is none: write it with + and the country code")
)

// CheckAddress returns an error for an address that looks like a phone number and is none: a
// consent for it could never apply to a contact.
func CheckAddress(address string) error {
	canonical := Canonical(address)
	if IsNumber(canonical) {
		return nil
	}
	text, err := phonenumber.Clean(address)
	if err != nil {
		return err
	}
	digits, strange, other := 0, rune(0), false
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case unicode.IsLetter(r) || r == '@' || r == '_':
			other = true
		case strange == 0 && !strings.ContainsRune("+ ().-/", r):
			strange = r
		}
	}
	switch {
	case other || digits < minDigits:
		return nil
	case strange != 0:
		return fmt.Errorf("has a sign that no phone number has: %q (U+%04X)", strange, strange)
	case strings.HasPrefix(strings.TrimLeft(text, "( "), "0"):
		return errNational
	}
	return errNoNumber
}

// minDigits is the least number of digits of a text that looks like a phone number.
const minDigits = 7
