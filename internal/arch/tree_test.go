package arch_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the folder of the module, relative to this package.
const root = "../.."

const module = "weir"

// file is one Go file of the module.
type file struct {
	path    string // relative to the module, with slashes
	folder  string // "." is the module's root
	test    bool
	syntax  *ast.File
	imports []string
}

// tree holds all Go files of the module.
type tree struct {
	fset  *token.FileSet
	files []file
}

// load returns every Go file of the module.
func load(t *testing.T) tree {
	t.Helper()
	tr, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// parsed and listed read the module once for all tests, which change neither: parsing takes half a second.
var (
	parsed = sync.OnceValues(parse)
	listed = sync.OnceValues(list)
)

func parse() (tree, error) {
	tr := tree{fset: token.NewFileSet()}
	names, err := listed()
	if err != nil {
		return tr, err
	}
	for _, name := range names {
		if path.Ext(name) != ".go" {
			continue
		}
		f, err := parser.ParseFile(tr.fset, filepath.Join(root, name), nil, parser.ParseComments)
		if err != nil {
			return tr, err
		}
		one := file{
			path: name, folder: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), syntax: f,
		}
		for _, i := range f.Imports {
			one.imports = append(one.imports, strings.Trim(i.Path.Value, `"`))
		}
		tr.files = append(tr.files, one)
	}
	if len(tr.files) == 0 {
		return tr, errors.New("no Go files found")
	}
	return tr, nil
}

// packages lists the folders with Go files that are not tests.
func (tr tree) packages() []string {
	var out []string
	for _, f := range tr.files {
		if !f.test && !slices.Contains(out, f.folder) {
			out = append(out, f.folder)
		}
	}
	slices.Sort(out)
	return out
}

func (tr tree) position(n ast.Node) string {
	p := tr.fset.Position(n.Pos())
	rel, err := filepath.Rel(root, p.Filename)
	if err != nil {
		rel = p.Filename
	}
	p.Filename = filepath.ToSlash(rel)
	return p.String()
}

// texts lists every text file of the tree that people wrote.
func texts(t *testing.T) []string {
	t.Helper()
	out, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func list() ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && base != ".ci" && strings.HasPrefix(base, ".") || base == "bin" || base == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() && written(base) {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			out = append(out, filepath.ToSlash(rel))
		}
		return nil
	})
	return out, err
}

// written reports whether a file is text that people wrote, rather than a program's
// output.
func written(base string) bool {
	switch path.Ext(base) {
	case ".go", ".md", ".sql", ".yml", ".yaml", ".json", ".csv", ".txt", ".txtar", ".mod", ".sum", ".service", ".http", ".mjs":
		return true
	}
	return !strings.Contains(base, ".") || base == ".golangci.yml" || base == ".gitignore" || base == ".dockerignore" || base == ".npmrc"
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// selector reports whether e is pkg.name.
func selector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	return ok && id.Name == pkg
}
