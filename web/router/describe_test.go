package router_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"weir/web/router"
)

func TestDescription_IsOpenAPI(t *testing.T) {
	t.Parallel()
	raw, err := router.Description("/weir")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.IsOpenAPI31OrLater(), openapi3.EnableMultiError()); err != nil {
		t.Error(err)
	}
	if doc.Servers[0].URL != "/weir" || doc.Paths.Value("/routing/workers/{workerId}/offers/{offerId}:accept") == nil {
		t.Errorf("%v, %d paths", doc.Servers[0], doc.Paths.Len())
	}
}

// Every route is described and every described route exists, with the members that a
// client may state and no others.
func TestDescription_HasEveryRoute(t *testing.T) {
	t.Parallel()
	raw, err := router.Description("")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`\{[A-Za-z]+\}`)
	var routes []string
	members := map[string][]string{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			routes = append(routes, method+" "+id.ReplaceAllString(path, "*"))
			if op.RequestBody == nil {
				continue
			}
			name := strings.Split(path, "/")[2]
			if _, action, ok := strings.Cut(path, "}:"); ok {
				name = action
			}
			members[name] = []string{}
			for member, schema := range op.RequestBody.Value.Content["application/json"].Schema.Value.Properties {
				if !schema.Value.ReadOnly {
					members[name] = append(members[name], member)
				}
			}
		}
	}
	sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if diff := cmp.Diff(router.Routes(), routes, sorted); diff != "" {
		t.Errorf("routes (-served +described):\n%s", diff)
	}
	if diff := cmp.Diff(router.Members(), members, sorted, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("members (-accepted +described):\n%s", diff)
	}
}

// judge validates responses against the description. Its schemas allow no
// undescribed members.
type judge struct {
	once     sync.Once
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	paths    map[string]*regexp.Regexp
	err      error
}

func (j *judge) prepare() {
	raw, err := router.Description("")
	var doc map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	if err != nil {
		j.err = err
		return
	}
	components, _ := doc["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	for s := range maps.Values(schemas) {
		if s, ok := s.(map[string]any); ok {
			s["additionalProperties"] = false
		}
	}
	j.paths = map[string]*regexp.Regexp{}
	paths, _ := doc["paths"].(map[string]any)
	for path := range paths {
		j.paths[path] = regexp.MustCompile("^" + regexp.MustCompile(`\\\{[A-Za-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
	}
	j.compiler = jsonschema.NewCompiler()
	j.compiler.DefaultDraft(jsonschema.Draft2020)
	j.compiler.AssertFormat()
	j.err = j.compiler.AddResource("weir:router", doc)
}

// documented validates a response against the description.
func (r *rig) documented(method string, a answered) {
	r.t.Helper()
	j := &r.judge
	j.once.Do(j.prepare)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		r.t.Fatal(j.err)
	}
	pattern, status := "", strconv.Itoa(a.status)
	for path, re := range j.paths {
		// The path of an action extends the path of its resource: the longest match
		// counts.
		if re.MatchString(a.path) && len(path) > len(pattern) {
			pattern = path
		}
	}
	if a.status >= http.StatusBadRequest {
		status = "default"
	}
	if pattern == "" || a.text == "" {
		return
	}
	at := strings.ReplaceAll(strings.ReplaceAll(pattern, "~", "~0"), "/", "~1")
	s, err := j.compiler.Compile("weir:router#/paths/" + at + "/" + strings.ToLower(method) + "/responses/" + status + "/content/application~1json/schema")
	if err != nil {
		if status != "default" { // no such method
			r.t.Errorf("%s %s: %v", method, a.path, err)
		}
		return
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(a.text))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		r.t.Errorf("%s %s: %d is not as it is described: %v\n%s", method, a.path, a.status, err, a.text)
	}
}
