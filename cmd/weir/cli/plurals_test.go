package cli_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// counted is a number with a word in the plural that does not depend on it. Bounds are not counted: "more than %d characters".
var counted = regexp.MustCompile(`(more than |at most )?%\d*d [a-z]+s\b`)

// TestPlurals_NoTextCountsOneOfThem: numbers with a word are written by [terminal.Plural], in all texts of the command line.
func TestPlurals_NoTextCountsOneOfThem(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	texts := 0
	for _, root := range []string{".", "../../internal"} {
		err := fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, filepath.Join(root, name), nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Error(err)
				}
				texts++
				for _, found := range counted.FindAllStringSubmatch(text, -1) {
					if found[1] == "" && found[0] != "%d days" && found[0] != "%d ms" { // of a duration of two days or more
						t.Errorf("%s: %q counts one in the plural", files.Position(literal.Pos()), found[0])
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
	if texts < 1000 {
		t.Errorf("only %d texts were found", texts)
	}
}
