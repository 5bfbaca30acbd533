package web_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/operators"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/auth"
	"weir/web/webtest"
)

// rights lists independently what every route requires: for each served
// pattern, the scopes; a token needs one, or all of those with a plus between them.
// none: no token is needed.
func rights() map[string]string {
	const none = ""
	return map[string]string{
		"GET /livez": none, "GET /readyz": none, "GET /readyz/owner": none,
		"GET /openapi.json": none, // the same in every Weir of a version
		"GET /docs":         none, "GET /docs/style.css": none,
		"GET /callbacks/{channel}/{secret}/{path...}": none, "POST /callbacks/{channel}/{secret}/{path...}": none,
		"GET /callbacks/{channel}/{secret}": none, "POST /callbacks/{channel}/{secret}": none,
		"GET /metrics": "metrics:read",

		"GET /v1/channels":                    "contacts:read channels:admin",
		"GET /v1/channels/{channel}":          "contacts:read channels:admin",
		"PUT /v1/channels/{channel}":          "channels:admin",
		"PATCH /v1/channels/{channel}":        "channels:admin",
		"DELETE /v1/channels/{channel}":       "channels:admin",
		"GET /v1/channels/{channel}/incoming": "contacts:read",
		"GET /v1/channel-types":               "contacts:read channels:admin",
		"POST /v1/channels:test":              "channels:admin",
		"GET /v1/channels/{channel}/callback": "channels:admin",
		"GET /v1/channels/{channel}/minutes":  "contacts:read channels:admin",
		"GET /v1/channels/{channel}/hours":    "contacts:read channels:admin",
		"GET /v1/minutes":                     "contacts:read channels:admin",

		"GET /v1/webhooks":                 "webhooks:admin",
		"POST /v1/webhooks":                "webhooks:admin",
		"GET /v1/webhooks/{id}":            "webhooks:admin",
		"PATCH /v1/webhooks/{id}":          "webhooks:admin",
		"DELETE /v1/webhooks/{id}":         "webhooks:admin",
		"POST /v1/webhooks/{id}/rotate":    "webhooks:admin",
		"POST /v1/webhooks/{id}/test":      "webhooks:admin",
		"GET /v1/webhooks/{id}/deliveries": "webhooks:admin",
		"POST /v1/webhooks/{id}/replay":    "webhooks:admin",

		"POST /v1/channels/{channel}/contacts": "contacts:write", "POST /v1/channels/{channel}/contacts:import": "contacts:write",
		"DELETE /v1/contacts/{id}": "contacts:write",
		"GET /v1/contacts":         "contacts:read",
		"GET /v1/contacts/{id}":    "contacts:read",
		"GET /v1/contacts.csv":     "contacts:read",
		"POST /v1/contacts:cancel": "contacts:write",
		"POST /v1/contacts:search": "contacts:read+pii:read",

		"GET /v1/purposes":            "people:admin contacts:read contacts:write surveys:admin",
		"GET /v1/purposes/{name}":     "people:admin contacts:read contacts:write surveys:admin",
		"GET /v1/limits":              "contacts:read channels:admin",
		"GET /v1/limits/{name}":       "contacts:read channels:admin",
		"PUT /v1/limits/{name}":       "channels:admin",
		"DELETE /v1/limits/{name}":    "channels:admin",
		"GET /v1/prices":              "contacts:read channels:admin",
		"GET /v1/prices/{channel}":    "contacts:read channels:admin",
		"PUT /v1/prices/{channel}":    "channels:admin",
		"DELETE /v1/prices/{channel}": "channels:admin",
		"GET /v1/spending":            "contacts:read channels:admin",
		"GET /v1/skipped":             "contacts:read channels:admin",
		"PUT /v1/purposes/{name}":     "people:admin",
		"DELETE /v1/purposes/{name}":  "people:admin",
		"GET /v1/consents":            "people:admin",
		"POST /v1/people:erase":       "people:admin+contacts:write+surveys:admin+pii:read",
		"POST /v1/consents":           "people:admin",
		"POST /v1/consents:search":    "people:admin+pii:read contacts:read+pii:read",
		"POST /v1/people:find":        "people:admin+pii:read contacts:read+pii:read",
		"GET /v1/consents:undecided":  "people:admin",
		"POST /v1/consents:decide":    "people:admin",

		"GET /v1/contacts/{id}/timeline": "contacts:read",
		"GET /v1/dead-letters":           "contacts:read",
		"GET /v1/dead-letters/groups":    "contacts:read",
		"GET /v1/dead-letters.csv":       "contacts:read",
		"POST /v1/dead-letters:requeue":  "contacts:write",
		"POST /v1/dead-letters:discard":  "contacts:write",

		"GET /v1/surveys":                                        "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}":                               "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/answers":                       "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/answers/{question}/texts":      "contacts:read+pii:read surveys:admin+pii:read",
		"GET /v1/surveys/{survey}/stats":                         "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/launch-check":                  "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/course":                        "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/log":                           "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/log.csv":                       "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/results.csv":                   "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/results.xlsx":                  "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/codebook.csv":                  "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/dispositions.csv":              "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/incentives.csv":                "contacts:read+pii:read surveys:admin+pii:read",
		"GET /v1/surveys/{survey}/respondents":                   "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/respondents/{id}":              "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/pilots":                        "contacts:read surveys:admin",
		"GET /v1/surveys/{survey}/pilots/{pilot}":                "contacts:read surveys:admin",
		"PUT /v1/surveys/{survey}/pilots/{pilot}":                "surveys:admin",
		"PUT /v1/surveys/{survey}":                               "surveys:admin",
		"PATCH /v1/surveys/{survey}":                             "surveys:admin",
		"DELETE /v1/surveys/{survey}":                            "surveys:admin",
		"POST /v1/surveys/{survey}:launch":                       "surveys:admin",
		"POST /v1/surveys/{survey}:pause":                        "surveys:admin",
		"POST /v1/surveys/{survey}:resume":                       "surveys:admin",
		"POST /v1/surveys/{survey}:stop":                         "surveys:admin",
		"POST /v1/surveys/{survey}:lock":                         "surveys:admin",
		"POST /v1/surveys/{survey}:unlock":                       "surveys:admin",
		"POST /v1/surveys/{survey}/respondents":                  "surveys:admin",
		"PATCH /v1/surveys/{survey}/respondents/{id}":            "surveys:admin",
		"DELETE /v1/surveys/{survey}/respondents/{id}":           "surveys:admin",
		"POST /v1/surveys/{survey}/respondents/{id}/stop":        "surveys:admin",
		"POST /v1/surveys/{survey}/respondents/{id}/disposition": "contacts:write surveys:admin",

		"GET /v1/events":    "contacts:read router",
		"GET /v1/audit":     "channels:admin",
		"GET /v1/audit.csv": "channels:admin",

		"GET /v1/tokens":         "tokens:admin",
		"POST /v1/tokens":        "tokens:admin",
		"DELETE /v1/tokens/{id}": "tokens:admin",

		"GET /v1/hold":      "contacts:read channels:admin",
		"GET /v1/processes": "contacts:read channels:admin",
		"DELETE /v1/hold":   "channels:admin",

		"GET /v1/whoami": "contacts:write contacts:exempt contacts:read channels:admin surveys:admin router webhooks:admin people:admin tokens:admin metrics:read pii:read",
	}
}

// reaches lists independently, for each pattern that needs a token, what its requests are about: all of Weir, the channel or the
// survey in the path, channels and surveys that the handler finds, or none.
func reaches() map[string]string {
	about := map[string]string{}
	for kind, patterns := range map[string][]string{
		"all": {
			"GET /metrics",
			"GET /v1/webhooks", "POST /v1/webhooks", "GET /v1/webhooks/{id}", "PATCH /v1/webhooks/{id}", "DELETE /v1/webhooks/{id}", "POST /v1/webhooks/{id}/rotate", "POST /v1/webhooks/{id}/test",
			"GET /v1/webhooks/{id}/deliveries", "POST /v1/webhooks/{id}/replay",
			"GET /v1/limits", "GET /v1/limits/{name}", "PUT /v1/limits/{name}", "DELETE /v1/limits/{name}",
			"PUT /v1/purposes/{name}", "DELETE /v1/purposes/{name}", "GET /v1/consents", "POST /v1/people:erase", "POST /v1/consents", "GET /v1/consents:undecided", "POST /v1/consents:decide",
			"GET /v1/audit", "GET /v1/audit.csv", "GET /v1/tokens", "POST /v1/tokens", "DELETE /v1/tokens/{id}", "GET /v1/processes", "DELETE /v1/hold",
		},
		"channel": {
			"GET /v1/channels/{channel}", "PUT /v1/channels/{channel}", "PATCH /v1/channels/{channel}", "DELETE /v1/channels/{channel}", "GET /v1/channels/{channel}/incoming",
			"GET /v1/channels/{channel}/callback", "GET /v1/channels/{channel}/minutes", "GET /v1/channels/{channel}/hours", "POST /v1/channels/{channel}/contacts", "POST /v1/channels/{channel}/contacts:import",
			"GET /v1/prices/{channel}", "PUT /v1/prices/{channel}", "DELETE /v1/prices/{channel}",
		},
		"survey": {
			"GET /v1/surveys/{survey}", "GET /v1/surveys/{survey}/stats", "GET /v1/surveys/{survey}/answers", "GET /v1/surveys/{survey}/answers/{question}/texts", "GET /v1/surveys/{survey}/launch-check", "GET /v1/surveys/{survey}/course", "GET /v1/surveys/{survey}/log",
			"GET /v1/surveys/{survey}/log.csv", "GET /v1/surveys/{survey}/results.csv", "GET /v1/surveys/{survey}/results.xlsx", "GET /v1/surveys/{survey}/codebook.csv", "GET /v1/surveys/{survey}/dispositions.csv", "GET /v1/surveys/{survey}/incentives.csv", "GET /v1/surveys/{survey}/respondents", "GET /v1/surveys/{survey}/respondents/{id}",
			"GET /v1/surveys/{survey}/pilots", "GET /v1/surveys/{survey}/pilots/{pilot}", "PUT /v1/surveys/{survey}/pilots/{pilot}",
			"PUT /v1/surveys/{survey}", "PATCH /v1/surveys/{survey}", "DELETE /v1/surveys/{survey}", "POST /v1/surveys/{survey}:launch", "POST /v1/surveys/{survey}:pause", "POST /v1/surveys/{survey}:resume",
			"POST /v1/surveys/{survey}:stop", "POST /v1/surveys/{survey}:lock", "POST /v1/surveys/{survey}:unlock", "POST /v1/surveys/{survey}/respondents", "PATCH /v1/surveys/{survey}/respondents/{id}",
			"DELETE /v1/surveys/{survey}/respondents/{id}", "POST /v1/surveys/{survey}/respondents/{id}/stop", "POST /v1/surveys/{survey}/respondents/{id}/disposition",
		},
		"found": {
			"GET /v1/channels", "POST /v1/channels:test", "GET /v1/minutes", "GET /v1/prices", "GET /v1/spending", "GET /v1/skipped",
			"DELETE /v1/contacts/{id}", "GET /v1/contacts", "GET /v1/contacts/{id}", "GET /v1/contacts.csv", "POST /v1/contacts:cancel", "POST /v1/contacts:search", "GET /v1/contacts/{id}/timeline",
			"POST /v1/consents:search", "POST /v1/people:find",
			"GET /v1/dead-letters", "GET /v1/dead-letters/groups", "GET /v1/dead-letters.csv", "POST /v1/dead-letters:requeue", "POST /v1/dead-letters:discard", "GET /v1/surveys", "GET /v1/events",
		},
		"none": {"GET /v1/channel-types", "GET /v1/purposes", "GET /v1/purposes/{name}", "GET /v1/hold", "GET /v1/whoami"},
	} {
		for _, pattern := range patterns {
			about[pattern] = kind
		}
	}
	return about
}

// served lists the patterns that a handler serves; the pattern of the survey
// steps stands for one route per step.
func served(t *testing.T) []string {
	t.Helper()
	var patterns []string
	webtest.New(t, func(o *web.Options) {
		allParts(t, o)
		o.Served(func(pattern string) {
			if pattern != "POST /v1/surveys/{survey}" {
				patterns = append(patterns, pattern)
				return
			}
			for _, step := range []string{"launch", "pause", "resume", "stop", "lock", "unlock"} {
				patterns = append(patterns, pattern+":"+step)
			}
		})
	})
	slices.Sort(patterns)
	return patterns
}

// allParts sets the optional parts of a handler.
func allParts(t *testing.T, o *web.Options) {
	store := storetest.SQLite(t)
	o.Events, o.Trail, o.Minutes, o.Dead, o.Webhooks = store, auth.NewTrail(store), store, store, store
}

func TestAuthMatrix_NoRouteIsForgotten(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff(slices.Sorted(maps.Keys(rights())), served(t)); d != "" {
		t.Errorf("rights() and what is served differ (-rights +served):\n%s", d)
	}
}

// Every route × every token: 401 without a valid token, 403 without the scope,
// neither with it.
func TestAuthMatrix_RightsOfEveryRoute(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	b := webtest.NewBearers(t, clock.Now)
	r := webtest.New(t, func(o *web.Options) {
		allParts(t, o)
		o.Gate, o.Now = b.Gate, clock.Now
	})
	r.Channel("a", "texts")
	headers := map[string]string{"none": "", "wrong": "Bearer wrong", "basic": "Basic " + webtest.APICanary, "forged": "Bearer " + b.Text["router"] + "x"}
	for name, text := range b.Text {
		if strings.Contains(name, "@") {
			continue // see TestAuthMatrix_LimitsOfEveryRoute
		}
		headers[name] = "Bearer " + text
	}
	paths := strings.NewReplacer("{channel}", "a", "{id}", "1-1", "{survey}", "s", "{pilot}", "1", "{secret}", "x", "{path...}", "ping")
	tried := 0
	for pattern, oneOf := range rights() {
		method, path, _ := strings.Cut(pattern, " ")
		for name, header := range headers {
			tried++
			req := httptest.NewRequest(method, paths.Replace(path), strings.NewReader(`{`))
			req.Header.Set("Authorization", header)
			req.RemoteAddr = fmt.Sprintf("10.1.%d.%d:1", tried/250, tried%250)
			g := r.Serve(req)
			want := 0
			switch {
			case oneOf == "" || name == "configured" || slices.Contains(strings.Fields(oneOf), name):
			case operators.Scope(name).Known():
				want = http.StatusForbidden
			default:
				want = http.StatusUnauthorized
			}
			refused := g.Status == http.StatusUnauthorized || g.Status == http.StatusForbidden
			if refused != (want != 0) || refused && g.Status != want {
				t.Errorf("%s with the token %s: %d, want %d", pattern, name, g.Status, want)
			}
		}
	}
	for _, text := range b.Text {
		_, secret, _ := strings.Cut(strings.TrimPrefix(text, "weir_"), "_")
		if secret != "" && strings.Contains(r.Logs.String(), secret) {
			t.Errorf("the log holds a token")
		}
	}
	if !strings.Contains(r.Logs.String(), "token=configured-1") {
		t.Error("the log does not say who it was")
	}
}

// Every route × each scope with a limit: 403 for the whole of Weir, and for channels and surveys with other names.
func TestAuthMatrix_LimitsOfEveryRoute(t *testing.T) {
	t.Parallel()
	clock := &webtest.Clock{Instant: webtest.Start()}
	b := webtest.NewBearers(t, clock.Now)
	r := webtest.New(t, func(o *web.Options) {
		allParts(t, o)
		o.Gate, o.Now = b.Gate, clock.Now
	})
	for _, name := range []string{"north-a", "south-a"} {
		r.Channel(name, "texts")
	}
	about := reaches()
	for pattern, oneOf := range rights() {
		if (oneOf == "") != (about[pattern] == "") {
			t.Errorf("%s: about %q, and the scopes %q", pattern, about[pattern], oneOf)
		}
		if oneOf == "" {
			continue
		}
		method, path, _ := strings.Cut(pattern, " ")
		for _, scope := range operators.LimitableScopes() {
			for _, name := range []string{"north-a", "south-a"} {
				paths := strings.NewReplacer("{channel}", name, "{id}", "1-1", "{survey}", name, "{pilot}", "1", "{name}", name)
				g := r.As(method, paths.Replace(path), "{", b.Text[string(scope.Limit("north-"))])
				admitted := slices.Contains(strings.Fields(oneOf), string(scope))
				switch about[pattern] {
				case "all":
					admitted = false
				case "channel", "survey":
					admitted = admitted && name == "north-a"
				}
				if (g.Status == http.StatusForbidden) == admitted || g.Status == http.StatusUnauthorized {
					t.Errorf("%s of %s with %s: %d %s", pattern, name, scope.Limit("north-"), g.Status, g.Body)
				}
				if !admitted && slices.Contains(strings.Fields(oneOf), string(scope)) && !strings.Contains(g.Body, "north-") {
					t.Errorf("%s with %s: the error does not name the limit: %s", pattern, scope, g.Body)
				}
			}
		}
	}
}

// The description lists the scopes that the routes require.
func TestAuthMatrix_OpenAPINamesTheScopes(t *testing.T) {
	t.Parallel()
	paths := webtest.New(t, func(o *web.Options) { allParts(t, o) }).Spec().Paths
	for pattern, oneOf := range rights() {
		method, path, _ := strings.Cut(pattern, " ")
		op, ok := paths[strings.ReplaceAll(path, "...", "")][strings.ToLower(method)]
		if !ok {
			if oneOf != "" {
				t.Errorf("%s is not described", pattern)
			}
			continue
		}
		var got []string
		for _, s := range op.Security {
			got = append(got, strings.Join(s["token"], "+"))
		}
		if strings.Join(got, " ") != oneOf {
			t.Errorf("%s: security %v, want %s", pattern, op.Security, oneOf)
		}
	}
}
