package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestSession_BeginsWithALogin(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	b := r.visitor()
	if to := b.get("/").want(303).header.Get("Location"); to != "/login" {
		t.Errorf("without a session one is sent to %q", to)
	}
	if to := b.get("/channels/a?x=%2B15559998877").want(303).header.Get("Location"); to != "/login?next=%2Fchannels%2Fa" {
		t.Errorf("without a session one is sent to %q", to)
	}
	b.get("/login?next=/channels/a").want(200).has(`name="next" value="/channels/a"`, `type="password"`).hasNot("Log out")

	for _, wrong := range []string{"", "wrong", "two words", strings.Repeat("x", 600), "ä"} {
		p := b.post("/login", url.Values{"token": {wrong}})
		if p.status != 401 && p.status != 422 || b.cookies["weir_session"] != "" {
			t.Errorf("token %q: %d", wrong, p.status)
		}
		p.has("Invalid token")
	}

	p := b.post("/login", url.Values{"token": {" " + r.tokens["contacts:read"] + "\n"}, "next": {"/channels/a"}}).want(303)
	if to := p.header.Get("Location"); to != "/channels/a" {
		t.Errorf("after logging in one is sent to %q", to)
	}
	for _, word := range []string{"weir_session=", "Path=/;", "HttpOnly", "SameSite=Strict", "Max-Age=43200"} {
		if c := p.header.Get("Set-Cookie"); !strings.Contains(c, word) || strings.Contains(c, "Secure") {
			t.Errorf("cookie %q; want %s in it, and not Secure", c, word)
		}
	}
	b.get("/").want(200).has("Log out", "of the tests")
	if to := b.get("/login").want(303).header.Get("Location"); to != "/" {
		t.Errorf("who is logged in is sent to %q", to)
	}
	session := b.cookies["weir_session"]
	b.post("/logout", nil).want(303)
	b.cookies["weir_session"] = session // a copy of the cookie
	b.get("/").want(303)
	b.post("/logout", nil).want(303)
	if strings.Contains(r.logs.String(), r.tokens["contacts:read"]) || strings.Contains(r.logs.String(), session) || strings.Contains(r.logs.String(), "wrong") {
		t.Error("the log has a token")
	}
}

func TestSession_CookiesAreSecureOverHTTPS(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, []string{"PUBLIC_URL=https://weir.example", "WEIR_PATH_PREFIX=/w"}, "router")
	p := r.visitor().post("/w/login", url.Values{"token": {adminToken}}).want(303)
	if c := p.header.Get("Set-Cookie"); !strings.Contains(c, "Secure") || !strings.Contains(c, "Path=/w;") {
		t.Errorf("cookie %q", c)
	}
}

func TestSession_NoOpenRedirect(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	for _, next := range []string{"//evil.example", "https://evil.example", `/\evil.example`, "evil", "", "/login", "/\tx", "javascript:x"} {
		p := r.visitor().post("/login", url.Values{"token": {adminToken}, "next": {next}}).want(303)
		if to := p.header.Get("Location"); to != "/" {
			t.Errorf("next %q leads to %q", next, to)
		}
	}
}

// Twenty guesses are allowed, as at the API, wherever they come from.
func TestSession_WrongTokensAreLimited(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	b := r.visitor()
	limited := 0
	for i := range 40 {
		p := b.post("/login", url.Values{"token": {"guess-" + strings.Repeat("x", i)}})
		if p.status == http.StatusTooManyRequests {
			limited++
			if p.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		}
	}
	if limited < 15 {
		t.Errorf("of 40 wrong tokens %d were refused unseen", limited)
	}
}

func TestSession_UnknownCookieOpensNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	b := r.login("admin")
	for _, value := range []string{"1000." + adminToken, fmt.Sprint(time.Now().Unix()) + "." + adminToken, "x." + adminToken, adminToken, "", "1000.%zz"} {
		b.cookies["weir_session"] = value
		if p := b.get("/"); p.status != 303 {
			t.Errorf("cookie %q: %d", value, p.status)
		}
	}
}

func TestSession_CrossSiteActionsAreRejected(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	r.channel("a")
	b := r.login("admin")
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "", "Origin", "https://evil.example"}} {
		b.send("POST", "/channels/a/resume", url.Values{}, headers...).want(403).has("requests from pages of other sites are rejected")
		b.send("POST", "/login", url.Values{"token": {adminToken}}, headers...).want(403)
	}
	b.get("/channels/a").want(200).has("paused")
}

func TestSession_NoLoginWithoutTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.visitor()
	for _, name := range []string{"localhost:8080", "127.0.0.1:8080", "[::1]:8080", "localhost"} {
		b.host = name
		b.get("/").want(200).has("No token is required", "No channels yet").hasNot("Log out")
		b.get("/login").want(200).has("No log-in is required")
	}
	// A name that another party points to this machine.
	for _, name := range []string{"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1"} {
		b.host = name
		b.get("/").want(403).has("under localhost")
		b.get("/login").want(403)
	}
}

func TestTheme_IsKeptInACookie(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router")
	b := r.login("admin")
	b.get("/").has("<html lang=\"en\">", `value="dark"`)
	b.post("/theme", url.Values{"theme": {"dark"}, "back": {"/"}}).want(303)
	b.get("/").has(`data-theme="dark"`, ">Switch to light<").hasNot("Switch to dark")
	b.post("/theme", url.Values{"theme": {"light"}, "back": {"/"}}).want(303)
	b.get("/").has(`data-theme="light"`, ">Switch to dark<").hasNot("Switch to light")
	b.post("/theme", url.Values{"theme": {"system"}}).want(303)
	b.get("/").has("<html lang=\"en\">")
	b.cookies["weir_theme"] = "<script>"
	b.get("/").has("<html lang=\"en\">").hasNot("<script>")
}

// A link on another site leads to the page, although the browser withholds the
// cookie at first.
func TestSession_LinksOnOtherSitesLeadThere(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	r.channel("a")
	b := r.login("contacts:read")
	session := b.cookies["weir_session"]
	delete(b.cookies, "weir_session")
	to := b.get("/channels/a", "Sec-Fetch-Site", "cross-site").want(303).header.Get("Location")
	p := b.get(to, "Sec-Fetch-Site", "cross-site").want(200).has(`content="0; url=/login?again=1&amp;next=%2Fchannels%2Fa"`)
	if strings.Contains(p.body, "<script") {
		t.Error("it has a script")
	}
	b.get("/login?again=1&next=%2Fchannels%2Fa", "Sec-Fetch-Site", "cross-site").want(200).has("<form")
	b.cookies["weir_session"] = session
	if to := b.get("/login?again=1&next=%2Fchannels%2Fa").want(303).header.Get("Location"); to != "/channels/a" {
		t.Errorf("it leads to %q", to)
	}
}

// Revoking a token ends its sessions, even if this process is not notified.
func TestSession_ARevokedTokenEndsItsSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, "contacts:read")
	b := r.login("contacts:read")
	w := b.watch(r.serve(), "/live/")
	w.until("summary", "")
	r.revoke("contacts:read")
	for {
		e, ok := w.next()
		if !ok {
			t.Fatal("the stream ended without a word")
		}
		if e.name == "end" {
			break
		}
	}
	<-w.done
	b.get("/").want(303)
	if b.cookies["weir_session"] != "" {
		t.Error("the cookie stays")
	}
}

// TestSession_KeepsWhatWasEnteredOverTheLogIn is scenario 403: a form that was sent after the session had ended does nothing,
// and can be sent after the log-in, once, from where it was, without having been in a page.
func TestSession_KeepsWhatWasEnteredOverTheLogIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, personScopes)
	for path, form := range map[string]url.Values{
		"/people/record":     {"to": {numberCanary}, "status": {"refused"}, "purpose": {"all"}, "words": {"never again, secretly"}, "once": {"k"}},
		"/purposes/_new":     {"name": {"secretly"}},
		"/people/cancel?x=y": {"to": {numberCanary}, "note": {"secretly"}},
	} {
		b := r.visitor()
		to := b.post(path, form).want(303).hasNot("secretly").header.Get("Location")
		u, err := url.Parse(to)
		if err != nil || u.Path != "/login" || !strings.HasPrefix(u.Query().Get("next"), "/kept?form=") {
			t.Fatalf("%s leads to %q", path, to)
		}
		next := u.Query().Get("next")
		b.get(to).want(200).hasNot("secretly", numberCanary)
		b.get(next).want(303)
		if to = b.post("/login", url.Values{"token": {r.tokens[personScopes]}, "next": {next}}).want(303).header.Get("Location"); to != next {
			t.Fatalf("after the log-in one is sent to %q", to)
		}
		b.get(next).want(200).has(`action="`+strings.ReplaceAll(path, "&", "&amp;")+`"`, "Send now").hasNot("secretly", numberCanary)
		kept := url.Values{"kept": {strings.TrimPrefix(next, "/kept?form=")}}
		b.post(path, kept, "Sec-Fetch-Site", "cross-site").want(403)
		b.post("/people", kept).want(404).has("no longer kept")
		if p := b.post(path, kept); p.status == 404 || p.status == 403 || p.status == 303 && p.header.Get("Location") == "/" {
			t.Errorf("%s: %d %s", path, p.status, p.body)
		} else if path == "/people/record" {
			p.want(200).has("never again, secretly")
		}
		b.post(path, kept).want(404).has("no longer kept")
	}
	b := r.visitor()
	if to := b.post("/people/record", url.Values{"words": {strings.Repeat("x", 70<<10)}}).want(303).header.Get("Location"); to != "/login?next=%2Fpeople%2Frecord" {
		t.Errorf("a form that is too large leads to %q", to)
	}
}
