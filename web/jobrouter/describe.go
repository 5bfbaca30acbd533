package jobrouter

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"weir/routing/label"
	"weir/routing/resource"
)

// The description of the API is generated from the table of routes, the shapes of
// request bodies and the views of responses.

const aboutRouter = `A job router for clients of Azure Communication Services Job Router, api-versions 2023-11-01 and 2024-01-18-preview. docs/job-router.md lists differences and extensions.

Requests are signed with one of JOB_ROUTER_ACCESS_KEYS (HMAC-SHA256 over method, target, date, host and the hash of the body, as in Azure), or carry a bearer token with the scopes router and pii:read. PATCH is a JSON merge patch: it creates a missing resource. Read-only members may be sent back and are ignored.`

// Description returns the OpenAPI 3.1 description of the API. server is the prefix
// of its paths; empty: none.
func Description(server string) ([]byte, error) {
	if server == "" {
		server = "/"
	}
	d := &describer{schemas: map[string]any{}}
	d.schema(reflect.TypeFor[fault]())
	paths := map[string]map[string]any{}
	// The table of an empty service: its handlers are listed, never called.
	for _, r := range (&service{}).table() {
		path, parameters := pathOf(r.path)
		if paths[path] == nil {
			paths[path] = map[string]any{"parameters": parameters}
		}
		paths[path][strings.ToLower(r.method)] = d.operation(r)
	}
	for _, res := range resources() {
		d.markReadOnly(res.view, res.kind)
	}
	return json.MarshalIndent(map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": "Weir's job router", "version": string(version2023), "description": aboutRouter},
		"servers": []any{map[string]any{"url": server}},
		"paths":   paths,
		"components": map[string]any{
			"schemas": d.schemas,
			"securitySchemes": map[string]any{
				"signature": map[string]any{"type": "apiKey", "in": "header", "name": "Authorization", "description": "HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=…"},
				"token":     map[string]any{"type": "http", "scheme": "bearer"},
			},
		},
		"security": []any{map[string]any{"signature": []string{}}, map[string]any{"token": []string{"router", "pii:read"}}},
	}, "", "  ")
}

// pathOf returns a route's path with named parameters, and the parameters.
func pathOf(route string) (string, []any) {
	parts := strings.Split(prefix+route, "/")
	parameters := []any{map[string]any{
		"name": "api-version", "in": "query", "required": true, "schema": map[string]any{"type": "string", "enum": versions()},
		"description": "API version",
	}}
	for i, part := range parts {
		if rest, ok := strings.CutPrefix(part, "*"); ok {
			name := singular(parts[i-1]) + "Id"
			parts[i] = "{" + name + "}" + rest
			parameters = append(parameters, map[string]any{
				"name": name, "in": "path", "required": true, "schema": map[string]any{"type": "string", "minLength": 1}, "description": "id of the resource",
			})
		}
	}
	return strings.Join(parts, "/"), parameters
}

// singular returns the name of one resource of a collection: policies, workers.
func singular(name string) string {
	if stem, ok := strings.CutSuffix(name, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(name, "s")
}

// describer collects schemas.
type describer struct{ schemas map[string]any }

func (d *describer) operation(r *route) map[string]any {
	name := strings.ToLower(r.method) + " " + strings.NewReplacer("/*", " one", "/", " ", ":", " ").Replace(r.path)
	op := map[string]any{
		"operationId": strings.ReplaceAll(name, " ", "-"), "summary": r.summary, "tags": []string{strings.FieldsFunc(r.path, func(c rune) bool { return c == '/' || c == ':' })[0]},
	}
	parameters := []any{}
	for _, q := range r.query {
		parameters = append(parameters, map[string]any{"name": q, "in": "query", "description": queryHelp()[q], "schema": map[string]any{"type": queryType(q)}})
	}
	responses := map[string]any{"default": answerOf("an error", ref("Error"))}
	d.schemas["Error"] = map[string]any{"type": "object", "description": "An error.", "properties": map[string]any{"error": ref("Fault")}}
	switch r.method {
	case http.MethodPatch:
		for _, header := range []string{"If-Match", "If-Unmodified-Since"} {
			parameters = append(parameters, map[string]any{"name": header, "in": "header", "description": "apply only if unchanged", "schema": map[string]any{"type": "string"}})
		}
		body := d.schema(reflect.TypeOf(r.body))
		op["requestBody"] = bodyOf(body, mergePatchType, plainJSONType)
		responses["200"], responses["201"] = answerOf("changed", body), answerOf("created", body)
	case http.MethodDelete:
		responses["204"] = map[string]any{"description": "deleted"}
	case http.MethodPost:
		_, action, _ := strings.Cut(r.path, ":")
		op["requestBody"] = bodyOf(d.actionBody(action), plainJSONType)
		fallthrough
	default:
		body := d.schema(reflect.TypeOf(r.body))
		if r.page {
			body = map[string]any{"type": "object", "properties": map[string]any{
				"value": map[string]any{"type": "array", "items": body}, "nextLink": map[string]any{"type": "string", "description": "the next page; absent on the last"},
			}}
		}
		responses["200"] = answerOf("done", body)
	}
	op["parameters"], op["responses"] = parameters, responses
	return op
}

func answerOf(text string, schema any) map[string]any {
	return map[string]any{"description": text, "content": map[string]any{plainJSONType: map[string]any{"schema": schema}}}
}

func bodyOf(schema any, types ...string) map[string]any {
	content := map[string]any{}
	for _, t := range types {
		content[t] = map[string]any{"schema": schema}
	}
	return map[string]any{"content": content}
}

func ref(name string) map[string]any { return map[string]any{"$ref": "#/components/schemas/" + name} }

// markReadOnly marks the members of a resource that clients cannot set.
func (d *describer) markReadOnly(view any, kind resource.Kind) {
	// The newer api-version has all members of the older one.
	shape := resourceShapes(version2024)[kind]
	s, _ := d.schemas[schemaName(reflect.TypeOf(view))].(map[string]any)
	members, _ := s["properties"].(map[string]any)
	for name, member := range members {
		if m, ok := member.(map[string]any); ok && shape[name] == nil {
			m["readOnly"] = true
		}
	}
}

// actionBody returns the schema of an action's body, which may be absent.
func (d *describer) actionBody(action string) any {
	members := map[string]any{}
	fields := reflect.TypeFor[options]()
	for i := range fields.NumField() {
		name := fields.Field(i).Tag.Get("json")
		if actionShapes()[action][name] != nil {
			members[name] = d.schema(fields.Field(i).Type)
		}
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": members}
}

func queryType(name string) string {
	if name == "maxpagesize" {
		return "integer"
	}
	return "string"
}

func queryHelp() map[string]string {
	return map[string]string{
		"maxpagesize": "entries per page", skipToken: "start of the page, from nextLink",
		"status": "filter by status: all, active or one status", "state": "filter by state: all or one state",
		"queueId": "filter by queue", "channelId": "filter by channel", "classificationPolicyId": "filter by policy",
		"scheduledBefore": "only jobs scheduled before this instant", "scheduledAfter": "only jobs scheduled after this instant",
		"hasCapacity": "true: only workers with capacity to spare", "filter": "worker selectors, such as Q#Spanish#M or Spanish,level>=3",
	}
}

// schema describes a type as encoding/json writes it.
func (d *describer) schema(t reflect.Type) map[string]any {
	switch t {
	// The second one is time.Time, the type of closeAt.
	case reflect.TypeFor[instant](), reflect.TypeFor[options]().Field(2).Type:
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[label.Value]():
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": d.schema(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Struct:
		if t.NumField() == 0 {
			return map[string]any{"type": "object"}
		}
		return d.object(t)
	default:
		return map[string]any{}
	}
}

func (d *describer) object(t reflect.Type) map[string]any {
	name := schemaName(t)
	if _, ok := d.schemas[name]; !ok {
		members := map[string]any{}
		d.schemas[name] = map[string]any{"type": "object", "properties": members}
		d.members(t, members)
	}
	return ref(name)
}

// members adds the members of a struct and of its embedded structs.
func (d *describer) members(t reflect.Type, to map[string]any) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			d.members(f.Type, to)
		case f.IsExported() && tag != "" && tag != "-":
			to[tag] = d.schema(f.Type)
		}
	}
}

// schemaName returns the name of a type in the description, without View.
func schemaName(t reflect.Type) string {
	name := strings.TrimSuffix(t.Name(), "View")
	return strings.ToUpper(name[:1]) + name[1:]
}

// Described serves the description of the API; see [Description].
func Described(server string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := Description(server)
		if err != nil {
			writeFault(w, r.URL.EscapedPath(), err)
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(text) // the client may have disconnected
	})
}
