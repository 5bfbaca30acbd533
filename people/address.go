package people

import (
	"strings"

	"weir/internal/phonenumber"
)

// Canonical returns the one form of an address under which a person is known, whatever
// channel it comes from: a phone number as "tel:+E164", without a scheme before it and
// with or without its plus; anything else as "other:" and the address in lower case.
//
// Two countries have changed how providers write their mobile numbers: Mexico's +521 and
// Argentina's +549 are the numbers without that digit.
func Canonical(address string) string {
	text := strings.TrimSpace(address)
	if scheme, rest, ok := strings.Cut(text, ":"); ok {
		switch strings.ToLower(scheme) {
		case "tel", "sms", "whatsapp":
			text = strings.TrimPrefix(rest, "//")
		}
	}
	if isE164(text) {
		return "tel:" + today(text)
	}
	number, err := phonenumber.Normalize(today("+"+strings.TrimLeft(text, "+")), "")
	if err != nil {
		number, err = phonenumber.Normalize(text, "")
	}
	if err == nil {
		return "tel:" + today(number)
	}
	// Not a number that its country could have; still, it is the same with and without signs.
	if digits := "+" + withoutSigns(text); isE164(digits) {
		return "tel:" + today(digits)
	}
	return "other:" + strings.ToLower(strings.TrimSpace(address))
}

// National reports whether an address is a phone number as it is dialled within its country: it
// begins with 0 instead of a country code. [Canonical] takes it for an address of its own, so
// that what is recorded for it does not count for the person.
func National(address string) bool {
	digits := withoutSigns(strings.TrimSpace(address))
	return len(digits) >= 7 && digits[0] == '0' && strings.Trim(digits, "0123456789") == ""
}

// withoutSigns removes what people write between the digits of a number.
func withoutSigns(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("+ ()-./", r) {
			return -1
		}
		return r
	}, text)
}

// today returns a number in the form that its country uses today.
func today(number string) string {
	switch {
	case strings.HasPrefix(number, "+521") && len(number) == len("+5215512345678"):
		return "+52" + number[len("+521"):]
	case strings.HasPrefix(number, "+549") && len(number) == len("+5491123456789"):
		return "+54" + number[len("+549"):]
	}
	return number
}

// isE164 reports whether a text has the form of E.164. Such a number needs no library: it
// was normalized when the contact was accepted.
func isE164(text string) bool {
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

// Numbers returns the forms in which channels may know the number of a canonical address, as
// E.164; none: it is not a phone number.
func Numbers(canonical string) []string {
	number, ok := strings.CutPrefix(canonical, "tel:")
	if !ok {
		return nil
	}
	list := []string{number}
	for _, country := range []struct{ code, before string }{{"+52", "+521"}, {"+54", "+549"}} {
		if rest, ok := strings.CutPrefix(number, country.code); ok && len(rest) == len("5512345678") {
			list = append(list, country.before+rest)
		}
	}
	return list
}
