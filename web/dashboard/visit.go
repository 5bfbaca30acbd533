package dashboard

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/ops"
	"weir/web/api"
)

// visit is one request to the dashboard, with a session that the API accepts.
// Templates use its exported methods.
type visit struct {
	d       *Dashboard
	r       *http.Request
	id      string // X-Request-Id
	token   string // empty while no token is needed
	session bool   // token is the text of a session
	who     api.WhoView
}

// policy allows pages to load only files of the dashboard, and no inline code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'"

// setSecurityHeaders sets the security headers of every response.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // lets forms lead back to their page
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// handler serves a visit.
type handler func(*visit, http.ResponseWriter) error

// withoutSession serves requests that need no session.
func (d *Dashboard) withoutSession(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecurityHeaders(w.Header())
		v := &visit{d: d, r: r, id: w.Header().Get(requestID)}
		err := v.checkOrigin()
		if err == nil {
			err = h(v, w)
		}
		if err != nil {
			d.writeError(v, w, err)
		}
	})
}

// withSession requires a session whose token has one of the scopes; nil: any token. The
// API checks again.
func (d *Dashboard) withSession(oneOf []ops.Scope, h handler) http.Handler {
	return d.withoutSession(func(v *visit, w http.ResponseWriter) error {
		v.readSession()
		if err := v.readIdentity(); err != nil {
			return err
		}
		if !v.may(oneOf) {
			return &problem{Status: http.StatusForbidden, Code: weir.CodeForbidden, Detail: "this page requires a token with the scope " + scopeWords(oneOf)}
		}
		return h(v, w)
	})
}

// readIdentity reads the identity and scopes of the session.
func (v *visit) readIdentity() error {
	var who api.WhoView
	if err := v.get("/v1/whoami", nil, &who); err != nil {
		return err
	}
	v.who = who
	return nil
}

// checkOrigin rejects requests that a page of another site made a browser send.
func (v *visit) checkOrigin() error {
	if v.d.origins.Check(v.r) != nil {
		return &problem{Status: http.StatusForbidden, Code: weir.CodeForbidden, Detail: "requests from pages of other sites are rejected"}
	}
	return nil
}

// may reports whether the token has one of the scopes.
func (v *visit) may(oneOf []ops.Scope) bool {
	return oneOf == nil || slices.ContainsFunc(oneOf, func(s ops.Scope) bool { return slices.Contains(v.who.Scopes, s) })
}

// May reports whether the token has one of the scopes, for templates.
func (v *visit) May(oneOf ...ops.Scope) bool { return v.may(oneOf) }

// rights returns a key that is equal for all who see the same.
func (v *visit) rights() string { return scopeWords(v.who.Scopes) }

// Link returns the path of a page; all segments except the first are escaped.
func (v *visit) Link(first string, segments ...string) string {
	return v.d.Prefix + first + strings.TrimSuffix(apiPath(segments...), "/")
}

// Asset returns the path of a file, with its hash.
func (v *visit) Asset(name string) string { return v.d.Prefix + "/assets/" + v.d.files.hashed(name) }

// Now returns the reference time for all relative times on the page.
func (v *visit) Now() time.Time { return v.d.Now() }

// Who returns the identity behind the session.
func (v *visit) Who() api.WhoView { return v.who }

// Wall reports whether the page is shown on a wall screen.
func (v *visit) Wall() bool { return v.r.URL.Query().Get("wall") == "1" }

// Version returns the running version.
func (v *visit) Version() string { return v.d.Version }

func scopeWords(list []ops.Scope) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, " or ")
}

// statusOf returns the HTTP status of an error, and its problem.
func statusOf(err error) (int, *problem) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.Status, p
	}
	if code := weir.CodeOf(err); code == weir.CodeUnauthorised || code == weir.CodeUnavailable { // a session could not begin or end
		status := map[weir.Code]int{weir.CodeUnauthorised: http.StatusUnauthorized, weir.CodeUnavailable: http.StatusServiceUnavailable}[code]
		return status, &problem{Status: status, Code: code, Detail: "the session could not be stored; try again", wait: "2"}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) { // the browser disconnected, or it took too long
		return http.StatusServiceUnavailable, &problem{Status: http.StatusServiceUnavailable, Code: weir.CodeUnavailable, Detail: "the request timed out; try again", wait: "2"}
	}
	return http.StatusInternalServerError, &problem{Status: http.StatusInternalServerError, Code: weir.CodeInternal, Detail: "internal error; details are in the log"}
}
