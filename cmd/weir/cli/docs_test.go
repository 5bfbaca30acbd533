package cli_test

import (
	"os"
	"testing"

	"weir/cmd/weir/cli/app"
)

// The documentation of the commands matches the commands.
func TestDocumentationIsCurrent(t *testing.T) {
	t.Parallel()
	for what, file := range map[string]string{"man": "../../../docs/man/weir.1", "markdown": "../../../docs/cli.md"} {
		r := run(t, nil, "docs", what)
		if r.Code != app.OK || r.Err != "" {
			t.Fatalf("weir docs %s: %d %s", what, r.Code, r.Err)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != r.Out {
			t.Errorf("%s is stale, or not there; say: make man", file)
		}
	}
}
