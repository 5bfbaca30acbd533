package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/api"
	"weir/web/webtest"
)

// A token makes others with its own scopes, and no more; their texts are shown once.
func TestTokens_HaveOnlyScopesOfTheirMaker(t *testing.T) {
	t.Parallel()
	r, b, clock := webtest.TokenRig(t)
	clock.Advance(time.Second) // the list goes by time
	maker := b.Text["tokens:admin"]
	made := webtest.Into[api.TokenView](t, r.As("POST", "/v1/tokens", `{"name":"team","scopes":["tokens:admin","tokens:admin"],"expires_at":"2999-01-01T00:00:00Z"}`, maker), http.StatusCreated)
	if !strings.HasPrefix(made.Token, "weir_"+made.ID+"_") || made.State != "live" || cmp.Diff([]string{"tokens:admin"}, made.Scopes) != "" || made.Expires.IsZero() {
		t.Fatalf("%+v", made)
	}
	webtest.Into[api.TokenList](t, r.As("GET", "/v1/tokens", "", made.Token), 200) // at once
	got := r.As("POST", "/v1/tokens", `{"name":"more","scopes":["tokens:admin","pii:read","router"]}`, made.Token)
	if got.Status != http.StatusForbidden || !strings.Contains(got.Body, "who lacks: pii:read, router") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	clock.Advance(time.Second)
	webtest.Into[api.TokenView](t, r.As("POST", "/v1/tokens", `{"name":"more","scopes":["pii:read","router"]}`, b.Text["configured"]), http.StatusCreated)
	list := r.As("GET", "/v1/tokens?limit=1", "", maker)
	page := webtest.Into[api.TokenList](t, list, 200)
	if len(page.Tokens) != 1 || page.Tokens[0].Name != "more" || page.NextCursor == "" || strings.Contains(list.Body, made.Token) {
		t.Errorf("%s", list.Body)
	}
	if page = webtest.Into[api.TokenList](t, r.As("GET", "/v1/tokens?limit=1&cursor="+page.NextCursor, "", maker), 200); page.Tokens[0].ID != made.ID {
		t.Errorf("%+v", page)
	}

	for range 2 {
		if got := r.As("DELETE", "/v1/tokens/"+made.ID, "", maker); got.Status != http.StatusNoContent {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	}
	if got := r.As("GET", "/v1/tokens", "", made.Token); got.Status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d", got.Status)
	}
	if got := r.As("DELETE", "/v1/tokens/nothing", "", maker); got.Status != http.StatusNotFound {
		t.Errorf("%d", got.Status)
	}
}

func TestTokens_MistakesAreNamedAndMakeNone(t *testing.T) {
	t.Parallel()
	r, b, _ := webtest.TokenRig(t)
	for body, want := range map[string][]string{
		`{}`: {"name", "scopes"},
		`{"name":"","scopes":[],"expires_at":"2001-01-01T00:00:00Z"}`: {"/name", "/scopes", "/expires_at"},
		`{"name":" ","scopes":["contacts:raed"],"expires_at":"soon"}`: {"/name", "/scopes/0", "must be one of contacts:write", "/expires_at"},
		`{"name":"a\nb","scopes":[7]}`:                                {"/name", "/scopes/0"},
	} {
		got := r.As("POST", "/v1/tokens", body, b.Text["configured"])
		if got.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, got.Status, got.Body)
		}
		for _, text := range want {
			if !strings.Contains(got.Body, text) {
				t.Errorf("%s: no %s in %s", body, text, got.Body)
			}
		}
	}
	for _, token := range webtest.Into[api.TokenList](t, r.As("GET", "/v1/tokens", "", b.Text["configured"]), 200).Tokens {
		if token.Name == "" || strings.TrimSpace(token.Name) == "" {
			t.Errorf("%+v", token)
		}
	}
}
