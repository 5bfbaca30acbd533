// Package openapi makes the API description from the routes, and the checkers of
// bodies with it, so that the two cannot differ.
package openapi

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
	"weir/web/api"
	"weir/web/auth"
	"weir/web/route"
	"weir/web/wire"
)

const (
	schemaPrefix     = "#/components/schemas/"
	examplePrefix    = "#/components/examples/"
	headerPrefix     = "#/components/headers/"
	malformedExample = "malformed" // for a body that is not JSON
)

// Describe builds the API description from the routes, and sets the body
// checker of each route, so that the two cannot differ.
func Describe(routes []*route.Route, version, prefix string) (*huma.OpenAPI, error) {
	texts, err := readOverlay()
	if err != nil {
		return nil, err
	}
	registry := huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: "Weir", Version: version, Description: texts.About},
		Servers: []*huma.Server{{URL: cmp.Or(prefix, "/"), Description: "the Weir that serves this description"}},
		Tags:    texts.Tags,
		Components: &huma.Components{
			Schemas:         registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: auth.TokenHelp()}},
			Headers:         headers(),
			Examples:        texts.Problems,
		},
	}
	registry.Schema(route.TypeOf[wire.Problem](), true, "")
	d := &describer{overlay: texts, r: registry}
	for _, rt := range routes {
		doc.AddOperation(d.operation(rt))
	}
	for _, op := range d.plainOperations() {
		doc.AddOperation(op)
	}
	for name, s := range registry.Map() {
		refuseNull(s)
		explain(s, texts.Schemas[name], texts.Fields)
	}
	for _, rt := range routes {
		if rt.Body == nil {
			continue
		}
		var err error
		if rt.Check, err = wire.Compile(registry, registry.Schema(rt.Body, true, "")); err != nil {
			return nil, fmt.Errorf("%s: %w", rt.ID, err)
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
	*overlay
	r huma.Registry
}

func (d *describer) operation(rt *route.Route) *huma.Operation {
	op := &huma.Operation{
		Method: rt.Method, Path: rt.Path, OperationID: rt.ID, Summary: rt.Summary, Description: rt.Description,
		Tags: []string{rt.Tag}, Responses: map[string]*huma.Response{},
		Security: security(rt.Scopes), Parameters: d.parameters(rt),
	}
	if op.Description == "" {
		op.Description = rt.Summary + "."
	}
	if rt.Repeatable {
		op.Extensions = map[string]any{"x-repeatable": true}
	}
	if rt.Download == api.StreamType {
		op.Parameters = append(op.Parameters, lastEventID())
	}
	codes := append([]weir.Code{weir.CodeUnauthorised, weir.CodeForbidden, weir.CodeLimited, weir.CodeInvalid, weir.CodeUnavailable, weir.CodeDraining, weir.CodeInternal}, rt.Codes...)
	if rt.Body != nil {
		op.RequestBody = d.body(rt)
		codes = append(codes, weir.CodeTooLarge, weir.CodeContentType)
	}
	for _, a := range rt.Answers {
		op.Responses[strconv.Itoa(a.Status)] = d.good(a, rt.Download)
	}
	d.problems(op, rt.Refusal, rt.Body != nil, codes)
	return op
}

func (d *describer) body(rt *route.Route) *huma.RequestBody {
	content := map[string]*huma.MediaType{}
	for _, t := range rt.BodyTypes {
		content[t] = &huma.MediaType{Schema: d.r.Schema(rt.Body, true, ""), Example: d.Requests[rt.ID]}
		if content[t].Example == nil {
			content[t].Example = d.Bodies[rt.Body.Name()]
		}
	}
	for _, t := range rt.Uploads {
		content[t] = &huma.MediaType{Schema: &huma.Schema{Type: "string", Description: "a file of any length"}, Example: d.Files[rt.ID+" "+t]}
	}
	return &huma.RequestBody{Required: true, Content: content, Description: fmt.Sprintf("At most %d bytes, %d objects and arrays, %d values.", rt.BodyLimit, plainjson.MaxContainers, plainjson.MaxValues)}
}

// good describes a success response; download is the media type of a body that
// is not JSON.
func (d *describer) good(a route.Answer, download string) *huma.Response {
	out := &huma.Response{Description: a.Description, Headers: map[string]*huma.Param{route.RequestID: headerRef(route.RequestID)}}
	if a.Body != nil || download != "" {
		out.Content = map[string]*huma.MediaType{}
	}
	if a.Body != nil {
		out.Content[wire.JSONType] = &huma.MediaType{Schema: d.r.Schema(a.Body, true, ""), Example: d.Bodies[a.Body.Name()]}
	}
	if download != "" {
		out.Content[download] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}, Example: d.Files[download]}
	}
	if a.Status == http.StatusCreated {
		out.Headers["Location"] = headerRef("Location")
	}
	return out
}

// problems documents the error codes of an operation. If read is true it has a
// body, and 400 also means that the body is not JSON.
func (d *describer) problems(op *huma.Operation, body reflect.Type, read bool, codes []weir.Code) {
	if body == nil {
		body = route.TypeOf[wire.Problem]()
	}
	if read {
		d.problem(op, body, http.StatusBadRequest, weir.CodeInvalid, malformedExample)
	}
	slices.Sort(codes)
	for _, code := range slices.Compact(codes) {
		d.problem(op, body, wire.StatusOf(code), code, string(code))
	}
}

func (d *describer) problem(op *huma.Operation, body reflect.Type, status int, code weir.Code, example string) {
	key := strconv.Itoa(status)
	out := op.Responses[key]
	if out == nil {
		out = &huma.Response{Headers: map[string]*huma.Param{route.RequestID: headerRef(route.RequestID)}}
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
	if out.Content[wire.ProblemType] == nil {
		out.Content[wire.ProblemType] = &huma.MediaType{Schema: d.r.Schema(body, true, ""), Examples: map[string]*huma.Example{}}
	}
	out.Content[wire.ProblemType].Examples[example] = &huma.Example{Ref: examplePrefix + example}
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
		route.RequestID:    {Description: "names the request in the log; one that the client sends is taken over", Schema: &huma.Schema{Type: "string", MaxLength: new(64)}},
		"Retry-After":      {Description: "seconds after which to try again", Schema: &huma.Schema{Type: "integer", Minimum: new(1.0)}},
		"WWW-Authenticate": {Description: "that a bearer token is asked for", Schema: &huma.Schema{Type: "string"}},
		"Location":         {Description: "path of what was created", Schema: &huma.Schema{Type: "string"}},
	}
}
