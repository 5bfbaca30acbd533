package compat_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"weir/internal/compat"
)

// before is a description that uses every supported feature.
const before = `{
 "paths": {
  "/things": {
   "get": {"operationId": "list", "security": [{"token": ["read"]}, {"token": ["admin"]}],
    "parameters": [
     {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}},
     {"name": "state", "in": "query", "schema": {"type": "string", "enum": ["up", "down"]}},
     {"name": "since", "in": "query", "schema": {"type": "string", "maxLength": 50}}],
    "responses": {
     "200": {"headers": {"X-Id": {}}, "content": {"application/json": {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/View"}}}, "text/csv": {"schema": {"type": "string"}}}},
     "404": {"content": {"application/problem+json": {"schema": {"type": "object"}}}}}},
   "post": {"operationId": "make", "x-repeatable": true, "security": [{"token": ["admin"]}],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Body"}}, "text/csv": {"schema": {"type": "string"}}}},
    "responses": {"201": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/View"}}}}}}},
  "/free": {"get": {"operationId": "free", "security": [], "responses": {"200": {}}},
            "post": {"operationId": "say", "requestBody": {"content": {"application/json": {"schema": {"type": "string"}}}}, "responses": {"204": {}}}}
 },
 "components": {"schemas": {
  "Body": {"type": "object", "additionalProperties": false, "required": ["name"], "properties": {
   "name": {"type": "string", "minLength": 1, "maxLength": 50},
   "size": {"type": ["integer", "null"], "minimum": 0, "maximum": 9},
   "kind": {"type": "string", "enum": ["a", "b"]},
   "list": {"type": "array", "maxItems": 10, "items": {"type": "number"}},
   "note": {"type": "string"},
   "free": {"type": "object", "additionalProperties": {}},
   "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 9}},
   "inner": {"$ref": "#/components/schemas/Body"}}},
  "View": {"type": "object", "additionalProperties": false, "required": ["id", "state"], "properties": {
   "id": {"type": "string"},
   "state": {"type": "string", "enum": ["up", "down"]},
   "count": {"type": "integer"},
   "rate": {"type": "number"},
   "at": {"type": "string", "format": "date-time"},
   "labels": {"type": "object", "additionalProperties": {"type": "string"}},
   "parts": {"type": "array", "items": {"$ref": "#/components/schemas/View"}}}}
 }}
}`

const (
	get  = "/paths/~1things/get"
	post = "/paths/~1things/post"
	body = "/components/schemas/Body"
	view = "/components/schemas/View"
)

// edit changes values of the description: it replaces or removes the value at each
// JSON pointer.
func edit(t *testing.T, edits map[string]string) []byte {
	t.Helper()
	var doc any
	if err := json.Unmarshal([]byte(before), &doc); err != nil {
		t.Fatal(err)
	}
	for pointer, text := range edits {
		at := doc
		names := strings.Split(pointer, "/")[1:]
		for i, name := range names {
			name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
			switch v := at.(type) {
			case map[string]any:
				if i < len(names)-1 {
					at = v[name]
				} else if text == "" {
					if _, there := v[name]; !there {
						t.Fatalf("%s is not there", pointer)
					}
					delete(v, name)
				} else {
					v[name] = json.RawMessage(text)
				}
			case []any:
				n := int(name[0] - '0')
				if i < len(names)-1 {
					at = v[n]
				} else {
					v[n] = json.RawMessage(text)
				}
			default:
				t.Fatalf("%s leads nowhere", pointer)
			}
		}
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBreakingChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, at, now, want string
	}{
		{"a path is gone", "/paths/~1free", "", "GET /free: operation removed"},
		{"a method is gone", post, "", "POST /things: operation removed"},
		{"an operation is called otherwise", get + "/operationId", `"all"`, "operationId list is now all"},
		{"it is not repeatable any more", post + "/x-repeatable", "", "no longer repeatable"},
		{"a scope is gone", get + "/security", `[{"token": ["admin"]}]`, "scope token read alone"},
		{"two scopes are needed", get + "/security", `[{"token": ["read", "admin"]}]`, "alone"},
		{"a token is needed", "/paths/~1free/get/security", `[{"token": ["read"]}]`, "requires a token"},
		{"a parameter is gone", get + "/parameters/2", `{"name": "limit", "in": "header"}`, "query parameter since removed"},
		{"a parameter moved", get + "/parameters/0/in", `"header"`, "query parameter limit removed"},
		{"a parameter is needed", get + "/parameters/0/required", "true", "query parameter limit is now required"},
		{"a new parameter is needed", post + "/parameters", `[{"name": "x", "in": "query", "required": true}]`, "query parameter x is new and required"},
		{"a parameter's bound is narrower", get + "/parameters/0/schema/maximum", "50", "maximum is now 50"},
		{"a parameter's least is higher", get + "/parameters/0/schema/minimum", "2", "minimum is now 2"},
		{"a parameter's type is another", get + "/parameters/2/schema/type", `"integer"`, "was string and is integer"},
		{"a parameter loses a word", get + "/parameters/1/schema/enum", `["up"]`, "may no longer be down"},
		{"a parameter's default is another", get + "/parameters/0/schema/default", "20", "default was 10 and is 20"},
		{"a parameter gets a pattern", get + "/parameters/2/schema/pattern", `"^a"`, "pattern is now ^a"},
		{"a parameter has to be an instant", get + "/parameters/2/schema/format", `"date-time"`, "must now be an instant"},
		{"a parameter gets words", get + "/parameters/2/schema/enum", `["x"]`, "must now be one of x"},
		{"a body is needed", "/paths/~1free/post/requestBody/required", "true", "a body is now required"},
		{"there is a body now", "/paths/~1free/get/requestBody", `{"required": true, "content": {}}`, "a body is now required"},
		{"no body any more", post + "/requestBody", "", "no longer accepts a body"},
		{"a type of body is gone", post + "/requestBody/content/text~1csv", "", "may no longer be text/csv"},
		{"a field of a body is gone", body + "/properties/note", "", "Body in requests: note removed"},
		{"a field of a body is needed", body + "/required", `["name", "size"]`, "size is now required"},
		{"a new field of a body is needed", body + "/required", `["name", "fresh"]`, "fresh is now required"},
		{"a field of a body is shorter", body + "/properties/name/maxLength", "40", "maxLength is now 40"},
		{"a field of a body is longer", body + "/properties/note/minLength", "1", "minLength is now 1"},
		{"a field of a body may not be null", body + "/properties/size/type", `"integer"`, "was integer or null and is integer"},
		{"a field of a body loses a word", body + "/properties/kind/enum", `["a"]`, "kind may no longer be b"},
		{"a list of a body is shorter", body + "/properties/list/maxItems", "5", "maxItems is now 5"},
		{"items of a body are narrower", body + "/properties/list/items/type", `"integer"`, "list[] was number and is integer"},
		{"values of a body are narrower", body + "/properties/free/additionalProperties", `{"type": "string"}`, "values may no longer be anything"},
		{"values of a body are shorter", body + "/properties/labels/additionalProperties/maxLength", "5", "maxLength is now 5"},
		{"other names are refused", body + "/properties/labels/additionalProperties", "false", "other names are no longer allowed"},
		{"an answer is gone", post + "/responses/201", "", "response 201 removed"},
		{"a refusal is gone", get + "/responses/404", "", "response 404 removed"},
		{"a type of answer is gone", get + "/responses/200/content/text~1csv", "", "response 200 is no longer text/csv"},
		{"a header of an answer is gone", get + "/responses/200/headers/X-Id", "", "header X-Id removed"},
		{"an answer is no list any more", get + "/responses/200/content/application~1json/schema", `{"$ref": "#/components/schemas/View"}`, "was array and is object"},
		{"a field of an answer is gone", view + "/properties/count", "", "View in responses: count removed"},
		{"a field of an answer may be absent", view + "/required", `["id"]`, "state may now be absent"},
		{"a field of an answer is of another type", view + "/properties/count/type", `"string"`, "was integer and is string"},
		{"a field of an answer is wider", view + "/properties/count/type", `"number"`, "was integer and is number"},
		{"a field of an answer may be null", view + "/properties/count/type", `["integer", "null"]`, "was integer and is integer or null"},
		{"a field of an answer is no instant", view + "/properties/at/format", "", "at is no longer an instant"},
		{"items of an answer are of another type", view + "/properties/parts/items", `{"type": "string"}`, "parts[] was object and is string"},
		{"values of an answer are anything", view + "/properties/labels/additionalProperties", "{}", "values may now be anything"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found, err := compat.Breaks([]byte(before), edit(t, map[string]string{c.at: c.now}))
			if err != nil || !slices.ContainsFunc(found, func(b compat.Break) bool { return strings.Contains(b.String(), c.want) }) {
				t.Errorf("%v, %v; want %q", found, err, c.want)
			}
		})
	}
}

func TestCompatibleChanges(t *testing.T) {
	t.Parallel()
	for name, edits := range map[string]map[string]string{
		"nothing":                                 {},
		"a new path":                              {"/paths/~1new": `{"get": {"operationId": "new", "responses": {}}}`},
		"a new method":                            {"/paths/~1things/put": `{"operationId": "put", "responses": {}}`},
		"another text":                            {get + "/summary": `"Lists"`, get + "/description": `"All of them"`},
		"a scope more":                            {post + "/security": `[{"token": ["admin"]}, {"token": ["write"]}]`},
		"no token any more":                       {post + "/security": `[]`},
		"repeatable now":                          {get + "/x-repeatable": "true"},
		"a new parameter":                         {post + "/parameters": `[{"name": "x", "in": "query"}]`},
		"parameters in another order":             {get + "/parameters/0": `{"name": "since", "in": "query", "schema": {"type": "string", "maxLength": 50}}`, get + "/parameters/2": `{"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}}`},
		"a wider parameter":                       {get + "/parameters/0/schema/maximum": "1000", get + "/parameters/0/schema/minimum": "0"},
		"a parameter of a wider type":             {get + "/parameters/0/schema/type": `"number"`},
		"a parameter's word more":                 {get + "/parameters/1/schema/enum": `["up", "down", "paused"]`},
		"a parameter of any words":                {get + "/parameters/1/schema/enum": ""},
		"a parameter gets a default":              {get + "/parameters/2/schema/default": `"today"`},
		"a body may be left out":                  {post + "/requestBody/required": "false"},
		"another type of body":                    {post + "/requestBody/content/text~1tsv": `{"schema": {"type": "string"}}`},
		"a body that may be there":                {"/paths/~1free/get/requestBody": `{"content": {"text/csv": {}}}`},
		"a new field of a body":                   {body + "/properties/fresh": `{"type": "string"}`},
		"a field of a body may be absent":         {body + "/required": `[]`},
		"a longer field of a body":                {body + "/properties/name/maxLength": "100", body + "/properties/name/minLength": ""},
		"a field of a body may be null":           {body + "/properties/note/type": `["string", "null"]`},
		"a body's word more":                      {body + "/properties/kind/enum": `["a", "b", "c"]`},
		"a body takes any names":                  {body + "/additionalProperties": "true"},
		"a least that holds anyway":               {body + "/properties/note/minLength": "0"},
		"another refusal":                         {post + "/responses/409": `{"description": "conflict"}`},
		"another type of answer":                  {post + "/responses/201/content/text~1csv": `{"schema": {"type": "string"}}`},
		"a new header":                            {get + "/responses/200/headers/X-New": `{}`},
		"a new field of an answer":                {view + "/properties/fresh": `{"type": "string"}`},
		"a field of an answer is there":           {view + "/required": `["id", "state", "count"]`},
		"a narrower field of an answer":           {view + "/properties/rate/type": `"integer"`},
		"an answer's word more":                   {view + "/properties/state/enum": `["up", "down", "paused"]`},
		"an answer's word less":                   {view + "/properties/state/enum": `["up"]`},
		"a field of an answer is an instant":      {view + "/properties/id/format": `"date-time"`},
		"an answer may have any names":            {view + "/additionalProperties": "true"},
		"a schema has another name and is as was": {"/components/schemas/Other": `{"type": "string"}`, "/paths/~1free/post/requestBody/content/application~1json/schema": `{"$ref": "#/components/schemas/Other"}`},
		"other examples":                          {get + "/responses/200/content/application~1json/example": `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found, err := compat.Breaks([]byte(before), edit(t, edits)); err != nil || len(found) > 0 {
				t.Errorf("%v, %v", found, err)
			}
		})
	}
}

func TestWhatIsNoDescription(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"", before}, {before, "{"}, {"[]", before}} {
		if _, err := compat.Breaks([]byte(c[0]), []byte(c[1])); err == nil {
			t.Errorf("%.10q and %.10q are taken for descriptions", c[0], c[1])
		}
	}
}
