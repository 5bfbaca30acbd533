package operators_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/operators"
)

// Every clause that is made has the fields of its sentence, whatever layer makes it.
func TestSentences_AreGivenTheirFields(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`\{([a-z_]+)\}`)
	sentences, used := map[string]string{}, map[string]bool{}
	calls := func(visit func(file string, call *ast.CallExpr, name string)) {
		for _, root := range []string{".", "../actors", "../surveys", "../router"} {
			err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
					return err
				}
				file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
				if err != nil {
					return err
				}
				ast.Inspect(file, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.ValueSpec:
						if named, ok := n.Type.(*ast.Ident); ok && named.Name == "Sentence" && len(n.Values) == 1 {
							sentences[n.Names[0].Name], _ = strconv.Unquote(n.Values[0].(*ast.BasicLit).Value)
						}
					case *ast.Ident:
						used[n.Name] = used[n.Name] || path != "sentences.go"
					case *ast.CallExpr:
						if name := nameOf(n.Fun); name == "NewWhy" || name == "NewClause" {
							visit(path, n, name)
						}
					}
					return true
				})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	calls(func(string, *ast.CallExpr, string) {})
	checked := 0
	calls(func(file string, call *ast.CallExpr, name string) {
		args := call.Args
		if name == "NewWhy" {
			args = args[1:]
		}
		sentence, known := sentences[nameOf(args[0])]
		if !known || call.Ellipsis.IsValid() { // a parameter, or fields that the caller has made
			return
		}
		checked++
		var want, got []string
		for _, m := range names.FindAllStringSubmatch(sentence, -1) {
			want = append(want, m[1])
		}
		for i := 1; i < len(args); i += 2 {
			field, _ := strconv.Unquote(args[i].(*ast.BasicLit).Value)
			if field != "rule" { // beside a reason
				got = append(got, field)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("%s: %q is given %v, has %v", file, sentence, got, want)
		}
	})
	if checked < 40 {
		t.Errorf("only %d calls were checked", checked)
	}
	for name := range sentences {
		if !used[name] {
			t.Errorf("%s is used nowhere", name)
		}
	}
	if _, err := os.Stat("sentences.go"); err != nil {
		t.Fatal(err)
	}
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func TestWhy_JoinsItsClauses(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 1, 9, 30, 0, 5, time.FixedZone("", 3600))
	for want, why := range map[string]operators.Why{
		"": {},
		"channel a: 4 of 4 slots in use; it takes 2; 1 contact ahead": operators.NewWhy(operators.WhyCapacity, operators.TextSlots, "channel", "a", "used", 4, "capacity", 4).
			And(operators.NewClause(operators.TextTakes, "size", 2), operators.NewClause(operators.TextAheadOne)),
		"its contact: attempt 2 is due at 2026-07-01 08:30:00 UTC; {busy}": operators.NewWhy(operators.WhyRetry, operators.TextItsContact).
			And(operators.NewClause(operators.TextAttemptDue, "attempt", 2, "at", at)).And(operators.ReasonClause("{busy}")...),
	} {
		if got := why.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if n := len(why.Instants()); n != strings.Count(want, "UTC") {
			t.Errorf("%q: %d instants", want, n)
		}
	}
}
