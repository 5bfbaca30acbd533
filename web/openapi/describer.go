package openapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"weir"
	"weir/api"
	"weir/internal/plainjson"
	webapi "weir/web/api"
	"weir/web/httpjson"
	"weir/web/route"
)

const (
	schemaPrefix     = "#/components/schemas/"
	examplePrefix    = "#/components/examples/"
	headerPrefix     = "#/components/headers/"
	malformedExample = "malformed" // for a body that is not JSON
)

// describer builds operations.
type describer struct {
	*overlay
	r huma.Registry
}

func (d *describer) operation(rt *route.Route) *huma.Operation {
	op := &huma.Operation{
		Method: rt.Method, Path: rt.Path, OperationID: rt.ID, Summary: rt.Summary, Description: rt.Description,
		Tags: []string{rt.Tag}, Responses: map[string]*huma.Response{},
		Security: security(rt.Access.OneOf, rt.Also...), Parameters: parametersOf(rt),
	}
	if op.Description == "" {
		op.Description = rt.Summary + "."
	}
	if rt.Repeatable {
		op.Extensions = map[string]any{"x-repeatable": true}
	}
	if rt.Download == webapi.StreamType {
		op.Parameters = append(op.Parameters, lastEventID())
	}
	if rt.Tagged && rt.Method != http.MethodGet && rt.Method != http.MethodPost || rt.ID == "rotate-webhook" {
		op.Parameters = append(op.Parameters, ifMatch())
	}
	codes := append([]weir.Code{weir.CodeUnauthorised, weir.CodeForbidden, weir.CodeLimited, weir.CodeInvalid, weir.CodeUnavailable, weir.CodeDraining, weir.CodeInternal}, rt.Codes...)
	read := rt.Body != nil || rt.Uploads != nil
	if read {
		op.RequestBody = d.body(rt)
		codes = append(codes, weir.CodeTooLarge, weir.CodeContentType)
	}
	for _, a := range rt.Answers {
		out := d.good(a, rt.Download)
		for _, t := range rt.OnDemand {
			out.Content[t] = &huma.MediaType{Schema: &huma.Schema{Type: "string"}, Example: d.Files[rt.ID+" "+t]}
		}
		if rt.Tagged && a.Body != nil {
			out.Headers["ETag"] = headerRef("ETag")
		}
		op.Responses[strconv.Itoa(a.Status)] = out
	}
	d.problems(op, rt.Refusal, read, codes)
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
	if rt.Body == nil {
		return &huma.RequestBody{Required: true, Content: content, Description: fmt.Sprintf("At most %d bytes.", rt.BodyLimit)}
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
		out.Content[httpjson.JSONType] = &huma.MediaType{Schema: d.r.Schema(a.Body, true, ""), Example: d.Bodies[a.Body.Name()]}
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
		body = route.TypeOf[api.Problem]()
	}
	if read {
		d.problem(op, body, http.StatusBadRequest, weir.CodeInvalid, malformedExample)
	}
	slices.Sort(codes)
	for _, code := range slices.Compact(codes) {
		d.problem(op, body, httpjson.StatusOf(code), code, string(code))
	}
}

func (d *describer) problem(op *huma.Operation, body reflect.Type, status int, code weir.Code, example string) {
	key := strconv.Itoa(status)
	out := op.Responses[key]
	if out == nil {
		out = &huma.Response{
			Description: "code " + string(code),
			Headers:     map[string]*huma.Param{route.RequestID: headerRef(route.RequestID)},
			Content:     map[string]*huma.MediaType{httpjson.ProblemType: {Schema: d.r.Schema(body, true, ""), Examples: map[string]*huma.Example{}}},
			Extensions:  map[string]any{"x-codes": []string{}},
		}
		op.Responses[key] = out
	} else {
		out.Description += ", " + string(code)
	}
	out.Content[httpjson.ProblemType].Examples[example] = &huma.Example{Ref: examplePrefix + example}
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
