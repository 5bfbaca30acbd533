package jobrouter_test

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
	"github.com/santhosh-tekuri/jsonschema/v6"

	"weir/web/jobrouter"
)

// TestTheDescriptionIsOpenAPI also checks that every route is described.
func TestTheDescriptionIsOpenAPI(t *testing.T) {
	t.Parallel()
	raw, err := jobrouter.Description("/weir")
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
	if list := jobrouter.Undescribed(); len(list) > 0 {
		t.Errorf("routes and their descriptions differ: %v", list)
	}
	worker := doc.Components.Schemas["Worker"].Value.Properties
	if !worker["offers"].Value.ReadOnly || worker["capacity"].Value.ReadOnly {
		t.Error("what a client may state of a worker is not told from what it may not")
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
	raw, err := jobrouter.Description("")
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
