package digest

import (
	"crypto/sha256"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A message of one person must never be taken for that of another one, whatever bytes a gateway passes on.
func TestOf_DifferentTextsDiffer(t *testing.T) {
	t.Parallel()
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xff, 'a'}), 0, 4), func(b []byte) string { return string(b) })
	list := rapid.SliceOfN(text, 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		if (Of(a...) == Of(b...)) != slices.Equal(a, b) {
			t.Fatalf("%q and %q: equal digests are %v", a, b, Of(a...) == Of(b...))
		}
	})
}

// What is stored by earlier versions is found again.
func TestOf_PlainTextsAreHashedAsTheyAre(t *testing.T) {
	t.Parallel()
	if Of("id", "+254700000001", "Sí") != sha256.Sum256([]byte("id\x00+254700000001\x00Sí")) {
		t.Error("the digest of plain texts has changed")
	}
}
