package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
	executed := map[string][]string{}
	for _, s := range steps {
		executed[s.file] = append(executed[s.file], s.name)
	}
	for file, names := range executed {
		if class(file) == "" && !slices.Contains(files, file) {
			t.Errorf("%s is on the path of a contact (%s), but not in ARCHITECTURE.md; make house HOUSE=-v prints the path", file, strings.Join(names, ", "))
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

// documented returns the functions that the table names by file, and every file that the
// section links to.
func documented(text string) (rows map[string][]string, files []string) {
	_, section, _ := strings.Cut(text, "\n## The path of a contact")
	section, _, _ = strings.Cut(section, "\n## ")
	link, name := regexp.MustCompile(`\]\(([a-z_/]+\.go)\)`), regexp.MustCompile("`([A-Za-z]+)`")
	rows = map[string][]string{}
	for line := range strings.Lines(section) {
		found := link.FindAllStringSubmatch(line, -1)
		for _, m := range found {
			files = append(files, m[1])
		}
		if strings.HasPrefix(line, "|") && len(found) == 1 {
			for _, m := range name.FindAllStringSubmatch(strings.Split(line, "|")[2], -1) {
				rows[found[0][1]] = append(rows[found[0][1]], m[1])
			}
		}
	}
	return rows, files
}
