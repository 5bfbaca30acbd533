package daemon_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/cmd/weir/daemon"
	"weir/internal/polling"
	"weir/operators"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/test/daemontest"
	"weir/web/openid/openidtest"
)

const sessionToken = "CANARY-0123456789-abcdefghij-ABCDEFGHIJ"

// visited is a process that a browser talks to.
type visited struct {
	*testing.T
	handler http.Handler
	stop    func()
}

func visit(t *testing.T, database string, environ ...string) *visited {
	t.Helper()
	d, stop := daemontest.Open(t, daemon.Options{Config: configuration(t, append(environ, "DATABASE_URL="+database, "LISTEN_ADDR=127.0.0.1:0")...)})
	return &visited{T: t, handler: d.Handler(), stop: stop}
}

// send sends a request with a session's cookie and returns the status, and the cookie
// that the response sets.
func (v *visited) send(method, path, cookie string, form url.Values) (status int, session string) {
	v.Helper()
	r := httptest.NewRequestWithContext(v.Context(), method, "http://localhost"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if cookie != "" {
		r.AddCookie(&http.Cookie{Name: "weir_session", Value: cookie})
	}
	w := httptest.NewRecorder()
	v.handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.Name == "weir_session" {
			session = c.Value
		}
	}
	return w.Code, session
}

func (v *visited) login(token string) string {
	v.Helper()
	status, session := v.send("POST", "/login", "", url.Values{"token": {token}})
	if status != http.StatusSeeOther || session == "" {
		v.Fatalf("log-in: %d, cookie %q", status, session)
	}
	return session
}

// page requests the overview with a cookie and expects 200, or 303 to the login.
func (v *visited) page(what, cookie string, want int) {
	v.Helper()
	if status, _ := v.send("GET", "/", cookie, nil); status != want {
		v.Errorf("%s: %d, want %d", what, status, want)
	}
}

// ends waits until a session is redirected to the login page.
func (v *visited) ends(cookie string, within time.Duration) {
	v.Helper()
	if !polling.Until(within, 100*time.Millisecond, func() bool { status, _ := v.send("GET", "/", cookie, nil); return status == http.StatusSeeOther }) {
		v.Errorf("the session still holds after %v", within)
	}
}

func onBothStores(t *testing.T, run func(t *testing.T, database string)) {
	t.Helper()
	for name, database := range map[string]func(*testing.T) string{"sqlite": sqliteURL, "mysql": mysqlURL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, database(t))
		})
	}
}

// Scenario 197: the cookie of the dashboard is not the token, it survives a restart, and
// a copy of it is invalid after the logout.
func TestSessions_LogOutEndsTheSession(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, database string) {
		v := visit(t, database, "WEIR_API_TOKENS="+sessionToken)
		session, other := v.login(sessionToken), v.login(sessionToken)
		if strings.Contains(session, "CANARY") {
			t.Error("the cookie holds the token")
		}
		v.stop()
		v = visit(t, database, "WEIR_API_TOKENS="+sessionToken)
		v.page("after a restart", session, 200)
		if status, _ := v.send("POST", "/logout", session, nil); status != http.StatusSeeOther {
			t.Errorf("log-out: %d", status)
		}
		v.page("after the log-out", session, 303)
		v.page("the other browser", other, 200)
		v.page("a cookie that is the token", sessionToken, 303)
		v.stop()
		visit(t, database, "WEIR_API_TOKENS="+sessionToken).page("after the log-out and a restart", session, 303)
	})
}

// Scenario 198: the next owner of a database goes on with the sessions of the former one.
func TestSessions_OutliveTheirProcess(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, database string) {
		a := visit(t, database, "WEIR_API_TOKENS="+sessionToken)
		session, ended := a.login(sessionToken), a.login(sessionToken)
		a.send("POST", "/logout", ended, nil)
		a.stop()
		b := visit(t, database, "WEIR_API_TOKENS="+sessionToken)
		b.page("at the next process", session, 200)
		b.page("a session that was ended at the first", ended, 303)
	})
}

// Scenario 199: a session ends with its token: when a token of the store is revoked, and
// when a token is no longer in WEIR_API_TOKENS.
func TestSessions_EndWithTheirToken(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, database string) {
		v := visit(t, database, "WEIR_API_TOKENS="+sessionToken+",another-"+sessionToken)
		configured, another := v.login(sessionToken), v.login("another-"+sessionToken)
		v.stop()
		token, text := operators.NewToken("ann", []operators.Scope{operators.ScopeContactsRead}, time.Now(), time.Time{})
		tokens := storetest.OpenOnly(t, database, persistence.Options{})
		if err := tokens.AddToken(t.Context(), token, time.Now()); err != nil {
			t.Fatal(err)
		}
		v = visit(t, database, "WEIR_API_TOKENS=another-"+sessionToken)
		v.page("a token that is no longer configured", configured, 303)
		v.page("one that is", another, 200)
		ann := v.login(text)
		v.page("a token of the store", ann, 200)
		if err := tokens.RevokeToken(t.Context(), token.ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		v.ends(ann, 12*time.Second) // tokens are read at least this often
	})
}

// Scenario 325: a session of a person is at the next process what its groups are there: it has
// their present scopes, and is void for another provider, or without one.
func TestSessions_OfPeopleFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, database string) {
		at := openidtest.Open(t, "admins", "readers")
		with := func(scopes string) []string { return at.Environment("http://localhost", scopes) }
		v := visit(t, database, with("admins=channels:admin;readers=contacts:read")...)
		session := v.logInByName(at)
		v.page("after the log-in", session, 200)
		v.audit(session, 200)
		v.stop()
		v = visit(t, database, with("readers=contacts:read")...)
		v.page("with fewer scopes", session, 200)
		v.audit(session, 403)
		v.stop()
		v = visit(t, database, with("others=contacts:read")...)
		v.page("without any scope", session, 303)
		v.stop()
		v = visit(t, database, append(with("readers=contacts:read"), "WEIR_OIDC_CLIENT_ID=another")...)
		v.page("for another client", session, 303)
		v.stop()
		v = visit(t, database, "WEIR_API_TOKENS="+sessionToken)
		v.page("without a provider", session, 303)
		v.stop()
		v = visit(t, database, with("readers=contacts:read")...)
		v.page("as before", session, 200)
		v.send("POST", "/logout", session, nil)
		v.page("after the log-out", session, 303)
	})
}

// audit requests the audit log, which needs channels:admin.
func (v *visited) audit(cookie string, want int) {
	v.Helper()
	if status, _ := v.send("GET", "/audit", cookie, nil); status != want {
		v.Errorf("the audit log: %d, want %d", status, want)
	}
}

// logInByName logs in at a provider and returns the session's cookie.
func (v *visited) logInByName(at *openidtest.Provider) string {
	v.Helper()
	get := func(path string, with ...*http.Cookie) *http.Response {
		r := httptest.NewRequestWithContext(v.Context(), "GET", "http://localhost"+path, nil)
		for _, c := range with {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		v.handler.ServeHTTP(w, r)
		answer := w.Result()
		_ = answer.Body.Close()
		return answer
	}
	begun := get("/login/oidc")                                                                                //nolint:bodyclose // get has closed it
	for _, c := range get(at.Visit(begun.Header.Get("Location")).RequestURI(), begun.Cookies()...).Cookies() { //nolint:bodyclose // get has closed it
		if c.Name == "weir_session" {
			return c.Value
		}
	}
	v.Fatal("there is no session")
	return ""
}
