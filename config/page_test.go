package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/config"
)

// The table of variables in the documentation matches the code; make docs writes it.
func TestPage_HasTheTableOfVariables(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(page), "<!-- config:begin -->\n")
	table, _, ends := strings.Cut(rest, "<!-- config:end -->")
	if !begins || !ends {
		t.Fatal("docs/configuration.md lacks the markers <!-- config:begin --> and <!-- config:end -->")
	}
	var want strings.Builder
	if err := config.Markdown(&want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), table); diff != "" {
		t.Errorf("docs/configuration.md is out of date; run make docs\n%s", diff)
	}
}
