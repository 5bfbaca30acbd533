package arch_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// allowedGlobals returns the package variables that are permitted although they can
// change, with the reason.
func allowedGlobals() map[string]string {
	return map[string]string{
		"cmd/weir.version":          "the linker can set nothing but a variable",
		"cmd/weirlab.version":       "the linker can set nothing but a variable",
		"internal/failpoint.passes": "counts towards the end of the process; not in normal builds",
		"web.description":           "tests: the description of the API, read once for all of them",
	}
}

// Two brokers can run in one process because no package has state: package
// variables are assertions, errors, compiled expressions, embedded files and
// tables that never change.
func TestPackagesHaveNoState(t *testing.T) {
	t.Parallel()
	tr := load(t)
	for _, f := range tr.files {
		for _, d := range f.syntax.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				embedded := strings.Contains(comments(g.Doc)+comments(v.Doc), "//go:embed")
				for i, name := range v.Names {
					_, allowed := allowedGlobals()[f.folder+"."+name.Name]
					if name.Name != "_" && !embedded && !allowed && !(i < len(v.Values) && tr.constant(f, name.Name, v.Values[i])) {
						t.Errorf("%s: %s is state of package %s", tr.position(name), name.Name, f.folder)
					}
				}
			}
		}
	}
}

func comments(g *ast.CommentGroup) string {
	var out strings.Builder
	if g != nil {
		for _, c := range g.List {
			out.WriteString(c.Text + "\n")
		}
	}
	return out.String()
}

// constant reports whether a value never changes: results of certain functions,
// and tables that nothing in the package changes.
func (tr tree) constant(f file, name string, value ast.Expr) bool {
	switch v := value.(type) {
	case *ast.CallExpr:
		return slices.ContainsFunc([][2]string{
			{"errors", "New"}, {"fmt", "Errorf"}, {"regexp", "MustCompile"}, {"strings", "NewReplacer"}, {"template", "Must"},
			{"weir", "Errorf"}, {"time", "Date"}, {"flag", "Bool"}, {"flag", "Int"}, {"flag", "String"}, {"flag", "Duration"}, {"netip", "MustParsePrefix"}, {"netip", "MustParseAddr"},
		}, func(fn [2]string) bool { return selector(v.Fun, fn[0], fn[1]) })
	case *ast.UnaryExpr: // &Error{…}, an error value
		lit, ok := v.X.(*ast.CompositeLit)
		return ok && strings.HasPrefix(strings.ToLower(name), "err") && lit.Type != nil
	case *ast.CompositeLit:
		return !tr.changes(f.folder, name)
	}
	return false
}

// changes reports whether anything in a package assigns to a variable or a part
// of it, takes its address or passes it to a builtin that changes it.
func (tr tree) changes(folder, name string) bool {
	found := false
	for _, f := range tr.files {
		if f.folder != folder {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				found = found || n.Tok != token.DEFINE && slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool { return base(e) == name })
			case *ast.IncDecStmt:
				found = found || base(n.X) == name
			case *ast.UnaryExpr:
				found = found || n.Op == token.AND && base(n.X) == name
			case *ast.CallExpr:
				if fn, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"delete", "clear", "copy", "append"}, fn.Name) && len(n.Args) > 0 {
					found = found || base(n.Args[0]) == name
				}
			}
			return true
		})
	}
	return found
}

// base returns the variable that an expression is a part of.
func base(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.IndexExpr:
		return base(e.X)
	case *ast.SelectorExpr:
		return base(e.X)
	case *ast.StarExpr:
		return base(e.X)
	case *ast.ParenExpr:
		return base(e.X)
	}
	return ""
}
