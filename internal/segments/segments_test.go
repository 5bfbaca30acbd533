package segments

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSegments_AreCountedByAlphabetAndLength(t *testing.T) {
	t.Parallel()
	a, e, z := func(n int) string { return strings.Repeat("a", n) }, func(n int) string { return strings.Repeat("ê", n) }, func(n int) string { return strings.Repeat("😀", n) }
	for text, want := range map[string]Size{
		"":                      {GSM7, 0, 1},
		"Héllo @£$¥ÄÖÑÜ§¿_\r\n": {GSM7, 19, 1},
		a(160):                  {GSM7, 160, 1},
		a(161):                  {GSM7, 161, 2},
		a(306):                  {GSM7, 306, 2},
		a(307):                  {GSM7, 307, 3},
		a(459):                  {GSM7, 459, 3},
		a(460):                  {GSM7, 460, 4},
		a(158) + "€":            {GSM7, 160, 1},
		a(159) + "€":            {GSM7, 161, 2},
		"^{}\\[~]|€\f":          {GSM7, 20, 1},
		// The escape would be the 153rd septet: the pair goes to the next segment.
		a(152) + "€" + a(151): {GSM7, 305, 2},
		a(152) + "€" + a(152): {GSM7, 306, 3},
		"`":                   {UCS2, 1, 1},
		"\t":                  {UCS2, 1, 1},
		"\x00":                {UCS2, 1, 1},
		"\x7f":                {UCS2, 1, 1},
		"ç":                   {UCS2, 1, 1}, // unlike Ç
		"\xff":                {UCS2, 1, 1}, // becomes U+FFFD
		e(70):                 {UCS2, 70, 1},
		e(71):                 {UCS2, 71, 2},
		e(134):                {UCS2, 134, 2},
		e(135):                {UCS2, 135, 3},
		a(69) + "ê":           {UCS2, 70, 1},
		a(160) + "ê":          {UCS2, 161, 3},
		z(35):                 {UCS2, 70, 1},
		z(36):                 {UCS2, 72, 2},
		z(66):                 {UCS2, 132, 2}, // 33 in each, and a unit is left
		z(67):                 {UCS2, 134, 3},
	} {
		if got := Count(text); got != want {
			t.Errorf("%.20q (%d bytes): %+v, want %+v", text, len(text), got, want)
		}
	}
}

func TestSegments_TotalSumsAllTexts(t *testing.T) {
	t.Parallel()
	if n := Total([]string{"a", strings.Repeat("ê", 71), ""}); n != 4 {
		t.Errorf("%d segments", n)
	}
}

// TestSegments_AlphabetHas128Codes: the table has 128 codes, the escape is no character, and ASCII has
// its share.
func TestSegments_AlphabetHas128Codes(t *testing.T) {
	t.Parallel()
	one, two := 0, 0
	for r := range rune(0x10000) {
		switch septetsOf(r) {
		case 1:
			one++
		case 2:
			two++
		}
	}
	if one != 127 || two != 10 {
		t.Errorf("%d characters of one septet and %d of two, want 127 and 10", one, two)
	}
}

// TestSegments_MoreTextIsNotLess: no text has fewer segments than its beginning or its
// units take, nor more than one of 152 septets or 66 units for each.
func TestSegments_MoreTextIsNotLess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.SliceOf(rapid.SampledFrom([]rune("aé€^ê😀"))).Draw(t, "text")
		text := string(runes)
		s := Count(text)
		if s.Segments < Count(string(runes[:len(runes)/2])).Segments {
			t.Fatalf("%q is smaller than its half", text)
		}
		single, each := 160, 153
		if s.Encoding == UCS2 {
			single, each = 70, 67
		}
		least, most := (s.Units+each-1)/each, (s.Units+each-2)/(each-1)
		if s.Units <= single {
			least, most = 1, 1
		}
		if s.Segments < least || s.Segments > most {
			t.Fatalf("%+v, want %d to %d segments", s, least, most)
		}
	})
}
