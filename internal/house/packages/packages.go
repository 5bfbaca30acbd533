// Package packages lists the packages of the tree with the first sentence of each package
// comment, as the Markdown of docs/packages.md.
package packages

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Table returns the table for the module in a folder.
func Table(root string) (string, error) {
	about := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && strings.HasPrefix(base, ".") || slices.Contains([]string{"bin", "node_modules", "testdata"}, base) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(base) != ".go" || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		about[folder] = about[folder] + synopsis(f)
		return nil
	})
	if err != nil {
		return "", err
	}
	folders := make([]string, 0, len(about))
	for f := range about {
		folders = append(folders, f)
	}
	slices.Sort(folders)
	var out strings.Builder
	out.WriteString("| package | comment |\n|---|---|\n")
	for _, f := range folders {
		fmt.Fprintf(&out, "| `%s` | %s |\n", f, about[f])
	}
	return out.String(), nil
}

// synopsis returns the first sentence of a package comment, without the name that it
// begins with by convention.
func synopsis(f *ast.File) string {
	text := new(doc.Package).Synopsis(f.Doc.Text())
	text = strings.TrimPrefix(strings.TrimPrefix(text, "Package "+f.Name.Name+" "), "Command ")
	return strings.ReplaceAll(text, "|", "\\|")
}
