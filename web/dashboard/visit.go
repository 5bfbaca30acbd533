package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/operators"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

// visit is one request to the dashboard, with a session that the API accepts.
// Templates use its exported methods.
type visit struct {
	*caller
	d *Dashboard
	r *http.Request
}

// handler serves a visit.
type handler func(*visit, http.ResponseWriter) error

// Link returns the path of a page; all segments except the first are escaped.
func (v *visit) Link(first string, segments ...string) string {
	return v.d.Prefix + first + strings.TrimSuffix(apiPath(segments...), "/")
}

// redirect sends the browser to a path below the prefix.
func (v *visit) redirect(w http.ResponseWriter, path string) { v.d.redirect(w, path) }

// Asset returns the path of a file, with its hash.
func (v *visit) Asset(name string) string { return v.d.Prefix + "/assets/" + v.d.files.hashed(name) }

// Now returns the reference time for all relative times on the page.
func (v *visit) Now() time.Time { return time.Now() }

// Wall reports whether the page is shown on a wall screen.
func (v *visit) Wall() bool { return v.r.URL.Query().Get("wall") == "1" }

// Version returns the running version.
func (v *visit) Version() string { return v.d.Version }

// scopeWords names scopes of which one is needed.
func (c *caller) scopeWords(list []operators.Scope) string { return display.Join(list, c.T(" or ")) }

// apiPath joins the segments of a path, each escaped.
func apiPath(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}

// requestID identifies a request in responses, in the log and in the audit log.
const requestID = "X-Request-Id"

// readers returns the scopes for lists of channels and contacts; one is needed.
func readers() []operators.Scope {
	return []operators.Scope{operators.ScopeContactsRead, operators.ScopeChannelsAdmin}
}

// surveyReaders returns the scopes for reading surveys; one is needed.
func surveyReaders() []operators.Scope {
	return []operators.Scope{operators.ScopeContactsRead, operators.ScopeSurveysAdmin}
}

// fragmentHeader marks a request of the script for the content of a page alone.
const fragmentHeader = "Weir-Fragment"

// Fragment reports whether the script requested a part of a page.
func (v *visit) Fragment() bool { return v.r.Header.Get(fragmentHeader) != "" }

// Here returns the path of the page, below the prefix.
func (v *visit) Here() string { return v.r.URL.EscapedPath() }

const (
	sessionCookie = "weir_session"
	flashCookie   = "weir_flash"
	themeCookie   = "weir_theme"
	localeCookie  = "weir_language"
	choiceLife    = 365 * 24 * time.Hour
	maxForm       = 64 << 10
	maxToken      = 512
)

// cookie returns a cookie that no request from another site carries and no script
// can read.
func (v *visit) cookie(name, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure where people use https
		Name: name, Value: value, Path: cmp.Or(v.d.Prefix, "/"), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: v.r.TLS != nil || strings.HasPrefix(strings.ToLower(v.d.PublicURL), "https:"), MaxAge: max(-1, int(life.Seconds())),
	}
}

func themeOf(word string) string {
	if word == "light" || word == "dark" {
		return word
	}
	return ""
}

// Theme returns light, dark, or empty to follow the system.
func (v *visit) Theme() string {
	c, err := v.r.Cookie(themeCookie)
	if err != nil {
		return ""
	}
	return themeOf(c.Value)
}

// Languages lists the languages that the reader can choose.
func (v *visit) Languages() []*locale.Locale { return v.d.locales.List() }

// localeOf returns the language that a browser's user chose, or else the one that it asks for.
func (d *Dashboard) localeOf(r *http.Request) *locale.Locale {
	chosen := ""
	if c, err := r.Cookie(localeCookie); err == nil {
		chosen = c.Value
	}
	return d.locales.Choose(chosen, r.Header.Get("Accept-Language"))
}

// Person returns the name of the person who is logged in; empty: a token is.
func (v *visit) Person() string {
	if name, ok := operators.PersonName(v.Who.Token); ok {
		return name
	}
	return ""
}

// readSession reads the session from the browser's cookie.
func (v *visit) readSession() {
	if c, err := v.r.Cookie(sessionCookie); err == nil {
		v.token, v.session = c.Value, true
	}
}
