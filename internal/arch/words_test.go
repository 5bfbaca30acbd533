package arch_test

import (
	"slices"
	"strings"
	"testing"

	"weir/internal/house/words"
)

// unwritten lists the folders and files that still hold words and phrases of the old
// language, in them or below. What is clean leaves this list for good.
func unwritten() []string {
	return []string{
		"surveys",
	}
}

func TestSentencesAreReadOnce(t *testing.T) {
	t.Parallel()
	found, err := words.Scan(root)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, f := range found {
		i := slices.IndexFunc(unwritten(), func(folder string) bool { return f.Path == folder || strings.HasPrefix(f.Path, folder+"/") })
		if i >= 0 {
			left[unwritten()[i]] = true
		} else {
			t.Errorf("%s:%d: %q in %q: say it in a plain sentence, with a standard term", f.Path, f.Line, f.Phrase, f.Text)
		}
	}
	for _, folder := range unwritten() {
		if !left[folder] {
			t.Logf("%s is clean: remove it from the list", folder)
		}
	}
}
