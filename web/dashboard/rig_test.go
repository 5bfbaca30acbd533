package dashboard_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/cmd/weir/daemon"
	"weir/config"
	"weir/operators"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/test/daemontest"
)

// Canaries: tokens, secrets and numbers that must not appear in the wrong places.
const (
	adminToken     = "CANARY-admin-token-of-the-tests"
	providerCanary = "CANARY-provider-password"
	numberCanary   = "+15559998877"
)

// host is the host under which the test browsers reach Weir.
const host = "weir.example"

// rig is a complete Weir on SQLite.
type rig struct {
	t        testing.TB
	database string
	handler  http.Handler
	logs     *daemontest.Log
	tokens   map[string]string // scopes, separated by blanks → token
}

// newRig starts a rig with a token for each list of scopes. Without any list, no
// token is needed.
func newRig(t testing.TB, scopes ...string) *rig { return newRigWith(t, nil, scopes...) }

// newRigWith also sets environment variables, each as NAME=value.
func newRigWith(t testing.TB, environ []string, scopes ...string) *rig {
	t.Helper()
	return newRigAfter(t, func(*rig) {}, environ, scopes...)
}

// newRigAfter calls before, which may change the store, before the daemon starts.
func newRigAfter(t testing.TB, before func(*rig), environ []string, scopes ...string) *rig {
	t.Helper()
	database := "sqlite://" + filepath.Join(folder(t), "weir.db")
	storetest.Migrate(t, database)
	r := &rig{t: t, database: database, logs: &daemontest.Log{}, tokens: map[string]string{}}
	environ = append([]string{"DATABASE_URL=" + database, "LISTEN_ADDR=127.0.0.1:0"}, environ...)
	if len(scopes) > 0 {
		environ = append(environ, "WEIR_API_TOKENS="+adminToken)
		r.addTokens(scopes)
	}
	before(r)
	c, _, err := config.Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := daemontest.Open(t, daemon.Options{
		Config: c, Logger: slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), Version: "v1.2.3", Registry: prometheus.NewRegistry(),
	})
	r.handler = d.Handler()
	return r
}

// addTokens stores tokens before the daemon starts, so that it knows them
// immediately.
func (r *rig) addTokens(scopes []string) {
	r.t.Helper()
	store := r.open()
	defer func() { _ = store.Close(r.t.Context()) }()
	for _, list := range scopes {
		var set []operators.Scope
		for _, s := range strings.Fields(list) {
			set = append(set, operators.Scope(s))
		}
		token, text := operators.NewToken("of the tests", set, time.Now(), time.Time{})
		if err := store.AddToken(r.t.Context(), token, time.Now()); err != nil {
			r.t.Fatal(err)
		}
		r.tokens[list] = text
	}
}

// folder returns a temporary folder. A read by the daemon that was still in
// progress at the close may re-create a file while the folder is being removed.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "weir-dashboard-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if os.RemoveAll(dir) != nil {
			_ = os.RemoveAll(dir)
		}
	})
	return dir
}

// open opens the store beside the daemon, as the command line does for tokens.
func (r *rig) open() *persistence.Store {
	r.t.Helper()
	store, err := persistence.Open(r.t.Context(), r.database, persistence.Options{
		Logger: slog.New(slog.DiscardHandler), Metrics: persistence.NewMetrics(prometheus.NewRegistry()), LeaseTTL: 15 * time.Second,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return store
}

// revoke revokes the token of a list of scopes.
func (r *rig) revoke(scopes string) {
	r.t.Helper()
	store := r.open()
	defer func() { _ = store.Close(r.t.Context()) }()
	id, _ := operators.TokenID(r.tokens[scopes])
	if err := store.RevokeToken(r.t.Context(), id, time.Now()); err != nil {
		r.t.Fatal(err)
	}
}

// api calls the API with every scope and requires success.
func (r *rig) api(method, path, body string, into any) {
	r.t.Helper()
	req := httptest.NewRequestWithContext(r.t.Context(), method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+adminToken)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	if w.Code >= 400 {
		r.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if into != nil {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			r.t.Fatal(err)
		}
	}
}

// channel creates a paused channel, so that nothing is dispatched, with one
// contact.
func (r *rig) channel(name string) {
	r.t.Helper()
	r.api("PUT", "/v1/channels/"+name, `{"type":"nuntium","capacity":7,"paused":true,"settings":{"base_url":"http://127.0.0.1:1","account":"a","application":"b","channel":"c","password":"`+providerCanary+`"}}`, nil)
	r.api("POST", "/v1/channels/"+name+"/contacts", `{"contacts":[{"key":"k-1","to":"`+numberCanary+`","messages":["hello"]}]}`, nil)
}

// browser keeps cookies as browsers do.
type browser struct {
	*rig
	cookies map[string]string
	scheme  string
	host    string
}

// visitor returns a browser that is not logged in.
func (r *rig) visitor() *browser {
	return &browser{rig: r, cookies: map[string]string{}, scheme: "http", host: host}
}

// login returns a browser with a session of a token with these scopes; admin means
// every scope.
func (r *rig) login(scopes string) *browser {
	r.t.Helper()
	b := r.visitor()
	token := r.tokens[scopes]
	if scopes == "admin" {
		token = adminToken
	}
	p := b.post("/login", url.Values{"token": {token}})
	if p.status != http.StatusSeeOther || b.cookies["weir_session"] == "" {
		r.t.Fatalf("logging in: %d\n%s", p.status, p.body)
	}
	return b
}

// answer is a response to a browser.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

func (b *browser) get(path string, headers ...string) answer {
	return b.send("GET", path, nil, headers...)
}

func (b *browser) post(path string, form url.Values, headers ...string) answer {
	if form == nil {
		form = url.Values{}
	}
	return b.send("POST", path, form, headers...)
}

// send sends a request as a browser on a page of the dashboard does; headers are
// pairs of name and value.
func (b *browser) send(method, path string, form url.Values, headers ...string) answer {
	b.t.Helper()
	req := b.request(method, path, form, headers...)
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, req)
	res := w.Result()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
			continue
		}
		b.cookies[c.Name] = c.Value
	}
	// Templates escape the plus sign of a number; without this a canary would be
	// missed.
	return answer{b.t, res.StatusCode, res.Header, strings.ReplaceAll(string(body), "&#43;", "+")}
}

func (b *browser) request(method, path string, form url.Values, headers ...string) *http.Request {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req := httptest.NewRequestWithContext(b.t.Context(), method, b.scheme+"://"+b.host+path, body)
	req.RequestURI, req.URL.Scheme, req.URL.Host = path, "", ""
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range b.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

// want checks the status and returns the answer.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d:\n%s", a.status, status, a.body)
	}
	return a
}

// has requires each text in the page.
func (a answer) has(texts ...string) answer {
	a.t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			a.t.Errorf("the page has no %q:\n%s", text, a.body)
		}
	}
	return a
}

// hasNot requires that none of the texts is in the page.
func (a answer) hasNot(texts ...string) answer {
	a.t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			a.t.Errorf("the page has %q:\n%s", text, a.body)
		}
	}
	return a
}

// title returns the title shown in a browser's tab.
func (a answer) title() string {
	found := regexp.MustCompile(`<title>([^<]*)</title>`).FindStringSubmatch(a.body)
	if found == nil {
		return ""
	}
	return found[1]
}
