package arch_test

import (
	"testing"

	"weir/internal/house/words"
)

func TestSentencesAreReadOnce(t *testing.T) {
	t.Parallel()
	found, err := words.Scan(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Errorf("%s:%d: %q in %q: say it in a plain sentence, with a standard term", f.Path, f.Line, f.Phrase, f.Text)
	}
}
