package deploytest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

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

// parseYAML reads a file of one document. Numbers and booleans stay strings: the tests compare them as they are written.
func parseYAML(text string) (any, error) {
	var document, more yaml.Node
	d := yaml.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&document); err != nil {
		return nil, err
	}
	var v any
	if err := document.Decode(&v); err != nil { // a key that is there twice
		return nil, err
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("a second document, or: %w", err)
	}
	return asWritten(document.Content[0]), nil
}

func asWritten(n *yaml.Node) any {
	switch {
	case n.Kind == yaml.AliasNode:
		return asWritten(n.Alias)
	case n.Kind == yaml.SequenceNode:
		out := []any{}
		for _, one := range n.Content {
			out = append(out, asWritten(one))
		}
		return out
	case n.Kind == yaml.MappingNode:
		out := object{}
		for i := 0; i < len(n.Content); i += 2 {
			out[n.Content[i].Value] = asWritten(n.Content[i+1])
		}
		return out
	case n.Tag == "!!null":
		return nil
	}
	return n.Value
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
