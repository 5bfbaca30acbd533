package deploytest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The files under deploy use a simple subset of YAML, which the reader below
// supports: block maps and lists, strings plain, quoted or in blocks, short lists in
// brackets, comments. No anchors, tags or second documents: readers of the files need
// not know those either, and the module needs no YAML library for its tests. The
// reader rejects everything outside the subset.

// object is a YAML map.
type object = map[string]any

// readYAML reads a file of the repository.
func readYAML(t *testing.T, name string) object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	v, err := parseYAML(string(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	o, ok := v.(object)
	if !ok {
		t.Fatalf("%s is a %T, not a map", name, v)
	}
	return o
}

// line is a line with content.
type line struct {
	number, indent int
	text           string
}

type yamlReader struct {
	raw   []string
	lines []line
	at    int
}

func parseYAML(text string) (any, error) {
	r := &yamlReader{raw: strings.Split(text, "\n")}
	for i, raw := range r.raw {
		bare := strings.TrimLeft(raw, " ")
		if strings.HasPrefix(bare, "\t") {
			return nil, fmt.Errorf("line %d: a tab", i+1)
		}
		if bare != "" && bare[0] != '#' {
			r.lines = append(r.lines, line{i, len(raw) - len(bare), bare})
		}
	}
	v, err := r.block(0)
	if err == nil && r.at < len(r.lines) {
		err = fmt.Errorf("line %d: not indented as what is above it", r.lines[r.at].number+1)
	}
	return v, err
}

// block reads a block that is indented by at least least spaces.
func (r *yamlReader) block(least int) (any, error) {
	if r.at >= len(r.lines) || r.lines[r.at].indent < least {
		return nil, nil
	}
	indent := r.lines[r.at].indent
	if isItem(r.lines[r.at].text) {
		return r.list(indent)
	}
	return r.object(indent)
}

func isItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

func (r *yamlReader) list(indent int) (out []any, _ error) {
	for r.at < len(r.lines) && r.lines[r.at].indent == indent && isItem(r.lines[r.at].text) {
		l := &r.lines[r.at]
		rest := strings.TrimLeft(l.text[1:], " ")
		if _, _, ok := keyOf(rest); ok { // a map that begins on the line of its dash
			l.indent, l.text = indent+len(l.text)-len(rest), rest
			v, err := r.object(l.indent)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
			continue
		}
		r.at++
		v, err := r.value(rest, l.number, indent)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (r *yamlReader) object(indent int) (object, error) {
	out := object{}
	for r.at < len(r.lines) && r.lines[r.at].indent == indent && !isItem(r.lines[r.at].text) {
		l := r.lines[r.at]
		key, rest, ok := keyOf(l.text)
		if !ok {
			return nil, fmt.Errorf("line %d: neither a key nor an item", l.number+1)
		}
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("line %d: %s is there twice", l.number+1, key)
		}
		r.at++
		v, err := r.value(rest, l.number, indent)
		if err != nil {
			return nil, err
		}
		out[key] = v
	}
	return out, nil
}

// keyOf splits "key: rest".
func keyOf(text string) (key, rest string, ok bool) {
	if text != "" && strings.ContainsRune(`"'[{&*!|>%@`, rune(text[0])) {
		return "", "", false
	}
	key, rest, ok = strings.Cut(text, ": ")
	if !ok {
		key, ok = strings.CutSuffix(text, ":")
	}
	return key, strings.TrimSpace(rest), ok && !strings.Contains(key, " #")
}

// value parses the value after a key or a dash.
func (r *yamlReader) value(rest string, number, indent int) (any, error) {
	if i := strings.LastIndex(rest, " #"); i >= 0 && strings.Count(rest[:i], `"`)%2 == 0 && strings.Count(rest[:i], "'")%2 == 0 {
		rest = strings.TrimSpace(rest[:i])
	}
	switch {
	case rest == "" || rest[0] == '#':
		if r.at < len(r.lines) && r.lines[r.at].indent == indent && isItem(r.lines[r.at].text) {
			return r.list(indent)
		}
		return r.block(indent + 1)
	case slices.Contains([]string{"|", "|-", ">", ">-"}, rest):
		return r.text(rest, number, indent), nil
	}
	v, err := scalar(rest)
	if err != nil {
		err = fmt.Errorf("line %d: %w", number+1, err)
	}
	return v, err
}

// text reads a block string.
func (r *yamlReader) text(style string, number, indent int) string {
	var lines []string
	depth := -1
	for i := number + 1; i < len(r.raw); i++ {
		bare := strings.TrimLeft(r.raw[i], " ")
		own := len(r.raw[i]) - len(bare)
		if bare != "" && own <= indent {
			break
		}
		if depth < 0 && bare != "" {
			depth = own
		}
		lines = append(lines, r.raw[i][min(max(depth, 0), own):])
		for r.at < len(r.lines) && r.lines[r.at].number <= i {
			r.at++
		}
	}
	glue := "\n"
	if style[0] == '>' {
		glue = " "
	}
	return strings.TrimSpace(strings.Join(lines, glue))
}

// scalar parses a string, or a list in brackets. Numbers and booleans stay strings: the
// tests compare them as they are written.
func scalar(s string) (any, error) {
	switch {
	case s == "{}":
		return object{}, nil
	case s[0] == '[' && s[len(s)-1] == ']':
		return flow(s[1 : len(s)-1])
	case s[0] == '"' && len(s) > 1 && s[len(s)-1] == '"':
		return strconv.Unquote(s)
	case s[0] == '\'' && len(s) > 1 && s[len(s)-1] == '\'':
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'"), nil
	case strings.ContainsRune(`"'[{&*!|>%@`+"`", rune(s[0])), strings.Contains(s, ": "):
		return nil, fmt.Errorf("%q is not in the plain part of YAML", s)
	}
	return s, nil
}

func flow(s string) ([]any, error) {
	out := []any{}
	quoted := false
	parts := strings.FieldsFunc(s, func(r rune) bool {
		quoted = quoted != (r == '"')
		return r == ',' && !quoted
	})
	for _, part := range parts {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		v, err := scalar(part)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// dig follows map keys and list indexes; nil if the path does not exist.
func dig(v any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			o, _ := v.(object)
			v = o[s]
		case int:
			list, _ := v.([]any)
			if s >= len(list) {
				return nil
			}
			v = list[s]
		}
	}
	return v
}

// items returns the maps of a list.
func items(v any) (out []object) {
	list, _ := v.([]any)
	for _, i := range list {
		if o, ok := i.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

func TestYAML_IsReadOrRefused(t *testing.T) {
	t.Parallel()
	got, err := parseYAML(`# head
a: 1 # one
b: "x # y: z"
'c': no
`)
	if err == nil {
		t.Errorf("a quoted key was read as %v", got)
	}
	got, err = parseYAML(`# head
a: 1 # one
b: "x # \"y\": z"
c: 'it''s'
d:
  - e: [f, "g, h"]
    h:
    - i
  - j # k
  - l: {}
m: |
  n
    o

  p
q: >-
  r
  s
t:
u: v:w
x: "" # y's
z: 'a # b'
`)
	want := object{
		"a": "1", "b": `x # "y": z`, "c": "it's", "m": "n\n  o\n\np", "q": "r s", "t": nil, "u": "v:w", "x": "", "z": "a # b",
		"d": []any{object{"e": []any{"f", "g, h"}, "h": []any{"i"}}, "j", object{"l": object{}}},
	}
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, bad := range []string{"a: 1\na: 2\n", "a:\n\t- b\n", "a: &x 1\n", "a: {b: c}\n", "a: 1\n  b: 2\n", "a: b: c\n", "- a\nb: c\n"} {
		if v, err := parseYAML(bad); err == nil {
			t.Errorf("%q was read as %v", bad, v)
		}
	}
}
