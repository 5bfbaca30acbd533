package columns

import (
	"strings"
	"testing"
)

func TestClip_KeepsWholeCharacters(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                       "",
		"ü\xff":                  "ü�",
		strings.Repeat("ü", 600): strings.Repeat("ü", maxText),
		strings.Repeat("ü", 400): strings.Repeat("ü", 400),
	} {
		if got := Clip(in); got != want {
			t.Errorf("clip of %d bytes has %d bytes, want %d", len(in), len(got), len(want))
		}
	}
}
