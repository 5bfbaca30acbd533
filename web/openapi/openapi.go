// Package openapi makes the checkers of bodies and the API description from the
// same types of the routes, so that the two cannot differ.
package openapi

import (
	"cmp"
	"fmt"
	"regexp"

	"github.com/danielgtaylor/huma/v2"

	"weir/api"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// SetCheckers sets the body checker of each route. It is apart from the
// description, which takes three times as long and which few processes are asked for.
func SetCheckers(routes []*route.Route) error {
	registry := newRegistry()
	for _, rt := range routes {
		if rt.Body != nil {
			registry.Schema(rt.Body, true, "")
		}
	}
	for _, s := range registry.Map() {
		refuseNull(s)
	}
	for _, rt := range routes {
		if rt.Body == nil {
			continue
		}
		var err error
		if rt.Check, err = httpjson.Compile(registry, registry.Schema(rt.Body, true, "")); err != nil {
			return fmt.Errorf("%s: %w", rt.ID, err)
		}
	}
	return nil
}

func newRegistry() huma.Registry {
	return huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer)
}

// JSON returns the API description of the routes as JSON.
func JSON(routes []*route.Route, version, prefix string) ([]byte, error) {
	doc, err := describe(routes, version, prefix)
	if err != nil {
		return nil, err
	}
	return doc.MarshalJSON()
}

func describe(routes []*route.Route, version, prefix string) (*huma.OpenAPI, error) {
	texts, err := readOverlay()
	if err != nil {
		return nil, err
	}
	registry := newRegistry()
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
	registry.Schema(route.TypeOf[api.Problem](), true, "")
	d := &describer{overlay: texts, r: registry}
	for _, rt := range routes {
		doc.AddOperation(d.operation(rt))
		for _, t := range rt.Data {
			registry.Schema(t, true, "")
		}
	}
	for _, op := range d.plainOperations() {
		doc.AddOperation(op)
	}
	for name, s := range registry.Map() {
		refuseNull(s)
		setDescriptions(s, texts.Schemas[name], texts.Fields[name])
	}
	for _, s := range registry.Map() {
		for _, p := range s.Properties {
			publishPattern(p)
		}
	}
	return doc, nil
}

// codePoint matches a code point in a pattern of Go.
var codePoint = regexp.MustCompile(`\\x\{([0-9A-F]{4})\}`)

// publishPattern moves huma's patternDescription, which is not a JSON Schema
// keyword, into the description, and writes the pattern as ECMAScript does, which
// is what JSON Schema asks for: \u1680 for Go's \x{1680}. Checkers use both as
// they are in the tags.
func publishPattern(p *huma.Schema) {
	if p.PatternDescription != "" {
		p.Description, p.PatternDescription = p.Description+"; "+p.PatternDescription, ""
	}
	p.Pattern = codePoint.ReplaceAllString(p.Pattern, `\u$1`)
}

// refuseNull marks a schema as not nullable: an absent field is left out. Only
// a plain value or a map whose tag says so may be null; huma makes every array nullable.
func refuseNull(s *huma.Schema) {
	s.Nullable = s.Nullable && s.Type != "array" && (s.Type != "object" || len(s.Properties) == 0)
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

// setDescriptions sets the descriptions of a schema and its fields where their
// types have none.
func setDescriptions(s *huma.Schema, what string, fields map[string]string) {
	if s.Description == "" {
		s.Description = what
	}
	for name, p := range s.Properties {
		if p.Description == "" {
			p.Description = fields[name]
		}
	}
}

func headers() map[string]*huma.Header {
	return map[string]*huma.Header{
		route.RequestID:    {Description: "identifies the request in the log; Weir uses the id that the client sends, if it is valid", Schema: &huma.Schema{Type: "string", MaxLength: new(64)}},
		"Retry-After":      {Description: "seconds after which to try again", Schema: &huma.Schema{Type: "integer", Minimum: new(1.0)}},
		"WWW-Authenticate": {Description: "a bearer token is required", Schema: &huma.Schema{Type: "string"}},
		"ETag":             {Description: "version of the resource, for If-Match", Schema: &huma.Schema{Type: "string"}},
		"Location":         {Description: "path of the created resource", Schema: &huma.Schema{Type: "string"}},
	}
}
