package values

import (
	"strings"
	"testing"
)

func TestClip(t *testing.T) {
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

func FuzzAppendText(f *testing.F) {
	f.Add("plain")
	f.Add("quote\" back\\ ü \x00 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := string(AppendText(nil, text))
		if len(got) < 2 || got[0] != '"' || got[len(got)-1] != '"' || strings.ContainsAny(got, "\n\x00") {
			t.Errorf("%q becomes %s", text, got)
		}
	})
}
