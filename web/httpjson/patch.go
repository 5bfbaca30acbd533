package httpjson

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/internal/validation"
)

// Wording words the errors in which protocols differ.
type Wording struct {
	Text    string              // of what is not a text
	Unknown string              // of a member that does not exist
	Range   string              // of a whole number out of bounds; has two verbs
	Enum    string              // the code of a text that is none of those allowed
	Token   func(string) string // returns a name as a token of a JSON pointer
}

// patch is what checks a part of a merge patch beyond its type.
type patch struct {
	wording  *Wording
	whole    bool                // null is an absent member; otherwise it removes the member
	readOnly bool                // the member is ignored, because clients send whole resources back
	standard string              // the default, kept as the empty text
	foreign  map[string][]string // by the kind of the object: the members that only other kinds have
}

// PatchOf returns the checker of merge patches (RFC 7396) of a type: null removes a member, but in arrays, which a
// patch replaces as a whole, it is an absent one; everywhere if whole is set. Members are those of the JSON form, all
// optional, whole numbers those of 32 bits. Tags say more: minimum, enum, default and readOnly as of the API's types;
// hidden: clients cannot state the member; only: of an object's members there are these alone; kinds: the values of
// the member kind with whose objects the member exists. A patch with a kind removes the members of all others. A type
// with UnmarshalJSON is a text, a number or a boolean. Instants become texts of one form, in UTC. Members with the
// names in readOnly are ignored.
func PatchOf(t reflect.Type, whole bool, w *Wording, readOnly ...string) *Checker {
	c := w.checker(t, "", whole)
	for _, name := range readOnly {
		c.properties[name] = &Checker{patch: &patch{readOnly: true}}
	}
	c.names = slices.Sorted(maps.Keys(c.properties))
	return c
}

// Without returns a checker that does not know a member.
func (c *Checker) Without(name string) *Checker {
	return c.Only(slices.DeleteFunc(slices.Clone(c.names), func(n string) bool { return n == name })...)
}

// Only returns a checker of the members with these names.
func (c *Checker) Only(names ...string) *Checker {
	out := *c
	out.properties = make(map[string]*Checker, len(names))
	for _, name := range names {
		out.properties[name] = c.properties[name]
	}
	out.names = slices.Sorted(maps.Keys(out.properties))
	return &out
}

func (w *Wording) checker(t reflect.Type, tag reflect.StructTag, whole bool) *Checker {
	c := &Checker{max: math.MaxInt, minimum: math.Inf(-1), maximum: math.Inf(1)}
	c.patch = &patch{wording: w, whole: whole, readOnly: tag.Get("readOnly") != "", standard: tag.Get("default")}
	if words := tag.Get("enum"); words != "" {
		c.enum = strings.Split(words, ",")
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.checker(t.Elem(), tag, whole)
	case reflect.String:
		c.kind = "string"
	case reflect.Bool:
		c.kind = "boolean"
	case reflect.Int:
		c.kind, c.maximum = "integer", math.MaxInt32
		c.minimum, _ = strconv.ParseFloat(tag.Get("minimum"), 64) // 0 without the tag
	case reflect.Float64:
		c.kind = "number"
	case reflect.Slice:
		c.kind, c.each = "array", w.checker(t.Elem(), tag, true)
	case reflect.Map:
		c.kind, c.open, c.each = "object", true, w.checker(t.Elem(), "", whole)
	default:
		c.ofStruct(t, tag)
	}
	return c
}

func (c *Checker) ofStruct(t reflect.Type, tag reflect.StructTag) {
	if t == reflect.TypeFor[time.Time]() {
		c.kind, c.instant = "string", true
		return
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		c.kind = "scalar"
		return
	}
	c.kind, c.properties = "object", map[string]*Checker{}
	only := tag.Get("only")
	kinds := map[string][]string{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("hidden") != "" {
			continue
		}
		c.properties[name] = c.patch.wording.checker(f.Type, f.Tag, c.patch.whole)
		if of := f.Tag.Get("kinds"); of != "" {
			kinds[name] = strings.Split(of, ",")
		}
	}
	if kind := c.properties["kind"]; kind != nil {
		c.patch.foreign = foreign(kind.enum, kinds)
		kind.enum = nil // an unknown kind has an error of its own
	}
	if only != "" {
		*c = *c.Only(strings.Split(only, ",")...)
	}
	c.names = slices.Sorted(maps.Keys(c.properties))
}

// foreign returns, of each kind, the members that only others have.
func foreign(all []string, kinds map[string][]string) map[string][]string {
	out := make(map[string][]string, len(all))
	for _, kind := range all {
		out[kind] = nil
		for name, of := range kinds {
			if !slices.Contains(of, kind) {
				out[kind] = append(out[kind], name)
			}
		}
	}
	return out
}

// checkKind refuses the members that only objects of other kinds than the stated one
// have, and lets a patch remove them. It returns false for an unknown kind, whose
// members cannot be checked.
func (p *patch) checkKind(o map[string]any, at string, m *validation.Errors) bool {
	if p == nil || p.foreign == nil {
		return true
	}
	kind, stated := o["kind"].(string)
	if !stated {
		return true
	}
	foreign, known := p.foreign[kind]
	if !known {
		m.Add(at+"/kind", "unknown", "unknown kind %q", kind)
	}
	for _, name := range foreign {
		if _, ok := o[name]; ok {
			m.Add(at+"/"+name, "unknown", "%s", p.wording.Unknown)
		}
		if o[name] = nil; p.whole {
			delete(o, name)
		}
	}
	return known
}

// skips reports whether a member has no value to check. It deletes a member that is
// as good as absent.
func (p *patch) skips(o map[string]any, name string) bool {
	if p == nil || !p.readOnly && o[name] != nil {
		return false
	}
	if p.readOnly || p.whole {
		delete(o, name)
	}
	return true
}

// isWord reports whether a value that is not a text is refused as a wrong word or instant.
func (p *patch) isWord(c *Checker) bool { return p != nil && (c.enum != nil || c.instant) }

// checkScalar checks the value of a label.
func checkScalar(v any, at string, m *validation.Errors) {
	switch v.(type) {
	case string, bool:
	case float64, json.Number:
		if _, ok := weir.ExactNumber(v); !ok {
			m.Add(at, "type", "must be a number of at most 15 digits")
		}
	default:
		m.Add(at, "type", "must be a string, a number or a boolean")
	}
}

// patched returns a value as it is merged.
func (c *Checker) patched(v any) any {
	if n, ok := weir.Number(v); ok {
		return n
	}
	s, ok := v.(string)
	switch {
	case !ok:
	case c.instant:
		at, _, _ := weir.ParseInstant(s) // it was checked
		return at.Format(time.RFC3339Nano)
	case s == c.patch.standard:
		return ""
	}
	return v
}
