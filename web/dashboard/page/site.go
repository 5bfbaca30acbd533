package page

import (
	"context"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"

	"weir/operators"
	"weir/web/auth"
	"weir/web/dashboard/locale"
	"weir/web/openid"
)

// Options configures a dashboard.
type Options struct {
	// API serves every request of Weir's own API and of the router's. It is not
	// called before the first page is requested.
	API http.Handler
	// Sessions stores log-ins. A request with [auth.WithSession] carries the text of
	// one.
	Sessions Sessions
	// Names logs people in by name; nil: it is not configured.
	Names *openid.Provider
	// GroupsWithScopes are the groups at that provider whose members have access.
	GroupsWithScopes []string
	// Record adds an entry to the audit log. Log-ins by name are no requests of the API, which
	// records those itself.
	Record func(operators.AuditEntry)
	// Prefix precedes every path that browsers see, without a trailing slash;
	// empty: none.
	Prefix string
	// PublicURL is the address at which others reach Weir. If it is https, cookies
	// are Secure.
	PublicURL string
	Version   string
	Logger    *slog.Logger
	Ending    func() bool // live pages end now
}

// Sessions begins and ends log-ins.
type Sessions interface {
	// Begin returns the text of a new session; empty: no token is needed.
	Begin(ctx context.Context, token string) (text string, err error)
	End(ctx context.Context, text string) error
	// BeginPerson returns the text of a new session of a person; forbidden: none of the groups has
	// scopes.
	BeginPerson(ctx context.Context, id string, groups []string) (text string, err error)
	// AdmitAttempt rejects attempts of an address that failed too often, as NoteFailure counts.
	AdmitAttempt(r *http.Request) error
	NoteFailure(r *http.Request, presented string)
}

// Sources are what a site is made of.
type Sources struct {
	Pages     []*Page // in the order of the navigation
	Templates fs.FS
	Assets    fs.FS
	Functions func(*locale.Locale) template.FuncMap // that templates can call, beside those of [display.Functions]
	Help      func(path string) string              // the path of what explains a page, by the path of that; empty: nothing does
}

// Site serves the pages. The server of the API mounts its patterns.
type Site struct {
	Options
	help          func(path string) string
	files         *files
	locales       *locale.Set
	templates     map[string]Templates // by the code of a language
	streams       *auth.ConcurrencyLimit
	fragmentCache *Cache[[]fragment]
	origins       *http.CrossOriginProtection
	routes        map[string]http.Handler
	pages         []*Page
	nav           []navItem
	names         *nameLogins
	kept          keptForms
}

// New returns a dashboard. Templates and catalogs are read when they are first used; that all are
// valid is for the tests to say.
func New(o Options, s Sources) (*Site, error) {
	d := &Site{
		Options: o, help: s.Help, pages: s.Pages, streams: auth.NewConcurrencyLimit(auth.MaxStreams, auth.MaxStreamsPerToken), fragmentCache: NewCache[[]fragment](fragmentLife),
		origins: http.NewCrossOriginProtection(), routes: map[string]http.Handler{}, locales: locale.New(), templates: map[string]Templates{},
	}
	d.names = &nameLogins{o.Names, o.Sessions, o.GroupsWithScopes, o.Record, o.Logger}
	var err error
	if d.files, err = readFiles(s.Assets); err != nil {
		return nil, err
	}
	for _, l := range d.locales.List() {
		if d.templates[l.Code], err = NewTemplates(s.Templates, l, s.Functions(l)); err != nil {
			return nil, err
		}
	}
	return d, d.route()
}

// fragment is the current state of a live region.
type fragment struct {
	id    string
	event []byte // in the stream's format, encoded once for all streams
	hash  uint64
}

// navItem is a page in the navigation.
type navItem struct {
	Text, Link string
	Current    bool
	text       locale.Message
	path       string
	scopes     []operators.Scope
	whole      bool
}
