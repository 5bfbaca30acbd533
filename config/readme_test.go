package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/config"
)

// The README's table of variables is the one that the code gives; make docs
// writes it there.
func TestReadmeHasTheTableOfVariables(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(readme), "<!-- config:begin -->\n")
	table, _, ends := strings.Cut(rest, "<!-- config:end -->")
	if !begins || !ends {
		t.Fatal("README.md lacks the markers <!-- config:begin --> and <!-- config:end -->")
	}
	var want strings.Builder
	if err := config.Markdown(&want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), table); diff != "" {
		t.Errorf("README.md is out of date; run make docs\n%s", diff)
	}
}
