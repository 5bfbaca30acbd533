package openapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"weir"
	"weir/ops"
	"weir/web/api"
	"weir/web/route"
	"weir/web/wire"
)

const textType = "text/plain"

// readiness documents the responses of a readiness probe.
func (d *describer) readiness(op *huma.Operation) *huma.Operation {
	for status, what := range map[int]string{http.StatusOK: "requests should come here", http.StatusServiceUnavailable: "they should go elsewhere for now"} {
		op.Responses[strconv.Itoa(status)] = d.good(route.Answer{Status: status, Description: what, Body: route.TypeOf[api.Readiness]()}, "")
	}
	op.Responses["503"].Content[wire.JSONType].Example = map[string]any{"ready": false, "reasons": []any{"draining: the process is shutting down"}}
	return op
}

// plainOperations documents the routes outside the JSON API.
func (d *describer) plainOperations() []*huma.Operation {
	public := []map[string][]string{}
	live := plainOperation("/livez", "live", "The process answers", "Asks no store: one that is down is no reason to end the process.")
	live.Responses["200"] = d.good(route.Answer{Status: http.StatusOK, Description: "the process answers", Body: route.TypeOf[api.Liveness]()}, "")
	ready := d.readiness(plainOperation("/readyz", "ready", "Requests should come here", "Not while the process is ending, or its store does not answer."))
	router := d.readiness(plainOperation("/readyz/router", "ready-router", "Requests to the job router should come here",
		"503 while another process runs the router, or this one still reads its state. For the health checks of proxies in front of /routing/."))
	metrics := plainOperation(api.MetricsPath, "metrics", "Measurements for Prometheus", "In the text format, or in another that the request asks for. Needs a token if the API does.")
	metrics.Responses["200"] = d.good(route.Answer{Status: http.StatusOK, Description: "the measurements"}, textType)
	d.problems(metrics, nil, false, []weir.Code{weir.CodeUnauthorised, weir.CodeForbidden, weir.CodeLimited, weir.CodeUnavailable, weir.CodeInternal})
	list := []*huma.Operation{live, ready, router}
	for path, id := range map[string]string{"/openapi.json": "openapi-json", "/openapi.yaml": "openapi-yaml"} {
		kind := strings.TrimPrefix(path, "/openapi.")
		op := plainOperation(path, id, "This description, as "+strings.ToUpper(kind), "OpenAPI 3.1. GET /docs is a page for people with the same content.")
		op.Responses["200"] = d.good(route.Answer{Status: http.StatusOK, Description: "the description"}, "application/openapi+"+kind)
		d.problems(op, nil, false, []weir.Code{weir.CodeInternal})
		list = append(list, op)
	}
	list = append(list, d.callbacks()...)
	for _, op := range list {
		op.Security = public
	}
	metrics.Security = security([]ops.Scope{ops.ScopeMetricsRead})
	return append(list, metrics)
}

// callbacks documents the requests of providers.
func (d *describer) callbacks() []*huma.Operation {
	var ops []*huma.Operation
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		op := plainOperation("/callbacks/{channel}/{secret}/{path}", "callback-"+strings.ToLower(method), "Callback of a provider",
			"Weir gives providers these addresses itself. What they send, and what they are answered, is theirs: it depends on the channel's type. "+
				"What was said is durable when the answer comes; saying it again changes nothing.")
		op.Method = method
		for _, name := range []string{"channel", "secret", "path"} {
			op.Parameters = append(op.Parameters, pathParameter("operation", name))
		}
		if method == http.MethodPost {
			op.RequestBody = &huma.RequestBody{
				Description: "As the provider has it, at most " + strconv.Itoa(wire.MaxCallbackBody) + " bytes.",
				Content:     map[string]*huma.MediaType{"application/x-www-form-urlencoded": {Schema: &huma.Schema{Type: "string"}, Example: "CallStatus=completed&CallDuration=12"}},
			}
		}
		op.Responses["200"] = d.good(route.Answer{Status: http.StatusOK, Description: "taken"}, "")
		d.problem(op, route.TypeOf[wire.Problem](), http.StatusBadRequest, weir.CodeInvalid, malformedExample)
		d.problems(op, nil, false, []weir.Code{weir.CodeNotFound, weir.CodeUnavailable, weir.CodeDraining})
		ops = append(ops, op)
	}
	return ops
}

func plainOperation(path, id, summary, description string) *huma.Operation {
	return &huma.Operation{
		Method: http.MethodGet, Path: path, OperationID: id, Summary: summary, Description: description,
		Tags: []string{"operation"}, Responses: map[string]*huma.Response{},
	}
}
