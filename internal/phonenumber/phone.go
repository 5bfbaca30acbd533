// Package phonenumber reads phone numbers as people write them.
package phonenumber

import (
	"errors"
	"regexp"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
)

// Errors of phone numbers. They must not contain the number.
var (
	errNoPhone      = errors.New("the phone number is missing")
	errScientific   = errors.New("the phone number is in scientific notation (5.2E+11), as spreadsheets write it; format the column as text")
	errPhoneChars   = errors.New("the phone number has characters other than digits, +, space, -, ., / and brackets")
	errNoCountry    = errors.New("the phone number has no country code (+…) and no region is set")
	errPhoneLength  = errors.New("the phone number is too short or too long for its country")
	errPhoneUnknown = errors.New("the phone number has an unknown country code or is not valid in its country")
)

var scientific = regexp.MustCompile(`^[0-9]([.,][0-9]*)?[eE]\+?[0-9]+$`)

// Rounded reports whether a text is a number that a spreadsheet has rounded, such as 5.2E+11.
func Rounded(text string) bool { return scientific.MatchString(text) }

// KnownRegion reports whether a region has phone numbers.
func KnownRegion(region string) bool { return phonenumbers.GetSupportedRegions()[region] }

// Normalize converts a phone number to E.164. A number without a country code
// belongs to the region. A number has to be possible, not assigned: numbers are
// often drawn at random, and countries open new ranges.
func Normalize(raw, region string) (string, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return "", errNoPhone
	}
	if scientific.MatchString(raw) {
		return "", errScientific
	}
	for i, r := range raw {
		switch {
		case unicode.IsDigit(r), unicode.IsSpace(r), strings.ContainsRune("()-./\u2011\u2013", r):
		case r == '+' && (i == 0 || raw[0] == '('):
		default:
			return "", errPhoneChars
		}
	}
	if region == "" {
		region = "ZZ" // the library's unknown region
	}
	n, err := phonenumbers.Parse(raw, region)
	switch {
	case errors.Is(err, phonenumbers.ErrInvalidCountryCode) && region == "ZZ" && !strings.ContainsRune(raw, '+'):
		return "", errNoCountry
	case errors.Is(err, phonenumbers.ErrTooShortNSN), errors.Is(err, phonenumbers.ErrTooShortAfterIDD), errors.Is(err, phonenumbers.ErrNumTooLong):
		return "", errPhoneLength
	case err != nil:
		return "", errPhoneUnknown
	case !phonenumbers.IsPossibleNumber(n):
		return "", errPhoneLength
	}
	text := phonenumbers.Format(n, phonenumbers.E164)
	// A number such as +81 0000… loses a zero each time it is parsed, and would become several respondents.
	if again, err := phonenumbers.Parse(text, "ZZ"); err != nil || phonenumbers.Format(again, phonenumbers.E164) != text {
		return "", errPhoneUnknown
	}
	return text, nil
}
