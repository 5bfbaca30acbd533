package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/web"
)

func TestPrefix_IsCutFromPathsAndPutBeforeLocations(t *testing.T) {
	t.Parallel()
	h := web.Under("/weir", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Path", r.URL.EscapedPath())
		w.Header().Set("Location", "/v1/channels/a")
		w.WriteHeader(http.StatusCreated)
	}))
	for sent, want := range map[string][2]string{
		"/weir/v1/channels":  {"/v1/channels", "/weir/v1/channels/a"},
		"/v1/channels":       {"/v1/channels", "/v1/channels/a"},
		"/weirs":             {"/weirs", "/v1/channels/a"},
		"/weir/v1/a%2Fb?c=d": {"/v1/a%2Fb", "/weir/v1/channels/a"},
		"/weir/":             {"/", "/weir/v1/channels/a"},
		"/weir":              {"", "/weir/"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "PUT", sent, nil))
		if got := [2]string{w.Header().Get("X-Path"), w.Header().Get("Location")}; got != want {
			t.Errorf("%s: %q, want %q", sent, got, want)
		}
	}
}
