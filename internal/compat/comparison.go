package compat

import (
	"fmt"
	"maps"
	"slices"
)

// Break is one change that breaks clients.
type Break struct {
	Where string // the operation, or the schema
	What  string
}

func (b Break) String() string { return b.Where + ": " + b.What }

type comparison struct {
	was, now node
	where    string
	found    []Break
	seen     map[string]bool // pairs of schemas already compared
}

func (c *comparison) breaks(format string, args ...any) {
	c.found = append(c.found, Break{c.where, fmt.Sprintf(format, args...)})
}

// node is an object of a description; nil: absent.
type node map[string]any

func (n node) at(names ...string) node {
	for _, name := range names {
		inner, _ := n[name].(map[string]any)
		n = inner
	}
	return n
}

func (n node) text(name string) string { s, _ := n[name].(string); return s }

func (n node) flag(name string) bool { b, _ := n[name].(bool); return b }

func (n node) names() []string { return slices.Sorted(maps.Keys(n)) }

// list returns a member that is a list of objects.
func (n node) list(name string) []node {
	var out []node
	items, _ := n[name].([]any)
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			out = append(out, o)
		}
	}
	return out
}

// words returns a member that is a list of plain values, formatted as text.
func (n node) words(name string) []string {
	var out []string
	items, _ := n[name].([]any)
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return out
}
