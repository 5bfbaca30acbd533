package page

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/web/auth"
	"weir/web/dashboard/locale"
	"weir/web/openid"
)

// loginPage asks for a token, or reports that none is needed.
func (d *Site) loginPage(v *Visit, w http.ResponseWriter) error {
	v.readSession()
	if err := v.readIdentity(); err == nil {
		if v.Who.Open {
			return d.render(v, w, http.StatusOK, "login", &Content{Title: v.T("No token required"), Data: loginForm{}})
		}
		d.redirect(w, LocalPath(v.Request.URL.Query().Get("next")))
		return nil
	} else if status, _ := StatusOf(err); status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
		return err // a 429 shows the form; the limit is reported when a token is submitted: behind a proxy, others may have reached it
	}
	v.token, v.session = "", false
	if _, err := v.Request.Cookie(sessionCookie); err != nil && v.Request.Header.Get("Sec-Fetch-Site") == "cross-site" && v.Request.URL.Query().Get("again") == "" {
		return d.render(v, w, http.StatusOK, "again", &Content{Title: v.T("Log in"), Data: d.again(v)})
	}
	return d.render(v, w, http.StatusOK, "login", &Content{Title: v.T("Log in"), Data: d.loginForm(v, LocalPath(v.Request.URL.Query().Get("next")), "")})
}

// again returns the login page's address with a mark that a page of the dashboard
// requests it: after a link from another site, the browser withholds the session's
// cookie from the first request.
func (d *Site) again(v *Visit) string {
	return d.Prefix + "/login?" + url.Values{"again": {"1"}, "next": {LocalPath(v.Request.URL.Query().Get("next"))}}.Encode()
}

// loginForm is the data of the login page.
type loginForm struct {
	Next, Wrong string
	Name        *nameLogin // nil: nobody logs in by name
}

func (d *Site) loginForm(v *Visit, next, wrong string) loginForm {
	return loginForm{Next: next, Wrong: wrong, Name: d.names.form(v, next)}
}

// login begins a session. The API checks the token and limits the attempts per
// address.
func (d *Site) login(v *Visit, w http.ResponseWriter) error {
	v.Request.Body = http.MaxBytesReader(w, v.Request.Body, MaxForm)
	text, next := strings.TrimSpace(v.Request.PostFormValue("token")), LocalPath(v.Request.PostFormValue("next"))
	wrong := v.T("Invalid token: it is unknown, revoked or expired.")
	// No token looks like this, so the API is not asked, which limits the tries of an address.
	if text == "" || len(text) > maxToken || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return d.render(v, w, http.StatusUnprocessableEntity, "login", &Content{Title: v.T("Log in"), Data: d.loginForm(v, next, wrong)})
	}
	v.token = text
	err, session := v.readIdentity(), ""
	v.token = ""
	if err == nil {
		session, err = d.Sessions.Begin(v.Request.Context(), text)
	}
	switch status, p := StatusOf(err); {
	case err == nil:
		http.SetCookie(w, v.cookie(sessionCookie, session, auth.SessionLife))
		d.redirect(w, next)
		return nil
	case status == http.StatusUnauthorized:
		return d.render(v, w, status, "login", &Content{Title: v.T("Log in"), Data: d.loginForm(v, next, wrong)})
	case status == http.StatusTooManyRequests:
		wrong = v.T("Too many invalid tokens from this address. Try again in %s seconds.", p.Wait)
		w.Header().Set("Retry-After", p.Wait)
		return d.render(v, w, status, "login", &Content{Title: v.T("Log in"), Data: d.loginForm(v, next, wrong)})
	default:
		return err
	}
}

// logout ends the session if there is one: requests without a session cause no
// write.
func (d *Site) logout(v *Visit, w http.ResponseWriter) error {
	v.readSession()
	err := v.readIdentity()
	if err == nil && v.session {
		if err = d.Sessions.End(v.Request.Context(), v.token); err == nil && v.Person() != "" {
			d.names.record(v, openid.Person{ID: v.Who.Token}, "log-out", http.StatusOK, "")
		}
	}
	if status, _ := StatusOf(err); err != nil && status != http.StatusUnauthorized {
		return err
	}
	http.SetCookie(w, v.cookie(sessionCookie, "", -time.Second))
	d.redirect(w, "/login")
	return nil
}

// changeTheme stores light or dark; any other value follows the system.
func (d *Site) changeTheme(v *Visit, w http.ResponseWriter) error {
	v.Request.Body = http.MaxBytesReader(w, v.Request.Body, MaxForm)
	life := choiceLife
	theme := themeOf(v.Request.PostFormValue("theme"))
	if theme == "" {
		life = -time.Second
	}
	http.SetCookie(w, v.cookie(themeCookie, theme, life))
	d.redirect(w, LocalPath(v.Request.PostFormValue("back")))
	return nil
}

// changeLanguage stores a language; any other value follows the browser.
func (d *Site) changeLanguage(v *Visit, w http.ResponseWriter) error {
	v.Request.Body = http.MaxBytesReader(w, v.Request.Body, MaxForm)
	life, code := choiceLife, v.Request.PostFormValue("language")
	if !slices.ContainsFunc(v.Languages(), func(l *locale.Locale) bool { return l.Code == code }) {
		life, code = -time.Second, ""
	}
	http.SetCookie(w, v.cookie(localeCookie, code, life))
	d.redirect(w, LocalPath(v.Request.PostFormValue("back")))
	return nil
}

// toLogin sends a browser without a valid session to the login page. The script,
// which asked for a fragment, gets a 401 and loads its page again.
func (d *Site) toLogin(v *Visit, w http.ResponseWriter) {
	if _, err := v.Request.Cookie(sessionCookie); err == nil {
		http.SetCookie(w, v.cookie(sessionCookie, "", -time.Second))
	}
	if v.Fragment() {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	to, next := "/login", ""
	switch {
	case v.Request.Method == http.MethodPost:
		next = d.keepForm(v, w)
	case v.Request.URL.Path != "/":
		next = v.Request.URL.Path // without its query, which may contain search terms
	}
	if next != "" {
		to += "?next=" + url.QueryEscape(next)
	}
	d.redirect(w, to)
}
