package page

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"weir/operators"
)

// route fills the table of patterns.
func (d *Site) route() error {
	for _, p := range d.pages {
		if d.templates["en"][p.Name] == nil {
			return fmt.Errorf("dashboard: page %s has no template", p.Name)
		}
		if p.Nav != "" {
			d.nav = append(d.nav, navItem{text: p.Nav, path: p.Path, scopes: p.Scopes, whole: p.Whole})
		}
		d.routes["GET "+exact(p.Path)] = d.withSession(p.need(p.Scopes), d.page(p))
		if len(p.Live) > 0 {
			d.routes["GET /live"+exact(p.Path)] = d.withSession(p.need(p.Scopes), d.stream(p))
		}
		if p.Posted != nil || p.Uploaded != nil {
			d.routes["POST "+exact(p.Path)] = d.withSession(p.need(p.Scopes), d.serveForm(p))
		}
		if p.Sent != nil {
			d.routes["POST "+exact(p.Path)] = d.withSession(p.need(p.Scopes), p.Sent)
		}
		for i := range p.Actions {
			a := &p.Actions[i]
			d.routes["GET "+a.Path] = d.withSession(p.need(a.Scopes), d.ask(a))
			d.routes["POST "+a.Path] = d.withSession(p.need(a.Scopes), d.act(a))
		}
		for path, serve := range p.Files {
			d.routes["GET "+path] = d.withSession(p.need(p.Scopes), serve)
		}
	}
	d.routes["GET /login"] = d.withoutSession(d.loginPage)
	d.routes["POST /login"] = d.withoutSession(d.login)
	d.routes["GET "+namePath] = d.withoutSession(d.names.start)
	d.routes["GET "+namePath+"/callback"] = d.withoutSession(d.names.finish)
	d.routes["POST /logout"] = d.withoutSession(d.logout)
	d.routes["POST /theme"] = d.withoutSession(d.changeTheme)
	d.routes["POST /language"] = d.withoutSession(d.changeLanguage)
	d.routes["GET /assets/{file}"] = http.HandlerFunc(d.files.serve)
	return nil
}

// exact keeps the pattern of a path that ends in a slash from matching everything
// below it.
func exact(path string) string {
	if strings.HasSuffix(path, "/") {
		return path + "{$}"
	}
	return path
}

// Routes returns the patterns and handlers of everything that the dashboard serves.
func (d *Site) Routes() map[string]http.Handler { return d.routes }

// withoutSession serves requests that need no session.
func (d *Site) withoutSession(h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecurityHeaders(w.Header())
		v := &Visit{&Caller{Locale: d.localeOf(r), api: d.API, browser: r, id: w.Header().Get(requestID)}, d, r}
		err := d.origins.Check(r)
		if err == nil {
			err = h(v, w)
		} else { // a page of another site made the browser send it
			err = &Problem{Status: http.StatusForbidden, Words: "requests from pages of other sites are rejected"}
		}
		if err != nil {
			d.writeError(v, w, err)
		}
	})
}

// need is what a page, or an action of it, requires of a token.
type need struct {
	oneOf []operators.Scope // nil: any token
	about func(*Caller, *http.Request) bool
}

// need returns what the page requires of a token, with the scopes of the page or of an action: that the token has one of them for
// the channel or the survey of the path.
func (p *Page) need(oneOf []operators.Scope) need {
	n := need{oneOf, func(c *Caller, _ *http.Request) bool { return c.May(oneOf...) }}
	may := map[string]func(c *Caller, name string) bool{
		"channels": func(c *Caller, name string) bool { return c.MayChannel(name, oneOf...) },
		"prices":   func(c *Caller, name string) bool { return c.MayChannel(name, oneOf...) },
		"surveys":  func(c *Caller, name string) bool { return c.MaySurvey(name, oneOf...) },
	}
	kind, parameter := p.subject()
	switch {
	case p.Whole:
		n.about = func(c *Caller, _ *http.Request) bool { return c.MayAll(oneOf...) }
	case parameter != "" && may[kind] != nil:
		n.about = func(c *Caller, r *http.Request) bool { return may[kind](c, r.PathValue(parameter)) }
	}
	return n
}

// subject returns the kind of what the page is about, and the parameter of its path that names it; empty: it is about nothing of a
// name. What the parameter is called says nothing, so that no page loses its check by another word.
func (p *Page) subject() (kind, parameter string) {
	parts := strings.Split(p.Path, "/")
	if len(parts) < 3 || !strings.HasPrefix(parts[2], "{") {
		return parts[1], ""
	}
	return parts[1], strings.Trim(parts[2], "{}")
}

// check returns the error of a token that does not suffice.
func (n need) check(v *Visit) error {
	if n.about(v.Caller, v.Request) {
		return nil
	}
	detail := v.T("this page requires a token with the scope %s", v.scopeWords(n.oneOf))
	if limit := v.Limit(n.oneOf...); limit != "" {
		detail = v.T("this page requires a token with the scope %[1]s; yours is limited to names that begin with %[2]s", v.scopeWords(n.oneOf), limit)
	}
	return &Problem{Status: http.StatusForbidden, Detail: detail}
}

// withSession requires a session whose token suffices. The API checks again.
func (d *Site) withSession(needed need, h Handler) http.Handler {
	return d.withoutSession(func(v *Visit, w http.ResponseWriter) error {
		v.readSession()
		if err := v.readIdentity(); err != nil {
			return err
		}
		if err := needed.check(v); err != nil {
			return err
		}
		return h(v, w)
	})
}

// writeError writes an error response.
func (d *Site) writeError(v *Visit, w http.ResponseWriter, err error) {
	status, p := StatusOf(err)
	if status == http.StatusUnauthorized {
		d.toLogin(v, w)
		return
	}
	if status == http.StatusInternalServerError {
		d.Logger.LogAttrs(v.Request.Context(), slog.LevelError, "dashboard page failed", slog.String("request", v.id), slog.Any("error", err))
	}
	if p.Wait != "" {
		w.Header().Set("Retry-After", p.Wait)
	}
	title := v.T(titleOf(status))
	c := &Content{Title: title, Crumbs: []Crumb{{Text: title}}, Data: failure{p.In(v.Locale), v.id}}
	if err := d.render(v, w, status, "error", c); err != nil {
		http.Error(w, title, status)
	}
}

// failure is the data of the error page.
type failure struct {
	Problem *Problem
	Request string
}
