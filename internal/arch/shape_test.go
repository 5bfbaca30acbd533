package arch_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestPackages_EveryPackageSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	tr := load(t)
	for _, p := range tr.packages() {
		if !slices.ContainsFunc(tr.files, func(f file) bool { return f.folder == p && !f.test && f.syntax.Doc.Text() != "" }) {
			t.Errorf("package %s has no package comment", p)
		}
	}
}

func TestPackages_NothingHappensBeforeMain(t *testing.T) {
	t.Parallel()
	tr := load(t)
	for _, f := range tr.files {
		for _, fn := range functions(f) {
			if fn.Name.Name == "init" && fn.Recv == nil {
				t.Errorf("%s: no func init: what a program does begins in main", tr.position(fn))
			}
		}
		for _, i := range f.syntax.Imports {
			if i.Name != nil && i.Name.Name == "_" && strings.Trim(i.Path.Value, `"`) != "embed" && strings.Trim(i.Path.Value, `"`) != "time/tzdata" {
				t.Errorf("%s: no import for its side effects", tr.position(i))
			}
		}
	}
}

// calls reports whether a function calls pkg.name.
func calls(fn *ast.FuncDecl, pkg, name string) bool {
	return len(below(fn, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		return ok && selector(c.Fun, pkg, name)
	})) > 0
}

// called returns the name of the function or method that a call calls.
func called(c *ast.CallExpr) string {
	switch fn := c.Fun.(type) {
	case *ast.Ident:
		return fn.Name
	case *ast.SelectorExpr:
		return fn.Sel.Name
	}
	return ""
}

// below returns the nodes below n for which is holds.
func below(n ast.Node, is func(ast.Node) bool) []ast.Node {
	var out []ast.Node
	ast.Inspect(n, func(n ast.Node) bool {
		if n != nil && is(n) {
			out = append(out, n)
		}
		return true
	})
	return out
}

func covered(nodes []ast.Node, n ast.Node) bool {
	return slices.ContainsFunc(nodes, func(c ast.Node) bool { return c.Pos() <= n.Pos() && n.End() <= c.End() })
}

// pure returns the packages that only decide: the time is passed to them, and they
// start nothing.
func pure() []string {
	return []string{
		".", "operators", "limits", "people", "actors/contacts", "surveys", "surveys/calendar", "surveys/pacing", "surveys/respondents",
		"surveys/questions", "surveys/questions/expression", "surveys/questions/language",
		"router", "router/label", "router/resource", "router/journal", "router/internal/codec",
	}
}

func TestPackages_PurePackagesHaveNoClockAndNoGoroutines(t *testing.T) {
	t.Parallel()
	tr := load(t)
	for _, folder := range pure() {
		if !slices.ContainsFunc(tr.files, func(f file) bool { return f.folder == folder }) {
			t.Errorf("there is no package %s", folder)
		}
	}
	for _, f := range tr.files {
		if f.test || !slices.Contains(pure(), f.folder) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: package %s starts no goroutines", tr.position(n), f.folder)
			case *ast.SelectorExpr:
				for _, name := range []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"} {
					if selector(n, "time", name) {
						t.Errorf("%s: package %s receives the time as an argument; time.%s reads the clock", tr.position(n), f.folder, name)
					}
				}
			}
			return true
		})
	}
}

func TestPackages_SQLIsInOnePlace(t *testing.T) {
	t.Parallel()
	sql := regexp.MustCompile(`^\s*(SELECT\s|INSERT\s+(IGNORE\s+)?INTO\s|REPLACE\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|(CREATE|DROP|ALTER)\s+(TABLE|DATABASE|(UNIQUE\s+)?INDEX|VIEW)\s|PRAGMA\s)`)
	tr := load(t)
	for _, f := range tr.files {
		if f.folder == "persistence" || strings.HasPrefix(f.folder, "persistence/") || f.folder == "migrations" || f.folder == "internal/mariadb" || f.test {
			continue // internal/mariadb sets servers up; it knows none of Weir's tables
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok {
				if s, err := strconv.Unquote(lit.Value); err == nil && sql.MatchString(s) {
					t.Errorf("%s: SQL belongs into persistence and migrations", tr.position(lit))
				}
			}
			return true
		})
	}
}

func functions(f file) []*ast.FuncDecl {
	var out []*ast.FuncDecl
	for _, d := range f.syntax.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			out = append(out, fn)
		}
	}
	return out
}
