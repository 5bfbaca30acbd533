package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/operators"
	"weir/web/auth"
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

// nameLogin returns nil if nobody logs in by name.
func (d *Dashboard) nameLogin(v *visit, next string) *nameLogin {
	if d.Names == nil {
		return nil
	}
	n := &nameLogin{Title: d.Names.Title(), Link: d.Prefix + namePath + "?" + url.Values{"next": {next}}.Encode()}
	if err := d.Names.Ready(v.r.Context()); err != nil {
		n.Down = refusalOf(err).Text()
		d.Logger.WarnContext(v.r.Context(), "log-in provider unreachable", "request", v.id, "error", err)
	}
	return n
}

// attempt returns the cookie of a log-in that begins or ends. It is Lax: the provider's page sends
// the browser back, with a GET.
func (d *Dashboard) attempt(r *http.Request, value string, life time.Duration) *http.Cookie {
	c := d.cookie(r, attemptCookie, value, life) //nolint:gosec // d.cookie sets all three
	c.Path, c.SameSite = d.Prefix+namePath, http.SameSiteLaxMode
	return c
}

// startLogin sends the browser to the provider.
func (d *Dashboard) startLogin(v *visit, w http.ResponseWriter) error {
	if d.Names == nil {
		return &problem{Status: http.StatusNotFound, Detail: "log-in by name is not configured: WEIR_OIDC_ISSUER is not set"}
	}
	next := localPath(v.r.URL.Query().Get("next"))
	// The provider sends people back to PUBLIC_URL, so the cookie has to be of its host. A proxy may
	// hide under which host the browser is here: once is enough.
	here, _ := url.Parse(strings.TrimSuffix(d.Names.RedirectURL(), "/callback"))
	if here != nil && !strings.EqualFold(here.Host, v.r.Host) && v.r.URL.Query().Get("moved") == "" {
		here.RawQuery = url.Values{"next": {next}, "moved": {"1"}}.Encode()
		return goTo(w, here.String())
	}
	address, kept, err := d.Names.Start(v.r.Context(), next)
	if err != nil {
		return d.refuseLogin(v, w, refusalOf(err), openid.Person{})
	}
	http.SetCookie(w, d.attempt(v.r, kept, openid.AttemptLife))
	return goTo(w, address)
}

// goTo sends the browser to an address outside of the dashboard.
func goTo(w http.ResponseWriter, address string) error {
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// finishLogin begins the session of a person whom the provider sent back.
func (d *Dashboard) finishLogin(v *visit, w http.ResponseWriter) error {
	if d.Names == nil {
		return &problem{Status: http.StatusNotFound, Detail: "log-in by name is not configured: WEIR_OIDC_ISSUER is not set"}
	}
	if err := d.Sessions.AdmitAttempt(v.r); err != nil {
		return &problem{Status: http.StatusTooManyRequests, Detail: "too many failed log-ins from this address; try again later", wait: "5"}
	}
	kept := ""
	if c, err := v.r.Cookie(attemptCookie); err == nil && len(c.Value) <= maxKept {
		kept = c.Value
	}
	http.SetCookie(w, d.attempt(v.r, "", -time.Second))
	query := v.r.URL.Query()
	who, next, err := d.Names.Finish(v.r.Context(), kept, query)
	if err != nil {
		d.Sessions.NoteFailure(v.r, query.Get("code"))
		return d.refuseLogin(v, w, refusalOf(err), who)
	}
	session, err := d.Sessions.BeginPerson(v.r.Context(), who.ID, who.Groups)
	switch {
	case weir.CodeOf(err) == weir.CodeForbidden:
		return d.refuseStranger(v, w, err, who)
	case err != nil:
		return err
	}
	d.record(v, who, "log-in", http.StatusOK, "")
	http.SetCookie(w, d.cookie(v.r, sessionCookie, session, auth.SessionLife))
	// Not a redirect: the browser would withhold the session's cookie from a request that the
	// provider's page caused.
	return d.render(v, w, http.StatusOK, "again", &content{title: "Logged in", data: d.Prefix + localPath(next)})
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

// refuseLogin shows why a log-in failed.
func (d *Dashboard) refuseLogin(v *visit, w http.ResponseWriter, r *openid.RefusalError, who openid.Person) error {
	if r.ByProvider() {
		d.record(v, who, "log-in", r.Status(), string(r.Reason))
	}
	noteError(w, r)
	if r.Status() == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "10")
	}
	data := refusedLogin{Text: r.Text(), Request: v.id, Again: d.Prefix + "/login"}
	return d.render(v, w, r.Status(), "refused", &content{title: "Not logged in", data: data})
}

// maxShownGroups is the max number of groups on the page of a person without access.
const maxShownGroups = 50

// refuseStranger shows a person without access which groups they are in, and which have scopes.
func (d *Dashboard) refuseStranger(v *visit, w http.ResponseWriter, err error, who openid.Person) error {
	d.record(v, who, "log-in", http.StatusForbidden, "in no group that has scopes")
	noteError(w, err)
	name, _ := operators.PersonName(who.ID)
	groups := slices.Sorted(slices.Values(who.Groups))
	data := refusedLogin{Person: name, Groups: groups[:min(len(groups), maxShownGroups)], Wanted: d.GroupsWithScopes, Request: v.id, Again: d.Prefix + "/login"}
	return d.render(v, w, http.StatusForbidden, "refused", &content{title: "No access", data: data})
}

// noteError records the error of the response for the log.
func noteError(w http.ResponseWriter, err error) {
	if rec, ok := w.(interface{ NoteError(err error) }); ok {
		rec.NoteError(err)
	}
}

// record adds a log-in or log-out of a person to the audit log.
func (d *Dashboard) record(v *visit, who openid.Person, action string, status int, refused string) {
	var changes []operators.FieldChange
	for _, c := range []operators.FieldChange{{Field: "subject", After: who.Subject}, {Field: "groups", After: strings.Join(who.Groups, ", ")}, {Field: "refused", After: refused}} {
		if c.After != "" {
			c.After = shortened(c.After)
			changes = append(changes, c)
		}
	}
	d.Record(operators.AuditEntry{At: time.Now(), Token: who.ID, Action: action, Status: status, Request: v.id, Changes: changes})
}

// shortened shortens a value for the audit log.
func shortened(text string) string {
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return text
}
