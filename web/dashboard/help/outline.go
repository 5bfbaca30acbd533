package help

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
)

// label is the attribute of a table that says what it is.
const label = "label"

// outline finds the title and the sections of a document, gives each heading the anchor that GitHub gives it, because the documents
// link to those, and each table a name of its own: a region that scrolls needs one.
func outline(root ast.Node, source []byte) *Document {
	d := &Document{}
	seen, tables := map[string]int{}, 0
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			title := plain(n, source)
			id := anchor(title)
			if seen[id]++; seen[id] > 1 {
				id = fmt.Sprintf("%s-%d", id, seen[id]-1)
			}
			n.SetAttributeString("id", []byte(id))
			if n.Level == 1 && d.Title == "" {
				d.Title = title
			}
			if n.Level == 2 {
				d.Sections = append(d.Sections, Section{title, id})
			}
		case *extension.Table:
			tables++
			n.SetAttributeString(label, fmt.Sprintf("Table %d", tables))
		}
		return ast.WalkContinue, nil
	})
	return d
}

// plain returns the text of a node without its mark-up.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// anchor returns the anchor that GitHub gives to the first heading of a title.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}
