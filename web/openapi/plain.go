package openapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"weir"
	"weir/api"
	"weir/operators"
	webapi "weir/web/api"
	"weir/web/httpjson"
	"weir/web/route"
)

const (
	textType        = "text/plain"
	descriptionType = "application/openapi+json"
)

// readiness documents the responses of a readiness probe.
func (d *describer) readiness(op *huma.Operation) *huma.Operation {
	for status, what := range map[int]string{http.StatusOK: "ready for requests", http.StatusServiceUnavailable: "not ready for requests"} {
		op.Responses[strconv.Itoa(status)] = d.good(route.Answer{Status: status, Description: what, Body: route.TypeOf[api.Readiness]()}, "")
	}
	op.Responses["503"].Content[httpjson.JSONType].Example = map[string]any{"ready": false, "owner": true, "reasons": []any{"draining: the process is shutting down"}}
	return op
}

// plainOperations documents the routes outside the JSON API.
func (d *describer) plainOperations() []*huma.Operation {
	public := []map[string][]string{}
	live := plainOperation("/livez", "live", "Liveness probe", "Does not check the store: a store that is down is no reason to kill the process.")
	live.Responses["200"] = d.good(route.Answer{Status: http.StatusOK, Description: "the process responds", Body: route.TypeOf[api.Liveness]()}, "")
	ready := d.readiness(plainOperation("/readyz", "ready", "Readiness probe", "503 while the process shuts down or its store does not respond; at a process that passes requests on to the owner of the database, while it has not reached the owner for 10 s."))
	owner := d.readiness(plainOperation("/readyz/owner", "ready-owner", "Readiness probe of the owner",
		"As /readyz, at the process that owns the database; 503 at the others, which serve requests by passing them on. A load balancer that prefers the owner saves that hop."))
	metrics := plainOperation(webapi.MetricsPath, "metrics", "Metrics for Prometheus", "In the text format, or in another that the request accepts. Requires a token if the API does.")
	metrics.Responses["200"] = d.good(route.Answer{Status: http.StatusOK, Description: "the metrics"}, textType)
	d.problems(metrics, nil, false, []weir.Code{weir.CodeUnauthorised, weir.CodeForbidden, weir.CodeLimited, weir.CodeUnavailable, weir.CodeInternal})
	list := append([]*huma.Operation{live, ready, owner, d.itself()}, d.callbacks()...)
	for _, op := range list {
		op.Security = public
	}
	metrics.Security = security([]operators.Scope{operators.ScopeMetricsRead})
	return append(list, metrics)
}

// itself documents the description.
func (d *describer) itself() *huma.Operation {
	op := plainOperation("/openapi.json", "openapi-json", "This description, as JSON", "OpenAPI 3.1. GET /docs is a page for people with the same content.")
	op.Responses["200"] = d.good(route.Answer{Status: http.StatusOK, Description: "the description"}, descriptionType)
	op.Responses["200"].Content[descriptionType] = &huma.MediaType{
		Schema:  &huma.Schema{Type: "object", AdditionalProperties: true},
		Example: map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "Weir", "version": "1"}},
	}
	d.problems(op, nil, false, []weir.Code{weir.CodeInternal})
	return op
}

// callbacks documents the requests of providers.
func (d *describer) callbacks() []*huma.Operation {
	var ops []*huma.Operation
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		op := plainOperation("/callbacks/{channel}/{secret}/{path}", "callback-"+strings.ToLower(method), "Callback of a provider",
			"Weir sets these URLs at the providers. Requests and responses have the provider's format, which depends on the channel type. "+
				"Reports are durable before the response; a repeated report changes nothing.")
		op.Method = method
		for _, name := range []string{"channel", "secret", "path"} {
			op.Parameters = append(op.Parameters, pathParameter("operation", name))
		}
		if method == http.MethodPost {
			op.RequestBody = &huma.RequestBody{
				Description: "In the provider's format, at most " + strconv.Itoa(httpjson.MaxCallbackBody) + " bytes.",
				Content:     map[string]*huma.MediaType{"application/x-www-form-urlencoded": {Schema: &huma.Schema{Type: "string"}, Example: "CallStatus=completed&CallDuration=12"}},
			}
		}
		op.Responses["200"] = d.good(route.Answer{Status: http.StatusOK, Description: "accepted"}, "")
		d.problem(op, route.TypeOf[api.Problem](), http.StatusBadRequest, weir.CodeInvalid, malformedExample)
		d.problems(op, nil, false, []weir.Code{weir.CodeForbidden, weir.CodeNotFound, weir.CodeUnavailable, weir.CodeDraining})
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
