package auth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/web/auth"
)

func TestMask_MasksNumbersInTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		"call me":                       "call me",
		"I am 34, 180 cm, from 12345":   "I am 34, 180 cm, from 12345",
		"call +1 (555) 999-8877 please": "call ***77 please",
		"15559998877":                   "***77",
		"0155.5999.88":                  "***88",
		"a 5559998 b 5559997":           "a ***98 b ***97",
		"call ＋１５５５ ９９９ ８８７７":    "call ***７７",
		"اتصل ٠١٥٥٥٩٩٩٨٨٧٧ الآن": "اتصل ***٧٧ الآن",
	} {
		if got := auth.MaskText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for value, want := range map[string]string{
		"+15559998877": "***77", "15559998877": "***77", "north": "north", "34": "34", "123456": "123456",
		"2026-03-01T12:00:00Z": "2026-03-01T12:00:00Z", "1-hq3k9": "1-hq3k9", "tel:+15559998877;x": "tel:***77;x",
		"１５５５９９９８８７７": "***７７", "+٠١٥٥٥٩٩٩٨٨٧٧": "***٧٧", "٣٤": "٣٤",
		"3f2504e0-4f89-11d3-9a0c-0305e82c3301": "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
	} {
		if got := auth.MaskValue(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

func TestMaskValues_KeepsMaskedNamesApart(t *testing.T) {
	t.Parallel()
	got := auth.MaskValues(map[string]string{"+12125550177": "a", "12125550277": "b", "＋２１２５５５０３７７": "c", "555 999-8877": "d", "***77": "e", "age": "٣٤"}, "+15559998877")
	want := map[string]string{"***77": "e", "***77′": "a", "***77′′": "b", "***77′′′": "d", "***７７": "c", "age": "٣٤"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// One person's own number is masked in the digits of other scripts, too.
func TestMaskOwn_MasksDigitsOfOtherScripts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`[1-9][0-9]{7,14}`).Draw(t, "number")
		zero := rapid.SampledFrom([]rune{'０', '٠', '۰', '०', '𝟎', '𝟘'}).Draw(t, "zero")
		written := strings.Map(func(r rune) rune { return zero + r - '0' }, number)
		for _, masked := range []string{auth.MaskOwn("k-"+written, "+"+number), auth.MaskValue(written), auth.MaskText("at " + written)} {
			if strings.Contains(masked, written) || auth.Digits(masked) != number[len(number)-2:] {
				t.Fatalf("%q became %q", written, masked)
			}
		}
	})
}

// No number with a plus remains in any text.
func TestMask_NoNumberSurvives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := "+" + rapid.StringMatching(`[1-9][0-9]{7,14}`).Draw(t, "number")
		text := rapid.String().Draw(t, "before") + number + rapid.String().Draw(t, "after")
		for _, masked := range []string{auth.MaskText(text), auth.MaskValue(text)} {
			if strings.Contains(masked, number[1:]) {
				t.Fatalf("%q became %q", text, masked)
			}
		}
	})
}
