package arch_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// Every link within the documents leads to a file that exists and, if it has an
// anchor, to a heading that exists.
func TestLinks_Resolve(t *testing.T) {
	t.Parallel()
	there := func(name string) (string, bool) {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			return "", false
		}
		if info.IsDir() || path.Ext(name) != ".md" {
			return "", true
		}
		return read(t, name), true
	}
	for _, name := range texts(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, wrong := range deadLinks(name, read(t, name), there) {
			t.Errorf("%s links to %s", name, wrong)
		}
	}
}

// Every test that a document names exists.
func TestLinks_TestsOfThePapersExist(t *testing.T) {
	t.Parallel()
	all := tests(load(t))
	named := regexp.MustCompile("`((?:[\\w/]+\\.)?Test[A-Z]\\w*)`")
	for _, name := range texts(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, m := range named.FindAllStringSubmatch(read(t, name), -1) {
			if !exists(all, m[1]) {
				t.Errorf("%s names the test %s, which does not exist", name, m[1])
			}
		}
	}
}

func TestLinks_DeadLinksAreFound(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"docs/there.md": "# A `title`, with [a link](x)\n## Twice\n## Twice\n```\n# no heading\n```\n",
		"README.md":     "",
	}
	there := func(name string) (string, bool) { text, ok := files[name]; return text, ok }
	for _, c := range []struct{ text, want string }{
		{"[a](there.md)", ""},
		{"[a](there.md#a-title-with-a-link)", ""},
		{"[a](there.md#twice-1)", ""},
		{"[a](../README.md)", ""},
		{"# Here it is\n[a](#here-it-is)", ""},
		{"[a](https://example.org/no/such#place)", ""},
		{"[a](mailto:user@example.org)", ""},
		{"`[a](gone.md)`", ""},
		{"```\n[a](gone.md)\n```", ""},
		{"[a](gone.md)", "gone.md, which does not exist"},
		{"[a](../../other.md)", "../../other.md, which is outside"},
		{"[a](there.md#no-heading)", "there.md#no-heading, where no such heading is"},
		{"[a](there.md#twice-2)", "there.md#twice-2, where no such heading is"},
		{"[a](#elsewhere)", "#elsewhere, where no such heading is"},
		{"[a](../README.md#top)", "../README.md#top, where no such heading is"},
	} {
		if diff := cmp.Diff(c.want, strings.Join(deadLinks("docs/here.md", c.text, there), "; ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^)#: ]*)#?([^) ]*)\)`)
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// deadLinks returns the broken links of a document, each with the fault. there
// reports whether a file exists, and returns its text.
func deadLinks(name, text string, there func(string) (string, bool)) []string {
	var dead []string
	for _, m := range linkTarget.FindAllStringSubmatch(inlineCode.ReplaceAllString(prose(text), ""), -1) {
		target, anchor := m[1], m[2]
		if strings.HasPrefix(anchor, ":") {
			continue // the text before the colon is a URL scheme: an external link
		}
		other := text
		if target != "" {
			file := path.Join(path.Dir(name), target)
			if strings.HasPrefix(file, "..") {
				dead = append(dead, target+", which is outside")
				continue
			}
			var ok bool
			if other, ok = there(file); !ok {
				dead = append(dead, target+", which does not exist")
				continue
			}
		}
		if anchor != "" && !anchors(other)[anchor] {
			dead = append(dead, fmt.Sprintf("%s#%s, where no such heading is", target, anchor))
		}
	}
	return dead
}

// prose returns a document without its code blocks.
func prose(text string) string {
	var out strings.Builder
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if !code {
			out.WriteString(line)
		}
	}
	return out.String()
}

// anchors returns the anchors that GitHub gives to the headings of a document.
func anchors(text string) map[string]bool {
	out, seen := map[string]bool{}, map[string]int{}
	for line := range strings.Lines(prose(text)) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		a := anchor(linkText.ReplaceAllString(strings.TrimSpace(title), "$1"))
		if n := seen[a]; n > 0 {
			out[fmt.Sprintf("%s-%d", a, n)] = true
		} else {
			out[a] = true
		}
		seen[a]++
	}
	return out
}

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
