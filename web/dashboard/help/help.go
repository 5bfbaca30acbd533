// Package help renders documents in Markdown for the dashboard. The result is safe within its pages: no HTML of the source, no style,
// and no link but those from one document to another. A link to anything else, such as a file of the repository, becomes its text,
// because whoever reads it may be offline, and has no repository.
package help

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Document is a rendered document.
type Document struct {
	Name     string // without .md
	Title    string
	Sections []Section
	HTML     template.HTML
}

// Section is a heading of the second level.
type Section struct{ Title, Anchor string }

// Render renders the named documents, which are NAME.md in files. base is the address of all of them, without a slash at its end.
func Render(files fs.FS, names []string, base string) ([]*Document, error) {
	served := map[string]bool{}
	for _, name := range names {
		served[name] = true
	}
	out := make([]*Document, 0, len(names))
	for _, name := range names {
		source, err := fs.ReadFile(files, name+".md")
		if err != nil {
			return nil, fmt.Errorf("help: %w", err)
		}
		d, err := render(name, source, addresses{base, name, served})
		if err != nil {
			return nil, fmt.Errorf("help: document %s: %w", name, err)
		}
		out = append(out, d)
	}
	return out, nil
}

func render(name string, source []byte, to addresses) (*Document, error) {
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(elements{to}, 1))),
	)
	root := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext()))
	d := outline(root, source)
	d.Name = name
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, source, root); err != nil {
		return nil, err
	}
	d.HTML = template.HTML(b.String()) //nolint:gosec // made by the renderer, which writes no HTML of its source
	return d, nil
}
