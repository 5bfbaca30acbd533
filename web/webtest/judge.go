package webtest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"weir/channels"
	"weir/web"
)

// OpenAPI is the part of the document that the tests use.
type OpenAPI struct {
	OpenAPI    string
	Info       struct{ Title, Version string }
	Servers    []struct{ URL string }
	Tags       []struct{ Name, Description string }
	Paths      map[string]map[string]operation
	Components struct {
		Schemas  map[string]any
		Examples map[string]struct{ Value any }
		Headers  map[string]any
	}

	Judge    *judgement
	patterns map[string]*regexp.Regexp // of the paths; a group for each parameter
}

// description is the API description that all responses in these tests are
// checked against. Reading it takes longer than most tests, so they share it.
// TestOpenAPI_ChecksUseTheServedDescription checks that every rig serves the same one.
//
//nolint:gochecknoglobals // it is read once, and never changes
var description = sync.OnceValues(func() (*OpenAPI, error) {
	raw, err := web.Description(channels.NewDirectory(Table(), "", nil))
	if err != nil {
		return nil, err
	}
	return readOpenAPI(raw)
})

type operation struct {
	OperationID string
	Summary     string
	Description string
	Tags        []string
	Security    []map[string][]string
	Parameters  []Parameter
	RequestBody struct {
		Description string
		Content     map[string]Medium
	}
	Responses map[string]struct {
		Description string
		Headers     map[string]any
		Codes       []string `json:"x-codes"`
		Content     map[string]Medium
	}
}

type Parameter struct {
	Name, In, Description string
	Example               any
	Schema                map[string]any
}

type Medium struct {
	Schema   map[string]any
	Example  any
	Examples map[string]struct {
		Ref string `json:"$ref"`
	}
}

func ParseOpenAPI(t testing.TB, raw string) *OpenAPI {
	t.Helper()
	o, err := readOpenAPI([]byte(raw))
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return o
}

func readOpenAPI(raw []byte) (*OpenAPI, error) {
	o := OpenAPI{patterns: map[string]*regexp.Regexp{}}
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	for pattern := range o.Paths {
		re := placeholder.ReplaceAllString(regexp.QuoteMeta(pattern), "([^/]+)")
		if strings.HasPrefix(pattern, "/callbacks/") {
			re = "/callbacks/([^/]+)/([^/]+)(?:/(.*))?"
		}
		o.patterns[pattern] = regexp.MustCompile("^" + re + "$")
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	o.Judge = &judgement{compiler: jsonschema.NewCompiler(), known: map[string]*jsonschema.Schema{}}
	o.Judge.compiler.DefaultDraft(jsonschema.Draft2020)
	o.Judge.compiler.AssertFormat()
	o.Judge.compiler.UseRegexpEngine(ecmaScript)
	return &o, o.Judge.compiler.AddResource("weir:openapi", whole)
}

// judgement checks values against schemas of the document, by an independent
// implementation of JSON Schema.
type judgement struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	known    map[string]*jsonschema.Schema
}

// ecmaScript compiles a pattern of ECMAScript, whose \u1680 is \x{1680} here.
func ecmaScript(pattern string) (jsonschema.Regexp, error) {
	return regexp.Compile(regexp.MustCompile(`\\u([0-9A-Fa-f]{4})`).ReplaceAllString(pattern, `\x{$1}`))
}

// Of checks JSON against the schema at a pointer into the document.
func (j *judgement) Of(pointer, text string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.known[pointer]
	if s == nil {
		var err error
		if s, err = j.compiler.Compile("weir:openapi#" + pointer); err != nil {
			return err
		}
		j.known[pointer] = s
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

var placeholder = regexp.MustCompile(`\\\{[a-z]+\\\}`)

// operation returns the operation of a request; nil if it is not documented.
func (o *OpenAPI) operation(method, path string) (pattern string, _ *operation) {
	for pattern, ops := range o.Paths {
		op, ok := ops[strings.ToLower(method)]
		if ok && o.patterns[pattern].MatchString(path) {
			return pattern, &op
		}
	}
	return "", nil
}

// PointerTo returns the JSON pointer of these names.
func PointerTo(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
