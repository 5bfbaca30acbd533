package callbacks_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/web/webtest"
)

// The secret of a callback opens its own path only: a path that is not in its clean
// form is unknown and never redirected, since the Location would repeat the secret. Doubled
// slashes behind the secret do not matter.
func TestCallbackPaths_SecretOpensItsOwnPathOnly(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	for path, status := range map[string]int{
		"/callbacks/a/SECRET/ping":         200,
		"/callbacks/%61/SECRET/%70ing":     200,
		"/callbacks/a/SECRET":              404,
		"/callbacks/a/SECRET/":             404,
		"/callbacks/a/SECRET/status%2F1":   404,
		"/callbacks/a/SECRET%2Fping":       404,
		"/callbacks/a%2FSECRET/ping":       404,
		"/callbacks/a//SECRET/ping":        404,
		"/callbacks/a/SECRET//ping":        200,
		"/callbacks/a/SECRET/./ping":       404,
		"/callbacks/a/SECRET/x/../ping":    404,
		"/callbacks/./a/SECRET/ping":       404,
		"/callbacks/a/SECRET/%2e%2e/ping":  404,
		"/callbacks/b/../a/SECRET/ping":    404,
		"/v1/../callbacks/a/SECRET/ping":   404,
		"//callbacks/a/SECRET/ping":        404,
		"/callbacks/a/SECRET/ping?x=%2F..": 200,
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			req := httptest.NewRequest(method, "http://weir.test"+strings.ReplaceAll(path, "SECRET", ch.Secret), nil)
			if g := r.Serve(req); g.Status != status || g.Header.Get("Location") != "" || strings.Contains(g.Body, ch.Secret) {
				t.Errorf("%s %s: %d %v %s", method, path, g.Status, g.Header, g.Body)
			}
		}
	}
}
