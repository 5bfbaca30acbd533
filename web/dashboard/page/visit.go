package page

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

// Visit is one request to the dashboard, with a session that the API accepts.
// Templates use its exported methods.
type Visit struct {
	*Caller
	d       *Site
	Request *http.Request
}

// Handler serves a visit.
type Handler func(*Visit, http.ResponseWriter) error

// Link returns the path of a page; all segments except the first are escaped.
func (v *Visit) Link(first string, segments ...string) string {
	return v.d.Prefix + first + strings.TrimSuffix(Path(segments...), "/")
}

// Redirect sends the browser to a path below the prefix.
func (v *Visit) Redirect(w http.ResponseWriter, path string) { v.d.redirect(w, path) }

// Asset returns the path of a file, with its hash.
func (v *Visit) Asset(name string) string { return v.d.Prefix + "/assets/" + v.d.files.hashed(name) }

// Now returns the reference time for all relative times on the page.
func (v *Visit) Now() time.Time { return time.Now() }

// Wall reports whether the page is shown on a wall screen.
func (v *Visit) Wall() bool { return v.Request.URL.Query().Get("wall") == "1" }

// Version returns the running version.
func (v *Visit) Version() string { return v.d.Version }

// scopeWords names scopes of which one is needed.
func (c *Caller) scopeWords(list []operators.Scope) string { return display.Join(list, c.T(" or ")) }

// Path joins the segments of a path, each escaped.
func Path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}

// requestID identifies a request in responses, in the log and in the audit log.
const requestID = "X-Request-Id"

// Readers returns the scopes for lists of channels and contacts; one is needed.
func Readers() []operators.Scope {
	return []operators.Scope{operators.ScopeContactsRead, operators.ScopeChannelsAdmin}
}

// SurveyReaders returns the scopes for reading surveys; one is needed.
func SurveyReaders() []operators.Scope {
	return []operators.Scope{operators.ScopeContactsRead, operators.ScopeSurveysAdmin}
}

// fragmentHeader marks a request of the script for the content of a page alone.
const fragmentHeader = "Weir-Fragment"

// Fragment reports whether the script requested a part of a page.
func (v *Visit) Fragment() bool { return v.Request.Header.Get(fragmentHeader) != "" }

// Here returns the path of the page, below the prefix.
func (v *Visit) Here() string { return v.Request.URL.EscapedPath() }

const (
	sessionCookie = "weir_session"
	flashCookie   = "weir_flash"
	themeCookie   = "weir_theme"
	localeCookie  = "weir_language"
	choiceLife    = 365 * 24 * time.Hour
	MaxForm       = 64 << 10
	maxToken      = 512
)

// cookie returns a cookie that no request from another site carries and no script
// can read.
func (v *Visit) cookie(name, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure where people use https
		Name: name, Value: value, Path: cmp.Or(v.d.Prefix, "/"), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: v.Request.TLS != nil || strings.HasPrefix(strings.ToLower(v.d.PublicURL), "https:"), MaxAge: max(-1, int(life.Seconds())),
	}
}

func themeOf(word string) string {
	if word == "light" || word == "dark" {
		return word
	}
	return ""
}

// Theme returns light, dark, or empty to follow the system.
func (v *Visit) Theme() string {
	c, err := v.Request.Cookie(themeCookie)
	if err != nil {
		return ""
	}
	return themeOf(c.Value)
}

// Languages lists the languages that the reader can choose.
func (v *Visit) Languages() []*locale.Locale { return v.d.locales.List() }

// localeOf returns the language that a browser's user chose, or else the one that it asks for.
func (d *Site) localeOf(r *http.Request) *locale.Locale {
	chosen := ""
	if c, err := r.Cookie(localeCookie); err == nil {
		chosen = c.Value
	}
	return d.locales.Choose(chosen, r.Header.Get("Accept-Language"))
}

// Person returns the name of the person who is logged in; empty: a token is.
func (v *Visit) Person() string {
	if name, ok := operators.PersonName(v.Who.Token); ok {
		return name
	}
	return ""
}

// readSession reads the session from the browser's cookie.
func (v *Visit) readSession() {
	if c, err := v.Request.Cookie(sessionCookie); err == nil {
		v.token, v.session = c.Value, true
	}
}
