package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/web/auth"
	"weir/web/openid"

	"weir/web/dashboard/locale"
)

// loginPage asks for a token, or reports that none is needed.
func (d *Dashboard) loginPage(v *visit, w http.ResponseWriter) error {
	v.readSession()
	if err := v.readIdentity(); err == nil {
		if v.Who.Open {
			return d.render(v, w, http.StatusOK, "login", &content{title: v.T("No token required"), data: loginForm{}})
		}
		d.redirect(w, localPath(v.r.URL.Query().Get("next")))
		return nil
	} else if status, _ := statusOf(err); status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
		return err // a 429 shows the form; the limit is reported when a token is submitted: behind a proxy, others may have reached it
	}
	v.token, v.session = "", false
	if _, err := v.r.Cookie(sessionCookie); err != nil && v.r.Header.Get("Sec-Fetch-Site") == "cross-site" && v.r.URL.Query().Get("again") == "" {
		return d.render(v, w, http.StatusOK, "again", &content{title: v.T("Log in"), data: d.again(v)})
	}
	return d.render(v, w, http.StatusOK, "login", &content{title: v.T("Log in"), data: d.loginForm(v, localPath(v.r.URL.Query().Get("next")), "")})
}

// again returns the login page's address with a mark that a page of the dashboard
// requests it: after a link from another site, the browser withholds the session's
// cookie from the first request.
func (d *Dashboard) again(v *visit) string {
	return d.Prefix + "/login?" + url.Values{"again": {"1"}, "next": {localPath(v.r.URL.Query().Get("next"))}}.Encode()
}

// loginForm is the data of the login page.
type loginForm struct {
	Next, Wrong string
	Name        *nameLogin // nil: nobody logs in by name
}

func (d *Dashboard) loginForm(v *visit, next, wrong string) loginForm {
	return loginForm{Next: next, Wrong: wrong, Name: d.names.form(v, next)}
}

// login begins a session. The API checks the token and limits the attempts per
// address.
func (d *Dashboard) login(v *visit, w http.ResponseWriter) error {
	v.r.Body = http.MaxBytesReader(w, v.r.Body, maxForm)
	text, next := strings.TrimSpace(v.r.PostFormValue("token")), localPath(v.r.PostFormValue("next"))
	wrong := v.T("Invalid token: it is unknown, revoked or expired.")
	// No token looks like this, so the API is not asked, which limits the tries of an address.
	if text == "" || len(text) > maxToken || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return d.render(v, w, http.StatusUnprocessableEntity, "login", &content{title: v.T("Log in"), data: d.loginForm(v, next, wrong)})
	}
	v.token = text
	err, session := v.readIdentity(), ""
	v.token = ""
	if err == nil {
		session, err = d.Sessions.Begin(v.r.Context(), text)
	}
	switch status, p := statusOf(err); {
	case err == nil:
		http.SetCookie(w, v.cookie(sessionCookie, session, auth.SessionLife))
		d.redirect(w, next)
		return nil
	case status == http.StatusUnauthorized:
		return d.render(v, w, status, "login", &content{title: v.T("Log in"), data: d.loginForm(v, next, wrong)})
	case status == http.StatusTooManyRequests:
		wrong = v.T("Too many invalid tokens from this address. Try again in %s seconds.", p.wait)
		w.Header().Set("Retry-After", p.wait)
		return d.render(v, w, status, "login", &content{title: v.T("Log in"), data: d.loginForm(v, next, wrong)})
	default:
		return err
	}
}

// logout ends the session if there is one: requests without a session cause no
// write.
func (d *Dashboard) logout(v *visit, w http.ResponseWriter) error {
	v.readSession()
	err := v.readIdentity()
	if err == nil && v.session {
		if err = d.Sessions.End(v.r.Context(), v.token); err == nil && v.Person() != "" {
			d.names.record(v, openid.Person{ID: v.Who.Token}, "log-out", http.StatusOK, "")
		}
	}
	if status, _ := statusOf(err); err != nil && status != http.StatusUnauthorized {
		return err
	}
	http.SetCookie(w, v.cookie(sessionCookie, "", -time.Second))
	d.redirect(w, "/login")
	return nil
}

// changeTheme stores light or dark; any other value follows the system.
func (d *Dashboard) changeTheme(v *visit, w http.ResponseWriter) error {
	v.r.Body = http.MaxBytesReader(w, v.r.Body, maxForm)
	life := choiceLife
	theme := themeOf(v.r.PostFormValue("theme"))
	if theme == "" {
		life = -time.Second
	}
	http.SetCookie(w, v.cookie(themeCookie, theme, life))
	d.redirect(w, localPath(v.r.PostFormValue("back")))
	return nil
}

// changeLanguage stores a language; any other value follows the browser.
func (d *Dashboard) changeLanguage(v *visit, w http.ResponseWriter) error {
	v.r.Body = http.MaxBytesReader(w, v.r.Body, maxForm)
	life, code := choiceLife, v.r.PostFormValue("language")
	if !slices.ContainsFunc(v.Languages(), func(l *locale.Locale) bool { return l.Code == code }) {
		life, code = -time.Second, ""
	}
	http.SetCookie(w, v.cookie(localeCookie, code, life))
	d.redirect(w, localPath(v.r.PostFormValue("back")))
	return nil
}

// toLogin sends a browser without a valid session to the login page. The script,
// which asked for a fragment, gets a 401 and loads its page again.
func (d *Dashboard) toLogin(v *visit, w http.ResponseWriter) {
	if _, err := v.r.Cookie(sessionCookie); err == nil {
		http.SetCookie(w, v.cookie(sessionCookie, "", -time.Second))
	}
	if v.Fragment() {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	to, next := "/login", ""
	switch {
	case v.r.Method == http.MethodPost:
		next = d.keepForm(v, w)
	case v.r.URL.Path != "/":
		next = v.r.URL.Path // without its query, which may contain search terms
	}
	if next != "" {
		to += "?next=" + url.QueryEscape(next)
	}
	d.redirect(w, to)
}
