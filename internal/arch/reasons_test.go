package arch_test

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"testing"
)

// Every code of a reason to wait is the expected one in some scenario. A literal in
// another place, as in a sentence, does not count.
func TestReasons_EveryReasonIsShownByAScenario(t *testing.T) {
	t.Parallel()
	codes, shown := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, f := range load(t).files {
		switch f.path {
		case "operators/why.go", "router/why.go":
			codes[f.folder] = reasons(f.syntax)
		case "test/scenarios/contacts/why_test.go", "test/scenarios/contacts/brake_test.go", "test/scenarios/surveys/budget_test.go", "test/scenarios/people/purposes_test.go", "test/scenarios/surveys/why_test.go", "web/router/extensions_test.go":
			of := map[bool]string{true: "router", false: "operators"}[f.folder == "web/router"]
			if shown[of] == nil {
				shown[of] = map[string]bool{}
			}
			maps.Copy(shown[of], expected(f.syntax))
		}
	}
	for _, folder := range []string{"operators", "router"} {
		if len(codes[folder]) == 0 {
			t.Errorf("folder %s has no codes", folder)
		}
		for _, code := range slices.Sorted(maps.Keys(codes[folder])) {
			if !shown[folder][code] {
				t.Errorf("no scenario shows that something waits because of %q", code)
			}
		}
	}
}

// reasons returns the codes of a file: its constants of type WhyCode, and what NewWhy is called with.
func reasons(f *ast.File) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if named(n.Type, "WhyCode") {
				note(out, n.Values, 0)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "NewWhy" {
				note(out, n.Args, 0)
			}
		}
		return true
	})
	return out
}

// expected returns the codes that the scenarios of a file wait for.
func expected(f *ast.File) map[string]bool {
	code := map[string]int{"Because": 1, "channelBecause": 2, "SurveyBecause": 1, "personBecause": 3, "both": 0, "why": 1}
	out := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		fun := call.Fun
		if s, ok := fun.(*ast.SelectorExpr); ok {
			fun = s.Sel
		}
		if id, ok := fun.(*ast.Ident); ok {
			if at, ok := code[id.Name]; ok {
				note(out, call.Args, at)
			}
		}
		return true
	})
	return out
}

func named(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// note adds the string at an index of a list.
func note(out map[string]bool, list []ast.Expr, at int) {
	if at >= len(list) {
		return
	}
	if lit, ok := list[at].(*ast.BasicLit); ok && lit.Kind == token.STRING {
		if s, err := strconv.Unquote(lit.Value); err == nil && s != "" {
			out[s] = true
		}
	}
}
