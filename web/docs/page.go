package docs

import (
	"maps"
	"slices"
	"strings"
)

// page is the data of the template.
type page struct {
	Title, Version string
	About          []block
	Token          []block
	Groups         []group
	Schemas        []object
}

type group struct {
	Name       string
	About      []block
	Operations []entry
}

type entry struct {
	ID, Method, Path, Summary string
	About                     []block
	Scopes                    []string
	Token                     bool // a token is needed
	Parameters                []row
	BodyAbout                 string
	Bodies                    []content
	Answers                   []answer
	Curl                      string
}

// row is a parameter or a field.
type row struct {
	Name, In   string
	Type, Link string
	Required   bool
	About      string
	Bounds     []string
}

type content struct {
	Type, Words, Link, Example string
}

type answer struct {
	Status, About string
	Codes         []string
	Contents      []content
}

type object struct {
	Name, About string
	Fields      []row
}

// block is a paragraph or a list.
type block struct {
	Text  []span
	Items [][]span
}

// span is a piece of text, possibly in code style.
type span struct {
	Text string
	Code bool
}

func pageOf(d *description) page {
	p := page{Title: d.Info.Title, Version: d.Info.Version, About: blocks(d.Info.Description)}
	for _, scheme := range d.Components.SecuritySchemes {
		p.Token = blocks(scheme.Description)
	}
	for _, tag := range d.Tags {
		g := group{Name: tag.Name, About: blocks(tag.Description)}
		d.operations(tag.Name, func(method, path string, op *operation) {
			g.Operations = append(g.Operations, entryOf(method, path, op))
		})
		p.Groups = append(p.Groups, g)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		o := object{Name: name, About: s.Description}
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			o.Fields = append(o.Fields, rowOf(field, s.Properties[field], slices.Contains(s.Required, field)))
		}
		p.Schemas = append(p.Schemas, o)
	}
	return p
}

func entryOf(method, path string, op *operation) entry {
	e := entry{
		ID: op.ID, Method: strings.ToUpper(method), Path: path, Summary: op.Summary, Token: len(op.Security) > 0,
		BodyAbout: op.RequestBody.Description, Bodies: contentsOf(op.RequestBody.Content), Curl: curl(method, path, op),
	}
	if op.Description != op.Summary+"." {
		e.About = blocks(op.Description)
	}
	for _, s := range op.Security {
		for _, scopes := range s {
			e.Scopes = append(e.Scopes, scopes...)
		}
	}
	for _, p := range op.Parameters {
		r := rowOf(p.Name, p.Schema, p.Required)
		r.In, r.About = p.In, p.Description
		e.Parameters = append(e.Parameters, r)
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		r := op.Responses[status]
		a := answer{Status: status, About: r.Description, Codes: r.Codes}
		if len(r.Codes) > 0 {
			a.About = ""
		} else {
			a.Contents = contentsOf(r.Content)
		}
		e.Answers = append(e.Answers, a)
	}
	return e
}

func contentsOf(m map[string]media) []content {
	var out []content
	for _, kind := range slices.Sorted(maps.Keys(m)) {
		c := content{Type: kind}
		c.Words, c.Link = m[kind].Schema.words()
		if len(m[kind].Example) > 0 {
			c.Example = indented(m[kind].Example)
		}
		out = append(out, c)
	}
	return out
}

func rowOf(name string, s *schema, required bool) row {
	if s == nil {
		s = &schema{}
	}
	r := row{Name: name, Required: required, About: s.Description, Bounds: s.bounds()}
	r.Type, r.Link = s.words()
	return r
}

// blocks parses the subset of Markdown that the description uses: paragraphs, lists
// and code.
func blocks(text string) []block {
	var out []block
	for part := range strings.SplitSeq(text, "\n\n") {
		var b block
		for line := range strings.Lines(part) {
			if item, ok := strings.CutPrefix(line, "- "); ok {
				b.Items = append(b.Items, spans(item))
			} else {
				b.Text = append(b.Text, spans(line)...)
			}
		}
		if b.Text != nil || b.Items != nil {
			out = append(out, b)
		}
	}
	return out
}

func spans(text string) []span {
	var out []span
	for i, piece := range strings.Split(text, "`") {
		if piece != "" {
			out = append(out, span{piece, i%2 == 1})
		}
	}
	return out
}
