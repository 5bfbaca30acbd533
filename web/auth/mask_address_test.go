package auth_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/web/auth"
)

// An address of another kind is masked whole, and a number within it by itself.
func TestMask_HidesAddressesOfAnyKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, address, want string }{
		{"to whatsapp:+15550001234 now", "whatsapp:+15550001234", "to ***34 now"},
		{"wa-15550001234", "whatsapp:+15550001234", "wa-***34"},
		{"key of ann@example.org", "ann@example.org", "key of ***rg"},
		{"chat 7654321", "chat:7654321", "chat ***21"},
		{"250608400856100864 a100b 100, from +100 (1001)", "100", "250608400856100864 a100b ***00, from +***00 (1001)"},
		{"nothing of it", "chat:7654321", "nothing of it"},
	} {
		if got := auth.MaskOwn(c.text, c.address); got != c.want {
			t.Errorf("%s in %q: %q, want %q", c.address, c.text, got, c.want)
		}
	}
}

// Values are masked as the patterns of a number say.
func TestMask_AgreesWithPatterns(t *testing.T) {
	t.Parallel()
	number, plus := regexp.MustCompile(`^\+?[0-9]{7,15}$`), regexp.MustCompile(`\+[0-9]{7,15}`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`\+?([0-9]{6,8}|[0-9]{14,16})|[+x]{0,2}([0-9]{5,17}|[ +.T-]|[0-9]{1,4}){0,5}\n?`).Draw(t, "text")
		want := plus.ReplaceAllStringFunc(text, auth.MaskNumber)
		if number.MatchString(text) {
			want = auth.MaskNumber(text)
		}
		if got := auth.MaskValue(text); got != want {
			t.Fatalf("value %q: %q, want %q", text, got, want)
		}
		// The last seven digits of a number must not stay in a number of the text.
		own := rapid.StringMatching(`[+]?[0-9]{7,15}`).Draw(t, "own")
		last := own[len(own)-7:]
		written := text + " " + last[:3] + rapid.SampledFrom([]string{"", "-", " ", "."}).Draw(t, "separator") + last[3:]
		for _, found := range regexp.MustCompile(`[0-9](?:[ ().\-/]{0,2}[0-9]){6,}`).FindAllString(auth.MaskOwn(written, own), -1) {
			if strings.Contains(auth.Digits(found), last) {
				t.Fatalf("number %q in %q: %q stays", own, written, found)
			}
		}
	})
}
