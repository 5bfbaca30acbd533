package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/web"
	"weir/web/api"
)

// A token makes others with its own scopes, and no more; their texts are shown once.
func TestTokens_HaveOnlyScopesOfTheirMaker(t *testing.T) {
	t.Parallel()
	r, b, clock := tokenRig(t)
	clock.advance(time.Second) // the list goes by time
	maker := b.text["tokens:admin"]
	made := into[api.TokenView](t, r.as("POST", "/v1/tokens", `{"name":"team","scopes":["tokens:admin","tokens:admin"],"expires_at":"2999-01-01T00:00:00Z"}`, maker), http.StatusCreated)
	if !strings.HasPrefix(made.Token, "weir_"+made.ID+"_") || made.State != "live" || cmp.Diff([]string{"tokens:admin"}, made.Scopes) != "" || made.Expires == nil {
		t.Fatalf("%+v", made)
	}
	into[api.TokenList](t, r.as("GET", "/v1/tokens", "", made.Token), 200) // at once
	got := r.as("POST", "/v1/tokens", `{"name":"more","scopes":["tokens:admin","pii:read","router"]}`, made.Token)
	if got.status != http.StatusForbidden || !strings.Contains(got.body, "who lacks: pii:read, router") {
		t.Errorf("%d %s", got.status, got.body)
	}
	clock.advance(time.Second)
	into[api.TokenView](t, r.as("POST", "/v1/tokens", `{"name":"more","scopes":["pii:read","router"]}`, b.text["configured"]), http.StatusCreated)
	list := r.as("GET", "/v1/tokens?limit=1", "", maker)
	page := into[api.TokenList](t, list, 200)
	if len(page.Tokens) != 1 || page.Tokens[0].Name != "more" || page.NextCursor == "" || strings.Contains(list.body, made.Token) {
		t.Errorf("%s", list.body)
	}
	if page = into[api.TokenList](t, r.as("GET", "/v1/tokens?limit=1&cursor="+page.NextCursor, "", maker), 200); page.Tokens[0].ID != made.ID {
		t.Errorf("%+v", page)
	}

	for range 2 {
		if got := r.as("DELETE", "/v1/tokens/"+made.ID, "", maker); got.status != http.StatusNoContent {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if got := r.as("GET", "/v1/tokens", "", made.Token); got.status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d", got.status)
	}
	if got := r.as("DELETE", "/v1/tokens/nothing", "", maker); got.status != http.StatusNotFound {
		t.Errorf("%d", got.status)
	}
}

func TestTokens_MistakesAreNamedAndMakeNone(t *testing.T) {
	t.Parallel()
	r, b, _ := tokenRig(t)
	for body, want := range map[string][]string{
		`{}`: {"name", "scopes"},
		`{"name":"","scopes":[],"expires_at":"2001-01-01T00:00:00Z"}`: {"/name", "/scopes", "/expires_at"},
		`{"name":" ","scopes":["contacts:raed"],"expires_at":"soon"}`: {"/name", "/scopes/0", "must be one of contacts:write", "/expires_at"},
		`{"name":"a\nb","scopes":[7]}`:                                {"/name", "/scopes/0"},
	} {
		got := r.as("POST", "/v1/tokens", body, b.text["configured"])
		if got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
		for _, text := range want {
			if !strings.Contains(got.body, text) {
				t.Errorf("%s: no %s in %s", body, text, got.body)
			}
		}
	}
	for _, token := range into[api.TokenList](t, r.as("GET", "/v1/tokens", "", b.text["configured"]), 200).Tokens {
		if token.Name == "" || strings.TrimSpace(token.Name) == "" {
			t.Errorf("%+v", token)
		}
	}
}

// tokenRig returns a Weir with a token of every scope.
func tokenRig(t *testing.T) (*rig, bearers, *clock) {
	t.Helper()
	clock := &clock{now: start}
	b := newBearers(t, clock.Now)
	return newRig(t, func(o *web.Options) { o.Gate, o.Now = b.gate, clock.Now }), b, clock
}
