// Package phonenumber reads phone numbers as people type them, as programs export them and as
// gateways report them, and knows which notations of a number are those of one subscriber.
package phonenumber

import (
	"errors"
	"regexp"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// ReasonNoCountry is why a number without a country code is refused where no region says which one it is.
const ReasonNoCountry = "the phone number has no country code (+…) and no region is set"

// Errors of phone numbers. They must not contain the number.
var (
	errNoPhone      = errors.New("is missing")
	errScientific   = errors.New("the phone number is in scientific notation (5.2E+11), as spreadsheets write it; format the column as text")
	errRounded      = errors.New("the phone number has a fraction, as spreadsheets write it; format the column as text")
	errTwoNumbers   = errors.New("the phone number has a second one behind a slash; give one number")
	errPhoneChars   = errors.New("the phone number has characters other than digits, +, space, -, ., / and brackets")
	errNoCountry    = errors.New(ReasonNoCountry)
	errPhoneLength  = errors.New("the phone number is too short or too long for its country")
	errPhoneUnknown = errors.New("the phone number has an unknown country code or is not valid in its country")
)

// unknownRegion is the library's region of numbers that must have their country code.
const unknownRegion = "ZZ"

// signs are what people write in a phone number beside its digits.
const signs = "+ ().-/"

var scientific = regexp.MustCompile(`^[0-9]([.,][0-9]*)?[eE]\+?[0-9]+$`)

// KnownRegion reports whether a region has phone numbers.
func KnownRegion(region string) bool { return phonenumbers.GetSupportedRegions()[region] }

// Normalize converts a phone number to E.164, in the form that its country uses today. A number
// without a country code belongs to the region; 00 and a country code is read as +. A number
// has to be possible, not assigned: numbers are often drawn at random, and countries open new
// ranges.
func Normalize(raw, region string) (string, error) {
	text, err := Clean(raw)
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", errNoPhone
	case !Written(text):
		return "", errPhoneChars
	}
	if number, ok := International(text); ok {
		return number, nil
	}
	return parse(text, region)
}

// Written reports whether a text has only what a phone number is written with.
func Written(text string) bool {
	for i, r := range text {
		switch {
		case r == '+' && i > 0 && (i > 1 || text[0] != '('):
			return false
		case r < '0' || r > '9':
			if !strings.ContainsRune(signs, r) {
				return false
			}
		}
	}
	return true
}

// International returns the number that a text means which begins with 00 and a country code,
// as E.164; false: it does not.
func International(text string) (string, bool) {
	if !strings.HasPrefix(text, "00") {
		return "", false
	}
	number, err := parse("+"+text[len("00"):], "")
	return number, err == nil
}

// parse reads a clean text.
func parse(text, region string) (string, error) {
	if region == "" {
		region = unknownRegion
	}
	n, err := phonenumbers.Parse(text, region)
	switch {
	case errors.Is(err, phonenumbers.ErrInvalidCountryCode) && region == unknownRegion && !strings.ContainsRune(text, '+'):
		return "", errNoCountry
	case errors.Is(err, phonenumbers.ErrTooShortNSN), errors.Is(err, phonenumbers.ErrTooShortAfterIDD), errors.Is(err, phonenumbers.ErrNumTooLong):
		return "", errPhoneLength
	case err != nil:
		return "", errPhoneUnknown
	}
	number := today(phonenumbers.Format(n, phonenumbers.E164))
	// A number such as +81 0000… loses a zero each time it is parsed, and would become several respondents.
	again, err := phonenumbers.Parse(number, unknownRegion)
	switch {
	case err == nil && !phonenumbers.IsPossibleNumber(again):
		return "", errPhoneLength
	case err != nil || phonenumbers.Format(again, phonenumbers.E164) != number:
		return "", errPhoneUnknown
	}
	return number, nil
}

// Reported returns the number of a sender that a gateway reports, as E.164; false: the text is
// no phone number. In a region it is read as a number that is dialed there if it can be one, as
// [Normalize] reads it; otherwise it begins with its country code, with or without a plus. A
// scheme before it and parameters behind it do not count.
func Reported(text, region string) (number string, ok bool) {
	text = withoutScheme(strings.TrimSpace(strings.Map(plain, text)))
	for _, mark := range []string{";", "/TYPE=", "/type="} {
		text, _, _ = strings.Cut(text, mark)
	}
	text, err := Clean(text)
	if err != nil || text == "" || !Written(text) {
		return "", false
	}
	if region != "" {
		if number, err := Normalize(text, region); err == nil {
			return number, true
		}
	}
	if number, ok := International(text); ok {
		return number, true
	}
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
	for _, written := range []string{"+" + digits, text} {
		if number, err := parse(written, ""); err == nil {
			return number, true
		}
	}
	// Not a number that its country could have; still, it is the same with and without signs.
	return today("+" + digits), IsE164("+" + digits)
}

// Possible reports whether a number as E.164 is one that a country could have: its country code is
// known, and its length one of the country's. [Reported] knows others by their digits as well,
// because chats have ids, and countries change their plans.
func Possible(number string) bool {
	_, err := parse(number, "")
	return err == nil
}

// withoutScheme removes the scheme of a URI before a number.
func withoutScheme(text string) string {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok {
		return text
	}
	switch strings.ToLower(strings.TrimSpace(scheme)) {
	case "tel", "sms", "whatsapp":
		return strings.TrimPrefix(rest, "//")
	case "sip", "sips":
		rest, _, _ = strings.Cut(rest, "@")
		return rest
	}
	return text
}

// IsE164 reports whether a text has the form of E.164, with a plus and 7 to 15 digits.
func IsE164(text string) bool {
	if len(text) < len("+1234567") || len(text) > len("+123456789012345") || text[0] != '+' || text[1] == '0' {
		return false
	}
	for i := 1; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}
