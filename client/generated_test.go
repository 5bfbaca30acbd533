package client_test

import (
	"crypto/sha256"
	"encoding/hex"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"iter"
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

// TestGeneratedClient_HasBodiesOfPackageAPI: what package api has is not made again from the description,
// and all that is said to be there is.
func TestGeneratedClient_HasBodiesOfPackageAPI(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../api/*.go")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	bodies := map[string]bool{}
	for _, name := range names {
		for spec := range typesOf(t, name) {
			bodies[spec.Name.Name] = true
		}
	}
	seen := 0
	for spec := range typesOf(t, "client.gen.go") {
		if name := spec.Name.Name; bodies[name] {
			if seen++; !spec.Assign.IsValid() {
				t.Errorf("package api has %s, and client.gen.go a type of its own: take it from the exceptions in generate/overlay.yaml", name)
			}
		}
	}
	if seen == 0 {
		t.Error("the client has no body of package api")
	}
}

// typesOf returns the types that a file declares.
func typesOf(t *testing.T, name string) iter.Seq[*ast.TypeSpec] {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(*ast.TypeSpec) bool) {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == gotoken.TYPE {
				for _, s := range g.Specs {
					if spec, ok := s.(*ast.TypeSpec); ok && !yield(spec) {
						return
					}
				}
			}
		}
	}
}
