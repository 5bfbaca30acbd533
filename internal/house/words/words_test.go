package words

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPhrasesAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"InFlight tells whether a contact holds slots.": "tells whether", "the others, those that wait": "those that", "Nobody waits for it.": "Nobody",
		"handed over to the provider": "handed over", "a limit of which there are two": "of which",
		"InFlight reports whether a contact holds slots.": "", "somebodys": "", "a word offered": "", "the password of it": "",
	} {
		if got := InProse(text); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}

func TestCoinedNamesAreFound(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"newSeat": "seat", "seats": "seats", "mostLines": "most…", "MostPage": "most…", "leastKey": "least…", "LoseSight": "lose sight", "HandedOver": "handed over",
		"WhyAside": "aside", "TestNobodyWaits": "nobody", "TestScenario66_HandOverOnDeath": "hand over", "HTTPSeat": "seat",
		"atMost": "", "AtLeastOnce": "", "most": "", "handler": "", "inDoubt": "", "TestLibraries": "", "HTTPServer": "", "seating": "",
	} {
		if got := InName(name); got != want {
			t.Errorf("%s: %q; want %q", name, got, want)
		}
	}
}

func TestAFileIsReadWhole(t *testing.T) {
	t.Parallel()
	found, err := file("a/a.go", `// Package a is what it is.
package a

// Nobody reads it.
type seat struct {
	Name string `+"`doc:\"those that wait\"`"+`
}

func f(crew int) error {
	linger := "it was told"
	return g(linger)
}
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		got = append(got, f.Phrase)
	}
	if diff := cmp.Diff([]string{"is what", "Nobody", "seat", "those that", "crew", "linger", "was told"}, got); diff != "" {
		t.Error(diff)
	}
}
