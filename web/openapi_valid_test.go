package web_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"

	"weir/channels"
	"weir/web"
	"weir/web/webtest"
)

// described is the description of Weir with all optional parts.
func described(t *testing.T) *webtest.OpenAPI {
	t.Helper()
	raw, err := web.Description(channels.NewDirectory(webtest.Table(), "", nil))
	if err != nil {
		t.Fatal(err)
	}
	return webtest.ParseOpenAPI(t, string(raw))
}

// TestOpenAPI_IsAcceptedByIndependentTools: independent tools accept the document, with
// every example, default and pattern in it.
func TestOpenAPI_IsAcceptedByIndependentTools(t *testing.T) {
	t.Parallel()
	raw, err := web.Description(channels.NewDirectory(webtest.Table(), "", nil))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	err = doc.Validate(t.Context(), openapi3.IsOpenAPI31OrLater(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaDefaultsValidation(),
		openapi3.EnableSchemaPatternValidation(), openapi3.EnableMultiError())
	if err != nil {
		t.Error(err)
	}
}

// TestPatterns_ArePortable: a pattern consists of printable ASCII characters, because
// readers that treat JSON as YAML refuse U+FFFE. Classes such as \p{L} have a meaning
// only in some dialects; in ECMAScript without the flag u, as JavaScript validators
// use it, no example would match, and \x{2000} is no code point.
func TestPatterns_ArePortable(t *testing.T) {
	t.Parallel()
	raw, err := web.Description(channels.NewDirectory(webtest.Table(), "", nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range string(raw) {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("the description has the invisible character %U", r)
		}
	}
	seen := 0
	for _, doc := range []any{described(t).Components.Schemas, parametersOf(described(t))} {
		walkPatterns(doc, func(pattern string) {
			seen++
			if strings.ContainsFunc(pattern, func(r rune) bool { return r < ' ' || r > '~' }) || strings.Contains(pattern, `\p{`) || strings.Contains(pattern, `\x{`) {
				t.Errorf("pattern %+q is not portable", pattern)
			}
		})
	}
	if seen < 10 {
		t.Errorf("%d patterns were examined", seen)
	}
}

func parametersOf(spec *webtest.OpenAPI) any {
	var list []any
	for _, ops := range spec.Paths {
		for _, op := range ops {
			for _, p := range op.Parameters {
				list = append(list, p.Schema)
			}
		}
	}
	return list
}

// walkPatterns calls f with every pattern within a decoded JSON value.
func walkPatterns(at any, f func(string)) {
	switch v := at.(type) {
	case map[string]any:
		for name, inner := range v {
			if text, ok := inner.(string); ok && name == "pattern" {
				f(text)
			}
			walkPatterns(inner, f)
		}
	case []any:
		for _, inner := range v {
			walkPatterns(inner, f)
		}
	}
}

// TestParameters_ExamplesMatch: the example of each parameter is one of its schema,
// and an id of one kind of thing is not described as that of another.
func TestParameters_ExamplesMatch(t *testing.T) {
	t.Parallel()
	spec := described(t)
	for path, ops := range spec.Paths {
		for method, op := range ops {
			for i, p := range op.Parameters {
				if p.Example != nil {
					text, _ := json.Marshal(p.Example)
					if err := spec.Judge.Of(webtest.PointerTo("paths", path, method, "parameters", strconv.Itoa(i), "schema"), string(text)); err != nil {
						t.Errorf("%s %s: %s: %v", method, path, p.Name, err)
					}
				}
				if kind := strings.Split(path+"///", "/")[2]; p.Name == "id" && p.In == "path" && kind != "surveys" && p.Description != "id of the "+strings.TrimSuffix(kind, "s") {
					t.Errorf("%s %s: id is described as %q", method, path, p.Description)
				}
			}
		}
	}
}

// TestOpenAPI_EveryExampleIsOfItsSchema: each body and each response has at least one
// example, and its schema allows it.
func TestOpenAPI_EveryExampleIsOfItsSchema(t *testing.T) {
	t.Parallel()
	spec := described(t)
	tried := 0
	try := func(name, pointer string, m webtest.Medium) {
		examples := []any{m.Example}
		if m.Examples != nil {
			examples = nil
		}
		for named, e := range m.Examples {
			example, ok := spec.Components.Examples[strings.TrimPrefix(e.Ref, "#/components/examples/")]
			if !ok {
				t.Errorf("%s: example %s leads nowhere", name, named)
			}
			examples = append(examples, example.Value)
		}
		for _, e := range examples {
			tried++
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if e == nil {
				t.Errorf("%s has no example", name)
			} else if err := spec.Judge.Of(pointer+"/schema", string(text)); err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
		}
	}
	for path, ops := range spec.Paths {
		for method, op := range ops {
			at := webtest.PointerTo("paths", path, method)
			for kind, m := range op.RequestBody.Content {
				try(method+" "+path+" "+kind, at+webtest.PointerTo("requestBody", "content", kind), m)
			}
			for status, res := range op.Responses {
				for kind, m := range res.Content {
					try(method+" "+path+" "+status+" "+kind, at+webtest.PointerTo("responses", status, "content", kind), m)
				}
			}
		}
	}
	if tried < 300 {
		t.Errorf("%d examples were tried", tried)
	}
}

// TestOpenAPI_EverythingIsExplained: every operation, parameter, schema and field has a
// description, every parameter has bounds, every tag has a meaning.
func TestOpenAPI_EverythingIsExplained(t *testing.T) {
	t.Parallel()
	spec := described(t)
	var tags []string
	for _, tag := range spec.Tags {
		tags = append(tags, tag.Name)
		if tag.Description == "" {
			t.Errorf("tag %s has no description", tag.Name)
		}
	}
	used := map[string]bool{}
	for path, ops := range spec.Paths {
		for method, op := range ops {
			name := method + " " + path
			if op.Summary == "" || op.Description == "" || len(op.Tags) != 1 || !slices.Contains(tags, op.Tags[0]) {
				t.Errorf("%s: summary %q, description %q, tags %v", name, op.Summary, op.Description, op.Tags)
			}
			used[op.Tags[0]] = true
			for _, p := range op.Parameters {
				if p.Description == "" || !bounded(p.Schema) && !strings.HasPrefix(path, "/callbacks/") {
					t.Errorf("%s: parameter %s: description %q, schema %v", name, p.Name, p.Description, p.Schema)
				}
			}
			for status, res := range op.Responses {
				if res.Description == "" || res.Headers["X-Request-Id"] == nil {
					t.Errorf("%s: %s: description %q, headers %v", name, status, res.Description, res.Headers)
				}
			}
		}
	}
	for _, tag := range tags {
		if !used[tag] {
			t.Errorf("no operation has tag %s", tag)
		}
	}
	for name, s := range spec.Components.Schemas {
		explained(t, name, s)
	}
}

func explained(t *testing.T, name string, schema any) {
	t.Helper()
	s, _ := schema.(map[string]any)
	if s["description"] == nil {
		t.Errorf("schema %s has no description", name)
	}
	fields, _ := s["properties"].(map[string]any)
	for field, p := range fields {
		if p, _ := p.(map[string]any); p["description"] == nil {
			t.Errorf("schema %s: field %s has no description", name, field)
		}
	}
}

// bounded reports whether a parameter restricts its values.
func bounded(s map[string]any) bool {
	switch s["type"] {
	case "boolean":
		return true
	case "integer":
		return s["minimum"] != nil && (s["maximum"] != nil || s["format"] == "int64")
	default:
		return s["pattern"] != nil || s["enum"] != nil || s["maxLength"] != nil
	}
}
