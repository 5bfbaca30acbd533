package channels_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"

	"weir/channels"
	"weir/internal/phonenumber"
)

func TestAddress_AcceptsPhoneNumbersOnly(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^\+?[1-9][0-9]{2,14}$`)
	rapid.Check(t, func(t *rapid.T) {
		to := rapid.OneOf(rapid.StringMatching(`\+?[0-9]{2,16}`), rapid.StringMatching(`[+0-9 a\n]{0,5}`), rapid.String()).Draw(t, "to")
		typ := channels.Type{}
		if clean, err := phonenumber.Clean(to); err != nil || clean != to { // see the tests of phonenumber
			want, wrong := typ.CanonicalAddress(clean, "")
			if got, refused := typ.CanonicalAddress(to, ""); got != want || (refused == nil) != (err == nil && wrong == nil) {
				t.Fatalf("%q: %q %v, and clean %q: %q %v", to, got, refused, clean, want, wrong)
			}
			return
		}
		got, err := typ.CanonicalAddress(to, "")
		if channels.WrittenNumber(to) || strings.HasPrefix(to, "00") {
			if err == nil && !form.MatchString(got) {
				t.Fatalf("%q became %q", to, got)
			}
			return
		}
		if valid := form.MatchString(to) && to[len(to)-1] != '\n'; valid != (err == nil) || valid && got != to {
			t.Fatalf("%q: %q %v", to, got, err)
		}
	})
}

// A sender is read as `to` of a contact is, in every region: what a gateway reports of a person leads
// to the address that a contact over the channel has.
func TestSender_IsReadAsToIs(t *testing.T) {
	t.Parallel()
	typ, judged := channels.Type{}, 0
	for region := range phonenumbers.GetSupportedRegions() {
		for _, kind := range []phonenumbers.PhoneNumberType{phonenumbers.MOBILE, phonenumbers.FIXED_LINE} {
			n := phonenumbers.GetExampleNumberForType(region, kind)
			if n == nil {
				continue
			}
			national, code := phonenumbers.GetNationalSignificantNumber(n), fmt.Sprint(n.GetCountryCode())
			for _, form := range []string{
				national, phonenumbers.Format(n, phonenumbers.NATIONAL), phonenumbers.Format(n, phonenumbers.INTERNATIONAL), "+" + code + national, code + national, "00" + code + national, "0" + national,
			} {
				for _, at := range []string{region, "KE"} { // at home, and a guest
					to, err := typ.CanonicalAddress(form, at)
					if err != nil {
						continue
					}
					judged++
					for _, from := range []string{form, "\u200etel:" + form + ";phone-context=x"} {
						if got := typ.Sender(from, at); got != to {
							t.Errorf("a message of %q on a channel of %s is from %s, and a contact to %q goes to %s", from, at, got, form, to)
						}
					}
				}
			}
		}
	}
	if judged < 3000 {
		t.Errorf("only %d numbers were judged", judged)
	}
	for region, number := range map[string]string{"US": "2025550123", "MX": "5512345678", "IN": "09812345678", "ES": "612345678", "KE": "0722123456"} {
		if to, err := typ.CanonicalAddress(number, region); err != nil || typ.Sender(number, region) != to || to[0] != '+' {
			t.Errorf("%s in %s: %s %v, and from %s", number, region, to, err, typ.Sender(number, region))
		}
	}
}
