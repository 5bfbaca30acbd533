package compat_test

import (
	"os"
	"testing"

	"weir/internal/compat"
)

// TestNoClientBreaks: clients of the last release still work. An intended breaking
// change follows "A breaking change of the API" in CONTRIBUTING.md.
func TestNoClientBreaks(t *testing.T) {
	t.Parallel()
	var texts [2][]byte
	for i, name := range []string{"../../docs/openapi-baseline.json", "../../docs/openapi.json"} {
		var err error
		if texts[i], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	found, err := compat.Breaks(texts[0], texts[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range found {
		t.Errorf("this breaks clients of the last release: %s", b)
	}
}
