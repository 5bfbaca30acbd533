package main

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Fields of a contact that are stored and shown and decide nothing, as code, database
// and JSON call them. A file with one of the labels is about contacts only if it names one
// of their other fields, too.
var (
	neverChanges = regexp.MustCompile(`^(Labels|labels)$`)
	ofContact    = regexp.MustCompile(`^(Messages|messages|NotAfter|not_after)$`)
	mayChange    = regexp.MustCompile(`^(HeardAt|heard_at|LastHeardAt|last_heard_at)$`)
)

// fieldFigures counts the files that a new field of a contact would touch.
func (t *tree) fieldFigures() []figure {
	never, may := t.fieldFiles()
	return []figure{
		atMost("files to edit for a new contact field that never changes", len(never), fieldEdits, never...),
		atMost("… that may change", len(may), fieldEdits, may...),
	}
}

// fieldFiles returns the files in which a field that never changes has to be named, and
// those for one that may change. Files of surveys and of the router are left out: there
// the words mean other things.
func (t *tree) fieldFiles() (never, may []string) {
	other := regexp.MustCompile(`survey|router|storetest|conformance|plantest|fill|migrations/`)
	for _, name := range t.written(".", "persistence", "web", "cmd/weir/cli") {
		if other.MatchString(name) {
			continue
		}
		said := t.said(name)
		has := func(r *regexp.Regexp) bool { return slices.ContainsFunc(said, r.MatchString) }
		first := has(neverChanges) && has(ofContact)
		if first {
			never = append(never, name)
		}
		if first || has(mayChange) {
			may = append(may, name)
		}
	}
	for _, name := range t.written("migrations") {
		if d := path.Dir(name); path.Ext(name) == ".sql" && !slices.Contains(never, d) {
			never, may = append(never, d), append(may, d)
		}
	}
	return never, may
}

// channelFigure counts the files that a new channel type would touch.
func (t *tree) channelFigure() figure {
	files := t.channelFiles()
	return atMost("files to edit for a new channel type", len(files), channelEdits, files...)
}

// channelFiles returns the files that mention every channel type that has a simulator,
// outside the folders and files that bear a type's name; measurements and the demonstration
// need no new type.
func (t *tree) channelFiles() (out []string) {
	var kinds []string
	for _, name := range t.written("channels") {
		if ok, _ := path.Match("channels/*/driver.go", name); ok && !strings.Contains(name, "workers") {
			kinds = append(kinds, path.Base(path.Dir(name)))
		}
	}
	for _, name := range t.written(".", "actors", "channels", "client", "cmd", "config", "web") {
		if slices.ContainsFunc(append(kinds, "/bench/", "/demo/"), func(k string) bool { return strings.Contains(name, k) }) {
			continue
		}
		named := func(kind string) bool {
			return slices.ContainsFunc(t.names(name), func(n string) bool { return strings.Contains(strings.ToLower(n), kind) })
		}
		if !slices.ContainsFunc(kinds, func(k string) bool { return !named(k) }) {
			out = append(out, name)
		}
	}
	return out
}

// names returns the names and the strings of one word or import path in a Go file, so that
// examples in help texts do not count; of other files, every word.
func (t *tree) names(file string) []string {
	if path.Ext(file) != ".go" {
		return t.said(file)
	}
	return slices.DeleteFunc(t.tokens(file), func(s string) bool { return strings.ContainsAny(s, " \n=.") })
}

// written returns the production files below some folders, "." alone being the root
// itself: Go code, templates and overlays.
func (t *tree) written(folders ...string) (out []string) {
	for _, folder := range folders {
		_ = filepath.WalkDir(filepath.Join(t.root, folder), func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(t.root, name)
			if err != nil {
				return err
			}
			if rel = filepath.ToSlash(rel); d.IsDir() {
				if folder == "." && rel != "." || d.Name() == "testdata" {
					return fs.SkipDir
				}
				return nil
			}
			switch path.Ext(rel) {
			case ".html", ".sql", ".yaml", ".tmpl":
				out = append(out, rel)
			case ".go":
				if slices.ContainsFunc(t.files, func(f *file) bool { return f.path == rel }) {
					out = append(out, rel)
				}
			}
			return nil
		})
	}
	return out
}

// said returns the words of a file: names, and those of strings; no comments.
func (t *tree) said(name string) []string {
	word := regexp.MustCompile(`\w+`)
	if path.Ext(name) == ".go" {
		return word.FindAllString(strings.Join(t.tokens(name), " "), -1)
	}
	text, err := os.ReadFile(filepath.Join(t.root, name)) //nolint:gosec // a file of the tree
	if err != nil {
		return nil
	}
	return word.FindAllString(string(text), -1)
}

// tokens returns the names and strings of a Go file.
func (t *tree) tokens(name string) (out []string) {
	syntax, err := t.syntax(name)
	if err != nil {
		return nil
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			out = append(out, n.Name)
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				out = append(out, strings.Trim(n.Value, "`\""))
			}
		}
		return true
	})
	return out
}
