package dashboard

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"weir/ops"
	"weir/web/auth"
)

// validPrefix matches a path of plain segments.
var validPrefix = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)

// New returns a dashboard. It parses every template, so that a broken one fails
// here and not on the first request.
func New(o Options) (*Dashboard, error) {
	if o.API == nil || o.Logger == nil {
		return nil, errors.New("dashboard: API and Logger are required")
	}
	if !validPrefix.MatchString(o.Prefix) {
		return nil, fmt.Errorf("dashboard: %q is not a valid path prefix", o.Prefix)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Draining == nil {
		o.Draining = func() bool { return false }
	}
	d := &Dashboard{
		Options: o, public: &url.URL{}, streams: auth.NewConcurrencyLimit(auth.MaxStreams, auth.MaxStreamsPerToken),
		fragmentCache: newCache[[]fragment](fragmentLife, o.Now), sparkCache: newCache[sparks](chartsLife, o.Now),
		respondentCache: newCache[respondentHistory](chartsLife, o.Now),
		chartCache:      newCache[*charts](chartsLife, o.Now), surveyCache: newCache[[]surveyCard](chartsLife, o.Now),
		origins: http.NewCrossOriginProtection(), routes: map[string]http.Handler{},
	}
	if o.PublicURL != "" {
		u, err := url.Parse(o.PublicURL)
		if err != nil {
			return nil, errors.New("dashboard: invalid public URL")
		}
		d.public = u
	}
	var err error
	if d.files, err = readFiles(); err != nil {
		return nil, err
	}
	if d.templates, err = parseTemplates(); err != nil {
		return nil, err
	}
	return d, d.route()
}

// pages returns all pages, in the order of the navigation.
func pages() []*page {
	return []*page{
		overviewPage(),
		channelPage(),
		contactsPage(), contactPage(), deadPage(), deadListPage(),
		surveysPage(), surveyPage(), respondentsPage(), respondentPage(), surveyLogPage(),
		routerPage(), routerListPage("workers", loadWorkers), routerListPage("queues", loadQueues), routerListPage("jobs", loadJobs), policiesPage(),
		routerWorkerPage(), routerQueuePage(), routerJobPage(),
		webhooksPage(), webhookPage(),
		auditPage(),
	}
}

// route fills the table of patterns.
func (d *Dashboard) route() error {
	for _, p := range pages() {
		if d.templates[p.name] == nil {
			return fmt.Errorf("dashboard: page %s has no template", p.name)
		}
		if p.nav != "" {
			d.nav = append(d.nav, navItem{Text: p.nav, path: p.path, scopes: p.scopes})
		}
		d.routes["GET "+exact(p.path)] = d.withSession(p.scopes, d.page(p))
		if len(p.live) > 0 {
			d.routes["GET /live"+exact(p.path)] = d.withSession(p.scopes, d.stream(p))
		}
		if p.posted != nil {
			d.routes["POST "+exact(p.path)] = d.withSession(p.scopes, d.serveForm(p))
		}
		for i := range p.actions {
			a := &p.actions[i]
			d.routes["GET "+a.path] = d.withSession(a.scopes, d.ask(a))
			d.routes["POST "+a.path] = d.withSession(a.scopes, d.act(a))
		}
		for path, serve := range p.files {
			d.routes["GET "+path] = d.withSession(p.scopes, serve)
		}
	}
	d.routes["GET /login"] = d.withoutSession(d.loginPage)
	d.routes["POST /login"] = d.withoutSession(d.login)
	d.routes["POST /logout"] = d.withoutSession(d.logout)
	d.routes["POST /theme"] = d.withoutSession(d.changeTheme)
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
func (d *Dashboard) Routes() map[string]http.Handler { return d.routes }

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
		if !v.May(oneOf...) {
			return &problem{Status: http.StatusForbidden, Detail: "this page requires a token with the scope " + scopeWords(oneOf)}
		}
		return h(v, w)
	})
}

// checkOrigin rejects requests that a page of another site made a browser send.
func (v *visit) checkOrigin() error {
	if v.d.origins.Check(v.r) != nil {
		return &problem{Status: http.StatusForbidden, Detail: "requests from pages of other sites are rejected"}
	}
	return nil
}

// writeError writes an error response.
func (d *Dashboard) writeError(v *visit, w http.ResponseWriter, err error) {
	status, p := statusOf(err)
	if status == http.StatusUnauthorized {
		d.toLogin(v, w)
		return
	}
	if status == http.StatusInternalServerError {
		d.Logger.LogAttrs(v.r.Context(), slog.LevelError, "dashboard page failed", slog.String("request", v.id), slog.Any("error", err))
	}
	if p.wait != "" {
		w.Header().Set("Retry-After", p.wait)
	}
	c := &content{title: titleOf(status), crumbs: []crumb{{Text: titleOf(status)}}, data: failure{p, v.id}}
	if err := d.render(v, w, status, "error", c); err != nil {
		http.Error(w, titleOf(status), status)
	}
}

// failure is the data of the error page.
type failure struct {
	Problem *problem
	Request string
}
