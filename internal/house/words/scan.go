package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Finding is a phrase or a name that is to be written plainly.
type Finding struct {
	Path   string // relative to the root, with slashes
	Line   int
	Phrase string
	Text   string // the line or the name that contains it
}

// Scan returns all findings in a tree. Generated files, recorded data and this
// package, which quotes what it forbids, are left out.
func Scan(root string) ([]Finding, error) {
	var out []Finding
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if skipped(rel) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !written(rel) {
			return nil
		}
		text, err := os.ReadFile(name) //nolint:gosec // a file of the tree
		if err != nil {
			return err
		}
		found, err := file(rel, string(text))
		out = append(out, found...)
		return err
	})
	return out, err
}

func skipped(rel string) bool {
	base := path.Base(rel)
	return rel != "." && strings.HasPrefix(base, ".") || slices.Contains([]string{"bin", "node_modules", "testdata"}, base) || rel == "internal/house/words"
}

// written reports whether people wrote a file, in words.
func written(rel string) bool {
	switch rel {
	case "docs/cli.md", "docs/weirlab.md", "internal/arch/words_test.go", "go.mod", "go.sum", "LICENSE":
		return false
	}
	switch path.Ext(rel) {
	case ".go", ".md", ".sql", ".yml", ".yaml", ".html", ".js", ".mjs", ".css", ".service", ".conf", ".sh", ".http", ".toml", ".py":
		return true
	case ".json":
		return strings.HasPrefix(rel, "deploy/")
	}
	return !strings.Contains(path.Base(rel), ".")
}

// file returns the findings in one file.
func file(rel, text string) ([]Finding, error) {
	if path.Ext(rel) != ".go" {
		return lines(rel, 1, text), nil
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, rel, text, parser.ParseComments)
	if err != nil || ast.IsGenerated(f) {
		return nil, err
	}
	var out []Finding
	for _, group := range f.Comments {
		out = append(out, lines(rel, set.Position(group.Pos()).Line, group.Text())...)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
			if value, err := strconv.Unquote(s.Value); err == nil && strings.Contains(value, " ") {
				out = append(out, lines(rel, set.Position(s.Pos()).Line, value)...)
			}
		}
		for _, name := range declared(n) {
			if p := InName(name.Name); p != "" && !(ordinary(p) && strings.HasSuffix(rel, "_test.go")) {
				out = append(out, Finding{rel, set.Position(name.Pos()).Line, p, name.Name})
			}
		}
		return true
	})
	return out, nil
}

func lines(rel string, first int, text string) (out []Finding) {
	for i, line := range strings.Split(text, "\n") {
		for _, p := range inProse(line) {
			out = append(out, Finding{rel, first + i, p, strings.TrimSpace(line)})
		}
	}
	return out
}

// declared returns the names that a node declares.
func declared(n ast.Node) []*ast.Ident {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.ValueSpec:
		return n.Names
	case *ast.Field:
		return n.Names
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return idents(n.Lhs)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			return idents([]ast.Expr{n.Key, n.Value})
		}
	}
	return nil
}

func idents(list []ast.Expr) (out []*ast.Ident) {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); ok {
			out = append(out, id)
		}
	}
	return out
}
