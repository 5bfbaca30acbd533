package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// A sleep in a test is either too long or too short, unless time is simulated.
// Tests poll with polling.Until, wait for an event, or run in a bubble.
func TestSleeps_AreNotInTests(t *testing.T) {
	t.Parallel()
	for _, fault := range load(t).sleeps() {
		t.Error(fault)
	}
}

// sleeps returns the places that let real time pass: time.Sleep, and receives
// from a timer or ticker where only time ends the wait.
func (tr tree) sleeps() []string {
	var out []string
	makers := tr.bubbleMakers()
	for _, f := range tr.files {
		for _, fn := range functions(f) {
			bubbles := below(fn, func(n ast.Node) bool {
				c, ok := n.(*ast.CallExpr)
				return ok && (selector(c.Fun, "synctest", "Test") || slices.Contains(makersOf(f, makers), called(c)))
			})
			// A block that calls synctest.Wait cannot run outside a bubble.
			bubbles = append(bubbles, settling(fn)...)
			report := func(nodes []ast.Node, what string) {
				for _, n := range nodes {
					if !f.test && !matches(helpers(), f.folder) || !covered(bubbles, n) {
						out = append(out, tr.position(n)+": "+what+" outside a synctest bubble")
					}
				}
			}
			report(below(fn, func(n ast.Node) bool {
				c, ok := n.(*ast.CallExpr)
				return ok && selector(c.Fun, "time", "Sleep")
			}), "time.Sleep")
			report(timerWaits(fn), "a wait for nothing but a timer (use polling.Until)")
		}
	}
	return out
}

// makersOf returns the functions that a file can call to run something in a bubble: of its
// folder, and of the helpers that it imports.
func makersOf(f file, makers map[string][]string) []string {
	list := makers[f.folder]
	for _, imported := range f.imports {
		if folder, ours := within(imported); ours && matches(helpers(), folder) {
			list = append(slices.Clip(list), makers[folder]...)
		}
	}
	return list
}

// settling returns the innermost blocks of a function that call synctest.Wait.
func settling(fn *ast.FuncDecl) []ast.Node {
	waits := below(fn, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		return ok && selector(c.Fun, "synctest", "Wait")
	})
	blocks := below(fn, func(n ast.Node) bool {
		_, ok := n.(*ast.BlockStmt)
		return ok
	})
	var out []ast.Node
	for _, w := range waits {
		innermost := blocks[0]
		for _, b := range blocks { // outer ones come first
			if covered([]ast.Node{b}, w) {
				innermost = b
			}
		}
		out = append(out, innermost)
	}
	return out
}

// timerWaits returns the receives of a function from timers and tickers, except
// in a select with another case.
func timerWaits(fn *ast.FuncDecl) []ast.Node {
	clocks := map[string]bool{} // variables and fields that hold the channel of a timer
	holds := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.CallExpr:
			return selector(e.Fun, "time", "After") || selector(e.Fun, "time", "Tick")
		case *ast.SelectorExpr:
			return e.Sel.Name == "C"
		case *ast.Ident:
			return clocks[e.Name]
		}
		return false
	}
	var chosen []ast.Node
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, v := range n.Rhs {
				if id, ok := n.Lhs[i].(*ast.Ident); ok && holds(v) {
					clocks[id.Name] = true
				}
			}
		case *ast.SelectStmt:
			if len(n.Body.List) > 1 {
				for _, c := range n.Body.List {
					if comm := c.(*ast.CommClause).Comm; comm != nil {
						chosen = append(chosen, comm)
					}
				}
			}
		}
		return true
	})
	return below(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.UnaryExpr:
			return n.Op == token.ARROW && holds(n.X) && !covered(chosen, n)
		case *ast.RangeStmt:
			return holds(n.X)
		}
		return false
	})
}

func TestSleeps_AreFound(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		`time.Sleep(d)`:                                                       1,
		`<-time.After(d)`:                                                     1,
		`<-time.Tick(d)`:                                                      1,
		`<-time.NewTimer(d).C`:                                                1,
		`<-time.NewTicker(d).C`:                                               1,
		`now := <-time.After(d)`:                                              1,
		`c := time.After(d); <-c`:                                             1,
		`tick := time.NewTicker(d); for { <-tick.C }`:                         1,
		`for range time.Tick(d) {}`:                                           1,
		`for range time.NewTicker(d).C {}`:                                    1,
		`for !done() { <-time.After(d) }`:                                     1,
		`for ; !done(); <-time.After(d) {}`:                                   1,
		`go func() { <-time.After(d) }()`:                                     1,
		`select { case <-time.After(d): }`:                                    1,
		`select { case <-done: <-time.After(d); case <-late: }`:               1,
		`select { case <-time.After(d): case <-done: }`:                       0,
		`late := time.After(d); for { select { case <-late: case <-done: } }`: 0,
		`tick := time.NewTicker(d); select { case <-tick.C: case <-done: }`:   0,
		`<-done`:                  0,
		`time.AfterFunc(d, stop)`: 0,
		`synctest.Test(t, func() { time.Sleep(d) })`:              0,
		`synctest.Test(t, func() { <-time.After(d) })`:            0,
		`bubble(t, func() { <-time.After(d) })`:                   0,
		`if virtual { synctest.Wait(); return }; <-time.After(d)`: 1,
		`synctest.Wait(); <-time.After(d)`:                        0,
	} {
		source := "package p\nfunc bubble(t, play any) { synctest.Test(t, play) }\nfunc TestX() { " + body + " }"
		tr := tree{fset: token.NewFileSet()}
		syntax, err := parser.ParseFile(tr.fset, "x_test.go", source, 0)
		if err != nil {
			t.Fatal(body, err)
		}
		tr.files = []file{{path: "x_test.go", test: true, syntax: syntax}}
		if found := tr.sleeps(); len(found) != want {
			t.Errorf("%s: found %v, want %d", body, found, want)
		}
	}
}

// bubbleMakers returns, by folder, the test functions that run their arguments in a
// bubble, or pass them to a function that does.
func (tr tree) bubbleMakers() map[string][]string {
	out := map[string][]string{}
	for grown := true; grown; {
		grown = false
		for _, f := range tr.files {
			for _, fn := range functions(f) {
				name := fn.Name.Name
				if !f.test && !matches(helpers(), f.folder) || strings.HasPrefix(name, "Test") || slices.Contains(out[f.folder], name) {
					continue
				}
				if calls(fn, "synctest", "Test") || len(below(fn, func(n ast.Node) bool {
					c, ok := n.(*ast.CallExpr)
					return ok && slices.Contains(makersOf(f, out), called(c))
				})) > 0 {
					out[f.folder] = append(out[f.folder], name)
					grown = true
				}
			}
		}
	}
	return out
}
