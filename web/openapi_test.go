package web_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/web"
	webapi "weir/web/api"
	"weir/web/auth"
	"weir/web/webtest"
)

// TestOpenAPI_ListsEveryRoute: every served route is described, except pages for
// people, and vice versa, also in the description generated without a running
// Weir.
func TestOpenAPI_ListsEveryRoute(t *testing.T) {
	t.Parallel()
	var listed, want []string
	for path, ops := range described(t).Paths {
		for method := range ops {
			listed = append(listed, strings.ToUpper(method)+" "+path)
		}
	}
	for _, pattern := range served(t) {
		if path := pattern[strings.Index(pattern, "/"):]; !strings.HasPrefix(path, "/docs") && path != "/callbacks/{channel}/{secret}" && path != "/routing/openapi.json" {
			want = append(want, strings.ReplaceAll(pattern, "...", ""))
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	if d := cmp.Diff(want, listed); d != "" {
		t.Errorf("(-served +described):\n%s", d)
	}
}

func TestOpenAPI_IsWellFormed(t *testing.T) {
	t.Parallel()
	r := webtest.New(t, func(o *web.Options) { o.Prefix = "/weir" })
	g, spec := r.Serve(httptest.NewRequest("GET", "/openapi.json", nil)), r.Spec()
	if s := spec.Servers; len(s) != 1 || s[0].URL != "/weir" || described(t).Servers[0].URL != "/" {
		t.Errorf("servers: %v", s)
	}
	if g.Status != 200 || spec.OpenAPI != "3.1.0" || spec.Info.Version != "test" {
		t.Errorf("%d, OpenAPI %s, version %s", g.Status, spec.OpenAPI, spec.Info.Version)
	}
	var doc any
	if err := json.Unmarshal([]byte(g.Body), &doc); err != nil {
		t.Fatal(err)
	}
	resolveRefs(t, doc, doc)
	ids := map[string]bool{}
	for path, ops := range spec.Paths {
		for method, op := range ops {
			if op.OperationID == "" || ids[op.OperationID] {
				t.Errorf("%s %s: operationId %q", method, path, op.OperationID)
			}
			ids[op.OperationID] = true
			for _, name := range regexp.MustCompile(`\{[a-z]+\}`).FindAllString(path, -1) {
				if !slices.ContainsFunc(op.Parameters, func(p webtest.Parameter) bool { return "{"+p.Name+"}" == name && p.In == "path" }) {
					t.Errorf("%s %s: %s is not described", method, path, name)
				}
			}
			if strings.HasPrefix(path, "/v1/") {
				documentsErrors(t, method+" "+path, op.Responses["401"].Description, op.Responses["422"].Description, op.Responses["500"].Description, op.Responses["503"].Description)
				if len(op.Security) == 0 {
					t.Errorf("%s %s: no security", method, path)
				}
			}
			if op.RequestBody.Content != nil && strings.HasPrefix(path, "/v1/") {
				documentsErrors(t, method+" "+path, op.Responses["400"].Description, op.Responses["413"].Description, op.Responses["415"].Description)
			}
			for status, res := range op.Responses {
				if _, ok := res.Content["application/problem+json"]; status[0] >= '4' && !ok && !strings.HasPrefix(path, "/readyz") {
					t.Errorf("%s %s: %s is no problem", method, path, status)
				}
			}
		}
	}
}

func documentsErrors(t *testing.T, what string, descriptions ...string) {
	t.Helper()
	for i, d := range descriptions {
		if !strings.HasPrefix(d, "code ") {
			t.Errorf("%s: error %d is not documented: %q", what, i, d)
		}
	}
}

// resolveRefs finds the target of every $ref.
func resolveRefs(t *testing.T, doc, at any) {
	t.Helper()
	switch v := at.(type) {
	case []any:
		for _, x := range v {
			resolveRefs(t, doc, x)
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			target := doc
			for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
				m, _ := target.(map[string]any)
				target = m[part]
			}
			if target == nil {
				t.Errorf("%s leads nowhere", ref)
			}
		}
		for _, x := range v {
			resolveRefs(t, doc, x)
		}
	}
}

// TestOpenAPI_ChecksUseTheServedDescription: the description that responses are checked against is the
// served one, for the parts that exist.
func TestOpenAPI_ChecksUseTheServedDescription(t *testing.T) {
	t.Parallel()
	all := described(t)
	whole := webtest.New(t, func(o *web.Options) { allParts(t, o) }).Spec()
	if d := cmp.Diff(all.Paths, whole.Paths) + cmp.Diff(all.Components, whole.Components); d != "" {
		t.Errorf("(-described +served):\n%s", d)
	}
	for path, ops := range webtest.New(t).Spec().Paths {
		if d := cmp.Diff(all.Paths[path], ops); d != "" {
			t.Errorf("%s (-described +served):\n%s", path, d)
		}
	}
}

func TestOpenAPI_NamesEveryCode(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	raw, err := json.Marshal(r.Spec().Components.Schemas["Problem"])
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []weir.Code{
		weir.CodeInvalid, weir.CodeNotFound, weir.CodeConflict, weir.CodeLocked, weir.CodeKeyReused, weir.CodeUnavailable, weir.CodeDraining, weir.CodeInternal,
		weir.CodeUnauthorised, weir.CodeTooLarge, weir.CodeContentType, weir.CodeMethod, weir.CodeForbidden, weir.CodeLimited,
	} {
		if !strings.Contains(string(raw), `"`+string(code)+`"`) {
			t.Errorf("%s is not in the schema of problems", code)
		}
	}
}

// judge is huma's validation of the contacts body: an independent check of this
// package's validation.
func judge(t testing.TB) func(body any) []error {
	t.Helper()
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schema := registry.Schema(reflect.TypeFor[api.ContactsBody](), true, "")
	return func(body any) []error {
		res := &huma.ValidateResult{}
		huma.Validate(registry, schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, body, res)
		return res.Errors
	}
}

// TestOpenAPI_AcceptedBodiesMatchTheDescription: the description excludes at least 30
// rows of the table of bad input, which is rejected, and no good input.
func TestOpenAPI_AcceptedBodiesMatchTheDescription(t *testing.T) {
	t.Parallel()
	validate := judge(t)
	ruledOut := 0
	for _, tc := range webtest.BadContacts() {
		var body any
		if len(tc.Body) < 100_000 && json.Unmarshal([]byte(tc.Body), &body) == nil && len(validate(body)) > 0 {
			ruledOut++
		}
	}
	if ruledOut < 30 {
		t.Errorf("the description rules out %d rows of the table only", ruledOut)
	}
	var body any
	if err := json.Unmarshal([]byte(webtest.Batch(webtest.Text(`,"key":"a","not_before":"2027-01-01T00:00:00Z","labels":{"a":"b"}`))), &body); err != nil {
		t.Fatal(err)
	}
	if errs := validate(body); len(errs) > 0 {
		t.Errorf("good input: %v", errs)
	}
}

// FuzzContacts: every body gets a documented response; no rejected body is
// written, and the API description excludes no accepted body.
func FuzzContacts(f *testing.F) {
	for _, tc := range webtest.BadContacts() {
		if len(tc.Body) < 1000 {
			f.Add(tc.Body, tc.Channel == "voice")
		}
	}
	f.Add(webtest.Batch(webtest.Text(`,"key":"a","labels":{"a":"b"},"not_after":"2027-01-01T00:00:00Z"`)), false)
	f.Add(webtest.Batch(webtest.Call(`{"twiml":"<Response/>"}`)), true)
	r := webtest.New(f, func(o *web.Options) { o.Logger = slog.New(slog.DiscardHandler) })
	r.Channel("texts", "texts", func(c *weir.Channel) { c.Settings["reply_reserve"] = 3.0 })
	r.Channel("voice", "voice")
	validate := judge(f)
	f.Fuzz(func(t *testing.T, body string, voice bool) {
		path := "/v1/channels/texts/contacts"
		if voice {
			path = "/v1/channels/voice/contacts"
		}
		r.T = t
		writes := r.Writes()
		g := r.Do("POST", path, body+" ")
		switch g.Status {
		case 202:
			var v any
			if err := json.Unmarshal([]byte(body), &v); err != nil {
				t.Fatal(err)
			}
			if errs := validate(v); len(errs) > 0 {
				t.Errorf("accepted against the description: %v\n%s", errs, body)
			}
			ids := webtest.Into[api.AcceptedList](t, g, 202).Contacts
			for _, id := range ids {
				ref, err := weir.ParseRef(id.ID)
				if err != nil {
					t.Fatal(err)
				}
				c, _, err := r.Store.Contact(t.Context(), ref)
				if err != nil {
					t.Fatal(err)
				}
				if c.Size() > 10 || voice == (c.Call == nil) || len(c.To) < 3 {
					t.Errorf("accepted: %+v", c.Spec)
				}
			}
		case 400, 422:
			if r.Writes() != writes {
				t.Error("refused but written")
			}
			if g.Status == 422 && len(g.Problem(t).Errors) == 0 {
				t.Errorf("refused without a reason: %s", g.Body)
			}
		default:
			t.Errorf("%d: %s", g.Status, g.Body)
		}
	})
}

func TestOpenAPI_MetricsAreCleanAndBeginAtZero(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	problems, err := testutil.GatherAndLint(r.Registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	for _, typ := range []string{"texts", "voice"} {
		for _, result := range []string{"applied", "duplicate", "late", "unknown", "unauthorised", "invalid", "forged", "unknown_path", "deleted", "unavailable", "ignored"} {
			if n := r.Counter("weir_callbacks_total", "type", typ, "result", result); n != 0 {
				t.Errorf("%s %s: %v", typ, result, n)
			}
		}
	}
	r.Do("GET", "/v1/contacts", "")
	g := r.Do("GET", "/metrics", "")
	for _, line := range []string{
		`weir_http_requests_total{method="GET",route="/v1/contacts",status="2xx"} 1`,
		`weir_http_requests_total{method="POST",route="/v1/channels/{channel}/contacts",status="5xx"} 0`,
		`weir_callbacks_total{result="unauthorised",type="none"} 0`,
		`weir_http_request_duration_seconds_count{route="/v1/contacts"} 1`,
	} {
		if !strings.Contains(g.Body, line) {
			t.Errorf("%s is missing from\n%s", line, g.Body)
		}
	}
}

// TestOpenAPI_NothingIsRegisteredGlobally: nothing is registered globally.
func TestOpenAPI_NothingIsRegisteredGlobally(t *testing.T) {
	t.Parallel()
	for range 2 {
		if _, err := web.New(web.Options{
			Options: webapi.Options{DefaultCapacity: 1, Directory: channels.NewDirectory(webtest.Table(), "http://x", nil)}, Metrics: web.NewMetrics(prometheus.NewRegistry()), Gatherer: prometheus.NewRegistry(),
			Gate: auth.NewGate(auth.GateOptions{}),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := web.New(web.Options{Options: webapi.Options{Directory: channels.NewDirectory(webtest.Table(), "http://x", nil)}, Metrics: web.NewMetrics(prometheus.NewRegistry())}); err == nil {
		t.Error("channels would have no capacity")
	}
}

// BenchmarkContacts measures the HTTP layer's share of a batch of 1,000 small
// contacts: reading, validation, response.
func BenchmarkContacts(b *testing.B) {
	r := webtest.New(b, func(o *web.Options) { o.Logger = slog.New(slog.DiscardHandler) })
	r.Channel("texts", "texts")
	contacts := make([]string, 1000)
	for i := range contacts {
		contacts[i] = webtest.Text(`,"priority":"high","survey":"s1"`)
	}
	body := webtest.Batch(contacts...)
	b.ReportAllocs()
	for b.Loop() {
		if g := r.Do("POST", "/v1/channels/texts/contacts", body); g.Status != 202 {
			b.Fatal(g.Body)
		}
	}
}

// TestOpenAPI_OverlayDescribesWhatExists: no text or example of the overlay is left over
// from a schema, field or operation that is gone.
func TestOpenAPI_OverlayDescribesWhatExists(t *testing.T) {
	t.Parallel()
	var overlay struct {
		Schemas          map[string]string
		Fields           map[string]map[string]string
		Bodies, Requests map[string]any
	}
	raw, err := os.ReadFile("openapi/overlay.json")
	if err == nil {
		err = json.Unmarshal(raw, &overlay)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := web.Description(channels.NewDirectory(webtest.Table(), "", nil))
	if err != nil {
		t.Fatal(err)
	}
	text, schemas := string(all), described(t).Components.Schemas
	for _, name := range append(slices.Collect(maps.Keys(overlay.Schemas)), slices.Collect(maps.Keys(overlay.Bodies))...) {
		if schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
	for name, fields := range overlay.Fields {
		schema, _ := schemas[name].(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		for field, description := range fields {
			if p, _ := properties[field].(map[string]any); !strings.HasPrefix(fmt.Sprint(p["description"]), description) {
				t.Errorf("field %s of %s does not need its text: there is no such field, or its type has one", field, name)
			}
		}
	}
	for id := range overlay.Requests {
		if !strings.Contains(text, `"operationId": "`+id+`"`) {
			t.Errorf("there is no operation %s", id)
		}
	}
}
