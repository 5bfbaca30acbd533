package help

import (
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// addresses knows where the links of one document lead.
type addresses struct {
	base, name string
	served     map[string]bool
}

// of returns the address of a link; empty: it leads to nothing that is served.
func (a addresses) of(link string) string {
	file, anchor, found := strings.Cut(link, "#")
	name := a.name
	if file != "" {
		var ok bool
		if name, ok = strings.CutSuffix(file, ".md"); !ok || !a.served[name] {
			return ""
		}
	}
	if !found {
		return a.base + "/" + name
	}
	return a.base + "/" + name + "#" + anchor
}

// elements renders what differs from plain CommonMark.
type elements struct{ to addresses }

// RegisterFuncs implements [renderer.NodeRenderer].
func (e elements) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, e.link)
	r.Register(ast.KindAutoLink, autoLink)
	r.Register(ast.KindImage, image)
	r.Register(extension.KindTable, table)
	r.Register(extension.KindTableCell, cell)
}

func (e elements) link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	to := e.to.of(string(n.(*ast.Link).Destination))
	switch {
	case to == "": // its text remains
	case entering:
		_, _ = w.WriteString(`<a href="` + html.EscapeString(to) + `">`) // an error is kept, and returned by Flush
	default:
		_, _ = w.WriteString("</a>")
	}
	return ast.WalkContinue, nil
}

func autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(html.EscapeString(string(n.(*ast.AutoLink).Label(source))))
	}
	return ast.WalkContinue, nil
}

// image leaves the words that describe a picture, which stand below it in the tree.
func image(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkContinue, nil
}

func table(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		_, _ = w.WriteString("</table></div>\n")
		return ast.WalkContinue, nil
	}
	named, _ := n.AttributeString(label)
	name, _ := named.(string)
	_, _ = w.WriteString(`<div class="scroll" tabindex="0" role="region" aria-label="` + html.EscapeString(name) + `"><table>` + "\n")
	return ast.WalkContinue, nil
}

// cell writes no alignment, which would be a style, and no heading without words.
func cell(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag, of := "td", ""
	if n.Parent().Kind() == extension.KindTableHeader && n.HasChildren() {
		tag, of = "th", ` scope="col"`
	}
	if entering {
		_, _ = w.WriteString("<" + tag + of + ">")
	} else {
		_, _ = w.WriteString("</" + tag + ">\n")
	}
	return ast.WalkContinue, nil
}
