package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const module = "weir"

// tree is the module: every Go file that is neither a test nor generated, and the
// packages of this platform with their types.
type tree struct {
	root     string
	fset     *token.FileSet
	files    []*file
	packages []*pkg
}

// file is one file of production code, or of test support.
type file struct {
	path    string // relative to the module, with slashes
	folder  string // "." is the module's root
	lines   int
	comment int // lines that hold nothing but a comment
	syntax  *ast.File
}

// pkg is a type-checked package of this platform.
type pkg struct {
	folder string
	files  []*file
	types  *types.Package
	info   *types.Info
	weir   bool // compiled into the program weir, which excludes the laboratory
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
	DepOnly                 bool
}

// load reads the module in a folder. The go command supplies the types of imported
// packages from its build cache.
func load(ctx context.Context, root string) (*tree, error) {
	t := &tree{root: root, fset: token.NewFileSet()}
	if err := t.parse(); err != nil {
		return nil, err
	}
	all, err := list(ctx, root)
	if err != nil {
		return nil, err
	}
	inWeir := reached(all, module+"/cmd/weir")
	imports := importer.ForCompiler(t.fset, "gc", func(name string) (io.ReadCloser, error) {
		return os.Open(all[name].Export)
	})
	for name, l := range all {
		folder, ours := within(name)
		if !ours {
			continue
		}
		p := &pkg{folder: folder, weir: inWeir[name], info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		}}
		var syntax []*ast.File
		for _, f := range t.files {
			if f.folder == folder && slices.Contains(l.GoFiles, path.Base(f.path)) {
				p.files = append(p.files, f)
			}
		}
		for _, base := range l.GoFiles {
			f, err := t.syntax(path.Join(folder, base))
			if err != nil {
				return nil, err
			}
			syntax = append(syntax, f)
		}
		config := types.Config{Importer: imports}
		if p.types, err = config.Check(name, t.fset, syntax, p.info); err != nil {
			return nil, err
		}
		t.packages = append(t.packages, p)
	}
	slices.SortFunc(t.packages, func(a, b *pkg) int { return strings.Compare(a.folder, b.folder) })
	return t, nil
}

// list runs go list for all packages of the module and what they import.
func list(ctx context.Context, root string) (map[string]listed, error) {
	c := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Imports,DepOnly", "./...")
	c.Dir = root
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &errs)
	}
	all := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[l.ImportPath] = l
	}
}

// reached returns the packages that one imports, directly or not, without those of the
// laboratory and what only they import.
func reached(all map[string]listed, from string) map[string]bool {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		folder, ours := within(name)
		if seen[name] || !ours || laboratory(folder) {
			return
		}
		seen[name] = true
		for _, i := range all[name].Imports {
			visit(i)
		}
	}
	visit(from)
	return seen
}

// laboratory reports whether a folder holds measurements, demonstrations or simulated
// providers, wherever they are.
func laboratory(folder string) bool {
	return strings.HasPrefix(folder, "cmd/weirlab") || slices.ContainsFunc(strings.Split(folder, "/"), func(part string) bool {
		return slices.Contains([]string{"bench", "demo", "simulator", "simulation"}, part)
	})
}

// parse reads every Go file of the tree but tests and generated ones.
func (t *tree) parse() error {
	return filepath.WalkDir(t.root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != t.root && strings.HasPrefix(base, ".") || base == "node_modules" || base == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(base) != ".go" || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(t.root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		text, err := os.ReadFile(name) //nolint:gosec // a file of the tree
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(t.fset, name, text, parser.ParseComments)
		if err != nil || ast.IsGenerated(syntax) {
			return err
		}
		f := &file{path: rel, folder: path.Dir(rel), syntax: syntax}
		f.lines = t.fset.File(syntax.FileStart).LineCount()
		f.comment = commented(string(text))
		t.files = append(t.files, f)
		return nil
	})
}

// syntax parses a file, once.
func (t *tree) syntax(rel string) (*ast.File, error) {
	for _, f := range t.files {
		if f.path == rel {
			return f.syntax, nil
		}
	}
	return parser.ParseFile(t.fset, filepath.Join(t.root, rel), nil, parser.ParseComments)
}

// commented counts the lines that hold nothing but a comment.
func commented(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "//") {
			n++
		}
	}
	return n
}

// within returns the folder of an import path, if it belongs to this module.
func within(name string) (folder string, ours bool) {
	if name == module {
		return ".", true
	}
	return strings.CutPrefix(name, module+"/")
}
