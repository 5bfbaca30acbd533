package help_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"weir/docs"
	"weir/web/dashboard/help"
)

const base = "/ops/help"

// Every document is offered, once, with a title and sections, and its title is its only heading of the first level.
func TestDocuments_AllAreOffered(t *testing.T) {
	t.Parallel()
	entries, err := docs.Files().ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, e := range entries {
		there = append(there, strings.TrimSuffix(e.Name(), ".md"))
	}
	if diff := cmp.Diff(there, slices.Sorted(slices.Values(docs.Order()))); diff != "" {
		t.Errorf("embedded and offered documents differ (-embedded +offered):\n%s", diff)
	}
	titles := map[string]string{}
	for _, d := range served(t) {
		if d.Title == "" || titles[d.Title] != "" || len(d.Sections) == 0 {
			t.Errorf("%s: title %q, which %q has; %d sections", d.Name, d.Title, titles[d.Title], len(d.Sections))
		}
		titles[d.Title] = d.Name
		if n := len(parsed(t, d).of["h1"]); n != 1 {
			t.Errorf("%s has %d headings of the first level", d.Name, n)
		}
	}
}

// Every link in every document leads to a document and a section that are served.
func TestDocuments_EveryLinkResolves(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	all := map[string]tree{}
	for _, d := range served(t) {
		tr := parsed(t, d)
		all[d.Name] = tr
		ids[base+"/"+d.Name] = true
		for id := range tr.ids {
			ids[base+"/"+d.Name+"#"+id] = true
		}
		for _, s := range d.Sections {
			if !tr.ids[s.Anchor] {
				t.Errorf("%s: section %q has no heading %q", d.Name, s.Title, s.Anchor)
			}
		}
	}
	links := 0
	for name, tr := range all {
		for _, a := range tr.of["a"] {
			links++
			if !ids[a["href"]] {
				t.Errorf("%s links to %q", name, a["href"])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links", links)
	}
}

// What is rendered has no script, no style, nothing from elsewhere, and no id twice or of the page around it.
func TestDocuments_AreSafeWithinThePage(t *testing.T) {
	t.Parallel()
	allowed := map[string][]string{
		"html": nil, "head": nil, "body": nil, "p": nil, "em": nil, "strong": nil, "pre": nil, "code": {"class"}, "blockquote": nil, "hr": nil, "br": nil,
		"ul": nil, "ol": {"start"}, "li": nil, "h1": {"id"}, "h2": {"id"}, "h3": {"id"}, "h4": {"id"}, "a": {"href"},
		"div": {"class", "tabindex", "role", "aria-label"}, "table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": {"scope"}, "td": nil,
	}
	around := []string{"main", "flash", "dialog", "question", "connection", "zone", "help", "search-all"} // ids of base.html, and those that the script looks for
	for _, d := range served(t) {
		tr := parsed(t, d)
		for tag, list := range tr.of {
			names, ok := allowed[tag]
			if !ok {
				t.Errorf("%s has <%s>", d.Name, tag)
			}
			for _, attributes := range list {
				for name := range attributes {
					if !slices.Contains(names, name) {
						t.Errorf("%s: <%s> has %s", d.Name, tag, name)
					}
				}
			}
		}
		for _, id := range tr.twice {
			t.Errorf("%s has %q twice", d.Name, id)
		}
		for _, id := range around {
			if tr.ids[id] {
				t.Errorf("%s: %q is the id of something on every page", d.Name, id)
			}
		}
		if strings.Contains(string(d.HTML), "raw HTML omitted") {
			t.Errorf("%s has HTML, which is left out", d.Name)
		}
	}
}

// Links lead to documents or are their text, and mark-up of other kinds is harmless, whatever it is.
func TestRender_LinksAndHostileText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, source, want string }{
		{"another document", "[x](b.md)", `<p><a href="/ops/help/b">x</a></p>`},
		{"a section of it", "[x](b.md#the-end)", `<p><a href="/ops/help/b#the-end">x</a></p>`},
		{"a section of this one", "[x](#here)", `<p><a href="/ops/help/a#here">x</a></p>`},
		{"mark-up within a link", "[an `x`](b.md)", `<p><a href="/ops/help/b">an <code>x</code></a></p>`},
		{"a document that is not served", "[x](gone.md#there)", `<p>x</p>`},
		{"a file beside the folder", "[x](../README.md)", `<p>x</p>`},
		{"a served name in another folder", "[x](adr/b.md)", `<p>x</p>`},
		{"a served name above", "[x](../b.md)", `<p>x</p>`},
		{"code", "[x](../people/consent.go)", `<p>x</p>`},
		{"a folder", "[x](adr)", `<p>x</p>`},
		{"another host", "[x](https://example.org/b.md)", `<p>x</p>`},
		{"another host, without a scheme", "[x](//example.org/b.md)", `<p>x</p>`},
		{"an address in the text", "<https://example.org>", `<p>https://example.org</p>`},
		{"an address of mail", "<a@example.org>", `<p>a@example.org</p>`},
		{"a script as address", "[x](javascript:alert(1))", `<p>x</p>`},
		{"a script as anchor", `[x](<#"onclick="alert(1)>)`, `<p><a href="/ops/help/a#&#34;onclick=&#34;alert(1)">x</a></p>`},
		{"a picture", "![a *cat*](https://example.org/cat.png)", `<p>a <em>cat</em></p>`},
		{"a linked picture", "[![cat](cat.png)](https://example.org)", `<p>cat</p>`},
		{"HTML", "<script>alert(1)</script>", `<!-- raw HTML omitted -->`},
		{"HTML in a line", "a <b onclick=x>c</b>", `<p>a <!-- raw HTML omitted -->c<!-- raw HTML omitted --></p>`},
		{"signs of HTML in code", "`<b>`", `<p><code>&lt;b&gt;</code></p>`},
		{
			"a table", "| a | |\n|--:|---|\n| 1 | [x](b.md) |",
			`<div class="scroll" tabindex="0" role="region" aria-label="Table 1"><table> <thead> <tr> <th scope="col">a</th> <td></td> </tr> </thead> <tbody> <tr> <td>1</td> <td><a href="/ops/help/b">x</a></td> </tr> </tbody> </table></div>`,
		},
		{"a heading with code and a link", "## The `x` of [b](b.md)", `<h2 id="the-x-of-b">The <code>x</code> of <a href="/ops/help/b">b</a></h2>`},
		{"two headings alike", "# A's\n# A's", `<h1 id="as">A's</h1> <h1 id="as-1">A's</h1>`},
		{"a heading of other letters", "# ¿Qué?", `<h1 id="qué">¿Qué?</h1>`},
	} {
		files := fstest.MapFS{"a.md": {Data: []byte(c.source)}, "b.md": {Data: []byte("# B")}}
		all, err := help.Render(files, []string{"a", "b"}, base)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, strings.Join(strings.Fields(string(all[0].HTML)), " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func served(t *testing.T) []*help.Document {
	t.Helper()
	all, err := help.Render(docs.Files(), docs.Order(), base)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// tree is what a rendered document consists of.
type tree struct {
	of    map[string][]map[string]string // the attributes of the elements, by tag
	ids   map[string]bool
	twice []string
}

func parsed(t *testing.T, d *help.Document) tree {
	t.Helper()
	root, err := html.Parse(strings.NewReader(string(d.HTML)))
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", d.Name, err))
	}
	tr := tree{of: map[string][]map[string]string{}, ids: map[string]bool{}}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		attributes := map[string]string{}
		for _, a := range n.Attr {
			attributes[a.Key] = a.Val
		}
		tr.of[n.Data] = append(tr.of[n.Data], attributes)
		if id := attributes["id"]; id != "" {
			if tr.ids[id] {
				tr.twice = append(tr.twice, id)
			}
			tr.ids[id] = true
		}
	}
	return tr
}
