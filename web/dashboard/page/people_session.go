package page

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/operators"
	"weir/web/auth"
	"weir/web/dashboard/locale"
	"weir/web/openid"
)

const (
	namePath      = "/login/oidc"
	attemptCookie = "weir_login"
	maxKept       = 4096 // bytes of the cookie
)

// nameLogin is what the login page shows of the provider.
type nameLogin struct {
	Title, Link string
	Down        string // why it cannot be used now; empty: it can
}

// nameLogins logs people in by name, at a provider.
type nameLogins struct {
	provider *openid.Provider // nil: nobody logs in by name
	sessions Sessions
	groups   []string                   // those whose members have access
	add      func(operators.AuditEntry) // to the audit log
	log      *slog.Logger
}

// form returns nil if nobody logs in by name.
func (l *nameLogins) form(v *Visit, next string) *nameLogin {
	if l.provider == nil {
		return nil
	}
	n := &nameLogin{Title: l.provider.Title(), Link: v.d.Prefix + namePath + "?" + url.Values{"next": {next}}.Encode()}
	if err := l.provider.Ready(v.Request.Context()); err != nil {
		n.Down = v.T(locale.Message(refusalOf(err).Text())) // see apiWords
		l.log.WarnContext(v.Request.Context(), "log-in provider unreachable", "request", v.id, "error", err)
	}
	return n
}

// attempt returns the cookie of a log-in that begins or ends. It is Lax: the provider's page sends
// the browser back, with a GET.
func attempt(v *Visit, value string, life time.Duration) *http.Cookie {
	c := v.cookie(attemptCookie, value, life) //nolint:gosec // v.cookie sets all three
	c.Path, c.SameSite = v.d.Prefix+namePath, http.SameSiteLaxMode
	return c
}

// start sends the browser to the provider.
func (l *nameLogins) start(v *Visit, w http.ResponseWriter) error {
	if l.provider == nil {
		return &Problem{Status: http.StatusNotFound, Detail: v.T("log-in by name is not configured: WEIR_OIDC_ISSUER is not set")}
	}
	next := LocalPath(v.Request.URL.Query().Get("next"))
	// The provider sends people back to PUBLIC_URL, so the cookie has to be of its host. A proxy may
	// hide under which host the browser is here: once is enough.
	here, _ := url.Parse(strings.TrimSuffix(l.provider.RedirectURL(), "/callback"))
	if here != nil && !strings.EqualFold(here.Host, v.Request.Host) && v.Request.URL.Query().Get("moved") == "" {
		here.RawQuery = url.Values{"next": {next}, "moved": {"1"}}.Encode()
		return goTo(w, here.String())
	}
	address, kept, err := l.provider.Start(v.Request.Context(), next)
	if err != nil {
		return l.refuse(v, w, refusalOf(err), openid.Person{})
	}
	http.SetCookie(w, attempt(v, kept, openid.AttemptLife))
	return goTo(w, address)
}

// goTo sends the browser to an address outside of the dashboard.
func goTo(w http.ResponseWriter, address string) error {
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// finish begins the session of a person whom the provider sent back.
func (l *nameLogins) finish(v *Visit, w http.ResponseWriter) error {
	if l.provider == nil {
		return &Problem{Status: http.StatusNotFound, Detail: v.T("log-in by name is not configured: WEIR_OIDC_ISSUER is not set")}
	}
	if err := l.sessions.AdmitAttempt(v.Request); err != nil {
		return &Problem{Status: http.StatusTooManyRequests, Detail: v.T("too many failed log-ins from this address; try again later"), Wait: "5"}
	}
	kept := ""
	if c, err := v.Request.Cookie(attemptCookie); err == nil && len(c.Value) <= maxKept {
		kept = c.Value
	}
	http.SetCookie(w, attempt(v, "", -time.Second))
	query := v.Request.URL.Query()
	who, next, err := l.provider.Finish(v.Request.Context(), kept, query)
	if err != nil {
		l.sessions.NoteFailure(v.Request, query.Get("code"))
		return l.refuse(v, w, refusalOf(err), who)
	}
	session, err := l.sessions.BeginPerson(v.Request.Context(), who.ID, who.Groups)
	switch {
	case weir.CodeOf(err) == weir.CodeForbidden:
		return l.refuseStranger(v, w, err, who)
	case err != nil:
		return err
	}
	l.record(v, who, "log-in", http.StatusOK, "")
	http.SetCookie(w, v.cookie(sessionCookie, session, auth.SessionLife))
	// Not a redirect: the browser would withhold the session's cookie from a request that the
	// provider's page caused.
	return v.d.render(v, w, http.StatusOK, "again", &Content{Title: v.T("Logged in"), Data: v.d.Prefix + LocalPath(next)})
}

func refusalOf(err error) *openid.RefusalError {
	if r, ok := errors.AsType[*openid.RefusalError](err); ok {
		return r
	}
	return &openid.RefusalError{Reason: openid.ReasonUnreachable, Cause: err}
}

// refusedLogin is the data of the page of a log-in that failed.
type refusedLogin struct {
	Text, Request string
	Person        string   // who is in no group that has scopes; empty: it failed before
	Groups        []string // of the person
	Wanted        []string // those that have scopes
	Claim         string
	Again         string
}

// refuse shows why a log-in failed.
func (l *nameLogins) refuse(v *Visit, w http.ResponseWriter, r *openid.RefusalError, who openid.Person) error {
	if r.ByProvider() {
		l.record(v, who, "log-in", r.Status(), string(r.Reason))
	}
	noteError(w, r)
	if r.Status() == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "10")
	}
	data := refusedLogin{Text: v.T(locale.Message(r.Text())), Request: v.id, Again: v.d.Prefix + "/login"}
	return v.d.render(v, w, r.Status(), "refused", &Content{Title: v.T("Not logged in"), Data: data})
}

// maxShownGroups is the max number of groups on the page of a person without access.
const maxShownGroups = 50

// refuseStranger shows a person without access which groups they are in, and which have scopes.
func (l *nameLogins) refuseStranger(v *Visit, w http.ResponseWriter, err error, who openid.Person) error {
	l.record(v, who, "log-in", http.StatusForbidden, "in no group that has scopes")
	noteError(w, err)
	name, _ := operators.PersonName(who.ID)
	groups := slices.Sorted(slices.Values(who.Groups))
	data := refusedLogin{Person: name, Groups: groups[:min(len(groups), maxShownGroups)], Wanted: l.groups, Request: v.id, Again: v.d.Prefix + "/login"}
	return v.d.render(v, w, http.StatusForbidden, "refused", &Content{Title: v.T("No access"), Data: data})
}

// noteError records the error of the response for the log.
func noteError(w http.ResponseWriter, err error) {
	if rec, ok := w.(interface{ NoteError(err error) }); ok {
		rec.NoteError(err)
	}
}

// record adds a log-in or log-out of a person to the audit log.
func (l *nameLogins) record(v *Visit, who openid.Person, action string, status int, refused string) {
	var changes []operators.FieldChange
	for _, c := range []operators.FieldChange{{Field: "subject", After: who.Subject}, {Field: "groups", After: strings.Join(who.Groups, ", ")}, {Field: "refused", After: refused}} {
		if c.After != "" {
			c.After = shortened(c.After)
			changes = append(changes, c)
		}
	}
	l.add(operators.AuditEntry{At: time.Now(), Token: who.ID, Action: action, Status: status, Request: v.id, Changes: changes})
}

// shortened shortens a value for the audit log.
func shortened(text string) string {
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return text
}
