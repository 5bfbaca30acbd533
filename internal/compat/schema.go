package compat

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// direction is the direction in which a schema is used.
type direction string

const (
	requests  direction = "requests"  // written by clients: may become wider
	responses direction = "responses" // written by Weir: may contain more
)

// schema compares two schemas at a place of the operation. If the old one is
// a reference, the pair is compared only once for each direction.
func (c *comparison) schema(at string, was, now node, d direction) {
	if was == nil || now == nil {
		if was != nil || now != nil && d == requests {
			c.breaks("%s: schema added or removed", at)
		}
		return
	}
	before, after := was.text("$ref"), now.text("$ref")
	if before != "" {
		key := before + " " + after + " " + string(d)
		// Schemas may contain themselves, and many operations share one.
		if c.seen[key] {
			return
		}
		c.seen[key] = true
		// Reported once, under the name of the schema, instead of under each operation that uses
		// it.
		if before == after {
			defer func(where string) { c.where = where }(c.where)
			c.where, at = before[strings.LastIndex(before, "/")+1:]+" in "+string(d), "it"
		}
	}
	was, now = resolved(c.was, was), resolved(c.now, now)
	c.types(at, was, now, d)
	if d == requests {
		c.bounds(at, was, now)
	} else if was.text("format") == "date-time" && now.text("format") != "date-time" {
		c.breaks("%s is no longer an instant", at)
	}
	c.fields(at, was, now, d)
	c.inner(at, was, now, d)
}

// resolved follows references; nil: they form a cycle.
func resolved(doc, s node) node {
	for range 100 { // more references can only be a cycle
		ref := s.text("$ref")
		if ref == "" {
			return s
		}
		s = doc.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return nil
}

// kinds returns the types of a schema; none: any type.
func kinds(s node) []string {
	if t := s.text("type"); t != "" {
		return []string{t}
	}
	// OpenAPI 3.1 also allows a list of types.
	return s.words("type")
}

// within reports whether every type in inner is covered by a type in outer.
func within(inner, outer []string) bool {
	if len(outer) == 0 {
		return true
	}
	if len(inner) == 0 {
		return false
	}
	return !slices.ContainsFunc(inner, func(t string) bool {
		return !slices.Contains(outer, t) && !(t == "integer" && slices.Contains(outer, "number"))
	})
}

func (c *comparison) types(at string, was, now node, d direction) {
	before, after := kinds(was), kinds(now)
	if d == requests && !within(before, after) || d == responses && !within(after, before) {
		c.breaks("%s was %s and is %s", at, typeWords(before), typeWords(after))
	}
}

func typeWords(types []string) string {
	if len(types) == 0 {
		return "anything"
	}
	return strings.Join(types, " or ")
}

// widened reports whether a pattern accepts all that the one before it accepted, which
// can't be calculated. Addresses were phone numbers once.
func widened(before, after string) bool {
	return before == `^\+?[0-9]{3,15}$` && after == `^[!-~]+$`
}

// bounds compares the constraints on what a client may send.
func (c *comparison) bounds(at string, was, now node) {
	for _, name := range []string{"minimum", "minLength", "minItems", "minProperties"} {
		if before, after := number(was, name, math.Inf(-1)), number(now, name, math.Inf(-1)); after > before && after > natural(name) {
			c.breaks("%s: %s is now %v", at, name, after)
		}
	}
	for _, name := range []string{"maximum", "maxLength", "maxItems", "maxProperties"} {
		if before, after := number(was, name, math.Inf(1)), number(now, name, math.Inf(1)); after < before {
			c.breaks("%s: %s is now %v", at, name, after)
		}
	}
	if before, after := was.text("pattern"), now.text("pattern"); after != "" && after != before && !widened(before, after) {
		c.breaks("%s: the pattern is now %s", at, after)
	}
	if after := now.text("format"); after == "date-time" && was.text("format") != after {
		c.breaks("%s must now be an instant", at)
	}
	if after := now.words("enum"); len(after) > 0 {
		if before := was.words("enum"); len(before) == 0 {
			c.breaks("%s must now be one of %s", at, strings.Join(after, ", "))
		} else {
			for _, word := range before {
				if !slices.Contains(after, word) {
					c.breaks("%s may no longer be %s", at, word)
				}
			}
		}
	}
	// A client that leaves the field out would get another behavior.
	if before, after := was["default"], now["default"]; before != nil && !reflect.DeepEqual(before, after) {
		c.breaks("%s: the default was %v and is %v", at, before, after)
	}
}

// natural returns the bound that holds if none is given.
func natural(name string) float64 {
	if name == "minimum" {
		return math.Inf(-1)
	}
	return 0
}

func number(s node, name string, absent float64) float64 {
	if v, ok := s[name].(float64); ok {
		return v
	}
	return absent
}

func (c *comparison) fields(at string, was, now node, d direction) {
	before, after := was.words("required"), now.words("required")
	for _, name := range was.at("properties").names() {
		field := join(at, name)
		inner := now.at("properties", name)
		if inner == nil {
			// Also in requests: Weir refuses unknown fields.
			c.breaks("%s removed", field)
			continue
		}
		c.schema(field, was.at("properties", name), inner, d)
		if d == responses && slices.Contains(before, name) && !slices.Contains(after, name) {
			c.breaks("%s may now be absent", field)
		}
	}
	if d == responses {
		return
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			c.breaks("%s is now required", join(at, name))
		}
	}
}

// inner compares the items of lists and the values of open objects.
func (c *comparison) inner(at string, was, now node, d direction) {
	if was.at("items") != nil && now.at("items") != nil {
		c.schema(at+"[]", was.at("items"), now.at("items"), d)
	}
	before, after := open(was), open(now)
	switch {
	case before == nil:
	case after == nil:
		c.breaks("%s: other names are no longer allowed", at)
	case len(before) > 0 && len(after) > 0:
		c.schema(at+"{}", before, after, d)
	case d == requests && len(before) == 0 && len(after) > 0:
		c.breaks("%s: values may no longer be anything", at)
	case d == responses && len(after) == 0 && len(before) > 0:
		c.breaks("%s: values may now be anything", at)
	}
}

// open returns the schema of the undeclared properties of an object; empty: any
// value; nil: none are allowed.
func open(s node) node {
	switch a := s["additionalProperties"].(type) {
	case map[string]any:
		return a
	case bool:
		if a {
			return node{}
		}
	}
	return nil
}

func join(at, name string) string {
	if at == "it" {
		return name
	}
	return fmt.Sprintf("%s.%s", at, name)
}
