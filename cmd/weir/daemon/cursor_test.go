package daemon_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/cmd/weir/daemon"
	"weir/test/daemontest"
)

const testToken = "a-token-of-this-test"

// served is the handler of a daemon that is set up but not running.
type served struct {
	*testing.T
	http.Handler
}

func serve(t *testing.T, database string) served {
	t.Helper()
	d, _ := daemontest.Open(t, daemon.Options{Config: configuration(t, "DATABASE_URL="+database, "LISTEN_ADDR=127.0.0.1:0", "WEIR_API_TOKENS="+testToken)})
	return served{t, d.Handler()}
}

// ask sends a request with an Authorization header; empty: none.
func (s served) ask(authorization, method, path, body string) *httptest.ResponseRecorder {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func (s served) api(method, path, body string) *httptest.ResponseRecorder {
	s.Helper()
	return s.ask("Bearer "+testToken, method, path, body)
}

// Every list rejects a cursor that no page has returned, and names it.
// Scenario 222.
func TestCursor_UnknownCursorsAreRefused(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, database string) {
		s := serve(t, database)
		for _, name := range []string{"a", "b"} {
			if w := s.api("PUT", "/v1/channels/"+name, `{"type":"workers","settings":{"queue":"q"}}`); w.Code != http.StatusCreated {
				s.Fatal(w.Code, w.Body)
			}
			if w := s.api("PUT", "/v1/surveys/"+name, `{"schedule":{"time_zone":"UTC","weekdays":["mon"],"windows":[{"from":"09:00","to":"18:00"}]},
				"modes":{"cati":{"channel":"a"}},"arms":[{"modes":["cati"]}],"questionnaires":{"q":{"cati":[{"messages":["x"]}]}}}`); w.Code != http.StatusCreated {
				s.Fatal(w.Code, w.Body)
			}
		}
		var spec struct {
			Paths map[string]map[string]struct{ Parameters []struct{ Name string } }
		}
		if err := json.Unmarshal(s.api("GET", "/openapi.json", "").Body.Bytes(), &spec); err != nil {
			s.Fatal(err)
		}
		lists := 0
		for path, operations := range spec.Paths {
			for _, p := range operations["get"].Parameters {
				if p.Name != "cursor" {
					continue
				}
				lists++
				path := strings.NewReplacer("{channel}", "a", "{survey}", "a").Replace(path)
				for _, wrong := range []string{"zzz", "a", "-1", "%ff", "Y2hhbm5lbHMvYQ%3D%3D"} {
					w := s.api("GET", path+"?cursor="+wrong, "")
					if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `"pointer":"/cursor"`) {
						s.Errorf("%s?cursor=%s: %d %s", path, wrong, w.Code, w.Body)
					}
				}
			}
		}
		if lists < 8 {
			s.Errorf("%d lists take a cursor", lists)
		}
		for list, other := range map[string]string{"/v1/channels": "/v1/surveys", "/v1/surveys": "/v1/channels"} {
			var page struct {
				Next string `json:"next_cursor"`
			}
			_ = json.Unmarshal(s.api("GET", list+"?limit=1", "").Body.Bytes(), &page)
			if w := s.api("GET", list+"?cursor="+page.Next, ""); page.Next == "" || w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"b"`) || strings.Contains(w.Body.String(), `"channel":"a"`) {
				s.Errorf("%s: the second page: %q %d %s", list, page.Next, w.Code, w.Body)
			}
			if w := s.api("GET", other+"?cursor="+page.Next, ""); w.Code != http.StatusUnprocessableEntity {
				s.Errorf("%s takes a cursor of %s: %d", other, list, w.Code)
			}
		}
	})
}

// The response distinguishes a missing token from an invalid one.
// Scenario 223.
func TestCursor_MissingAndWrongTokensDiffer(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, database string) {
		s := serve(t, database)
		for _, c := range []struct{ name, authorization, detail, challenge string }{
			{"none", "", "no bearer token", `Bearer realm="weir"`},
			{"another scheme", "Basic YTpi", "no bearer token", `Bearer realm="weir"`},
			{"empty", "Bearer ", "no bearer token", `Bearer realm="weir"`},
			{"wrong", "Bearer " + testToken + "x", "the bearer token is not valid", `Bearer realm="weir", error="invalid_token"`},
		} {
			w := s.ask(c.authorization, "GET", "/v1/channels", "")
			if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), c.detail) || w.Header().Get("WWW-Authenticate") != c.challenge {
				s.Errorf("%s: %d %q %s", c.name, w.Code, w.Header().Get("WWW-Authenticate"), w.Body)
			}
		}
	})
}
