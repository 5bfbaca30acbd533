package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// description is the part of an OpenAPI document that the page shows. Its exported
// methods are called by the template.
type description struct {
	Info struct {
		Title, Version, Description string
	}
	Tags []struct {
		Name, Description string
	}
	Paths      map[string]map[string]*operation
	Components struct {
		Schemas         map[string]*schema
		SecuritySchemes map[string]struct{ Description string }
	}
}

type operation struct {
	Method      string `json:"-"`
	Path        string `json:"-"`
	ID          string `json:"operationId"`
	Summary     string
	Description string
	Tags        []string
	Security    []map[string][]string
	Parameters  []*parameter
	RequestBody struct {
		Description string
		Content     map[string]media
	}
	Responses map[string]*response
}

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                *schema
	Example               any
}

type media struct {
	Schema  *schema
	Example json.RawMessage
}

type response struct {
	Description string
	Codes       []string `json:"x-codes"`
	Content     map[string]media
}

type schema struct {
	Ref         string `json:"$ref"`
	Type        any    // a name, or a list of names
	Format      string
	Description string
	Properties  map[string]*schema
	Required    []string
	Items       *schema
	Additional  json.RawMessage `json:"additionalProperties"`
	Enum        []any
	Default     any
	Examples    []any
	Pattern     string
	Minimum     *json.Number
	Maximum     *json.Number
	MinLength   *int
	MaxLength   *int
	MinItems    *int
	MaxItems    *int
}

func read(text []byte) (*description, error) {
	var d description
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&d); err != nil {
		return nil, fmt.Errorf("read the description of the API: %w", err)
	}
	return &d, nil
}

// name returns the name of the referenced schema, empty without a reference.
func (s *schema) name() string {
	return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
}

// of returns the schema of the values of an array or an open object, and the words
// for the container; nil if there is none.
func (s *schema) of() (*schema, string) {
	if s.Items != nil {
		return s.Items, "list of "
	}
	var each *schema
	if json.Unmarshal(s.Additional, &each) == nil && each != nil && (each.Type != nil || each.Ref != "") {
		return each, "object of "
	}
	return nil, ""
}

// words names a type: a text, and the schema that it ends with, if any.
type typeName struct{ Text, Link string }

// Words describes the type, up to the name of another schema.
func (s *schema) Words() typeName {
	if s == nil {
		return typeName{}
	}
	if name := s.name(); name != "" {
		return typeName{"", name}
	}
	if each, of := s.of(); each != nil {
		w := each.Words()
		return typeName{of + w.Text, w.Link}
	}
	var names []string
	switch t := s.Type.(type) {
	case string:
		names = []string{t}
	case []any:
		for _, name := range t {
			names = append(names, fmt.Sprint(name))
		}
	default:
		return typeName{Text: "anything"}
	}
	if s.Format == "date-time" {
		names[0] = "instant"
	}
	return typeName{Text: strings.Join(names, " or ")}
}

// Bounds describes the allowed values.
func (s *schema) Bounds() (out []string) {
	if s == nil {
		return nil
	}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	between := func(unit string, low, high *int) {
		switch {
		case low != nil && high != nil:
			add("%d to %d %s", *low, *high, unit)
		case high != nil:
			add("up to %d %s", *high, unit)
		case low != nil:
			add("at least %d %s", *low, unit)
		}
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		add("%s to %s", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		add("at least %s", *s.Minimum)
	case s.Maximum != nil:
		add("at most %s", *s.Maximum)
	}
	between("characters", s.MinLength, s.MaxLength)
	between("elements", s.MinItems, s.MaxItems)
	if len(s.Enum) > 0 {
		var words []string
		for _, e := range s.Enum {
			words = append(words, fmt.Sprint(e))
		}
		add("one of %s", strings.Join(words, ", "))
	}
	if s.Pattern != "" {
		add("matches %s", s.Pattern)
	}
	if s.Default != nil {
		add("default %v", s.Default)
	}
	return out
}

// Requires reports whether objects must have a property.
func (s *schema) Requires(property string) bool { return slices.Contains(s.Required, property) }

// Operations returns the operations of a tag, by path and method.
func (d *description) Operations(tag string) (list []*operation) {
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range []string{"get", "put", "post", "patch", "delete"} {
			if op := d.Paths[path][method]; op != nil && slices.Contains(op.Tags, tag) {
				op.Method, op.Path = strings.ToUpper(method), path
				list = append(list, op)
			}
		}
	}
	return list
}

// About returns the description, unless it is the summary again.
func (op *operation) About() []block {
	if op.Description == op.Summary+"." {
		return nil
	}
	return blocks(op.Description)
}

// Scopes returns the scopes that admit a token; one is enough.
func (op *operation) Scopes() (list []string) {
	for _, s := range op.Security {
		for _, scopes := range s {
			list = append(list, scopes...)
		}
	}
	return list
}
