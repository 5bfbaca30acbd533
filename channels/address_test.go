package channels_test

import (
	"regexp"
	"strings"
	"testing"

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
