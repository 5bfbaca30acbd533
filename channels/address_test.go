package channels_test

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"weir/channels"
)

func TestAddress_AcceptsPhoneNumbersOnly(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^\+?[1-9][0-9]{2,14}$`)
	rapid.Check(t, func(t *rapid.T) {
		to := rapid.OneOf(rapid.StringMatching(`\+?[0-9]{2,16}`), rapid.StringMatching(`[+0-9 a\n]{0,5}`), rapid.String()).Draw(t, "to")
		typ := channels.Type{}
		got, err := typ.CanonicalAddress(to, "")
		if channels.WrittenNumber(to) {
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
