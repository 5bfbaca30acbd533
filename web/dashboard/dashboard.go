package dashboard

import (
	"context"
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

// Options configures a dashboard.
type Options struct {
	// API serves every request of Weir's own API and of the router's. It is not
	// called before the first page is requested.
	API http.Handler
	// Sessions stores log-ins. A request with [auth.WithSession] carries the text of
	// one.
	Sessions Sessions
	// Prefix precedes every path that browsers see, without a trailing slash;
	// empty: none.
	Prefix string
	// PublicURL is the address at which others reach Weir. If it is https, cookies
	// are Secure.
	PublicURL string
	Version   string
	Logger    *slog.Logger
	Draining  func() bool      // nil: never
	Now       func() time.Time // nil: time.Now
}

// Sessions begins and ends log-ins.
type Sessions interface {
	// Begin returns the text of a new session; empty: no token is needed.
	Begin(ctx context.Context, token string) (text string, err error)
	End(ctx context.Context, text string) error
}

// Dashboard serves the pages. The server of the API mounts its patterns.
type Dashboard struct {
	Options
	public          *url.URL
	files           *files
	sets            *templates
	streams         *auth.ConcurrencyLimit
	fragmentCache   *cache[[]fragment]
	sparkCache      *cache[sparks]
	chartCache      *cache[*charts]
	surveyCache     *cache[[]surveyCard]
	workerHistories workerHistories
	respondentCache *cache[respondentHistory]
	origins         *http.CrossOriginProtection
	routes          map[string]http.Handler
	nav             []navItem
}

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
	if d.sets, err = parseTemplates(); err != nil {
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
		auditPage(),
	}
}

// route fills the table of patterns.
func (d *Dashboard) route() error {
	for _, p := range pages() {
		if d.sets.pages[p.name] == nil {
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

// readers returns the scopes for lists of channels and contacts; one is needed.
func readers() []ops.Scope { return []ops.Scope{ops.ScopeContactsRead, ops.ScopeChannelsAdmin} }
