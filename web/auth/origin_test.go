package auth_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/web/auth"
)

// A site that points its name at this machine is rejected.
func TestOrigin_OnlyOurOwnNamesWhileNoTokenIsNeeded(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	open := auth.LocalOnly(auth.NewGate(auth.GateOptions{}), "https://weir.example:8443/x", "/routing/", h)
	closed := auth.LocalOnly(auth.NewGate(auth.GateOptions{Configured: []string{"t"}}), "", "", h)
	for host, want := range map[string]int{
		"localhost": 204, "localhost:8080": 204, "127.0.0.1:8080": 204, "[::1]:8080": 204, "127.1.2.3": 204, "": 204, "WEIR.example": 204, "weir.example:1": 204,
		"evil.example": 403, "evil.example:8080": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "10.0.0.1:8080": 403, "0.0.0.0": 403,
	} {
		for i, handler := range []http.Handler{open, closed} {
			req := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/contacts", nil)
			req.Host = host
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, req)
			if i == 1 {
				want = 204
			}
			if w.Code != want || want == 403 && !strings.Contains(w.Body.String(), `"code":"forbidden"`) {
				t.Errorf("%q: %d %s, want %d", host, w.Code, w.Body, want)
			}
		}
	}
}

// The handler of signed paths checks the signature, under any host.
func TestOrigin_SignedPathsTakeAnyHost(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	open := auth.LocalOnly(auth.NewGate(auth.GateOptions{}), "", "/routing/", h)
	for path, want := range map[string]int{
		"/routing/queues": 204, "/routing/jobs/a%2Fb": 204, "/routing/": 403, "/routing/../v1/channels": 403, "/routing/%2e%2e/v1": 403, "/routings": 403,
		"//routing/queues": 204, "/v1/channels": 403, "/": 403,
	} {
		req := httptest.NewRequestWithContext(t.Context(), "GET", "http://weir.example"+path, nil)
		w := httptest.NewRecorder()
		open.ServeHTTP(w, req)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}
