package httpjson

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"weir"
	"weir/internal/validation"
)

// Checker checks a decoded JSON value against a schema of the API description, or as
// a merge patch of a type; see [PatchOf]. It supports only the keywords that our types
// use; compile rejects a schema with any other.
type Checker struct {
	kind       string // object, array, string, integer, number, boolean; scalar: any of the last four
	nullable   bool   // null is valid
	properties map[string]*Checker
	names      []string // of properties, sorted
	required   []string
	open       bool     // an object with arbitrary names; values are checked by each if it is set
	each       *Checker // for an array's items or an open object's values
	min        int      // min number of items, properties or characters
	max        int
	minimum    float64
	maximum    float64
	pattern    *regexp.Regexp
	help       string // describes the pattern
	enum       []string
	instant    bool
	patch      *patch // nil: part of a schema
}

// Has reports whether an object has a property.
func (c *Checker) Has(property string) bool { return c.properties[property] != nil }

// Compile builds a checker from a schema.
func Compile(r huma.Registry, s *huma.Schema) (*Checker, error) {
	for s.Ref != "" {
		s = r.SchemaFromRef(s.Ref)
	}
	if err := understood(s); err != nil {
		return nil, err
	}
	c := &Checker{kind: s.Type, required: s.Required, max: math.MaxInt, minimum: math.Inf(-1), maximum: math.Inf(1)}
	for _, n := range []*int{s.MinItems, s.MinLength, s.MinProperties} {
		if n != nil {
			c.min = *n
		}
	}
	for _, n := range []*int{s.MaxItems, s.MaxLength, s.MaxProperties} {
		if n != nil {
			c.max = *n
		}
	}
	if s.Minimum != nil {
		c.minimum = *s.Minimum
	}
	if s.Maximum != nil {
		c.maximum = *s.Maximum
	}
	for _, e := range s.Enum {
		c.enum = append(c.enum, fmt.Sprint(e))
	}
	c.instant, c.nullable = s.Format == "date-time", s.Nullable
	if err := c.compilePattern(s); err != nil {
		return nil, err
	}
	return c, c.compileInner(r, s)
}

// understood rejects a schema with a keyword that checker does not support.
func understood(s *huma.Schema) error {
	switch s.Type {
	case "object", "array", "string", "integer", "number", "boolean":
	default:
		return fmt.Errorf("schema of type %q: nothing checks it", s.Type)
	}
	switch s.Format {
	case "", "date-time", "int32", "int64", "double":
	default:
		return fmt.Errorf("schema of format %q: nothing checks it", s.Format)
	}
	if len(s.OneOf)+len(s.AnyOf)+len(s.AllOf) > 0 || s.Not != nil || len(s.DependentRequired) > 0 ||
		s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil || s.UniqueItems {
		return fmt.Errorf("schema %q has a keyword that nothing checks", s.Description)
	}
	return nil
}

func (c *Checker) compilePattern(s *huma.Schema) error {
	if s.Pattern == "" {
		return nil
	}
	re, err := regexp.Compile(s.Pattern)
	if err != nil {
		return fmt.Errorf("schema pattern %s: %w", s.Pattern, err)
	}
	c.pattern, c.help = re, s.PatternDescription
	return nil
}

func (c *Checker) compileInner(r huma.Registry, s *huma.Schema) (err error) {
	if s.Items != nil {
		if c.each, err = Compile(r, s.Items); err != nil {
			return err
		}
	}
	switch inner := s.AdditionalProperties.(type) {
	case *huma.Schema:
		c.open = true
		if inner.Type != "" || inner.Ref != "" {
			if c.each, err = Compile(r, inner); err != nil {
				return err
			}
		}
	case bool:
		c.open = inner
	}
	c.properties = map[string]*Checker{}
	for name, p := range s.Properties {
		if c.properties[name], err = Compile(r, p); err != nil {
			return err
		}
	}
	c.names = slices.Sorted(maps.Keys(c.properties))
	return nil
}

// Check finds every error in v. Details never repeat a value: it may be a phone
// number or a secret. Numbers of the schema become float64 in v; those of open objects
// keep their digits.
func (c *Checker) Check(v any, at string, m *validation.Errors) {
	if v == nil && c.nullable {
		return
	}
	switch c.kind {
	case "object":
		c.checkObject(v, at, m)
	case "array":
		c.checkArray(v, at, m)
	case "string":
		c.checkString(v, at, m)
	case "integer":
		c.checkInteger(v, at, m)
	case "number":
		if _, ok := weir.ExactNumber(v); !ok {
			m.Add(at, "type", "must be a number of at most 15 digits")
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			m.Add(at, "type", "must be true or false")
		}
	case "scalar":
		checkScalar(v, at, m)
	}
}

// typed returns a number as a float64 if the schema wants one.
func (c *Checker) typed(v any) any {
	if c.patch != nil {
		return c.patched(v)
	}
	if n, ok := weir.Number(v); ok && (c.kind == "integer" || c.kind == "number") {
		return n
	}
	return v
}

func (c *Checker) checkObject(v any, at string, m *validation.Errors) {
	o, ok := v.(map[string]any)
	if !ok {
		m.Add(at, "type", "must be an object")
		return
	}
	for _, name := range c.required {
		if _, ok := o[name]; !ok {
			m.Add(at+"/"+name, "required", "is missing")
		}
	}
	if !c.patch.checkKind(o, at, m) {
		return
	}
	size, known := len(o), 0
	for _, name := range c.names {
		if _, ok := o[name]; ok {
			c.properties[name].checkMember(o, name, at+"/"+name, m)
			known++
		}
	}
	if known < size {
		c.checkOthers(o, at, m)
	}
	c.checkLength(len(o), "entries", at, m)
}

// checkMember checks a member of an object.
func (c *Checker) checkMember(o map[string]any, name, at string, m *validation.Errors) {
	if !c.patch.skips(o, name) {
		c.Check(o[name], at, m)
		o[name] = c.typed(o[name])
	}
}

// checkOthers checks the members that are not properties of the schema.
func (c *Checker) checkOthers(o map[string]any, at string, m *validation.Errors) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if c.properties[name] != nil {
			continue
		}
		switch {
		case full(m):
			return
		case !c.open:
			m.Add(at+"/"+c.wording().Token(name), "unknown", "%s", c.wording().Unknown)
		case c.each != nil:
			c.each.checkMember(o, name, at+"/"+c.wording().Token(name), m)
		}
	}
}

// full reports whether further failures would be dropped.
func full(m *validation.Errors) bool { return len(*m) >= weir.MaxMistakes }

func (c *Checker) checkArray(v any, at string, m *validation.Errors) {
	a, ok := v.([]any)
	if !ok {
		m.Add(at, "type", "must be an array")
		return
	}
	c.checkLength(len(a), "elements", at, m)
	if len(a) > c.max {
		return // listing thousands of errors has no use
	}
	for i, value := range a {
		if full(m) {
			return
		}
		c.each.Check(value, at+"/"+strconv.Itoa(i), m)
		a[i] = c.each.typed(value)
	}
}

func (c *Checker) checkString(v any, at string, m *validation.Errors) {
	s, ok := v.(string)
	if !ok && !c.patch.isWord(c) {
		m.Add(at, "type", "%s", c.wording().Text)
		return
	}
	if c.enum != nil && !slices.Contains(c.enum, s) {
		m.Add(at, c.wording().Enum, "must be one of %s", strings.Join(c.enum, ", "))
		return
	}
	if !c.checkLength(utf8.RuneCountInString(s), "characters", at, m) {
		return
	}
	if c.pattern != nil && !c.pattern.MatchString(s) {
		m.Add(at, "format", "must be %s", c.help)
	}
	if c.instant {
		if _, code, detail := weir.ParseInstant(s); code != "" {
			m.Add(at, code, "%s", detail)
		}
	}
}

// maxInteger is the max absolute value of an integer: many programs read JSON numbers
// as float64, which cannot represent all larger integers, so that one could
// silently become another.
const maxInteger = 1<<53 - 1

func (c *Checker) checkInteger(v any, at string, m *validation.Errors) {
	n, ok := weir.Number(v)
	if c.patch != nil {
		n, ok = weir.ExactNumber(v)
	}
	if !ok || n != math.Trunc(n) {
		m.Add(at, "type", "must be a whole number")
		return
	}
	if math.Abs(n) > maxInteger && c.patch == nil {
		m.Add(at, "range", "must be from %d to %d", -maxInteger, maxInteger)
		return
	}
	if n < c.minimum || n > c.maximum {
		m.Add(at, "range", c.wording().Range, c.minimum, c.maximum)
	}
}

func (c *Checker) checkLength(n int, unit, at string, m *validation.Errors) bool {
	switch {
	case n >= c.min && n <= c.max:
		return true
	case c.max == math.MaxInt:
		m.Add(at, "length", "must have at least %d %s", c.min, unit)
	default:
		m.Add(at, "length", "must have %d to %d %s", c.min, c.max, unit)
	}
	return false
}

// PointerToken encodes a name as a JSON pointer token (RFC 6901). The name comes from
// the client, so it is truncated.
func PointerToken(name string) string {
	const most = 100
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return validation.Escape(name)
}

// wording words the errors of a part: those of a merge patch as its protocol does.
func (c *Checker) wording() *Wording {
	if c.patch != nil {
		return c.patch.wording
	}
	return &Wording{"must be a text", "there is no such field", "must be from %.0f to %.0f", "enum", PointerToken}
}
