package docs_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/web/docs"
)

// get requests the page of a description.
func get(t *testing.T, description string) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	fail := func(w http.ResponseWriter, err error) { http.Error(w, err.Error(), http.StatusInternalServerError) }
	docs.Page(func() ([]byte, error) { return []byte(description), nil }, fail).ServeHTTP(rec, httptest.NewRequest("GET", "/docs", nil))
	return rec
}

func ours(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func all(pattern, text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// TestDocs_EveryOperationAndSchemaHasAnAnchor also checks that anchors are unique and
// every link has its target.
func TestDocs_EveryOperationAndSchemaHasAnAnchor(t *testing.T) {
	t.Parallel()
	description := ours(t)
	page := get(t, description).Body.String()
	anchors := all(`\sid="([^"]*)"`, page)
	for i, a := range anchors {
		if slices.Contains(anchors[:i], a) {
			t.Errorf("anchor %s is there twice", a)
		}
	}
	operations := all(`"operationId": "([^"]+)"`, description)
	if len(operations) < 30 {
		t.Fatalf("%d operations", len(operations))
	}
	for _, id := range operations {
		if !slices.Contains(anchors, id) || !strings.Contains(page, `aria-label="curl for `+id+`"`) {
			t.Errorf("operation %s is not on the page, or has no curl", id)
		}
	}
	for _, name := range []string{"schema-ChannelView", "schema-Problem", "schema-SurveyBody", "tag-channels"} {
		if !slices.Contains(anchors, name) {
			t.Errorf("no anchor %s", name)
		}
	}
	for _, to := range append(all(`href="#([^"]*)"`, page), all(`aria-labelledby="([^"]*)"`, page)...) {
		if !slices.Contains(anchors, to) {
			t.Errorf("a link to %s leads nowhere", to)
		}
	}
}

// TestDocs_PageLoadsNothingExternal checks for scripts, inline styles and
// addresses that are not relative, and that the policy would block them.
func TestDocs_PageLoadsNothingExternal(t *testing.T) {
	t.Parallel()
	rec := get(t, ours(t))
	page, policy := rec.Body.String(), rec.Header().Get("Content-Security-Policy")
	if rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d, %s", rec.Code, rec.Header().Get("Content-Type"))
	}
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "script") {
		t.Errorf("policy: %s", policy)
	}
	for _, bad := range []string{"<script", "<style", " style=", "javascript:", "<img", " onclick=", "<iframe"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	for _, to := range append(all(`href="([^#"][^"]*)"`, page), all(`src="([^"]*)"`, page)...) {
		if strings.Contains(to, "//") || strings.HasPrefix(to, "/") {
			t.Errorf("a link to %s does not work under a prefix", to)
		}
	}
	rec = httptest.NewRecorder()
	docs.Style().ServeHTTP(rec, httptest.NewRequest("GET", "/docs/style.css", nil))
	if css := rec.Body.String(); !strings.Contains(css, "prefers-color-scheme: dark") || strings.Contains(css, "url(") || strings.Contains(css, "@import") {
		t.Error("the style sheet is for one light only, or needs more")
	}
}

// The content of a description is rendered as text.
func TestDocs_DescriptionIsEscaped(t *testing.T) {
	t.Parallel()
	page := get(t, `{"info":{"title":"<b>x</b>","description":"a `+"`<i>`"+` b\n\n- <script>alert(1)</script>"},"tags":[{"name":"\"><script>"}],
		"paths":{"/a/{id}":{"post":{"operationId":"x\" onclick=\"y","summary":"s","tags":["\"><script>"],"security":[{"token":["a","b"]}],
		"parameters":[{"name":"id","in":"path","required":true,"example":"it's"},{"name":"q","in":"query","required":true,"example":"a b","schema":{"type":"string"}}],
		"requestBody":{"content":{"application/json":{"example":{"a":"it's"}}}},"responses":{}}}}}`).Body.String()
	for _, bad := range []string{"<script>", "<b>", "<i>", `onclick="y`} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	for _, want := range []string{"<code>&lt;i&gt;</code>", "<li>", `curl -X POST &#34;$WEIR_URL/a/it&#39;s?q=a&#43;b&#34;`, `it&#39;\&#39;&#39;s`, "<code>a</code> or <code>b</code>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s\n%s", want, page)
		}
	}
}

func TestDocs_MissingDescriptionIsAnError(t *testing.T) {
	t.Parallel()
	if rec := get(t, "{"); rec.Code != http.StatusInternalServerError {
		t.Errorf("%d", rec.Code)
	}
	rec := httptest.NewRecorder()
	var reported error
	docs.Page(func() ([]byte, error) { return nil, errors.New("none") }, func(_ http.ResponseWriter, err error) { reported = err }).
		ServeHTTP(rec, httptest.NewRequest("GET", "/docs", nil))
	if reported == nil {
		t.Error("the failure was not reported")
	}
}
