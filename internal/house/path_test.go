package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The path of a contact in ARCHITECTURE.md is the code that a contact executes: every
// file of it is in the table, in the list below the table, or in a class; every file and
// function that the page names is executed.
func TestPathOfAContact(t *testing.T) {
	t.Parallel()
	const root = "../.."
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, files := documented(string(text))
	if len(rows) == 0 || len(rows) > spineFiles {
		t.Errorf("the table has %d files; want 1 to %d", len(rows), spineFiles)
	}
	tr, err := load(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := tr.trace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	onPath, executed := map[string][]string{}, map[string][]string{}
	for _, s := range steps.path {
		onPath[s.file] = append(onPath[s.file], s.name)
	}
	for _, s := range steps.touched { // a busy machine blurs what the broker does by itself
		executed[s.file] = append(executed[s.file], s.name)
	}
	for file, names := range onPath {
		if class(file) == "" && !slices.Contains(files, file) {
			t.Errorf("%s is on the path of a contact (%s), but not in ARCHITECTURE.md; make path lists it", file, strings.Join(names, ", "))
		}
	}
	for _, file := range files {
		if executed[file] == nil {
			t.Errorf("ARCHITECTURE.md names %s, which no contact executes", file)
		}
	}
	for file, names := range rows {
		for _, name := range names {
			if !slices.Contains(executed[file], name) {
				t.Errorf("ARCHITECTURE.md names %s in %s, which no contact executes", name, file)
			}
		}
	}
}

func TestTheRestOfThePathIsListedByFolder(t *testing.T) {
	t.Parallel()
	steps := []step{{"b/y.go", "f", 1, 2}, {"a/x.go", "g", 1, 2}, {"b/y.go", "h", 3, 4}, {"b/z.go", "f", 1, 2}, {"web/wire/body.go", "f", 1, 2}, {"id.go", "f", 1, 2}, {"a/row.go", "f", 1, 2}}
	rows := map[string][]string{"a/row.go": nil}
	want := "- the root: id.go\n- `a`: x.go\n- `b`: y.go, z.go\n"
	got := beside(steps, rows)
	if got != want {
		t.Errorf("%s; want\n%s", got, want)
	}
	table := "\n## The path of a contact\n| step | file | functions | what |\n|---|---|---|---|\n| | [row.go](a/row.go) | `f`, `g` | `h` |\n" + got + "\n## Flows\n| | [no.go](no.go) | `f` | |\n"
	rows, files := documented(table)
	if diff := cmp.Diff(map[string][]string{"a/row.go": {"f", "g"}}, rows); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a/row.go", "id.go", "a/x.go", "b/y.go", "b/z.go"}, files); diff != "" {
		t.Error(diff)
	}
}
