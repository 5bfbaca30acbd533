package arch_test

import (
	"go/ast"
	"path"
	"strings"
	"testing"
)

// Go ignores the inputs in testdata/fuzz of a fuzz test that does not exist: after a
// rename the inputs that once failed would not run any more.
func TestFuzzInputs_HaveTheirTest(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	for _, f := range load(t).files {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test {
				tests[path.Join(f.folder, fn.Name.Name)] = true
			}
		}
	}
	found := 0
	for _, name := range texts(t) {
		folder, corpus, ok := strings.Cut(path.Dir(name), "/testdata/fuzz/")
		if !ok {
			continue
		}
		found++
		if !tests[path.Join(folder, corpus)] {
			t.Errorf("%s: folder %s has no test %s", name, folder, corpus)
		}
	}
	if found == 0 {
		t.Error("no inputs of fuzz tests found")
	}
}
