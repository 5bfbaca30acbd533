package web_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"weir/channels"
	"weir/web"
)

// openAPI is the part of the document that the tests use.
type openAPI struct {
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

	judge    *judgement
	patterns map[string]*regexp.Regexp // of the paths; a group for each parameter
}

// description is the API description that all responses in these tests are
// checked against. Reading it takes longer than most tests, so they share it.
// TestOpenAPI_ChecksUseTheServedDescription checks that every rig serves the same one.
var description = sync.OnceValues(func() (*openAPI, error) {
	raw, err := web.Description(channels.NewDirectory(table(), "", nil))
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
		Content     map[string]medium
	}
	Responses map[string]struct {
		Description string
		Headers     map[string]any
		Codes       []string `json:"x-codes"`
		Content     map[string]medium
	}
}

type Parameter struct {
	Name, In, Description string
	Example               any
	Schema                map[string]any
}

type medium struct {
	Schema   map[string]any
	Example  any
	Examples map[string]struct {
		Ref string `json:"$ref"`
	}
}

func parseOpenAPI(t testing.TB, raw string) *openAPI {
	t.Helper()
	o, err := readOpenAPI([]byte(raw))
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return o
}

func readOpenAPI(raw []byte) (*openAPI, error) {
	o := openAPI{patterns: map[string]*regexp.Regexp{}}
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
	o.judge = &judgement{compiler: jsonschema.NewCompiler(), known: map[string]*jsonschema.Schema{}}
	o.judge.compiler.DefaultDraft(jsonschema.Draft2020)
	o.judge.compiler.AssertFormat()
	o.judge.compiler.UseRegexpEngine(ecmaScript)
	return &o, o.judge.compiler.AddResource("weir:openapi", whole)
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

// of checks JSON against the schema at a pointer into the document.
func (j *judgement) of(pointer, text string) error {
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
func (o *openAPI) operation(method, path string) (pattern string, _ *operation) {
	for pattern, ops := range o.Paths {
		op, ok := ops[strings.ToLower(method)]
		if ok && o.patterns[pattern].MatchString(path) {
			return pattern, &op
		}
	}
	return "", nil
}

// pointerTo returns the JSON pointer of these names.
func pointerTo(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// parametersDocumented checks that a client which validates its own requests would
// have sent this one: it succeeded, so that its parameters are valid.
func (r *rig) parametersDocumented(pattern string, op *operation, req *http.Request) {
	spec, err := description()
	if err != nil {
		r.t.Fatal(err)
	}
	values := map[string]string{}
	for name, given := range req.URL.Query() {
		values[name] = given[0]
	}
	names, path := placeholder.FindAllString(regexp.QuoteMeta(pattern), -1), spec.patterns[pattern].FindStringSubmatch(req.URL.Path)
	for i, name := range names {
		values[strings.Trim(name, `\{}`)] = path[i+1]
	}
	for i, p := range op.Parameters {
		value, given := values[p.Name]
		if !given || p.In == "header" {
			continue
		}
		text := []byte(value)
		if p.Schema["type"] == "string" {
			text, _ = json.Marshal(value)
		}
		at := pointerTo("paths", pattern, strings.ToLower(req.Method), "parameters", strconv.Itoa(i), "schema")
		if err := spec.judge.of(at, string(text)); err != nil {
			r.t.Errorf("%s %s: %s=%s succeeded, and is not as it is documented: %v", req.Method, pattern, p.Name, value, err)
		}
	}
}

// documented checks a response against the description: its status, code and
// body.
func (r *rig) documented(req *http.Request, g got) {
	r.t.Helper()
	name := req.Method + " " + req.URL.Path
	spec, err := description()
	if err != nil {
		r.t.Fatal(err)
	}
	pattern, op := spec.operation(req.Method, req.URL.Path)
	if op == nil {
		return
	}
	if g.status < 400 {
		r.parametersDocumented(pattern, op, req)
	}
	status := strconv.Itoa(g.status)
	res, ok := op.Responses[status]
	if !ok {
		r.t.Errorf("%s: status %d is not documented", name, g.status)
		return
	}
	kind, _, _ := strings.Cut(g.header.Get("Content-Type"), ";")
	if kind == "application/problem+json" {
		if code := string(g.problem(r.t).Code); !slices.Contains(res.Codes, code) {
			r.t.Errorf("%s: %d with code %s is not documented: %v", name, g.status, code, res.Codes)
		}
	}
	if strings.HasPrefix(pattern, "/callbacks/") && g.status == http.StatusOK {
		return // defined by the provider
	}
	if _, ok := res.Content[kind]; !ok && g.body != "" {
		r.t.Errorf("%s: %d with %s is not documented", name, g.status, kind)
		return
	}
	if !strings.HasSuffix(kind, "json") || req.Method == http.MethodHead {
		return
	}
	if err := spec.judge.of(pointerTo("paths", pattern, strings.ToLower(req.Method), "responses", status, "content", kind, "schema"), g.body); err != nil {
		r.t.Errorf("%s: %d is not as it is documented: %v\n%s", name, g.status, err, g.body)
	}
}
