package route

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/operators"
)

// Bounds of the changes that the audit log records for one request.
const (
	maxChanges     = 50
	maxChangeValue = 300 // characters
)

// ChangesOf lists the fields that differ between two documents, by path. For a
// secret it records only that it changed.
func ChangesOf(before, after map[string]any, secret func(path string) bool) []operators.FieldChange {
	was, is := map[string]string{}, map[string]string{}
	Flatten("", before, was)
	Flatten("", after, is)
	paths := maps.Clone(was)
	maps.Copy(paths, is)
	var list []operators.FieldChange
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		switch {
		case was[path] == is[path]:
		case len(list) == maxChanges:
			return append(list, operators.FieldChange{Field: "…"})
		case secret(path):
			list = append(list, operators.FieldChange{Field: path, Secret: true})
		default:
			list = append(list, operators.FieldChange{Field: path, Before: shorten(was[path]), After: shorten(is[path])})
		}
	}
	return list
}

// Flatten collects the leaves of a document by path; a list of plain values is
// a leaf.
func Flatten(path string, v any, into map[string]string) {
	at := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	switch x := v.(type) {
	case map[string]any:
		for name, value := range x {
			Flatten(at(name), value, into)
		}
	case []any:
		if !slices.ContainsFunc(x, func(v any) bool { _, object := v.(map[string]any); return object }) {
			raw, _ := json.Marshal(x) // cannot fail: x was decoded from JSON
			into[path] = string(raw)
			return
		}
		for i, value := range x {
			Flatten(at(fmt.Sprint(i)), value, into)
		}
	case nil:
	default:
		into[path] = fmt.Sprint(x)
	}
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxChangeValue {
		return text
	}
	return string([]rune(text)[:maxChangeValue]) + "…"
}
