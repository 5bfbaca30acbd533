package client_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGeneratedClient_IsCurrent checks that client.gen.go is the unedited
// output of the generator for the present description, configuration and templates.
// The generator is not a dependency of Weir, so the test compares the checksums of
// its inputs and its output.
func TestGeneratedClient_IsCurrent(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("generate/sums.txt")
	if err != nil {
		t.Fatal(err)
	}
	var summed []string
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		content, err := os.ReadFile(filepath.Join("..", name))
		if !ok || err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		summed = append(summed, name)
		if now := sha256.Sum256(content); hex.EncodeToString(now[:]) != sum {
			t.Errorf("%s has changed since client.gen.go was generated; make generate", name)
		}
	}
	want := []string{"docs/openapi.json", "client/client.gen.go"}
	for _, pattern := range []string{"generate/*.yaml", "generate/templates/*"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			want = append(want, "client/"+filepath.ToSlash(name))
		}
	}
	for _, name := range want {
		if !slices.Contains(summed, name) {
			t.Errorf("%s has no sum; make generate", name)
		}
	}
}
