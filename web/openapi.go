package web

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"weir"
)

// describe makes the API description from the routes, and gives each route the
// checker of its body, so that the two cannot differ.
func describe(routes []*route, o Options) (*huma.OpenAPI, error) {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "Weir", Version: o.Version, Description: "A durable contact broker. " +
			"Every error is a problem (RFC 9457) with a stable code; a body that is no JSON is 400, one with wrong content 422, and both change nothing. " +
			"A list of mistakes points into the body, or, for parameters, at the parameter's name."},
		Components: &huma.Components{
			Schemas:         registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: "one of WEIR_API_TOKENS"}},
		},
	}
	registry.Schema(typeOf[Problem](), true, "")
	for _, rt := range routes {
		doc.AddOperation(rt.operation(registry))
	}
	for _, op := range plainOperations(registry) {
		doc.AddOperation(op)
	}
	for _, s := range registry.Map() {
		refuseNull(s)
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
	return doc, nil
}

// refuseNull says of a schema that null is no value: absent fields are absent.
// Only a plain value whose tag says so may be null; huma takes every array for
// nullable.
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

func (rt *route) operation(r huma.Registry) *huma.Operation {
	op := &huma.Operation{
		Method: rt.method, Path: rt.path, OperationID: rt.id, Summary: rt.summary, Description: rt.description,
		Tags: []string{rt.tag}, Responses: map[string]*huma.Response{},
		Security: []map[string][]string{{"token": {}}},
	}
	op.Parameters = rt.parameters()
	codes := append([]weir.Code{weir.CodeUnauthorised, weir.CodeInvalid, weir.CodeUnavailable, weir.CodeDraining, weir.CodeInternal}, rt.codes...)
	if rt.body != nil {
		content := map[string]*huma.MediaType{}
		for _, t := range rt.bodyTypes {
			content[t] = &huma.MediaType{Schema: r.Schema(rt.body, true, "")}
		}
		op.RequestBody = &huma.RequestBody{Required: true, Content: content, Description: fmt.Sprintf("at most %d bytes", rt.bodyLimit)}
		codes = append(codes, weir.CodeTooLarge, weir.CodeContentType)
		addProblem(r, op, http.StatusBadRequest, weir.CodeInvalid)
	}
	for _, code := range codes {
		addProblem(r, op, statusOf(code), code)
	}
	for _, a := range rt.answers {
		op.Responses[strconv.Itoa(a.status)] = good(r, a)
	}
	return op
}

func good(r huma.Registry, a answer) *huma.Response {
	out := &huma.Response{Description: a.description}
	if a.body != nil {
		out.Content = map[string]*huma.MediaType{jsonType: {Schema: r.Schema(a.body, true, "")}}
	}
	return out
}

// addProblem documents that an operation may answer with a code.
func addProblem(r huma.Registry, op *huma.Operation, status int, code weir.Code) {
	key := strconv.Itoa(status)
	if have := op.Responses[key]; have != nil {
		have.Description += ", " + string(code)
		return
	}
	out := &huma.Response{
		Description: "code " + string(code),
		Content:     map[string]*huma.MediaType{problemType: {Schema: r.Schema(typeOf[Problem](), true, "")}},
	}
	if status == http.StatusServiceUnavailable {
		out.Headers = map[string]*huma.Param{"Retry-After": {Description: "seconds", Schema: &huma.Schema{Type: "integer"}}}
	}
	op.Responses[key] = out
}

func (rt *route) parameters() []*huma.Param {
	var params []*huma.Param
	for part := range strings.SplitSeq(rt.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			params = append(params, &huma.Param{
				Name: strings.TrimSuffix(name, "}"), In: "path", Required: true, Schema: &huma.Schema{Type: "string"},
			})
		}
	}
	for _, p := range rt.query {
		s := &huma.Schema{Type: p.kind, Default: p.fallback}
		if p.kind == "integer" {
			low, high := float64(p.minimum), float64(p.maximum)
			s.Minimum, s.Maximum = &low, &high
		}
		params = append(params, &huma.Param{Name: p.name, In: "query", Description: p.describe(), Schema: s})
	}
	return params
}

func (p *parameter) describe() string {
	if p.enum == nil {
		return p.description
	}
	return p.description + ": " + strings.Join(p.enum, ", ")
}

// plainOperations describe the routes that are no part of the JSON API.
func plainOperations(r huma.Registry) []*huma.Operation {
	none := []map[string][]string{}
	ops := []*huma.Operation{
		plainOperation(r, "/livez", "live", "The process answers. Asks no store.", map[int]reflect.Type{200: nil}),
		plainOperation(r, "/readyz", "ready", "Requests should come here.", map[int]reflect.Type{200: typeOf[Readiness](), 503: typeOf[Readiness]()}),
		plainOperation(r, "/metrics", "metrics", "Measurements in the Prometheus text format. Needs a token if the API does.", map[int]reflect.Type{200: nil}),
	}
	addProblem(r, ops[2], http.StatusUnauthorized, weir.CodeUnauthorised)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		op := plainOperation(r, "/callbacks/{channel}/{secret}/{path}", "callback-"+strings.ToLower(method),
			"What a provider says. Weir gives providers these addresses itself.", map[int]reflect.Type{200: nil})
		op.Method = method
		for _, name := range []string{"channel", "secret", "path"} {
			op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: "string"}})
		}
		addProblem(r, op, http.StatusBadRequest, weir.CodeInvalid)
		for _, code := range []weir.Code{weir.CodeNotFound, weir.CodeUnavailable, weir.CodeDraining} {
			addProblem(r, op, statusOf(code), code)
		}
		ops = append(ops, op)
	}
	ops[2].Security = []map[string][]string{{"token": {}}}
	for _, op := range slices.Concat(ops[:2], ops[3:]) {
		op.Security = none
	}
	return ops
}

func plainOperation(r huma.Registry, path, id, summary string, answers map[int]reflect.Type) *huma.Operation {
	op := &huma.Operation{Method: http.MethodGet, Path: path, OperationID: id, Summary: summary, Tags: []string{"operation"}, Responses: map[string]*huma.Response{}}
	for status, body := range answers {
		op.Responses[strconv.Itoa(status)] = good(r, answer{status, http.StatusText(status), body})
	}
	return op
}
