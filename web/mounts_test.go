package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/web"
	"weir/web/webtest"
)

// A request below a mounted tree reaches its most specific handler, with the path
// as it was sent.
func TestMounts_RequestReachesTheMostSpecificHandler(t *testing.T) {
	t.Parallel()
	named := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, "%s as %s: %s", name, r.Pattern, r.URL.EscapedPath())
		})
	}
	r := webtest.New(t, func(o *web.Options) {
		o.Mounted = map[string]http.Handler{
			"/tree/": named("tree"), "GET /tree/page": named("page"), "/tree/deep/er/": named("deeper"),
			"/any/": named("any"), "/any/{x}/mine": named("mine"),
		}
	})
	for target, want := range map[string]string{
		"/tree/":             "tree as /tree/: /tree/",
		"/tree/a":            "tree as /tree/: /tree/a",
		"/tree/a/b:c?d=e":    "tree as /tree/: /tree/a/b:c",
		"/tree/a%2Fb":        "tree as /tree/: /tree/a%2Fb",
		"/tree/page":         "page as GET /tree/page: /tree/page",
		"/tree/pages":        "tree as /tree/: /tree/pages",
		"/tree/deep/a":       "tree as /tree/: /tree/deep/a",
		"/tree/deep/er/a":    "deeper as /tree/deep/er/: /tree/deep/er/a",
		"/any/a":             "any as /any/: /any/a",
		"/any/a/mine":        "mine as /any/{x}/mine: /any/a/mine",
		"/tree//a":           "",
		"/tree/../any/a":     "",
		"/tree/a/./b":        "",
		"/trees":             "",
		"/tree/deep/er/../a": "",
	} {
		rec := httptest.NewRecorder()
		r.Handler.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, target, http.NoBody))
		switch {
		case want == "" && rec.Code != http.StatusNotFound:
			t.Errorf("%s: %d %s", target, rec.Code, rec.Body)
		case want != "" && (rec.Code != http.StatusOK || rec.Body.String() != want):
			t.Errorf("%s: %d %q, want %q", target, rec.Code, rec.Body, want)
		}
	}
}
