package channels

import "errors"

// MaxAddress is the max length of an address of any type, of visible ASCII
// characters.
const MaxAddress = 255

var errPhoneNumber = errors.New("must be a number as in E.164 (an optional + and 3 to 15 digits, nothing else)")

// PhoneNumber is the form of addresses unless a type has its own: an optional plus
// and 3 to 15 digits, kept as given.
func PhoneNumber(to string) (string, error) {
	digits := to
	if to != "" && to[0] == '+' {
		digits = to[1:]
	}
	if len(digits) < 3 || len(digits) > 15 {
		return "", errPhoneNumber
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return "", errPhoneNumber
		}
	}
	return to, nil
}

// CanonicalAddress returns the canonical form of an address on channels of this type,
// or an error that states what is allowed.
func (t *Type) CanonicalAddress(to string) (string, error) {
	if t.Address == nil {
		return PhoneNumber(to)
	}
	return t.Address(to)
}
