package dashboard_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir/internal/polling"
	"weir/web/openid/openidtest"
)

// namesRig returns a Weir at which people log in by name, and the provider. There is no token but the tests' own.
func namesRig(t *testing.T, scopes string, groups ...string) (*rig, *openidtest.Provider) {
	t.Helper()
	at := openidtest.Open(t, groups...)
	return newRigWith(t, append(at.Environment("http://localhost:8080", scopes), "WEIR_API_TOKENS="+adminToken)), at
}

// person returns a browser at PUBLIC_URL.
func (r *rig) person() *browser {
	b := r.visitor()
	b.host = "localhost:8080"
	return b
}

// logInByName follows the link of the log-in page to the provider, and the provider's answer back.
func (b *browser) logInByName(at *openidtest.Provider, next string) answer {
	b.t.Helper()
	to := b.get("/login/oidc?next=" + url.QueryEscape(next)).want(303)
	if c := to.header.Get("Set-Cookie"); !strings.Contains(c, "weir_login=") || !strings.Contains(c, "Path=/login/oidc;") || !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Lax") || !strings.Contains(c, "Max-Age=600") {
		b.t.Errorf("cookie %q", c)
	}
	return b.get(at.Visit(to.header.Get("Location")).RequestURI(), "Sec-Fetch-Site", "cross-site")
}

// audit returns the audit log as soon as it has the texts: it is written every second.
func (r *rig) audit(wanted ...string) string {
	r.t.Helper()
	var log json.RawMessage
	missing := ""
	polling.Until(10*time.Second, 50*time.Millisecond, func() bool {
		r.api("GET", "/v1/audit", "", &log)
		for _, missing = range wanted {
			if !strings.Contains(string(log), missing) {
				return false
			}
		}
		missing = ""
		return true
	})
	if missing != "" {
		r.t.Errorf("the audit log has no %s:\n%s", missing, log)
	}
	return string(log)
}

// Scenario 325: people log in by name, do what their groups may, and the audit log has their names.
func TestNames_PeopleActWithTheScopesOfTheirGroups(t *testing.T) {
	t.Parallel()
	r, at := namesRig(t, "weir-admins=channels:admin;readers=contacts:read;others=pii:read", "readers", "weir-admins", "elsewhere")
	r.channel("a")
	b := r.person()
	b.get("/login").want(200).has("Log in with 127.0.0.1:", `href="/login/oidc?next=%2F"`, "Or with a token", `type="password"`)

	p := b.logInByName(at, "/channels/a").want(200).has(`content="0; url=/channels/a"`)
	session := b.cookies["weir_session"]
	if session == "" || b.cookies["weir_login"] != "" || !strings.Contains(strings.Join(p.header.Values("Set-Cookie"), "\n"), "SameSite=Strict") {
		t.Fatalf("cookies %q", p.header.Values("Set-Cookie"))
	}
	b.get("/channels/a").want(200).has("Logged in as ana@example.org", "Resume", "Log out").hasNot("Token ", numberCanary)
	b.post("/channels/a/resume", nil).want(303)
	b.get("/webhooks").want(403)
	b.get("/audit").want(200)
	b.get("/v1/whoami", "Authorization", "Bearer "+session).want(401) // the API takes no sessions

	b.post("/logout", nil).want(303)
	b.cookies["weir_session"] = session
	b.get("/").want(303)

	log := r.audit(`"token":"oidc:ana@example.org","action":"log-in"`, `"field":"subject","after":"subject-1"`, `"after":"readers, weir-admins, elsewhere"`,
		`"token":"oidc:ana@example.org","action":"patch-channel","subject":"a"`, `"token":"oidc:ana@example.org","action":"log-out"`)
	for _, secret := range []string{session, openidtest.ClientSecret, "CANARY-access-token"} {
		if strings.Contains(r.logs.String(), secret) || strings.Contains(log, secret) {
			t.Errorf("a log has the secret %s", secret)
		}
	}
}

// Whoever is in no mapped group reads which groups they have, and which have access.
func TestNames_NobodyWithoutAGroupGetsIn(t *testing.T) {
	t.Parallel()
	r, at := namesRig(t, "weir-admins=channels:admin", "<b>sales</b>")
	b := r.person()
	b.logInByName(at, "/").want(403).has("You are ana@example.org", "&lt;b&gt;sales", "weir-admins", "WEIR_OIDC_SCOPES")
	if b.cookies["weir_session"] != "" {
		t.Error("there is a session")
	}
	at.LogsIn(map[string]any{"sub": "subject-2", "preferred_username": "ben"})
	b.logInByName(at, "/").want(403).has("The provider sent no groups of yours")
	r.audit(`"token":"oidc:ana@example.org","action":"log-in","status":403`, "in no group that has scopes", `"token":"oidc:ben"`)
	if !strings.Contains(r.logs.String(), "oidc:ana@example.org is in no group that has scopes") {
		t.Error(r.logs.String())
	}
}

// Scenario 326, in a browser: a page says why, the log too, and neither has a secret.
func TestNames_RefusedLogInsAreExplained(t *testing.T) {
	t.Parallel()
	r, at := namesRig(t, "weir-admins=channels:admin", "weir-admins")
	b := r.person()
	refused := func(p answer, status int, page, log string) {
		t.Helper()
		p.want(status).has("Not logged in", page).hasNot("CANARY")
		if b.cookies["weir_session"] != "" {
			t.Error("there is a session")
		}
		if log != "" {
			r.audit(`"after":"` + log + `"`)
		}
	}
	refused(b.get("/login/oidc/callback?code=x&state=y"), 403, "not begun in this browser", "")
	if !strings.Contains(r.logs.String(), "log-in by name: not begun here") {
		t.Error("the log does not say why")
	}
	at.Misbehaves(openidtest.Mischief{Claims: map[string]any{"nonce": "x"}})
	refused(b.logInByName(at, "/"), 403, "belongs to another log-in", "wrong nonce")
	at.Misbehaves(openidtest.Mischief{Unsigned: true})
	refused(b.logInByName(at, "/"), 403, "could not be verified", "invalid ID token")
	at.Misbehaves(openidtest.Mischief{TokenDown: true})
	refused(b.logInByName(at, "/"), 503, "cannot be reached", "")
	at.Misbehaves(openidtest.Mischief{})

	// A copy of the answer, with a copy of the cookie.
	to := b.get("/login/oidc").want(303)
	kept, back := b.cookies["weir_login"], at.Visit(to.header.Get("Location")).RequestURI()
	b.get(back).want(200)
	delete(b.cookies, "weir_session")
	b.cookies["weir_login"] = kept
	refused(b.get(back), 403, "has been used already", "")
	if strings.Contains(r.logs.String(), openidtest.ClientSecret) || strings.Contains(r.logs.String(), kept) {
		t.Error("the log has a secret")
	}
}

func TestNames_FailedLogInsAreLimited(t *testing.T) {
	t.Parallel()
	r, _ := namesRig(t, "weir-admins=channels:admin", "weir-admins")
	b := r.person()
	limited := 0
	for i := range 40 {
		if b.get("/login/oidc/callback?state=y&code="+strings.Repeat("x", i+1)).status == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 15 {
		t.Errorf("of 40 failed log-ins %d were limited", limited)
	}
}

// Scenario 327: Weir starts while the provider is down, and says so; tokens go on.
func TestNames_WeirStartsWithoutTheProvider(t *testing.T) {
	t.Parallel()
	at := openidtest.Open(t, "weir-admins")
	at.Misbehaves(openidtest.Mischief{Down: true})
	r := newRigWith(t, append(at.Environment("http://localhost:8080", "weir-admins=channels:admin"), "WEIR_OIDC_TITLE=Example <ID>", "WEIR_API_TOKENS="+adminToken))
	b := r.person()
	b.get("/login").want(200).has("Log in with Example &lt;ID&gt;", "cannot be reached at the moment", `type="password"`)
	b.get("/login/oidc").want(503).has("cannot be reached")
	b.post("/login", url.Values{"token": {adminToken}}).want(303)
}

// The log-in happens at the host to which the provider sends people back.
func TestNames_LogInMovesToThePublicURL(t *testing.T) {
	t.Parallel()
	at := openidtest.Open(t, "weir-admins")
	r := newRigWith(t, append(at.Environment("https://weir.example", "weir-admins=channels:admin"), "WEIR_PATH_PREFIX=/w"))
	b := r.visitor()
	b.host = "10.0.0.7:8080"
	to := b.get("/w/login/oidc?next=%2Fchannels%2Fa").want(303).header.Get("Location")
	if to != "https://weir.example/w/login/oidc?moved=1&next=%2Fchannels%2Fa" {
		t.Errorf("it moves to %s", to)
	}
	p := b.get("/w/login/oidc?moved=1").want(303) // behind a proxy that hides the host
	if c := p.header.Get("Set-Cookie"); !strings.Contains(c, "Path=/w/login/oidc;") || !strings.Contains(c, "Secure") {
		t.Errorf("cookie %q", c)
	}
	if back := at.Visit(p.header.Get("Location")); back.Host != "weir.example" || back.Path != "/w/login/oidc/callback" {
		t.Errorf("it comes back to %s", back)
	}
	b.get("/w/").want(303) // without any token the API is closed
	for _, next := range []string{"//evil.example", "https://evil.example", "/login"} {
		if to := b.get("/w/login/oidc?next=" + url.QueryEscape(next)).want(303).header.Get("Location"); !strings.HasSuffix(to, "next=%2F") {
			t.Errorf("next %q leads to %q", next, to)
		}
	}
}

func TestNames_AreOffByDefault(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	b := r.visitor()
	b.get("/login").want(200).hasNot("Log in with", "Or with a token")
	b.get("/login/oidc").want(404)
	b.get("/login/oidc/callback?code=x&state=y").want(404)
}
