package web

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"weir"
	"weir/internal/plainjson"
)

const (
	schemaPrefix   = "#/components/schemas/"
	examplePrefix  = "#/components/examples/"
	headerPrefix   = "#/components/headers/"
	exampleOfSlips = "malformed" // example for a body that is not JSON
)

// describe builds the API description from the routes, and sets the body
// checker of each route, so that the two cannot differ.
func describe(routes []*route, o Options) (*huma.OpenAPI, error) {
	registry := huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: "Weir", Version: o.Version, Description: aboutAPI},
		Servers: []*huma.Server{{URL: cmp.Or(o.Prefix, "/"), Description: "the Weir that serves this description"}},
		Tags:    tags(),
		Components: &huma.Components{
			Schemas:         registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: tokenHelp()}},
			Headers:         headers(),
			Examples:        problemExamples(),
		},
	}
	registry.Schema(typeOf[Problem](), true, "")
	d := &describer{r: registry, examples: examples()}
	for _, rt := range routes {
		doc.AddOperation(d.operation(rt))
	}
	for _, op := range d.plainOperations() {
		doc.AddOperation(op)
	}
	if d.err != nil {
		return nil, d.err
	}
	schemas, fields := schemaHelp(), fieldHelp()
	for name, s := range registry.Map() {
		refuseNull(s)
		explain(s, schemas[name], fields)
	}
	for _, rt := range routes {
		if rt.body == nil {
			continue
		}
		var err error
		if rt.check, err = compile(registry, registry.Schema(rt.body, true, "")); err != nil {
			return nil, fmt.Errorf("%s: %w", rt.id, err)
		}
	}
	for _, s := range registry.Map() {
		sayPatterns(s)
	}
	return doc, nil
}

// sayPatterns moves huma's patternDescription, which is not a JSON Schema
// keyword, into the description. It must run after the checkers are compiled:
// they use it.
func sayPatterns(s *huma.Schema) {
	for _, p := range s.Properties {
		if p.PatternDescription != "" {
			p.Description, p.PatternDescription = p.Description+"; "+p.PatternDescription, ""
		}
	}
}

// refuseNull marks a schema as not nullable: an absent field is left out. Only
// a plain value whose tag says so may be null; huma makes every array nullable.
func refuseNull(s *huma.Schema) {
	s.Nullable = s.Nullable && s.Type != "array" && s.Type != "object"
	for _, p := range s.Properties {
		refuseNull(p)
	}
	if s.Items != nil {
		refuseNull(s.Items)
	}
	if inner, ok := s.AdditionalProperties.(*huma.Schema); ok {
		refuseNull(inner)
	}
}

// explain sets the descriptions of a schema and its fields where their types
// have none.
func explain(s *huma.Schema, what string, fields map[string]string) {
	if s.Description == "" {
		s.Description = what
	}
	for name, p := range s.Properties {
		if p.Description == "" {
			p.Description = fields[name]
		}
	}
}

// describer builds operations.
type describer struct {
	r        huma.Registry
	examples map[reflect.Type]any
	err      error // the first error
}

func (d *describer) operation(rt *route) *huma.Operation {
	op := &huma.Operation{
		Method: rt.method, Path: rt.path, OperationID: rt.id, Summary: rt.summary, Description: rt.description,
		Tags: []string{rt.tag}, Responses: map[string]*huma.Response{},
		Security: security(rt.scopes), Parameters: rt.parameters(),
	}
	if op.Description == "" {
		op.Description = rt.summary + "."
	}
	if rt.repeatable {
		op.Extensions = map[string]any{"x-repeatable": true}
	}
	if rt.download == streamType {
		op.Parameters = append(op.Parameters, lastEventID())
	}
	codes := append([]weir.Code{weir.CodeUnauthorised, weir.CodeForbidden, weir.CodeLimited, weir.CodeInvalid, weir.CodeUnavailable, weir.CodeDraining, weir.CodeInternal}, rt.codes...)
	if rt.body != nil {
		op.RequestBody = d.body(rt)
		codes = append(codes, weir.CodeTooLarge, weir.CodeContentType)
	}
	for _, a := range rt.answers {
		op.Responses[strconv.Itoa(a.status)] = d.good(a, rt.download)
	}
	d.problems(op, rt.refusal, rt.body != nil, codes)
	return op
}

func (d *describer) body(rt *route) *huma.RequestBody {
	content := map[string]*huma.MediaType{}
	for _, t := range rt.bodyTypes {
		content[t] = &huma.MediaType{Schema: d.r.Schema(rt.body, true, ""), Example: rt.example}
		if rt.example == nil {
			content[t].Example = d.example(rt.body)
		}
	}
	for _, t := range rt.uploads {
		content[t] = &huma.MediaType{Schema: &huma.Schema{Type: "string", Description: "a file of any length"}, Example: fileExamples()[rt.id+" "+t]}
	}
	return &huma.RequestBody{Required: true, Content: content, Description: fmt.Sprintf("At most %d bytes, %d objects and arrays, %d values.", rt.bodyLimit, plainjson.MaxContainers, plainjson.MaxValues)}
}

// example returns the example of a type, decoded from its JSON.
func (d *describer) example(t reflect.Type) any {
	v, err := plainJSON(d.examples[t])
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("example of %s: %w", t, err)
	}
	return v
}

// good describes a success response; download is the media type of a body that
// is not JSON.
func (d *describer) good(a answer, download string) *huma.Response {
	out := &huma.Response{Description: a.description, Headers: map[string]*huma.Param{requestID: headerRef(requestID)}}
	if a.body != nil || download != "" {
		out.Content = map[string]*huma.MediaType{}
	}
	if a.body != nil {
		out.Content[jsonType] = &huma.MediaType{Schema: d.r.Schema(a.body, true, ""), Example: d.example(a.body)}
	}
	if download != "" {
		out.Content[download] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}, Example: fileExamples()[download]}
	}
	if a.status == http.StatusCreated {
		out.Headers["Location"] = headerRef("Location")
	}
	return out
}

// problems documents the error codes of an operation. If read is true it has a
// body, and 400 also means that the body is not JSON.
func (d *describer) problems(op *huma.Operation, body reflect.Type, read bool, codes []weir.Code) {
	if body == nil {
		body = typeOf[Problem]()
	}
	if read {
		d.problem(op, body, http.StatusBadRequest, weir.CodeInvalid, exampleOfSlips)
	}
	slices.Sort(codes)
	for _, code := range slices.Compact(codes) {
		d.problem(op, body, statusOf(code), code, string(code))
	}
}

func (d *describer) problem(op *huma.Operation, body reflect.Type, status int, code weir.Code, example string) {
	key := strconv.Itoa(status)
	out := op.Responses[key]
	if out == nil {
		out = &huma.Response{Headers: map[string]*huma.Param{requestID: headerRef(requestID)}}
		op.Responses[key] = out
	}
	if out.Description == "" {
		out.Description = "code " + string(code)
	} else {
		out.Description += ", " + string(code)
	}
	if out.Content == nil {
		out.Content = map[string]*huma.MediaType{}
	}
	if out.Content[problemType] == nil {
		out.Content[problemType] = &huma.MediaType{Schema: d.r.Schema(body, true, ""), Examples: map[string]*huma.Example{}}
	}
	out.Content[problemType].Examples[example] = &huma.Example{Ref: examplePrefix + example}
	if out.Extensions == nil {
		out.Extensions = map[string]any{"x-codes": []string{}}
	}
	known, _ := out.Extensions["x-codes"].([]string)
	out.Extensions["x-codes"] = append(known, string(code))
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		out.Headers["Retry-After"] = headerRef("Retry-After")
	case http.StatusUnauthorized:
		out.Headers["WWW-Authenticate"] = headerRef("WWW-Authenticate")
	}
}

func headerRef(name string) *huma.Param { return &huma.Param{Ref: headerPrefix + name} }

func headers() map[string]*huma.Header {
	return map[string]*huma.Header{
		requestID:          {Description: "names the request in the log; one that the client sends is taken over", Schema: &huma.Schema{Type: "string", MaxLength: new(64)}},
		"Retry-After":      {Description: "seconds after which to try again", Schema: &huma.Schema{Type: "integer", Minimum: new(1.0)}},
		"WWW-Authenticate": {Description: "that a bearer token is asked for", Schema: &huma.Schema{Type: "string"}},
		"Location":         {Description: "path of what was created", Schema: &huma.Schema{Type: "string"}},
	}
}
